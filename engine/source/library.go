package source

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
)

// library is a repository without the program git. It runs nothing.
type library struct {
	repo  *git.Repository
	cuts  bool  // it is shallow
	owner error // why the program git does not read it; nil if there is no such program
}

// noGit is what to do about what the library cannot read.
const noGit = "; install git, which reads it"

func (s *Source) openLibrary(abs string) error {
	if linked, err := filepath.EvalSymlinks(abs); err == nil {
		abs = linked
	}
	repo, err := git.PlainOpenWithOptions(abs, &git.PlainOpenOptions{DetectDotGit: true, EnableDotGitCommonDir: true})
	if errors.Is(err, git.ErrRepositoryNotExists) && dotGit(abs) == "" && s.getenv("GIT_DIR") == "" {
		return ErrNoRepository
	}
	if errors.Is(err, git.ErrRepositoryNotExists) {
		return fmt.Errorf("read the Git repository of %s: %w%s", abs, errNone, noGit)
	}
	if err != nil {
		return fmt.Errorf("read the Git repository of %s: %w%s", abs, err, noGit)
	}
	tree, err := repo.Worktree()
	if err != nil {
		return fmt.Errorf("find the working tree of %s: %w%s", abs, err, noGit)
	}
	ends, err := repo.Storer.Shallow()
	if err != nil {
		return fmt.Errorf("read where the clone ends: %w", err)
	}
	s.top = tree.Filesystem.Root()
	s.history = library{repo: repo, cuts: len(ends) > 0}
	cfg, err := repo.Config()
	s.submodule = err == nil && cfg.Core.Worktree != ""
	return nil
}

func (l library) shallow() bool { return l.cuts }

func (l library) object(name string) (object, error) {
	hash := plumbing.NewHash(name)
	if ref, ok := strings.CutSuffix(name, "^{commit}"); ok {
		resolved, err := l.repo.ResolveRevision(plumbing.Revision(ref))
		if err != nil {
			return object{}, errMissing
		}
		hash = *resolved
	}
	found, err := l.repo.Storer.EncodedObject(plumbing.AnyObject, hash)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return object{}, fmt.Errorf("%.12s: %w%s", hash, errMissing, noGit)
	}
	if err != nil {
		return object{}, fmt.Errorf("read %.12s: %w%s", hash, err, noGit)
	}
	o := object{id: hash.String(), kind: found.Type().String(), size: found.Size()}
	if o.size > maxObject {
		return o, nil
	}
	r, err := found.Reader()
	if err != nil {
		return o, err
	}
	defer r.Close()
	o.data, err = io.ReadAll(r)
	return o, err
}

func (l library) mergeBases(a, b string) (ids []string, err error) {
	from, err := l.repo.CommitObject(plumbing.NewHash(a))
	if err != nil {
		return nil, err
	}
	to, err := l.repo.CommitObject(plumbing.NewHash(b))
	if err != nil {
		return nil, err
	}
	bases, err := from.MergeBase(to)
	if err != nil {
		if l.cuts && errors.Is(err, plumbing.ErrObjectNotFound) {
			return nil, nil
		}
		return nil, fmt.Errorf("find where the change begins: %w%s", err, noGit)
	}
	for _, c := range bases {
		ids = append(ids, c.Hash.String())
	}
	return ids, nil
}

// cut says yes for every shallow clone: the library cannot tell.
func (l library) cut(_, _, _ string) (bool, error) { return l.cuts, nil }

func (l library) symbolic(name string) (string, error) {
	ref, err := l.repo.Reference(plumbing.ReferenceName(name), false)
	if errors.Is(err, plumbing.ErrReferenceNotFound) || err == nil && ref.Type() != plumbing.SymbolicReference {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w%s", name, err, noGit)
	}
	return ref.Target().String(), nil
}

func (l library) branches() (names []string, err error) {
	refs, err := l.repo.Branches()
	if err != nil {
		return nil, err
	}
	err = refs.ForEach(func(ref *plumbing.Reference) error {
		names = append(names, ref.Name().Short())
		return nil
	})
	return names, err
}

func (l library) remotes() (names []string, err error) {
	remotes, err := l.repo.Remotes()
	for _, r := range remotes {
		names = append(names, r.Config().Name)
	}
	return names, err
}
