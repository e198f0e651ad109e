package revision

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/source"
)

// Git selects the commit that a directory is compared with.
type Git struct {
	Dir string
	Ref string // a commit, branch or tag; "" for the base of the change
	// Cluster is the name of the directory's cluster: if the commit has another directory for it
	// instead of this one, the directory has been renamed.
	Cluster string
	// Directory is the name of the directory among those of its cluster.
	Directory string
	Work      fs.FS               // the working tree of the repository
	Getenv    func(string) string // of the process: CI systems report there where a change goes
	// At is the commit if it has been opened for several directories, and Below is the directory
	// in it.
	At    *source.Revision
	Below string
}

// Commit is a directory in a commit.
type Commit struct {
	ID          string         // "" for the state before the first commit
	Why         string         // why it is the base; "" if the user selected it
	Renamed     string         // the directory of the cluster in the commit, if it differs; "" otherwise
	Missing     bool           // the commit lacks the directory: Compiled is empty
	Lacks       []string       // files of values that were added since
	Broken      string         // the ID of the base, if it does not compile and this commit is an earlier one; "" otherwise
	Compiled    compile.Result // must not be used if Diagnostics have errors
	Diagnostics hcl.Diagnostics
}

// Revision describes the commit in a plan.
func (c Commit) Revision() plan.Revision {
	why := c.Why
	switch {
	case c.Missing && c.ID != "":
		why = joinSentences(why, "it does not have this directory")
	case c.Renamed != "":
		why = joinSentences(why, "there the directory of this cluster is "+c.Renamed)
	}
	if len(c.Lacks) > 0 && !c.Missing {
		why = joinSentences(why, "it does not have "+strings.Join(c.Lacks, ", "))
	}
	return plan.Revision{Kind: "git", Ref: fmt.Sprintf("%.12s", c.ID), Why: why}
}

func joinSentences(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "; ")
}

// Compile compiles the directory in the commit. If there is no such commit, or if it is unknown, the
// error contains what to type. If the base of the change does not compile, it compiles the last commit before it that
// does.
func (g Git) Compile(ctx context.Context, opts compile.Options) (Commit, error) {
	rev, err := g.open(ctx, opts)
	if err != nil {
		return Commit{}, err
	}
	c, err := g.compile(ctx, rev, opts)
	if err != nil || g.Ref != "" || !c.Diagnostics.HasErrors() {
		return c, err
	}
	for before, n := rev, 0; n < mostBefore; n++ {
		if before, err = before.Parent(); err != nil {
			return c, nil
		}
		if g.At != nil {
			before.Dir = g.Below
		}
		earlier, err := g.compile(ctx, before, opts)
		if err != nil || earlier.Missing { // its own guards would then be those of the change
			return c, nil
		}
		if !earlier.Diagnostics.HasErrors() {
			earlier.Broken = rev.ID
			earlier.Why = fmt.Sprintf("the last commit that compiles before %.12[1]s; %.12[1]s is the %[2]s", rev.ID, strings.TrimPrefix(rev.Why, "the "))
			return earlier, nil
		}
	}
	return c, nil
}

// mostBefore is the maximum number of commits before a base that are compiled.
const mostBefore = 20

func (g Git) compile(ctx context.Context, rev source.Revision, opts compile.Options) (Commit, error) {
	var err error
	c := Commit{ID: rev.ID, Why: rev.Why}
	opts.Dir = rev.Dir
	if opts.VarFiles, c.Lacks, err = readValues(rev, opts.VarFiles); err != nil {
		return Commit{}, err
	}
	if !hasConfiguration(rev.FS, rev.Dir) {
		if c.Renamed, err = g.renamed(ctx, rev, opts); err != nil {
			return Commit{}, err
		}
		opts.Dir = c.Renamed
		c.Missing = c.Renamed == ""
	}
	if c.Missing {
		return c, rev.Lacking()
	}
	c.Compiled, c.Diagnostics = compile.Dir(ctx, rev.FS, opts)
	return c, rev.Lacking()
}

// readValues reads the files of values in the commit, because they are part of a change. Files outside of
// the repository, and files in no commit, are the same before the change.
func readValues(rev source.Revision, named []config.File) (files []config.File, lacks []string, err error) {
	for _, f := range named {
		if f.Path == "" {
			files = append(files, f)
			continue
		}
		data, err := rev.Read(f.Path)
		switch {
		case err == nil:
			f.Data = data
		case errors.Is(err, fs.ErrNotExist):
			lacks = append(lacks, f.Name)
			continue
		case !errors.Is(err, source.ErrUntracked):
			return nil, nil, fmt.Errorf("read %s of the base: %w", f.Path, err)
		}
		files = append(files, f)
	}
	return files, lacks, nil
}

// open opens the commit.
func (g Git) open(ctx context.Context, opts compile.Options) (rev source.Revision, err error) {
	if g.At != nil {
		rev = *g.At
		rev.Dir = g.Below
		return rev, nil
	}
	return openCommit(ctx, g.Dir, g.Ref, g.Getenv, func(head source.Revision) (bool, error) {
		return edited(ctx, head, g.Work, opts)
	})
}

// openCommit opens a commit of the repository of a directory; without a ref, the base of the change, which can depend
// on whether the selected directories have been edited since HEAD.
func openCommit(ctx context.Context, dir, ref string, getenv func(string) string,
	edited func(head source.Revision) (bool, error)) (source.Revision, error) {
	s, err := source.Open(ctx, dir, getenv)
	switch {
	case errors.Is(err, source.ErrNoRepository):
		return source.Revision{}, fmt.Errorf("%w: %s is in no repository; select a base with --base dir:PATH", err, dir)
	case err != nil:
		return source.Revision{}, err
	case ref != "":
		return s.At(ref)
	}
	base, err := s.Base()
	if err != nil || base.Unedited == nil {
		return base, err
	}
	if changed, err := edited(base); err != nil || changed {
		return base, err
	}
	return base.Unedited()
}
