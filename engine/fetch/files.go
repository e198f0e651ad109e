// Package fetch gets the files of one revision into an empty directory: from an
// artifact of Flux's source-controller, a commit of a Git repository, or an
// archive that was packed here.
//
// It writes only regular files that a configuration can read, of bounded number
// and size, because their author may want to exhaust the disk, the memory or the
// time of the reader. It knows no Kubernetes object, no credentials but those that
// it is given, and not the content of the files.
package fetch

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"strings"

	"github.com/lkeplan/lkeplan/schemas"
)

// Readable reports whether a configuration can read a file of this name and size
// in bytes.
func Readable(name string, size int64) bool { return schemas.Readable(name) && size <= maxFile }

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

// refuseLink is the error about a link with the name of a configuration file; nil
// for other names. Without the file behind the link, pools would be missing that
// are seen in the repository.
func refuseLink(name string) error {
	if !strings.HasSuffix(name, ".lke.hcl") && !strings.HasSuffix(name, ".lke.json") {
		return nil
	}
	return fmt.Errorf("%s is a link, and links are not followed: put a file there", name)
}

// Same reports whether two directories have the same readable files.
func Same(a, b string) (bool, error) {
	files, err := hashes(a)
	if err != nil {
		return false, err
	}
	others, err := hashes(b)
	return maps.Equal(files, others), err
}

// hashes returns the SHA-256 sums of the readable files of a directory, by their
// paths in it.
func hashes(dir string) (map[string][sha256.Size]byte, error) {
	sums := map[string][sha256.Size]byte{}
	root := os.DirFS(dir)
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil || leftOut(name, info) {
			return err
		}
		text, err := fs.ReadFile(root, name)
		sums[name] = sha256.Sum256(text)
		return err
	})
	return sums, err
}
