package fleet

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/source"
	"github.com/lkeplan/lkeplan/engine/workspace"
)

// A Selection says which directories are meant.
type Selection struct {
	Arguments []string // directories; none stands for the working directory
	Recursive bool     // all clusters at and below them
}

// A Member is one of several directories.
type Member struct {
	Dir string // as it is named to people
	*Repository
	Below string // the directory within the repository
	Gone  bool   // the working tree does not have it any more
}

// A Repository is what the directories in it have in common.
type Repository struct {
	Root string
	FS   fs.FS
	Opts compile.Options  // but for the directory
	Base *source.Revision // nil where none was asked for
}

// Options are the options of compiling the directory.
func (m Member) Options() compile.Options {
	opts := m.Opts
	opts.Dir = m.Below
	return opts
}

// Members finds the directories that a selection means, for this version of lkeplan: in
// the working tree and, where base opens it, in the commit that the change begins with.
// They are sorted.
func Members(from workspace.Options, version string, s Selection,
	base func(dir string) (*source.Revision, error)) (found []Member, err error) {
	args := s.Arguments
	if len(args) == 0 {
		args = []string{"."}
	}
	repositories := map[string]*Repository{}
	for _, arg := range args {
		root, below := from.Place(arg)
		repo := repositories[root]
		if repo == nil {
			repo = &Repository{Root: root}
			if repo.FS, repo.Opts, err = from.Open(root, version); err != nil {
				return nil, err
			}
			if base != nil {
				if repo.Base, err = base(root); err != nil {
					return nil, err
				}
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
		return nil, fmt.Errorf("there is no directory with a cluster block in %s", strings.Join(args, ", "))
	}
	return found, nil
}

// below finds the directories that one argument names.
func (s Selection) below(arg, below string, repo *Repository) (found []Member, err error) {
	if !s.Recursive {
		m := Member{Dir: filepath.ToSlash(filepath.Clean(arg)), Repository: repo, Below: below}
		m.Gone = repo.Base != nil && !Has(repo.FS, below) && Has(repo.Base.FS, below)
		return []Member{m}, m.leftOut()
	}
	directories, err := Find(repo.FS, below)
	if err != nil {
		return nil, err
	}
	if repo.Base != nil {
		before, err := Find(repo.Base.FS, below)
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
		m := Member{
			Dir: filepath.ToSlash(filepath.Join(arg, rel)), Repository: repo, Below: path.Clean(dir),
			Gone: !Has(repo.FS, dir),
		}
		if err := m.leftOut(); err != nil {
			return nil, err
		}
		found = append(found, m)
	}
	return found, nil
}

// leftOut is an error where the directory seems to be gone, and is only not checked out.
func (m Member) leftOut() error {
	if !m.Gone || m.Base == nil {
		return nil
	}
	leftOut, err := m.Base.LeftOut(m.Below)
	if err != nil {
		return fmt.Errorf("find out whether %s is gone: %w", m.Dir, err)
	}
	if !leftOut {
		return nil
	}
	return fmt.Errorf("%s is not in this sparse checkout, so there is no telling what becomes of it: name the "+
		"directories that are meant, or type:\n  git sparse-checkout add %s", m.Dir, m.Below)
}

// Reached reports whether a change can reach the directory.
func (m Member) Reached() (bool, error) {
	if m.Gone || m.Base == nil || !Has(m.Base.FS, m.Below) {
		return true, nil
	}
	if changed, err := m.valuesDiffer(); changed || err != nil {
		return changed, err
	}
	return Reaches(m.Base.FS, m.FS, m.Below, m.Opts.Options)
}

// valuesDiffer reports whether the base has other values of variables in the files that
// were named.
func (m Member) valuesDiffer() (bool, error) {
	for _, f := range m.Opts.VarFiles {
		if f.Path == "" {
			continue
		}
		before, err := m.Base.Read(f.Path)
		switch {
		case errors.Is(err, source.ErrUntracked):
		case errors.Is(err, fs.ErrNotExist), err == nil && !bytes.Equal(before, f.Data):
			return true, nil
		case err != nil:
			return true, fmt.Errorf("read %s of the base: %w", f.Path, err)
		}
	}
	return false, nil
}

// Outside is an error where what is made of a directory cannot have its name below
// another.
func (m Member) Outside() error {
	if filepath.IsLocal(filepath.FromSlash(m.Dir)) {
		return nil
	}
	return fmt.Errorf("%s is not below the working directory, so there is no name for what is made of it", m.Dir)
}
