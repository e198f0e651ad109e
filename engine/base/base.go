// Package base reads what a directory is compared with: a commit of its
// repository, a saved plan, or what was written down of a cluster.
//
// It finds and compiles; what follows from the comparison it does not know.
package base

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/files"
	"github.com/lkeplan/lkeplan/engine/source"
)

// Commit is a directory as a commit has it.
type Commit struct {
	ID          string
	Missing     bool           // the commit does not have the directory: Compiled is empty
	Compiled    compile.Result // not to be used where Diagnostics have errors
	Diagnostics hcl.Diagnostics
}

// AtCommit compiles a directory as a commit, branch or tag has it; as the merge
// base with the trunk, where ref is "". The error says what to fetch, or to write
// instead, where there is no such commit.
func AtCommit(ctx context.Context, dir, ref string, opts compile.Options) (Commit, error) {
	rev, err := revision(dir, ref)
	if err != nil {
		return Commit{}, err
	}
	c := Commit{ID: rev.ID}
	opts.Dir = rev.Dir
	if opts.Dir == "" {
		opts.Dir = "."
	}
	if _, err := fs.Stat(rev.FS, opts.Dir); errors.Is(err, fs.ErrNotExist) {
		c.Missing = true
		return c, nil
	}
	c.Compiled, c.Diagnostics = compile.Dir(ctx, rev.FS, opts)
	return c, nil
}

func revision(dir, ref string) (rev source.Revision, err error) {
	s, err := source.Open(dir)
	if err != nil {
		return rev, err
	}
	if ref == "" {
		rev, err = s.MergeBase()
	} else {
		rev, err = s.At(ref)
	}
	if errors.Is(err, source.ErrNoRepository) {
		where, _ := os.Getwd()
		return rev, fmt.Errorf("%s is in no Git repository; name what to compare with by --base dir:PATH", where)
	}
	return rev, err
}

// Plan reads a plan that was saved to a file.
func Plan(name string) (compare.Saved, error) { return read("plan", name, compare.ReadSaved) }

// Snapshot reads a snapshot of a cluster from a file.
func Snapshot(name string) (compare.Snapshot, error) {
	return read("snapshot", name, compare.ReadSnapshot)
}

// read reads a file; what says in errors what it should be.
func read[T any](what, name string, from func(io.Reader) (T, error)) (value T, err error) {
	file, err := os.Open(name)
	if err == nil {
		defer file.Close()
		value, err = from(file)
	}
	if err != nil {
		return value, fmt.Errorf("%s %s: %w", what, name, files.Cause(err))
	}
	return value, nil
}
