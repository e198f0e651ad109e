package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// archive is the CLI for one platform, as it is downloaded, and as templates read it.
type archive struct {
	OS, Arch, Program string
	File, Sum         string // its name, and its SHA-256
}

// cli builds the CLI and what is published of it.
func (r *release) cli(ctx context.Context, platforms []platform) error {
	var archives []archive
	for _, p := range platforms {
		log.Printf("lkeplan for %s", p)
		program, err := r.build(ctx, "lkeplan", p)
		if err != nil {
			return err
		}
		a := archive{OS: p.os, Arch: p.arch, Program: filepath.Base(program),
			File: fmt.Sprintf("lkeplan_%s_%s_%s.tar.gz", r.version, p.os, p.arch)}
		pack := r.tarball
		if p.os == "windows" {
			a.File, pack = strings.TrimSuffix(a.File, "tar.gz")+"zip", r.zip
		}
		var content bytes.Buffer
		if err := pack(&content, program); err != nil {
			return fmt.Errorf("pack %s: %w", a.File, err)
		}
		if a.Sum, err = r.write(a.File, content.Bytes()); err != nil {
			return err
		}
		if err := r.bill(program, a.File+".spdx.json"); err != nil {
			return err
		}
		archives = append(archives, a)
	}
	if err := r.manifests(archives); err != nil {
		return err
	}
	return r.checksums()
}

// packed are the files that an archive has next to the program.
var packed = []string{"LICENSE", "README.md"}

func (r *release) tarball(w io.Writer, program string) error {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	files := tar.NewWriter(compressed)
	err = r.each(program, func(name string, mode fs.FileMode, content []byte) error {
		header := &tar.Header{Name: name, Mode: int64(mode), Size: int64(len(content)), ModTime: r.made, Format: tar.FormatPAX}
		if err := files.WriteHeader(header); err != nil {
			return err
		}
		_, err := files.Write(content)
		return err
	})
	if err != nil {
		return err
	}
	if err := files.Close(); err != nil {
		return err
	}
	return compressed.Close()
}

func (r *release) zip(w io.Writer, program string) error {
	files := zip.NewWriter(w)
	err := r.each(program, func(name string, mode fs.FileMode, content []byte) error {
		header := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: r.made.Truncate(2 * time.Second)}
		header.SetMode(mode)
		file, err := files.CreateHeader(header)
		if err != nil {
			return err
		}
		_, err = file.Write(content)
		return err
	})
	if err != nil {
		return err
	}
	return files.Close()
}

// each calls pack with the files of an archive.
func (r *release) each(program string, pack func(name string, mode fs.FileMode, content []byte) error) error {
	content, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	if err := pack(filepath.Base(program), 0o755, content); err != nil {
		return err
	}
	for _, name := range packed {
		if content, err = os.ReadFile(filepath.Join(r.root, name)); err != nil {
			return err
		}
		if err := pack(name, 0o644, content); err != nil {
			return err
		}
	}
	return nil
}

// write writes a file of the release, and returns its SHA-256.
func (r *release) write(name string, content []byte) (string, error) {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), os.WriteFile(filepath.Join(r.dir, name), content, 0o644)
}

// checksums lists all other files of the release as sha256sum does.
func (r *release) checksums() error {
	const name = "checksums.txt"
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, entry := range entries {
		if entry.IsDir() || entry.Name() == name {
			continue
		}
		content, err := os.ReadFile(filepath.Join(r.dir, entry.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%x  %s\n", sha256.Sum256(content), entry.Name())
	}
	_, err = r.write(name, []byte(list.String()))
	return err
}
