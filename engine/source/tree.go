package source

import (
	"bytes"
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
	program *program
	entries map[string]entry    // by path; "." is the root
	names   map[string][]string // of the entries of each directory, sorted
	ignores *sync.Map           // the patterns in .sourceignore files, by directory
	lacks   *atomic.Bool        // a requested object is not in this clone
	refused map[string]error    // files that must not be read; nil for a commit
}

// entry is one name in a tree.
type entry struct{ mode, id string }

// The modes of entries that are more than files.
const (
	modeTree      = "040000"
	modeLink      = "120000"
	modeSubmodule = "160000"
)

// tree lists a tree with everything below it.
func (p *program) tree(id string) (treeFS, error) {
	t := treeFS{program: p, entries: map[string]entry{".": {modeTree, id}}, names: map[string][]string{},
		ignores: &sync.Map{}, lacks: &atomic.Bool{}}
	out, err := p.run("ls-tree", "-r", "-t", "-z", "--full-tree", id)
	if err != nil {
		return t, fmt.Errorf("%w (%w)", errMissing, err)
	}
	for out != "" {
		var line string
		line, out, _ = strings.Cut(out, "\x00")
		about, name, _ := strings.Cut(line, "\t")
		fields := strings.Fields(about)
		if len(fields) != 3 {
			return t, fmt.Errorf("git answers %q", line)
		}
		t.entries[name] = entry{fields[0], fields[2]}
		t.names[path.Dir(name)] = append(t.names[path.Dir(name)], path.Base(name))
	}
	for _, names := range t.names {
		slices.Sort(names) // Git sorts directories as if they ended in a slash
	}
	return t, nil
}

// file reads a file or a link.
func (t treeFS) file(id string) (object, error) {
	o, err := t.program.object(id)
	if errors.Is(err, errMissing) {
		t.lacks.Store(true)
	}
	return o, err
}

// inSubmodule returns the error of reading from a submodule, or from any other repository inside this one.
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
		return &treeDir{info: info, names: t.names[at], of: t, at: at}, nil
	}
	if err := t.refused[at]; err != nil {
		return nil, err
	}
	o, err := t.file(e.id)
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
	for range maxLinks {
		link, err := t.link(name)
		if link == "" || err != nil {
			return name, t.entries[name], err
		}
		if !follow {
			return "", entry{}, files.Link(link)
		}
		to, err := t.file(t.entries[link].id)
		if err != nil {
			return "", entry{}, err
		}
		name = path.Join(path.Dir(link), string(to.data), strings.TrimPrefix(name, link))
		if path.IsAbs(string(to.data)) || !fs.ValidPath(name) {
			return "", entry{}, errOutside
		}
	}
	return "", entry{}, errors.New("symbolic links form a loop")
}

// link returns the first link on the way to a path, or at it; "" if there is none.
func (t treeFS) link(name string) (string, error) {
	for end := 0; end < len(name); end++ {
		if n := strings.IndexByte(name[end:], '/'); n >= 0 {
			end += n
		} else {
			end = len(name)
		}
		switch e, ok := t.entries[name[:end]]; {
		case !ok:
			return "", fs.ErrNotExist
		case e.mode == modeLink:
			return name[:end], nil
		case e.mode == modeSubmodule && end < len(name):
			return "", inSubmodule(name[:end])
		}
	}
	return "", nil
}

// entry returns the entry at a path. It does not follow a link.
func (t treeFS) entry(op, name string) (entry, error) {
	at, dir, err := t.find(path.Dir(name), false)
	e, ok := t.entries[name]
	switch {
	case err != nil:
	case !fs.ValidPath(name):
		err = fs.ErrInvalid
	case dir.mode == modeSubmodule:
		err = inSubmodule(at)
	case !ok:
		err = fs.ErrNotExist
	default:
		err = t.leftOut(name, e)
	}
	if err != nil {
		return entry{}, &fs.PathError{Op: op, Path: name, Err: err}
	}
	return e, nil
}

// leftOut returns the error of a file that Flux omits from its artifacts, because of .sourceignore or its
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

// patterns returns those of a directory and of its parents. The last match counts.
func (t treeFS) patterns(dir string) ([]gitignore.Pattern, error) {
	if known, ok := t.ignores.Load(dir); ok {
		return known.([]gitignore.Pattern), nil
	}
	var patterns []gitignore.Pattern
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
		o, err := t.file(e.id)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		patterns = append(slices.Clip(patterns), sourceignore.ReadPatterns(bytes.NewReader(o.data), domain)...)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	t.ignores.Store(dir, patterns)
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
	return treeEntry{e, name, t}.Info()
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
	o, err := t.file(e.id)
	return string(o.data), err
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
	info  treeInfo
	names []string // not returned by ReadDir yet
	of    treeFS
	at    string
}

func (d *treeDir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *treeDir) Close() error               { return nil }
func (d *treeDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.info.name, Err: errors.New("is a directory")}
}

// ReadDir implements fs.ReadDirFile.
func (d *treeDir) ReadDir(n int) (list []fs.DirEntry, err error) {
	if n > 0 && len(d.names) == 0 {
		return nil, io.EOF
	}
	if n <= 0 || n > len(d.names) {
		n = len(d.names)
	}
	for _, name := range d.names[:n] {
		at := path.Join(d.at, name)
		list = append(list, treeEntry{d.of.entries[at], at, d.of})
	}
	d.names = d.names[n:]
	return list, nil
}

// treeEntry is read only when more than its name is requested.
type treeEntry struct {
	entry
	at string
	of treeFS
}

func (e treeEntry) Name() string      { return path.Base(e.at) }
func (e treeEntry) IsDir() bool       { return e.mode == modeTree }
func (e treeEntry) Type() fs.FileMode { return modeOf(e.mode).Type() }

// Info implements fs.DirEntry: it reads the file for its size.
func (e treeEntry) Info() (fs.FileInfo, error) {
	info := treeInfo{name: e.Name(), mode: modeOf(e.mode)}
	if !info.mode.IsRegular() {
		return info, nil
	}
	o, err := e.of.file(e.id)
	info.size = o.size
	return info, err
}
