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

// tracked is a file in the index.
type tracked struct {
	path, mode, id string
	skip           bool // skip-worktree: a sparse checkout omits it
	assume         bool // assume-unchanged
	unmerged       bool
}

// checkout is what is known about a working tree in addition to its files. Paths are relative to the
// opened directory.
type checkout interface {
	// index lists the files at and below the directory.
	index() ([]tracked, error)
	// attributes returns the filter and the encoding of a file in .gitattributes; "" for none.
	attributes(path string) (filter, encoding string, err error)
	// clean returns what git add would store for a file without a filter. It runs no program that the
	// repository names.
	clean(path string, data []byte) ([]byte, error)
	// checkedOut returns what a checkout writes for the blob of a file without a filter.
	checkedOut(path, id string) ([]byte, error)
	// object returns an object of the repository by any name that Git understands; errMissing if there is none.
	object(name string) (object, error)
	// option returns a boolean setting.
	option(name string, otherwise bool) (bool, error)
}

// Working returns the working tree at and below a directory as git add would store it. So it has the
// same form as commits: without line ends, keywords and encodings that a checkout has changed. It
// contains files that are in no commit, including ignored files. The error is files.Unreadable for a
// file whose change Git does not show, or that the checkout omits. The error is ErrNoRepository for a
// plain directory, even if it has a .git that is not a repository.
func Working(ctx context.Context, dir string) (fs.FS, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	s := &Source{getenv: os.Getenv}
	if DotGit(abs) != "" {
		s.getenv = func(string) string { return "" } // the variables of a hook may concern another repository
	}
	err = s.open(ctx, abs)
	if errors.Is(err, errNone) {
		return nil, ErrNoRepository
	}
	at := checkout(s.program)
	if errors.Is(err, errOwner) || errors.Is(err, errNoProgram) { // the library runs nothing: the owner does not matter
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

// working is the tree of a working tree. The ID of an entry is its path in the index.
type working struct {
	checkout
	root  *os.Root
	files map[string]tracked  // of the index, by path
	below map[string][]string // paths of the index, by their directory

	mu     sync.Mutex
	disk   map[string]string // the path on disk, by the path in the index
	listed map[string][]entry
}

// list returns the entries of a directory, and those that are only in the index.
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
			continue // internal to Git, and may contain credentials
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

// otherCase returns the name in the index of a file whose name on disk differs only in case, on a file
// system that ignores case; "" for none.
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

// modeOf is the mode of an entry, by its type on disk and by its mode in the index.
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

// missing is the mode of a file or directory in the index that is not on disk, but is not deleted
// either; "" if it is deleted.
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

// hidden is why Git would not show that a file differs; "" if it would.
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

// collides reports whether the file system has only one file for this and another file in the index.
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
		return o, files.Unreadable{Name: at, Why: "and another file differ only in case, and this file system stores only one " +
			"of them", Do: "rename one of them in Git"}
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

// read returns the bytes of a file, or the target of a link. For a file that is too large it returns
// its size without bytes.
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

// stored returns what git add would store for a file, or the content in the commit if the file is
// unchanged since the checkout: a commit can have line ends or keywords that git add would convert, and
// Flux and the controller read the commit. Without a filter, only a file with Windows line ends, with
// keywords or in another encoding is converted.
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
			filter), Do: "exclude it from the pattern in .gitattributes, as with \"" + at + " -filter\""}
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

// leftOut is the error of a file that differs from the commit, which Git does not show.
func (w *working) leftOut(t tracked) error {
	if w.hidden(t) == "assume-unchanged" {
		return files.Unreadable{Name: t.path, Why: "differs from the commit, but is marked assume-unchanged, so Git does " +
			"not show it", Do: "type", Type: "git update-index --no-assume-unchanged " + quoted(t.path)}
	}
	if sparse, err := w.option("core.sparseCheckout", false); err == nil && sparse {
		dir := path.Dir(t.path)
		if dir == "." {
			dir = t.path
		}
		return files.Unreadable{Name: t.path, Why: "is omitted by this sparse checkout", Do: "select directories that are " +
			"checked out, or type", Type: "git sparse-checkout add " + quoted(dir)}
	}
	return files.Unreadable{Name: t.path, Why: "differs from the commit, but is marked skip-worktree, so Git does not " +
		"show it", Do: "type", Type: "git update-index --no-skip-worktree " + quoted(t.path)}
}

// sum is the hash that Git gives a file, of the same type as another hash.
func sum(like string, data []byte) string {
	var h hash.Hash = sha1.New()
	if len(like) == hex.EncodedLen(sha256.Size) {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", len(data))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}
