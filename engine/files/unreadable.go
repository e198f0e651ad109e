package files

import (
	"fmt"
	"strings"
)

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
