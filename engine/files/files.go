// Package files writes files to disk: in the place of others, new, or at the end
// of what there is. It has the error of a file that is not what Git means.
//
// A file that is replaced is whole at every moment: whoever reads it gets the old
// bytes or the new ones. The package knows nothing of what is in a file.
package files

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace writes a file, in the place of one that may be there and whose mode it
// gets. The bytes are first written next to it.
func Replace(name string, data []byte) error {
	root, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return failed(name, err)
	}
	defer root.Close()
	return failed(name, replace(root, filepath.Base(name), data))
}

// ReplaceIn is Replace for a file below a root, which links do not lead out of. A
// file that has the same bytes already is not touched.
func ReplaceIn(root *os.Root, name string, data []byte) error {
	if old, err := root.ReadFile(name); err == nil && bytes.Equal(old, data) {
		return nil
	}
	return failed(name, replace(root, name, data))
}

func replace(root *os.Root, name string, data []byte) (err error) {
	mode := fs.FileMode(0o644)
	if info, err := root.Stat(name); err == nil {
		mode = info.Mode().Perm()
	}
	// Other processes may write the same file at the same time.
	tmp := fmt.Sprintf(".%s.%d.new", name, os.Getpid())
	if err := root.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	defer func() {
		if err != nil {
			root.Remove(tmp)
		}
	}()
	if err := root.WriteFile(tmp, data, mode); err != nil {
		return err
	}
	if err := root.Chmod(tmp, mode); err != nil { // whatever the umask says
		return err
	}
	return root.Rename(tmp, name)
}

// Create writes a file that must not be there; the error is fs.ErrExist if it is.
func Create(name string, data []byte) error {
	return failed(name, write(name, data, os.O_EXCL))
}

// Append writes to the end of a file, which is made if it is not there.
func Append(name string, data []byte) error {
	return failed(name, write(name, data, os.O_APPEND))
}

func write(name string, data []byte, how int) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|how, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}

// failed names the file that could not be written; nil for no error.
func failed(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("write %s: %w", name, Cause(err))
}

// Cause strips the operation and the path from an error of a file, for messages
// that name them already.
func Cause(err error) error {
	if e, ok := err.(*fs.PathError); ok {
		return e.Err
	}
	return err
}
