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
)

// checkout is another working tree of the commit that is checked out.
func checkout(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("it builds programs as a release does, which takes minutes the first time")
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
	if err := run(t.Context(), []string{"-repository", tree, "-out", out, "local-image"}); err != nil {
		t.Fatal(err)
	}
	index, err := layout.ImageIndexFromPath(filepath.Join(out, "image"))
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

// TestCLIArchives: for one platform, with what is published of it.
func TestCLIArchives(t *testing.T) {
	tree, out := checkout(t), filepath.Join(t.TempDir(), "out")
	here := runtime.GOOS + "/" + runtime.GOARCH
	if err := run(t.Context(), []string{"-repository", tree, "-out", out, "-platforms", here, "cli", "charts"}); err != nil {
		t.Fatal(err)
	}
	read := func(pattern string) string {
		t.Helper()
		found, err := filepath.Glob(filepath.Join(out, pattern))
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: %v (%v)", pattern, found, err)
		}
		raw, err := os.ReadFile(found[0])
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	for pattern, want := range map[string]string{
		"checksums.txt": ".tar.gz\n", "krew.yaml": "os: " + runtime.GOOS, "lkeplan.rb": "on_" + runtime.GOOS,
		"lkeplan-[0-9]*.tgz": "", "lkeplan-crds-*.tgz": "",
		"*.spdx.json": "pkg:golang/sigs.k8s.io/karpenter@v1.", "*.tar.gz": "",
	} {
		if text := read(pattern); !strings.Contains(text, want) {
			t.Errorf("%s has no %q:\n%s", pattern, want, text)
		}
	}
	charts, err := filepath.Glob(filepath.Join(out, "lkeplan-[0-9]*.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	render := exec.CommandContext(t.Context(), "go", "tool", "-modfile=tools.mod", "helm", "template", charts[0], "--set",
		"settings.clusterName=my-cluster")
	render.Dir = tree
	if said, err := render.CombinedOutput(); err != nil || !strings.Contains(string(said), `image: "`+repository+`:`) {
		t.Errorf("the released chart renders no image: %v\n%.500s", err, said)
	}
	check := exec.CommandContext(t.Context(), "sha256sum", "--check", "checksums.txt")
	check.Dir = out
	if said, err := check.CombinedOutput(); err != nil {
		t.Errorf("sha256sum: %v\n%s", err, said)
	}
	said, err := exec.CommandContext(t.Context(), filepath.Join(out, "programs", runtime.GOOS+"_"+runtime.GOARCH, "lkeplan"),
		"--version").CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"lkeplan    ", "commit     ", "Karpenter  v1.", "Kubernetes v1."} {
		if !strings.Contains(string(said), want) || strings.Contains(string(said), "unknown") {
			t.Errorf("the version says:\n%s", said)
		}
	}
}
