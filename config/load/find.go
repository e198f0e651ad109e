package load

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/config/syntax"
	"github.com/lkeplan/lkeplan/schemas"
)

// A Reader reads the files of a repository for the expressions in one directory.
// Paths are from that directory. What is outside of the file system is not there,
// so a commit compiles to the same objects wherever it is compiled. What Git keeps
// for itself is not part of a commit, and may hold credentials.
type Reader struct {
	tree *Tree
	dir  string
}

// In returns what reads files for the expressions in a directory.
func (t *Tree) In(dir *Directory) Reader { return Reader{t, dir.Path} }

// resolve returns the path of a file or directory in the file system.
func (r Reader) resolve(name string) (string, error) {
	full := path.Join(r.dir, name)
	switch {
	case path.IsAbs(name), !fs.ValidPath(full):
		return "", fmt.Errorf("%q leads out of the repository, and nothing outside of it is read", name)
	case slices.Contains(strings.Split(full, "/"), ".git"):
		return "", fmt.Errorf("%q is not part of a commit", name)
	}
	return full, nil
}

// Exists reports whether there is a file that a configuration can read. Of other
// files nothing is said, as not every place where a commit is compiled has them.
func (r Reader) Exists(name string) (bool, error) {
	full, err := r.resolve(name)
	if err != nil {
		return false, err
	}
	if !schemas.Readable(full) {
		return false, fmt.Errorf("%q is not of a kind that a configuration reads: %s", name,
			strings.Join(schemas.ReadableExtensions(), ", "))
	}
	info, err := r.tree.lstat(full)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("%q cannot be read: %w", name, cause(err))
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("%q is not a file", name)
	}
	return true, nil
}

// lstat describes a file. A link that the file system refuses to follow is an error.
func (t *Tree) lstat(name string) (fs.FileInfo, error) {
	info, err := fs.Lstat(t.fsys, name)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if _, err := fs.Stat(t.fsys, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return info, err
}

// maxEntries bounds the files and directories that one search looks at.
const maxEntries = 10_000

// Match returns the files below a directory that a pattern fits, by their sorted
// paths from there. Only those are found that are of a kind that a configuration
// reads; one of these that it cannot read is an error.
func (r Reader) Match(dir, pattern string) ([]string, error) {
	full, err := r.resolve(dir)
	if err != nil {
		return nil, err
	}
	fits, err := parsePattern(pattern)
	if err != nil {
		return nil, err
	}
	var found []string
	entries := 0
	err = fs.WalkDir(r.tree.fsys, full, func(name string, entry fs.DirEntry, err error) error {
		if entries++; err == nil && entries > maxEntries {
			return fmt.Errorf("there are more than %d files and directories to look at", maxEntries)
		}
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() == ".git" {
			return fs.SkipDir
		}
		below := strings.TrimPrefix(strings.TrimPrefix(name, full), "/")
		if full == "." {
			below = name
		}
		if entry.Type()&fs.ModeIrregular != 0 && fits.below(below) {
			return r.wouldRead(name) // a submodule, in which there may be files that fit
		}
		if entry.IsDir() || !schemas.Readable(name) || !fits.match(below) {
			return nil
		}
		found = append(found, below)
		return r.wouldRead(name)
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no directory %q; paths are from the directory of this file", dir)
	case err != nil:
		return nil, fmt.Errorf("%q cannot be searched: %w", dir, cause(err))
	}
	slices.Sort(found)
	return found, nil
}

// wouldRead returns why a file that was found cannot be read.
func (r Reader) wouldRead(name string) error {
	info, err := r.tree.lstat(name)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%q is not a file; links are not followed", name)
	case info.Size() > syntax.MaxFileSize:
		return fmt.Errorf("%q has more than %d bytes", name, syntax.MaxFileSize)
	}
	return nil
}
