package source

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/lkeplan/lkeplan/engine/files"
)

// tracked is a file as the index has it.
type tracked struct {
	path, mode, id string
	skip           bool // skip-worktree: a sparse checkout leaves it out
	assume         bool // assume-unchanged
	unmerged       bool
}

// checkout is what is known of a working tree in addition to its files. Paths are from the
// directory that was opened.
type checkout interface {
	// index lists the files at and below the directory.
	index() ([]tracked, error)
	// attributes returns the filter and the encoding that .gitattributes gives a file; ""
	// for none.
	attributes(path string) (filter, encoding string, err error)
	// clean returns what git add would store of a file without a filter. It runs no program
	// that the repository names.
	clean(path string, data []byte) ([]byte, error)
	// checkedOut returns what a checkout writes of a blob for a file without a filter.
	checkedOut(path, id string) ([]byte, error)
	// object returns an object of the repository by any name that Git understands; errMissing if there is none.
	object(name string) (object, error)
	// option returns a setting that is true or false.
	option(name string, otherwise bool) (bool, error)
}

// Working returns the working tree at and below a directory as git add would store it, so
// that it is read in the same form as commits are: without line ends, keywords and encodings
// that a checkout has changed. Files that are in no commit, ignored ones too, are in it;
// what Git does not show as changed, although it is, or that it has left out, is the error
// files.Unreadable. The error is ErrNoRepository for a plain directory, also if it has a
// .git that is no repository.
func Working(ctx context.Context, dir string) (fs.FS, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	s := &Source{getenv: os.Getenv}
	if dotGit(abs) != "" {
		s.getenv = func(string) string { return "" } // those of a hook may be about another repository
	}
	err = s.open(ctx, abs)
	if errors.Is(err, errNone) {
		return nil, ErrNoRepository
	}
	at := checkout(s.program)
	if errors.Is(err, errOwner) || errors.Is(err, errNoProgram) { // the library runs nothing, so it can read what is anyone's
		owner := err
		if errors.Is(err, errNoProgram) {
			owner = nil
		}
		at, err = openLibrary(abs, owner)
	}
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	w := &working{checkout: at, root: root, files: map[string]tracked{}, below: map[string][]string{},
		disk: map[string]string{".": "."}, listed: map[string][]entry{}}
	all, err := w.index()
	if err != nil {
		return nil, fmt.Errorf("read the index of %s: %w", abs, err)
	}
	for _, t := range all {
		w.files[t.path] = t
		for at := t.path; at != "."; at = path.Dir(at) {
			dir := path.Dir(at)
			if n := len(w.below[dir]); n > 0 && w.below[dir][n-1] == at { // the index is sorted
				break
			}
			w.below[dir] = append(w.below[dir], at)
		}
	}
	return newTree(w, "."), nil
}

// working is the tree of a working tree. The id of an entry is its path in the index.
type working struct {
	checkout
	root  *os.Root
	files map[string]tracked  // of the index, by path
	below map[string][]string // paths of the index, by their directory

	mu     sync.Mutex
	disk   map[string]string // the path on disk, by that of the index
	listed map[string][]entry
}

// list returns what is in a directory, and what Git only says to be there.
func (w *working) list(dir string) ([]entry, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if list, ok := w.listed[dir]; ok {
		return list, nil
	}
	onDisk, err := fs.ReadDir(w.root.FS(), w.disk[dir])
	if err != nil && (!errors.Is(err, fs.ErrNotExist) || len(w.below[dir]) == 0) {
		return nil, files.Cause(err)
	}
	there := map[string]bool{}
	for _, e := range onDisk {
		there[e.Name()] = true
	}
	var gone []string // of the index, by name
	for _, at := range w.below[dir] {
		if !there[path.Base(at)] {
			gone = append(gone, path.Base(at))
		}
	}
	var list []entry
	for _, e := range onDisk {
		name := e.Name()
		if strings.EqualFold(name, ".git") {
			continue // Git keeps it for itself, and it may have credentials
		}
		if renamed, err := w.otherCase(gone, dir, name); err != nil {
			return nil, err
		} else if renamed != "" {
			name = renamed
			gone = slices.DeleteFunc(gone, func(g string) bool { return g == name })
		}
		at := path.Join(dir, name)
		w.disk[at] = path.Join(w.disk[dir], e.Name())
		mode, err := w.modeOf(at, e.Type())
		if err != nil {
			return nil, err
		}
		list = append(list, entry{name, mode, at})
	}
	for _, name := range gone {
		at := path.Join(dir, name)
		if mode := w.missing(at); mode != "" {
			w.disk[at] = path.Join(w.disk[dir], name)
			list = append(list, entry{name, mode, at})
		}
	}
	w.listed[dir] = list
	return list, nil
}

// otherCase returns the name that the index has for a file whose name on disk differs only
// in case, on a file system for which that is the same name; "" for none.
func (w *working) otherCase(gone []string, dir, name string) (string, error) {
	if slices.Contains(w.below[dir], path.Join(dir, name)) {
		return "", nil
	}
	i := slices.IndexFunc(gone, func(g string) bool { return strings.EqualFold(g, name) })
	if i < 0 {
		return "", nil
	}
	same, err := w.option("core.ignorecase", false)
	if err != nil || !same {
		return "", err
	}
	return gone[i], nil
}

// modeOf is the mode of an entry by what it is on disk, and by what Git takes it for.
func (w *working) modeOf(at string, on fs.FileMode) (string, error) {
	t, known := w.files[at]
	switch {
	case known && t.mode == modeSubmodule:
		return modeSubmodule, nil
	case on.IsDir():
		_, err := w.root.Lstat(filepath.FromSlash(path.Join(w.disk[at], ".git")))
		if err == nil && len(w.below[at]) == 0 {
			return modeSubmodule, nil
		}
		return modeTree, nil
	case on&fs.ModeSymlink != 0:
		return modeLink, nil
	case !on.IsRegular():
		return modeOther, nil
	case known && t.mode == modeLink:
		links, err := w.option("core.symlinks", true)
		if err != nil {
			return "", err
		}
		if !links {
			return modeLink, nil
		}
	}
	return modeFile, nil
}

// missing is the mode of a file or directory of the index that is not on disk, and that is
// nevertheless not gone; "" for one that is.
func (w *working) missing(at string) string {
	if t, ok := w.files[at]; ok {
		if w.hidden(t) != "" || w.collides(at) {
			return t.mode
		}
		return ""
	}
	for _, below := range w.below[at] {
		if w.missing(below) != "" {
			return modeTree
		}
	}
	return ""
}

// hidden says why Git would not show that a file differs; "" if it would.
func (w *working) hidden(t tracked) string {
	switch {
	case t.unmerged:
		return "merge conflict"
	case t.skip:
		return "skip-worktree"
	case t.assume:
		return "assume-unchanged"
	}
	return ""
}

// collides reports whether the file system has one file for this and another of the index.
func (w *working) collides(at string) bool {
	other := slices.ContainsFunc(w.below[path.Dir(at)], func(o string) bool { return o != at && strings.EqualFold(o, at) })
	if !other {
		return false
	}
	same, err := w.option("core.ignorecase", false)
	return err != nil || same
}

// file reads a file as Git would store it.
func (w *working) file(at string) (object, error) {
	w.mu.Lock()
	onDisk := filepath.FromSlash(w.disk[at])
	w.mu.Unlock()
	t, known := w.files[at]
	if known && t.unmerged {
		return object{}, files.Unreadable{Name: at, Why: "has a merge conflict", Do: "resolve it, and type",
			Type: "git add " + quoted(at)}
	}
	o := object{kind: "blob"}
	data, size, err := w.read(onDisk)
	switch {
	case errors.Is(err, fs.ErrNotExist) && known && w.hidden(t) != "":
		return o, w.leftOut(t)
	case errors.Is(err, fs.ErrNotExist) && known && w.collides(at):
		return o, files.Unreadable{Name: at, Why: "and another file differ only in case, and this file system keeps one of " +
			"them", Do: "rename one of them in Git"}
	case err != nil:
		return o, err
	}
	if o.size, o.data = size, data; data == nil && size > 0 {
		return o, nil // too large for a configuration
	}
	if known && sum(t.id, data) == t.id {
		return o, nil
	}
	if o.data, err = w.stored(at, t, data); err != nil {
		return o, err
	}
	o.size = int64(len(o.data))
	if known && w.hidden(t) != "" && sum(t.id, o.data) != t.id {
		return o, w.leftOut(t)
	}
	return o, nil
}

// read returns the bytes of a file, or the path that a link leads to; no bytes and the size
// of what is too large.
func (w *working) read(onDisk string) ([]byte, int64, error) {
	info, err := w.root.Lstat(onDisk)
	if err != nil {
		return nil, 0, err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		to, err := w.root.Readlink(onDisk)
		return []byte(filepath.ToSlash(to)), int64(len(to)), err
	}
	if info.Size() > maxObject || !info.Mode().IsRegular() {
		return nil, max(info.Size(), 1), nil
	}
	file, err := w.root.Open(onDisk)
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxObject+1))
	return data, int64(len(data)), err
}

// stored returns what git add would store of a file, or what the commit has if the file is as a
// checkout writes it: a commit may have line ends or keywords that git add would convert, and
// Flux and the controller read what it has. Only a file with line ends of Windows, with keywords
// or in another encoding is converted without a filter.
func (w *working) stored(at string, t tracked, data []byte) ([]byte, error) {
	if t.mode == modeLink {
		return data, nil
	}
	filter, encoding, err := w.attributes(at)
	switch {
	case err != nil:
		return nil, err
	case filter == "lfs":
		return nil, files.Pointer(at)
	case filter != "":
		return nil, files.Unreadable{Name: at, Why: fmt.Sprintf("has the filter %q, a program that lkeplan does not run",
			filter), Do: "take it out of the pattern in .gitattributes, as with \"" + at + " -filter\""}
	case encoding == "" && !bytes.Contains(data, []byte("\r\n")) && !bytes.Contains(data, []byte("$Id")):
		return data, nil
	}
	if t.id != "" {
		out, err := w.checkedOut(at, t.id)
		if err != nil {
			return nil, err
		}
		if bytes.Equal(out, data) {
			o, err := w.object(t.id)
			return o.data, err
		}
	}
	return w.clean(at, data)
}

// leftOut says that a file is not what the commit has, and that Git does not show it.
func (w *working) leftOut(t tracked) error {
	if w.hidden(t) == "assume-unchanged" {
		return files.Unreadable{Name: t.path, Why: "is not as Git has it, and is marked assume-unchanged, so that Git does " +
			"not show it", Do: "type", Type: "git update-index --no-assume-unchanged " + quoted(t.path)}
	}
	if sparse, err := w.option("core.sparseCheckout", false); err == nil && sparse {
		dir := path.Dir(t.path)
		if dir == "." {
			dir = t.path
		}
		return files.Unreadable{Name: t.path, Why: "is left out by this sparse checkout", Do: "name directories that are " +
			"checked out, or type", Type: "git sparse-checkout add " + quoted(dir)}
	}
	return files.Unreadable{Name: t.path, Why: "is not as Git has it, and is marked skip-worktree, so that Git does not " +
		"show it", Do: "type", Type: "git update-index --no-skip-worktree " + quoted(t.path)}
}

// sum is the name that Git gives a file, by the kind of hash that another name is.
func sum(like string, data []byte) string {
	var h hash.Hash = sha1.New()
	if len(like) == hex.EncodedLen(sha256.Size) {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", len(data))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}
