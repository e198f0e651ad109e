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

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// repository is where the image is published.
const repository = "ghcr.io/lkeplan/lkeplan-controller"

// image builds the image of the controller for platforms, as an OCI layout, and as a
// tarball for each that container engines load.
func (r *release) image(ctx context.Context, platforms []platform) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range platforms {
		log.Printf("image for %s", p)
		program, err := r.build(ctx, "controller", p)
		if err != nil {
			return err
		}
		image, err := r.imageOf(program, p)
		if err != nil {
			return fmt.Errorf("make the image for %s: %w", p, err)
		}
		if err := r.bill(program, "image_"+p.os+"_"+p.arch+".spdx.json"); err != nil {
			return err
		}
		tag, err := name.NewTag(repository + ":" + r.version)
		if err != nil {
			return err
		}
		file := filepath.Join(r.dir, fmt.Sprintf("lkeplan-controller_%s_%s_%s.tar", r.version, p.os, p.arch))
		if err := tarball.WriteToFile(file, tag, image); err != nil {
			return fmt.Errorf("write %s: %w", file, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.os, Architecture: p.arch}},
		})
	}
	dir := filepath.Join(r.dir, "image")
	if _, err := layout.Write(dir, index); err != nil {
		return fmt.Errorf("write the layout of the image: %w", err)
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	if _, err := r.write("image.digest", []byte(digest.String()+"\n")); err != nil {
		return err
	}
	log.Printf("image %s@%s in %s", repository, digest, dir)
	return r.checksums()
}

// imageOf is an image with one file, the program. It has no shell, no user but a number,
// and writes nowhere: certificates to trust are in the program.
func (r *release) imageOf(program string, p platform) (v1.Image, error) {
	content, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	var files bytes.Buffer
	w := tar.NewWriter(&files)
	header := &tar.Header{Name: "controller", Mode: 0o755, Size: int64(len(content)), ModTime: r.made, Format: tar.FormatPAX}
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
	made := v1.Time{Time: r.made}
	base, err := mutate.ConfigFile(
		mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON),
		&v1.ConfigFile{
			OS: p.os, Architecture: p.arch, Created: made, RootFS: v1.RootFS{Type: "layers"},
			Config: v1.Config{
				Entrypoint: []string{"/controller"}, User: "65532:65532",
				Labels: map[string]string{
					"org.opencontainers.image.source":   "https://github.com/lkeplan/lkeplan",
					"org.opencontainers.image.version":  r.version,
					"org.opencontainers.image.licenses": "Apache-2.0",
				},
			},
		})
	if err != nil {
		return nil, err
	}
	return mutate.Append(base, mutate.Addendum{Layer: layer, History: v1.History{Created: made, CreatedBy: "release"}})
}
