package source

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/go-git/go-git/v5"
)

// library reads a working tree without the program git. It runs nothing, and reads no commits.
type library struct {
	repo  *git.Repository
	owner error // why git refuses to read it; nil if git is not installed
}

// noGit is what to do about something that only git can read.
const noGit = "; install git to read it"

// openLibrary opens the repository around a directory. owner is why git refuses to read it.
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
