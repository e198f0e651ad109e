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
	"strings"
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

// Unreadable is the error of a file that a commit has and that cannot be read as Git means
// it. Without it a plan would show a change that no person has made, or hide one.
type Unreadable struct {
	Name string // of the file, in the repository
	Why  string // as it follows the name: "is in the submodule vendor"
	Do   string // what to do about it
	Type string // a command of a shell that does; "" for none
}

// Error implements error.
func (u Unreadable) Error() string {
	if u.Type == "" {
		return fmt.Sprintf("%s %s; %s", u.Name, u.Why, u.Do)
	}
	return fmt.Sprintf("%s %s; %s:\n  %s", u.Name, u.Why, u.Do, u.Type)
}

// Pointer is the error of a file that Git LFS keeps elsewhere.
func Pointer(name string) error {
	return Unreadable{Name: name, Why: "is kept in Git LFS, and Git has only a pointer to it",
		Do: "keep it in Git itself: add it again after", Type: "git lfs untrack " + name}
}

// Link is the error of what is read through a link of a repository. Flux leaves links out of its
// artifacts, so its controllers would see another configuration.
func Link(name string) error {
	return Unreadable{Name: name, Why: "is a link, and Flux leaves links out", Do: insteadOfLink}
}

// NotFetched is the error of what a commit has as a link or in a submodule, and a fetch leaves
// out.
func NotFetched(name string) error {
	return Unreadable{Name: name, Why: "is a link, behind a link or in a submodule, and the controller fetches none of these",
		Do: insteadOfLink}
}

const insteadOfLink = "put a file or a directory there, or call a module"

// IsPointer reports whether a file is a pointer of Git LFS, by its specification, or by that
// of the time when it had another name.
func IsPointer(data []byte) bool {
	begins := func(with string) bool { return strings.HasPrefix(string(data[:min(len(data), 64)]), with) }
	return len(data) < 1024 &&
		(begins("version https://git-lfs.github.com/spec/") || begins("version https://hawser.github.com/spec/"))
}
