// Package fetch gets the files of one revision into an empty directory: from an
// artifact of Flux's source-controller, a commit of a Git repository, or an
// archive that was packed here.
//
// A Child does so in a process of its own, as a server may be hostile.
//
// It writes only regular files that a configuration can read, of bounded number
// and size, because their author may want to exhaust the disk, the memory or the
// time of the reader. It knows no Kubernetes object, no credentials but those that
// it is given, and not the content of the files.
package fetch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/lkeplan/lkeplan/schemas"
)

// The bounds of the files that are written, in bytes: of all, and of one.
const (
	maxUnpacked = 20 << 20
	maxFile     = 256 << 10
)

// maxEntries bounds the number of files and directories of a source. Empty ones
// need no space in an archive, and a commit of a few trees, each of which holds
// the next one several times, has billions of them.
const maxEntries = 100_000

// tally counts what was found in a source.
type tally struct {
	entries int
	bytes   int64
}

// add counts an entry, and the directories that it takes to write it.
func (t *tally) add(name string, written bool) error {
	t.entries++
	if written {
		t.entries += strings.Count(name, "/")
	}
	if t.entries > maxEntries {
		return fmt.Errorf("it has more than %d files and directories; have the source ignore files that are not needed",
			maxEntries)
	}
	return nil
}

// A barrier stands in the place of a file that is not written. Who reads it gets an
// error; who does not need the file, none. Without it the file would be one that is
// not there, and pools would be missing that are seen in the repository.
type barrier struct {
	name string
	link bool // a link or a submodule, which is not followed; else a file that is too large
}

func barAll(dir string, barred []barrier) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, b := range barred {
		if err := b.put(root); err != nil {
			return err
		}
	}
	return nil
}

// put puts a link in the place of a link or submodule, which leads to itself, and a file that is
// too large, and takes no space, in the place of a large one.
func (b barrier) put(root *os.Root) error {
	at := filepath.Clean(filepath.FromSlash(b.name))
	if err := root.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return err
	}
	if err := root.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if b.link {
		return root.Symlink(filepath.Base(at), at)
	}
	file, err := root.Create(at)
	if err != nil {
		return err
	}
	return errors.Join(file.Truncate(maxFile+1), file.Close())
}

// WriteFiles writes the readable files of a map, by their names, into a directory.
func WriteFiles[Text string | []byte](dir string, files map[string]Text) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for name, text := range files {
		if !schemas.Readable(name) {
			continue
		}
		if err := root.WriteFile(name, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}
