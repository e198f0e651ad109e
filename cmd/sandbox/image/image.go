package main

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// image builds the image for some architectures into a directory, as an OCI layout.
func (c *commit) image(ctx context.Context, dir string, architectures []string) error {
	programs, err := os.MkdirTemp("", "lkeplan-image")
	if err != nil {
		return err
	}
	defer os.RemoveAll(programs)
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, architecture := range architectures {
		log.Printf("controller %s for linux/%s", c.version, architecture)
		program := filepath.Join(programs, architecture)
		if err := c.build(ctx, architecture, program); err != nil {
			return err
		}
		image, err := c.imageOf(program, architecture)
		if err != nil {
			return fmt.Errorf("make the image for %s: %w", architecture, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: architecture}},
		})
	}
	if _, err := layout.Write(dir, index); err != nil {
		return fmt.Errorf("write the layout of the image: %w", err)
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	log.Printf("%s in %s", digest, dir)
	return nil
}

// imageOf returns an image with one file, the program. It has no shell, runs as a numeric user, and writes nowhere:
// the program contains the certificates that it trusts.
func (c *commit) imageOf(program, architecture string) (v1.Image, error) {
	content, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	var files bytes.Buffer
	w := tar.NewWriter(&files)
	header := &tar.Header{Name: "controller", Mode: 0o755, Size: int64(len(content)), ModTime: c.made, Format: tar.FormatPAX}
	if err := w.WriteHeader(header); err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(files.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	made := v1.Time{Time: c.made}
	base, err := mutate.ConfigFile(
		mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON),
		&v1.ConfigFile{
			OS: "linux", Architecture: architecture, Created: made, RootFS: v1.RootFS{Type: "layers"},
			Config: v1.Config{
				Entrypoint: []string{"/controller"}, User: "65532:65532",
				Labels: map[string]string{
					"org.opencontainers.image.source":   "https://github.com/lkeplan/lkeplan",
					"org.opencontainers.image.version":  c.version,
					"org.opencontainers.image.licenses": "Apache-2.0",
				},
			},
		})
	if err != nil {
		return nil, err
	}
	return mutate.Append(base, mutate.Addendum{Layer: layer, History: v1.History{Created: made, CreatedBy: "lkeplan"}})
}
