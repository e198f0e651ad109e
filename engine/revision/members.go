package revision

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/source"
	"github.com/lkeplan/lkeplan/schemas"
)

// A Selection selects directories.
type Selection struct {
	Arguments []string // directories; none: the working directory
	Recursive bool     // all clusters at and below them
	// Compare also finds the directories that only the commit Ref contains, or, if it is "", the base of the change.
	Compare bool
	Ref     string
	Getenv  func(string) string // of the process
}

// A Member is one of the selected directories.
type Member struct {
	Dir string // as shown to users
	*Repository
	Below string // the directory within the repository
	Gone  bool   // the working tree no longer contains it
}

// A Repository is the common part of its directories.
type Repository struct {
	Root string
	FS   fs.FS
	Opts compile.Options  // without the directory
	Base *source.Revision // nil if none was requested
}

// Options returns the options for compiling the directory.
func (m Member) Options() compile.Options {
	opts := m.Opts
	opts.Dir = m.Below
	return opts
}

// Members finds the selected directories, sorted.
func Members(ctx context.Context, from Options, s Selection) (found []Member, err error) {
	args := s.Arguments
	if len(args) == 0 {
		args = []string{"."}
	}
	belows := map[string][]string{} // the arguments by their repository
	for _, arg := range args {
		root, below := from.Place(arg)
		belows[root] = append(belows[root], below)
	}
	repositories := map[string]*Repository{}
	for _, arg := range args {
		root, below := from.Place(arg)
		repo := repositories[root]
		if repo == nil {
			repo = &Repository{Root: root}
			if repo.FS, repo.Opts, err = from.Open(ctx, root); err != nil {
				return nil, err
			}
			if s.Compare {
				base, err := openCommit(ctx, root, s.Ref, s.Getenv, func(head source.Revision) (bool, error) {
					return s.edited(ctx, head, repo, belows[root])
				})
				if err != nil {
					return nil, err
				}
				repo.Base = &base
			}
			repositories[root] = repo
		}
		more, err := s.below(arg, below, repo)
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	slices.SortFunc(found, func(a, b Member) int { return cmp.Compare(a.Dir, b.Dir) })
	found = slices.CompactFunc(found, func(a, b Member) bool { return a.Root == b.Root && a.Below == b.Below })
	if len(found) == 0 {
		return nil, fmt.Errorf("%s contains no directory with a cluster block", strings.Join(args, ", "))
	}
	return found, nil
}

// below finds the directories of one argument.
func (s Selection) below(arg, below string, repo *Repository) (found []Member, err error) {
	if !s.Recursive {
		m := Member{Dir: filepath.ToSlash(filepath.Clean(arg)), Repository: repo, Below: below}
		m.Gone = repo.Base != nil && !HasCluster(repo.FS, below) && HasCluster(repo.Base.FS, below)
		return []Member{m}, nil
	}
	directories, err := FindClusters(repo.FS, below)
	if err != nil {
		return nil, err
	}
	if repo.Base != nil {
		before, err := FindClusters(repo.Base.FS, below)
		if err != nil {
			return nil, err
		}
		directories = append(directories, before...)
	}
	for _, dir := range directories {
		rel, err := filepath.Rel(filepath.FromSlash(below), filepath.FromSlash(dir))
		if err != nil {
			return nil, err
		}
		found = append(found, Member{
			Dir: filepath.ToSlash(filepath.Join(arg, rel)), Repository: repo, Below: path.Clean(dir),
			Gone: !HasCluster(repo.FS, dir),
		})
	}
	return found, nil
}

// edited reports whether any of the directories has been edited since a commit.
func (s Selection) edited(ctx context.Context, head source.Revision, repo *Repository, belows []string) (bool, error) {
	for _, below := range belows {
		directories := []string{below}
		if s.Recursive {
			now, err := FindClusters(repo.FS, below)
			if err != nil {
				return false, err
			}
			then, err := FindClusters(head.FS, below)
			if err != nil || !slices.Equal(now, then) {
				return true, err
			}
			directories = now
		}
		for _, dir := range directories {
			opts := repo.Opts
			opts.Dir = dir
			if edited, err := edited(ctx, head, repo.FS, opts); edited || err != nil {
				return edited, err
			}
		}
	}
	return false, nil
}

// edited reports whether a directory has been edited since a commit: a file that it is compiled from
// differs in the working tree, a file that it looks for was added or removed, or a file with values of
// variables differs. Other files do not matter.
func edited(ctx context.Context, head source.Revision, work fs.FS, opts compile.Options) (bool, error) {
	if HasCluster(head.FS, opts.Dir) != HasCluster(work, opts.Dir) {
		return true, nil
	}
	if differ, err := valuesDiffer(head, opts.VarFiles); differ || err != nil {
		return differ, err
	}
	if reached, err := Reaches(head.FS, work, opts.Dir, opts.Options); err != nil || !reached {
		return reached, err
	}
	looked := compile.Look(ctx, work, opts)
	for _, dir := range looked.Directories {
		if !slices.Equal(visibleNames(head.FS, dir), visibleNames(work, dir)) {
			return true, nil
		}
	}
	return slices.ContainsFunc(looked.Files, func(name string) bool {
		same, err := sameFile(head.FS, work, name)
		return err == nil && !same
	}), nil
}

// visibleNames returns the names in a directory that a configuration can see; none if it does not exist.
func visibleNames(fsys fs.FS, dir string) (seen []string) {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if e.IsDir() || schemas.Readable(e.Name()) {
			seen = append(seen, e.Name())
		}
	}
	return seen
}

// Reached reports whether a change can affect the directory.
func (m Member) Reached() (bool, error) {
	if m.Gone || m.Base == nil || !HasCluster(m.Base.FS, m.Below) {
		return true, nil
	}
	if changed, err := valuesDiffer(*m.Base, m.Opts.VarFiles); changed || err != nil {
		return changed, err
	}
	return Reaches(m.Base.FS, m.FS, m.Below, m.Opts.Options)
}

// valuesDiffer reports whether the named files contain other values of variables in a commit.
func valuesDiffer(base source.Revision, named []config.File) (bool, error) {
	for _, f := range named {
		if f.Path == "" {
			continue
		}
		before, err := base.Read(f.Path)
		switch {
		case errors.Is(err, source.ErrUntracked):
		case errors.Is(err, fs.ErrNotExist), err == nil && !bytes.Equal(before, f.Data):
			return true, nil
		case err != nil:
			return true, fmt.Errorf("read %s of a commit: %w", f.Path, err)
		}
	}
	return false, nil
}

// Outside returns an error if the directory is not below the working directory, so that its results
// cannot be named after it.
func (m Member) Outside() error {
	if filepath.IsLocal(filepath.FromSlash(m.Dir)) {
		return nil
	}
	return fmt.Errorf("%s is outside of the working directory, and results are named by their path in it; run the command in "+
		"a parent directory", m.Dir)
}
