package load

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/lkeplan/lkeplan/config/syntax"
	"github.com/lkeplan/lkeplan/schemas"
)

// A Reader reads the files of a repository for the expressions in one directory. Paths are relative
// to that directory. Files outside of the file system do not exist for it, so a commit compiles to
// the same objects on each machine. It does not read Git's own files: they are not part of a
// commit, and can contain credentials.
type Reader struct {
	tree *Tree
	dir  string
}

// In returns a reader of files for the expressions in a directory.
func (t *Tree) In(dir *Directory) Reader { return Reader{t, dir.Path} }

// resolve returns the path of a file or directory in the file system.
func (r Reader) resolve(name string) (string, error) {
	full := path.Join(r.dir, name)
	switch {
	case path.IsAbs(name), !fs.ValidPath(full):
		return "", fmt.Errorf("%q is outside of the repository; only files in the repository can be read", name)
	case slices.Contains(strings.Split(full, "/"), ".git"):
		return "", fmt.Errorf("%q is not part of a commit", name)
	}
	return r.tree.onDisk(full), nil
}

// onDisk returns a path as the file system spells it. Values are composed, but a Mac decomposes the accents in names
// of files.
func (t *Tree) onDisk(name string) string {
	if !strings.ContainsFunc(name, func(r rune) bool { return r > unicode.MaxASCII }) {
		return name
	}
	at := "."
	for part := range strings.SplitSeq(name, "/") {
		parent := at
		at = path.Join(parent, part)
		if !t.missing(at) {
			continue
		}
		entries, _ := fs.ReadDir(t.fsys, parent) // what reads the path reports errors
		for _, entry := range entries {
			if norm.NFC.String(entry.Name()) == norm.NFC.String(part) {
				at = path.Join(parent, entry.Name())
			}
		}
	}
	return at
}

func (t *Tree) missing(name string) bool {
	_, err := fs.Lstat(t.fsys, name)
	return errors.Is(err, fs.ErrNotExist)
}

// Exists reports whether a file exists that a configuration can read. Other files are an error,
// because not all places that compile a commit have them.
func (r Reader) Exists(name string) (bool, error) {
	full, err := r.resolve(name)
	if err != nil {
		return false, err
	}
	if !schemas.Readable(full) {
		return false, fmt.Errorf("%q has no extension that a configuration can read: %s", name,
			strings.Join(schemas.ReadableExtensions(), ", "))
	}
	info, err := r.tree.lstat(full)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read %q: %w", name, causeOf(err))
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("%q is not a file", name)
	}
	return true, nil
}

// lstat describes a file. A link that the file system does not follow is an error.
func (t *Tree) lstat(name string) (fs.FileInfo, error) {
	info, err := fs.Lstat(t.fsys, name)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if _, err := fs.Stat(t.fsys, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return info, err
}

// maxEntries is the maximum number of files and directories that one search visits.
const maxEntries = 10_000

// Match returns the files below a directory that match a pattern, by their sorted paths relative to
// it. It finds only files with extensions that a configuration can read. A matching file that
// cannot be read is an error.
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
		entries++
		if err == nil && entries > maxEntries {
			return fmt.Errorf("more than %d files and directories to search", maxEntries)
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
			return r.checkReadable(name) // a submodule, which can contain matching files
		}
		if entry.IsDir() || !schemas.Readable(name) || !fits.match(below) {
			return nil
		}
		if composed := norm.NFC.String(below); below != composed && !r.tree.missing(path.Join(full, composed)) {
			return fmt.Errorf("there are two files %q, with composed and with decomposed accents; rename one", composed)
		}
		found = append(found, below)
		return r.checkReadable(name)
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("directory %q does not exist; paths are relative to the directory of this file", dir)
	case err != nil:
		return nil, fmt.Errorf("search %q: %w", dir, causeOf(err))
	}
	slices.Sort(found)
	return found, nil
}

// checkReadable returns why a matching file cannot be read.
func (r Reader) checkReadable(name string) error {
	info, err := r.tree.lstat(name)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%q is not a file; links are not followed", name)
	case info.Size() > syntax.MaxFileSize:
		return fmt.Errorf("%q is larger than %d bytes", name, syntax.MaxFileSize)
	}
	return nil
}
