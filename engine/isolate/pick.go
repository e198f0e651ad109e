package isolate

import (
	archive "archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// A Pick is a selection of files in a directory.
type Pick struct {
	Dir   string
	Names []string // with slashes, from Dir
}

// PickAll picks all regular files of a directory.
func PickAll(dir string) (Pick, error) {
	all := Pick{Dir: dir}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			all.Names = append(all.Names, name)
		}
		return err
	})
	return all, err
}

// each calls a function for each of the files, in the order of their names.
func (p Pick) each(do func(name string, text []byte) error) error {
	root, err := os.OpenRoot(p.Dir) // the names cannot leave the directory
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range slices.Compact(slices.Sorted(slices.Values(p.Names))) {
		file, err := root.Open(filepath.FromSlash(name))
		if err != nil {
			return err
		}
		text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
		file.Close()
		if err != nil {
			return err
		}
		if len(text) > maxFile {
			text = make([]byte, maxFile+1) // as for a barrier
		}
		if err := do(name, text); err != nil {
			return err
		}
	}
	return nil
}

// Digest returns a digest of the files, their names, and a path in the directory.
func (p Pick) Digest(path string) (string, error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q\n", path)
	err := p.each(func(name string, text []byte) error {
		_, err := fmt.Fprintf(sum, "%q %d\n%s\n", name, len(text), text)
		return err
	})
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), err
}

// Pack returns the files as a tar.gz archive for Unpack.
func (p Pick) Pack() ([]byte, error) {
	var b bytes.Buffer
	compressed := gzip.NewWriter(&b)
	w := archive.NewWriter(compressed)
	err := p.each(func(name string, text []byte) error {
		header := &archive.Header{Typeflag: archive.TypeReg, Name: name, Mode: 0o600, Size: int64(len(text))}
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		_, err := w.Write(text)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(w.Close(), compressed.Close()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
