// Package files reads, replaces, creates and appends to files on disk. It also defines the error of a file
// that cannot be read as Git stores it.
//
// Replacing a regular file is atomic: a reader gets either the old bytes or the new ones. Links, pipes and
// devices are written through. The package does not depend on the content of files.
package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Read reads a file; what describes it in errors.
func Read[T any](what, name string, from func(io.Reader) (T, error)) (value T, err error) {
	file, err := os.Open(name)
	if err == nil {
		defer file.Close()
		value, err = from(file)
	}
	if err != nil {
		return value, fmt.Errorf("%s %s: %w", what, name, Cause(err))
	}
	return value, nil
}

// Replace writes a file. If a regular file exists, it is replaced and keeps its mode. The bytes are first
// written next to it. A file that is mounted, or whose directory cannot be written, is written in place.
func Replace(name string, data []byte) error {
	info, err := os.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		return writeError(name, writeThrough(name, data))
	}
	root, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return writeError(name, err)
	}
	defer root.Close()
	err = replaceFile(root, filepath.Base(name), data)
	if info != nil && slices.ContainsFunc([]error{fs.ErrPermission, syscall.EROFS, syscall.EBUSY, syscall.EXDEV},
		func(target error) bool { return errors.Is(err, target) }) {
		err = writeThrough(name, data)
	}
	return writeError(name, err)
}

// writeThrough writes what a name stands for: the target of a link, a pipe, a device or an open file, to which it
// appends.
func writeThrough(name string, data []byte) error {
	for _, dir := range []string{"/dev/", "/proc/"} {
		if strings.HasPrefix(name, dir) {
			return writeFile(name, data, os.O_APPEND)
		}
	}
	return writeFile(name, data, os.O_TRUNC)
}

// ReplaceIn is Replace for a file below a root, which links cannot leave. A file that already has the
// same bytes is not touched.
func ReplaceIn(root *os.Root, name string, data []byte) error {
	if old, err := root.ReadFile(name); err == nil && bytes.Equal(old, data) {
		return nil
	}
	return writeError(name, replaceFile(root, name, data))
}

func replaceFile(root *os.Root, name string, data []byte) (err error) {
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
	if err := root.Chmod(tmp, mode); err != nil { // regardless of the umask
		return err
	}
	return root.Rename(tmp, name)
}

// Create writes a file that must not exist; the error is fs.ErrExist if it does.
func Create(name string, data []byte) error {
	return writeError(name, writeFile(name, data, os.O_EXCL))
}

// Append writes to the end of a file, which is created if it does not exist.
func Append(name string, data []byte) error {
	return writeError(name, writeFile(name, data, os.O_APPEND))
}

func writeFile(name string, data []byte, how int) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|how, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}

// writeError adds the name of the file that could not be written to an error; nil for no error.
func writeError(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("write %s: %w", name, Cause(err))
}

// Cause strips the operation and the path from an error of a file, for messages that already contain
// them.
func Cause(err error) error {
	if e, ok := err.(*fs.PathError); ok {
		return e.Err
	}
	return err
}

// Unreadable is the error of a file in a commit that cannot be read as Git stores it. Without this
// error, a plan could show a change that no person has made, or hide one.
type Unreadable struct {
	Name string // of the file, in the repository
	Why  string // follows the name: "is in the submodule vendor"
	Do   string // what to do about it
	Type string // a shell command that does it; "" for none
}

// Error implements error.
func (u Unreadable) Error() string {
	if u.Type == "" {
		return fmt.Sprintf("%s %s; %s", u.Name, u.Why, u.Do)
	}
	return fmt.Sprintf("%s %s; %s:\n  %s", u.Name, u.Why, u.Do, u.Type)
}

// Pointer returns the error of a file that Git LFS stores elsewhere.
func Pointer(name string) error {
	return Unreadable{Name: name, Why: "is stored in Git LFS, and Git has only a pointer to it",
		Do: "store it in Git: add it again after", Type: "git lfs untrack " + name}
}

// Link returns the error of reading through a symbolic link in a repository. Flux omits links from its
// artifacts, so its controllers would see another configuration.
func Link(name string) error {
	return Unreadable{Name: name, Why: "is a symbolic link, and Flux omits links", Do: insteadOfLink}
}

// NotFetched returns the error of reading what a commit has as a link or in a submodule, which a fetch
// omits.
func NotFetched(name string) error {
	return Unreadable{Name: name,
		Why: "is a symbolic link, behind one or in a submodule, and the controller fetches none of these", Do: insteadOfLink}
}

const insteadOfLink = "use a file or a directory instead, or call a module"

// IsPointer reports whether a file is a pointer of Git LFS, by its specification, or by that under its
// former name.
func IsPointer(data []byte) bool {
	begins := func(with string) bool { return strings.HasPrefix(string(data[:min(len(data), 64)]), with) }
	return len(data) < 1024 &&
		(begins("version https://git-lfs.github.com/spec/") || begins("version https://hawser.github.com/spec/"))
}
