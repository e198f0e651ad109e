package source

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/go-git/go-git/v5"
)

// library is a working tree without the program git. It runs nothing, and reads no commits.
type library struct {
	repo  *git.Repository
	owner error // why the program git does not read it; nil if there is no such program
}

// noGit is what to do about what only the program git can read.
const noGit = "; install git, which reads it"

// openLibrary opens the repository around a directory. Owner is why the program git does not.
func openLibrary(abs string, owner error) (library, error) {
	if linked, err := filepath.EvalSymlinks(abs); err == nil {
		abs = linked
	}
	repo, err := git.PlainOpenWithOptions(abs, &git.PlainOpenOptions{DetectDotGit: true, EnableDotGitCommonDir: true})
	if errors.Is(err, git.ErrRepositoryNotExists) {
		return library{}, ErrNoRepository
	}
	if err != nil {
		return library{}, fmt.Errorf("read the Git repository of %s: %w%s", abs, err, noGit)
	}
	return library{repo, owner}, nil
}
