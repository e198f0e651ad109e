package source

import (
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// ErrNoRepository says that a plain directory has no history to compare with.
var ErrNoRepository = errors.New("not a Git repository")

// At returns the configuration as a commit has it: a branch, a tag, or any
// other name that Git resolves. A directory that the commit does not have is
// empty there.
func (s *Source) At(ref string) (Revision, error) {
	if s.repo == nil {
		return Revision{}, ErrNoRepository
	}
	hash, err := s.repo.ResolveRevision(plumbing.Revision(ref))
	if err != nil {
		return Revision{}, fmt.Errorf("find %s: %w%s", ref, err, s.shallowHint())
	}
	return s.commit(*hash)
}

// trunks are where a change is taken to be going, unless somebody says
// otherwise: the remote's default branch, and what it is usually called.
var trunks = []plumbing.ReferenceName{
	"refs/remotes/origin/HEAD", "refs/remotes/origin/main", "refs/remotes/origin/master", "refs/heads/main",
	"refs/heads/master",
}

// MergeBase returns the configuration as it was where the checked out branch
// left the trunk: what a pull request is compared with. On the trunk itself it
// is the checked out commit.
func (s *Source) MergeBase() (Revision, error) {
	if s.repo == nil {
		return Revision{}, ErrNoRepository
	}
	head, err := s.head()
	if err != nil {
		return Revision{}, err
	}
	for _, name := range trunks {
		ref, err := s.repo.Reference(name, true)
		if err != nil {
			continue
		}
		trunk, err := s.repo.CommitObject(ref.Hash())
		if err != nil {
			return Revision{}, fmt.Errorf("read %s: %w%s", name.Short(), err, s.shallowHint())
		}
		bases, err := head.MergeBase(trunk)
		if err != nil || len(bases) == 0 {
			return Revision{},
				fmt.Errorf("%s and the checked out commit have no common ancestor here%s", name.Short(), s.shallowHint())
		}
		return s.commit(bases[0].Hash)
	}
	return s.commit(head.Hash)
}

func (s *Source) head() (*object.Commit, error) {
	head, err := s.repo.Head()
	if err != nil {
		return nil, fmt.Errorf("find the checked out commit: %w", err)
	}
	commit, err := s.repo.CommitObject(head.Hash())
	if err != nil {
		return nil, fmt.Errorf("read commit %s: %w", head.Hash(), err)
	}
	return commit, nil
}

func (s *Source) commit(hash plumbing.Hash) (Revision, error) {
	commit, err := s.repo.CommitObject(hash)
	if err != nil {
		return Revision{}, fmt.Errorf("read commit %s: %w%s", hash, err, s.shallowHint())
	}
	tree, err := commit.Tree()
	if err != nil {
		return Revision{}, fmt.Errorf("read the tree of commit %s: %w", hash, err)
	}
	return Revision{ID: hash.String(), FS: treeFS{tree}, Dir: s.dir}, nil
}

// shallowHint says what to do where history is missing because only a part was
// cloned, as CI systems do.
func (s *Source) shallowHint() string {
	if shallow, err := s.repo.Storer.Shallow(); err == nil && len(shallow) > 0 {
		return "; this clone is shallow: fetch all history (git fetch --unshallow; fetch-depth: 0 in a GitHub workflow)"
	}
	return ""
}
