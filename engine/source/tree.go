package source

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fluxcd/pkg/sourceignore"
	"github.com/fluxcd/pkg/sourceignore/gitignore"

	"github.com/lkeplan/lkeplan/engine/files"
)

// treeFS is a tree as a file system: that of a commit, or that which git add would create from the
// working tree. It has only what Git stores: no times, no owners. It does not follow links; submodules
// are neither files nor directories.
type treeFS struct {
	tree    commitTree
	id      string // of the root
	ignores *ignores
	refused map[string]error // files that must not be read; nil for a commit
}

func newTree(of commitTree, root string) treeFS {
	return treeFS{tree: of, id: root, ignores: &ignores{of: map[string][]gitignore.Pattern{}}}
}

// ignores are the patterns in .sourceignore files, by directory, with those of the parent directories.
type ignores struct {
	mu sync.Mutex
	of map[string][]gitignore.Pattern
}

// commitTree reads a tree and its files.
type commitTree struct {
	program *program
	lacks   *atomic.Bool // a requested object is not in this clone
}

func (t commitTree) file(id string) (object, error) {
	o, err := t.program.object(id)
	if errors.Is(err, errMissing) {
		t.lacks.Store(true)
	}
	return o, err
}

func (t commitTree) list(id string) ([]entry, error) {
	o, err := t.file(id)
	if err != nil {
		return nil, err
	}
	return o.entries()
}

// inSubmodule is the error of reading from a submodule, or from any other repository inside this one.
func inSubmodule(name string) error {
	return files.Unreadable{Name: name, Why: "is a submodule or another repository inside this one, and lkeplan reads only " +
		"one repository", Do: "copy the files that the configuration needs into this one"}
}

// nothing is the file system before the first commit.
type nothing struct{}

// Open implements fs.FS.
func (nothing) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// maxLinks is the maximum number of links on the way to a file.
const maxLinks = 40

// errOutside is the error of a link that leaves the repository.
var errOutside = errors.New("a symbolic link points outside of the repository")

// Open implements fs.FS.
func (t treeFS) Open(name string) (fs.File, error) {
	file, err := t.open(name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return file, nil
}

func (t treeFS) open(name string) (fs.File, error) {
	at, e, err := t.find(name, false)
	if err != nil {
		return nil, err
	}
	if err := t.leftOut(at, e); err != nil {
		return nil, err
	}
	info := treeInfo{name: path.Base(name), mode: modeOf(e.mode)}
	switch e.mode {
	case modeSubmodule:
		return nil, inSubmodule(at)
	case modeTree:
		entries, err := t.tree.list(e.id)
		entries = slices.SortedFunc(slices.Values(entries), func(a, b entry) int { return cmp.Compare(a.name, b.name) })
		return &treeDir{info: info, entries: entries, of: t, at: at}, err
	}
	if err := t.refused[at]; err != nil {
		return nil, err
	}
	o, err := t.tree.file(e.id)
	if err != nil {
		return nil, err
	}
	if o.data == nil && o.size > 0 {
		return nil, errors.New("it is too large")
	}
	info.size = o.size
	return &treeFile{info, bytes.NewReader(o.data)}, nil
}

// find returns the entry at a path, and its path without links if links are followed. Otherwise a link
// is an error. It is fs.ErrNotExist if there is no such path.
func (t treeFS) find(name string, follow bool) (at string, found entry, err error) {
	if !fs.ValidPath(name) {
		return "", entry{}, fs.ErrInvalid
	}
	at, found = ".", entry{mode: modeTree, id: t.id}
	todo, links := strings.Split(name, "/"), 0
	for len(todo) > 0 {
		step := todo[0]
		todo = todo[1:]
		switch step {
		case "", ".":
			continue
		case "..":
			if at == "." {
				return "", entry{}, errOutside
			}
			at = path.Dir(at)
			if at, found, err = t.find(at, true); err != nil {
				return "", entry{}, err
			}
			continue
		}
		if found.mode == modeSubmodule {
			return "", entry{}, inSubmodule(at)
		}
		next, err := t.child(found, step)
		if err != nil {
			return "", entry{}, err
		}
		if next.mode != modeLink {
			at, found = path.Join(at, step), next
			continue
		}
		if !follow {
			return "", entry{}, files.Link(path.Join(at, step))
		}
		to, err := t.tree.file(next.id)
		if err != nil {
			return "", entry{}, err
		}
		if links++; links > maxLinks {
			return "", entry{}, errors.New("symbolic links form a loop")
		}
		if path.IsAbs(string(to.data)) {
			return "", entry{}, errOutside
		}
		todo = append(strings.Split(string(to.data), "/"), todo...)
	}
	return at, found, nil
}

// entry returns the entry at a path. It does not follow a link.
func (t treeFS) entry(op, name string) (entry, error) {
	fail := func(err error) (entry, error) { return entry{}, &fs.PathError{Op: op, Path: name, Err: err} }
	if !fs.ValidPath(name) {
		return fail(fs.ErrInvalid)
	}
	if name == "." {
		return entry{name: ".", mode: modeTree, id: t.id}, nil
	}
	at, dir, err := t.find(path.Dir(name), false)
	if err != nil {
		return fail(err)
	}
	if dir.mode == modeSubmodule {
		return fail(inSubmodule(at))
	}
	e, err := t.child(dir, path.Base(name))
	if err == nil {
		err = t.leftOut(path.Join(at, path.Base(name)), e)
	}
	if err != nil {
		return fail(err)
	}
	return e, nil
}

// leftOut is the error of a file that Flux omits from its artifacts, because of .sourceignore or its
// defaults for files of Git and CI systems: its controllers would see another configuration.
func (t treeFS) leftOut(at string, e entry) error {
	if e.mode == modeTree || at == "." {
		return nil
	}
	patterns, err := t.patterns(path.Dir(at))
	if err != nil || !sourceignore.NewDefaultMatcher(patterns, nil).Match(strings.Split(at, "/"), false) {
		return err
	}
	return files.Unreadable{Name: at,
		Why: "is omitted from artifacts by Flux, because of " + sourceignore.IgnoreFile + " or its defaults", Do: "exclude it from the pattern, or move its content to another file"}
}

// patterns are those of a directory and of its parents. The last match counts.
func (t treeFS) patterns(dir string) ([]gitignore.Pattern, error) {
	t.ignores.mu.Lock()
	patterns, known := t.ignores.of[dir]
	t.ignores.mu.Unlock()
	if known {
		return patterns, nil
	}
	var domain []string
	if dir != "." {
		around, err := t.patterns(path.Dir(dir))
		if err != nil {
			return nil, err
		}
		patterns, domain = around, strings.Split(dir, "/")
	}
	name := path.Join(dir, sourceignore.IgnoreFile)
	switch _, e, err := t.find(name, true); {
	case err == nil && e.mode != modeTree:
		o, err := t.tree.file(e.id)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		patterns = append(slices.Clip(patterns), sourceignore.ReadPatterns(bytes.NewReader(o.data), domain)...)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	t.ignores.mu.Lock()
	defer t.ignores.mu.Unlock()
	t.ignores.of[dir] = patterns
	return patterns, nil
}

// Lstat implements fs.ReadLinkFS.
func (t treeFS) Lstat(name string) (fs.FileInfo, error) {
	e, err := t.entry("lstat", name)
	if err != nil {
		return nil, err
	}
	if e.mode == modeSubmodule {
		return nil, &fs.PathError{Op: "lstat", Path: name, Err: inSubmodule(name)}
	}
	return treeEntry{e, t}.Info()
}

// ReadLink implements fs.ReadLinkFS.
func (t treeFS) ReadLink(name string) (string, error) {
	e, err := t.entry("readlink", name)
	if err != nil {
		return "", err
	}
	if e.mode != modeLink {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	o, err := t.tree.file(e.id)
	return string(o.data), err
}

// child is the entry of a name in a directory.
func (t treeFS) child(dir entry, name string) (entry, error) {
	if dir.mode != modeTree {
		return entry{}, fs.ErrNotExist
	}
	entries, err := t.tree.list(dir.id)
	if err != nil {
		return entry{}, err
	}
	if i := slices.IndexFunc(entries, func(e entry) bool { return e.name == name }); i >= 0 {
		return entries[i], nil
	}
	return entry{}, fs.ErrNotExist
}

func modeOf(mode string) fs.FileMode {
	switch mode {
	case modeTree:
		return fs.ModeDir | 0o755
	case modeLink:
		return fs.ModeSymlink | 0o644
	case modeSubmodule:
		return fs.ModeIrregular
	}
	return 0o644
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
	*bytes.Reader
}

func (f *treeFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *treeFile) Close() error               { return nil }

type treeDir struct {
	info    treeInfo
	entries []entry // not returned by ReadDir yet
	of      treeFS
	at      string
}

func (d *treeDir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *treeDir) Close() error               { return nil }
func (d *treeDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.info.name, Err: errors.New("is a directory")}
}

// ReadDir implements fs.ReadDirFile.
func (d *treeDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n > 0 && len(d.entries) == 0 {
		return nil, io.EOF
	}
	if n <= 0 || n > len(d.entries) {
		n = len(d.entries)
	}
	list := make([]fs.DirEntry, n)
	for i, e := range d.entries[:n] {
		list[i] = treeEntry{e, d.of}
	}
	d.entries = d.entries[n:]
	return list, nil
}

// treeEntry is read only when more than its name is requested.
type treeEntry struct {
	entry
	of treeFS
}

func (e treeEntry) Name() string      { return e.name }
func (e treeEntry) IsDir() bool       { return e.mode == modeTree }
func (e treeEntry) Type() fs.FileMode { return modeOf(e.mode).Type() }

// Info implements fs.DirEntry: it reads the file for its size.
func (e treeEntry) Info() (fs.FileInfo, error) {
	info := treeInfo{name: e.name, mode: modeOf(e.mode)}
	if !info.mode.IsRegular() {
		return info, nil
	}
	o, err := e.of.tree.file(e.id)
	info.size = o.size
	return info, err
}
