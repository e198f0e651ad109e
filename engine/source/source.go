// Package source gives a directory of configuration as a commit of its local Git
// repository has it, whatever lies uncommitted in the working tree.
//
// It reads local files only: it clones nothing, knows no network and does not
// parse the files.
package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5"
)

// Source is a directory of configuration.
type Source struct {
	repo *git.Repository // nil for a directory outside of any repository
	dir  string          // in the repository, with slashes; "" is its root
}

// Revision is the configuration of one commit.
type Revision struct {
	ID  string // the commit's hash
	FS  fs.FS  // of the repository
	Dir string // the directory of the configuration within FS; "" is its root
}

// Open returns the source at a path. The error says what is wrong with the
// path.
func Open(path string) (*Source, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(abs)
	if err != nil {
		return nil, fmt.Errorf("open the configuration: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a directory", path)
	}
	repo, err := git.PlainOpenWithOptions(abs, &git.PlainOpenOptions{DetectDotGit: true})
	if errors.Is(err, git.ErrRepositoryNotExists) {
		return &Source{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open the Git repository of %s: %w", path, err)
	}
	dir, err := dirIn(repo, abs)
	if err != nil {
		return nil, fmt.Errorf("find %s in its Git repository: %w", path, err)
	}
	return &Source{repo: repo, dir: dir}, nil
}

// dirIn returns the path of a directory in the repository's working tree.
func dirIn(repo *git.Repository, abs string) (string, error) {
	tree, err := repo.Worktree()
	if err != nil {
		return "", err
	}
	top, err := filepath.EvalSymlinks(tree.Filesystem.Root())
	if err != nil {
		return "", err
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return "", err
	}
	rel, err := filepath.Rel(top, abs)
	if err != nil || rel == "." {
		return "", err
	}
	return filepath.ToSlash(rel), nil
}
