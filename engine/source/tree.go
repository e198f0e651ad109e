package source

import (
	"errors"
	"io/fs"
	"path"
	"testing/fstest"

	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// treeFS is the tree of a commit as a file system. Only what Git stores is
// there: no times, no owners. Links and submodules are neither files nor
// directories.
type treeFS struct{ tree *object.Tree }

// Open reads one file, or the entries of one directory: a repository may have many
// more of them than a configuration needs.
func (t treeFS) Open(name string) (fs.File, error) {
	opened, err := t.read(name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return opened.Open(name)
}

func (t treeFS) read(name string) (fstest.MapFS, error) {
	if !fs.ValidPath(name) {
		return nil, fs.ErrInvalid
	}
	if name == "." {
		return listing(t.tree, name)
	}
	entry, err := t.tree.FindEntry(name)
	if errors.Is(err, object.ErrEntryNotFound) || errors.Is(err, object.ErrDirectoryNotFound) {
		return nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, err
	}
	switch mode := modeOf(entry.Mode); {
	case mode.IsDir():
		sub, err := t.tree.Tree(name)
		if err != nil {
			return nil, err
		}
		return listing(sub, name)
	case !mode.IsRegular():
		return nil, errors.New("neither a file nor a directory")
	}
	file, err := t.tree.File(name)
	if err != nil {
		return nil, err
	}
	content, err := file.Contents()
	return fstest.MapFS{name: {Data: []byte(content), Mode: 0o644}}, err
}

// listing has the entries of a directory, whose files have their size and no content.
func listing(tree *object.Tree, name string) (fstest.MapFS, error) {
	entries := fstest.MapFS{name: {Mode: fs.ModeDir | 0o755}}
	for _, e := range tree.Entries {
		entry := &fstest.MapFile{Mode: modeOf(e.Mode)}
		if entry.Mode.IsRegular() {
			size, err := tree.Size(e.Name)
			if err != nil {
				return nil, err
			}
			entry.Data = make([]byte, size)
		}
		entries[path.Join(name, e.Name)] = entry
	}
	return entries, nil
}

func modeOf(m filemode.FileMode) fs.FileMode {
	switch m {
	case filemode.Dir:
		return fs.ModeDir | 0o755
	case filemode.Regular, filemode.Executable, filemode.Deprecated:
		return 0o644
	case filemode.Symlink:
		return fs.ModeSymlink | 0o644
	}
	return fs.ModeIrregular
}
