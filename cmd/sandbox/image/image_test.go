package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/lkeplan/lkeplan/testdata/nightly"
)

// checkout is another working tree of the commit that is checked out.
func checkout(t *testing.T) string {
	t.Helper()
	if !nightly.On() {
		t.Skip("it builds the controller without C and symbols, and all that it links, which takes minutes")
	}
	dir := filepath.Join(t.TempDir(), "tree")
	out, err := exec.Command("git", "clone", "--quiet", "--local", "--no-tags", "../../..", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("git clone: %v\n%s", err, out)
	}
	return dir
}

// digestOf builds the image for this machine from a working tree, and returns it with the
// digest of its index.
func digestOf(t *testing.T, tree string) (v1.Image, v1.Hash) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	if err := run(t.Context(), []string{"-repository", tree, "-out", out, "-architectures", runtime.GOARCH}); err != nil {
		t.Fatal(err)
	}
	index, err := layout.ImageIndexFromPath(out)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("%d images in the layout (%v)", len(manifest.Manifests), err)
	}
	image, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return image, digest
}

// TestTheImageIsReproducible: two working trees of a commit make the same image, of one
// program that runs as an unprivileged user and reports its commit.
func TestTheImageIsReproducible(t *testing.T) {
	image, first := digestOf(t, checkout(t))
	again, second := digestOf(t, checkout(t))
	if first != second {
		t.Errorf("digests %s and %s", first, second)
	}
	if err := errors.Join(validate.Image(image), validate.Image(again)); err != nil {
		t.Error(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Config.User != "65532:65532" || config.Architecture != runtime.GOARCH || config.Created.IsZero() {
		t.Errorf("%+v", config)
	}
	program := unpack(t, image)
	said, err := exec.CommandContext(t.Context(), program, "--help").CombinedOutput()
	if err != nil || !strings.Contains(string(said), "LINODE_TOKEN") {
		t.Errorf("the program in the image: %v\n%s", err, said)
	}
}

// unpack writes the one file of an image, and returns its path.
func unpack(t *testing.T, image v1.Image) string {
	t.Helper()
	content := mutate.Extract(image)
	defer content.Close()
	files := tar.NewReader(content)
	header, err := files.Next()
	if err != nil || header.Name != "controller" {
		t.Fatalf("the first file is %+v (%v)", header, err)
	}
	var program bytes.Buffer
	if _, err := io.Copy(&program, files); err != nil {
		t.Fatal(err)
	}
	if more, err := files.Next(); err != io.EOF {
		t.Errorf("there is another file, %+v (%v)", more, err)
	}
	path := filepath.Join(t.TempDir(), "controller")
	if err := os.WriteFile(path, program.Bytes(), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
