package source

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// treeFS is the tree of a commit as a file system. Only what Git stores is
// there: no times, no owners. Links and submodules are neither files nor
// directories.
type treeFS struct{ tree *object.Tree }

func (t treeFS) Open(name string) (fs.File, error) {
	fail := func(err error) (fs.File, error) { return nil, &fs.PathError{Op: "open", Path: name, Err: err} }
	if !fs.ValidPath(name) {
		return fail(fs.ErrInvalid)
	}
	if name == "." {
		return &treeDir{info: treeInfo{name: ".", mode: fs.ModeDir | 0o755}, tree: t.tree}, nil
	}
	entry, err := t.tree.FindEntry(name)
	if errors.Is(err, object.ErrEntryNotFound) || errors.Is(err, object.ErrDirectoryNotFound) {
		return fail(fs.ErrNotExist)
	} else if err != nil {
		return fail(err)
	}
	info := treeInfo{name: path.Base(name), mode: modeOf(entry.Mode)}
	switch {
	case info.mode.IsDir():
		sub, err := t.tree.Tree(name)
		if err != nil {
			return fail(err)
		}
		return &treeDir{info: info, tree: sub}, nil
	case !info.mode.IsRegular():
		return fail(errors.New("neither a file nor a directory"))
	}
	file, err := t.tree.File(name)
	if err != nil {
		return fail(err)
	}
	content, err := file.Contents()
	if err != nil {
		return fail(err)
	}
	info.size = int64(len(content))
	return &treeFile{info: info, Reader: strings.NewReader(content)}, nil
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

type treeInfo struct {
	name string
	mode fs.FileMode
	size int64
}

func (i treeInfo) Name() string       { return i.name }
func (i treeInfo) Size() int64        { return i.size }
func (i treeInfo) Mode() fs.FileMode  { return i.mode }
func (i treeInfo) ModTime() time.Time { return time.Time{} }
func (i treeInfo) IsDir() bool        { return i.mode.IsDir() }
func (i treeInfo) Sys() any           { return nil }

type treeFile struct {
	info treeInfo
	*strings.Reader
}

func (f *treeFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *treeFile) Close() error               { return nil }

type treeDir struct {
	info treeInfo
	tree *object.Tree
	next int
}

func (d *treeDir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *treeDir) Close() error               { return nil }
func (d *treeDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.info.name, Err: errors.New("is a directory")}
}

// ReadDir implements fs.ReadDirFile. Git keeps entries sorted.
func (d *treeDir) ReadDir(n int) ([]fs.DirEntry, error) {
	rest := d.tree.Entries[d.next:]
	if n > 0 && len(rest) == 0 {
		return nil, io.EOF
	}
	if n > 0 && len(rest) > n {
		rest = rest[:n]
	}
	d.next += len(rest)
	entries := make([]fs.DirEntry, len(rest))
	for i, e := range rest {
		info := treeInfo{name: e.Name, mode: modeOf(e.Mode)}
		if info.mode.IsRegular() {
			size, err := d.tree.Size(e.Name)
			if err != nil {
				return nil, err
			}
			info.size = size
		}
		entries[i] = fs.FileInfoToDirEntry(info)
	}
	return entries, nil
}
