package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lkeplan/lkeplan/config/syntax"
)

// A files is what the function file reads: the repository, by paths from one
// directory. What is outside of the file system is not there, so a commit
// compiles to the same objects wherever it is compiled.
type files struct {
	fsys fs.FS
	dir  string
	seen map[string]string // content that has been read, by path in the file system
}

// text reads a file. What Git keeps for itself is not part of a commit, and
// may hold credentials.
func (f *files) text(name string) (string, error) {
	full := path.Join(f.dir, name)
	switch {
	case path.IsAbs(name), !fs.ValidPath(full):
		return "", fmt.Errorf("%q leads out of the repository, and nothing outside of it is read", name)
	case slices.Contains(strings.Split(full, "/"), ".git"):
		return "", fmt.Errorf("%q is not part of a commit", name)
	}
	if text, ok := f.seen[full]; ok {
		return text, nil
	}
	data, err := read(f.fsys, full)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("there is no file %q; paths are from the directory of this file", name)
	case err != nil:
		return "", fmt.Errorf("%q cannot be read: %w", name, cause(err))
	case len(data) > syntax.MaxFileSize:
		return "", fmt.Errorf("%q has more than %d bytes", name, syntax.MaxFileSize)
	case f.size()+len(data) > maxBytes:
		return "", fmt.Errorf("with %q, more than %d MiB are read in sum", name, maxBytes>>20)
	case !utf8.Valid(data):
		return "", fmt.Errorf("%q is not text in UTF-8", name)
	}
	f.seen[full] = string(data)
	return f.seen[full], nil
}

func (f *files) size() (n int) {
	for _, text := range f.seen {
		n += len(text)
	}
	return n
}

// cause is an error without the operation and the path that a file system adds.
func cause(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	return err
}
