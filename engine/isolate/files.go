package isolate

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/lkeplan/lkeplan/schemas"
)

// The maximum size of the files that are written, in bytes: of all, and of one.
const (
	maxUnpacked = 20 << 20
	maxFile     = 256 << 10
)

// maxEntries is the maximum number of files and directories in an archive, in which empty ones need
// almost no space.
const maxEntries = 100_000

// A barrier is written instead of a file that is not fetched. Reading it is an error. Without barriers
// the file would be missing, and so would pools that are in the repository.
type barrier struct {
	name string
	link bool // a link, which is not followed; otherwise a file that is too large
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

// put writes a symbolic link to itself instead of a link, and a sparse file that is too large instead of
// a large file.
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

// WriteFiles writes the readable files of a map, with their names as keys, into a directory.
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
