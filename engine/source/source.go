// Package source gives a directory of configuration as it is at one revision:
// a local directory as it stands, or, inside a Git repository, as the checked
// out commit has it, whatever lies uncommitted beside it.
//
// It reads local files alone: it clones nothing, knows no network and does not
// look into the files.
package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5"
)

// Source is where the configuration comes from.
type Source struct {
	root *os.Root        // of a plain directory
	repo *git.Repository // nil for a plain directory
	dir  string          // within root or repository, with slashes
}

// Revision is the configuration at one moment.
type Revision struct {
	ID  string // changes whenever the files do: the commit, or a digest of the files
	FS  fs.FS  // of the repository, or of the directory
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
		root, err := os.OpenRoot(abs)
		return &Source{root: root}, err
	}
	if err != nil {
		return nil, fmt.Errorf("open the Git repository of %s: %w", path, err)
	}
	dir, err := within(repo, abs)
	if err != nil {
		return nil, fmt.Errorf("find %s in its Git repository: %w", path, err)
	}
	return &Source{repo: repo, dir: dir}, nil
}

// within returns the path of a directory inside the repository's work tree.
func within(repo *git.Repository, abs string) (string, error) {
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

// Revision returns the configuration as it is now.
func (s *Source) Revision() (Revision, error) {
	if s.repo == nil {
		id, err := digest(s.root.FS())
		return Revision{ID: id, FS: s.root.FS()}, err
	}
	head, err := s.head()
	if err != nil {
		return Revision{}, err
	}
	return s.commit(head.Hash)
}
