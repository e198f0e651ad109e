// Package source reads a directory of configuration from a commit in its local Git repository,
// regardless of uncommitted changes, and finds the commit that a change starts from: the base.
//
// It uses the program git, which supports linked worktrees, alternates, partial and shallow clones
// and SHA-256, and checks the owner of a repository.
//
// It reads only local files: it fetches nothing, runs nothing in the repository's Git configuration,
// and does not parse the files.
package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrNoRepository is the error of a plain directory, which has no history to compare with.
var ErrNoRepository = errors.New("not a Git repository")

// Source is a directory of configuration in a repository.
type Source struct {
	*program
	dir       string // in the repository, with slashes; "." for its root
	top       string // of the working tree
	submodule bool
	getenv    func(string) string
}

// Revision is the configuration of one commit.
type Revision struct {
	ID  string // the commit's hash; "" for the state before the first commit
	Why string // why it is the base, such as "merge base with origin/main"; "" if the user selected it
	FS  fs.FS  // of the repository
	Dir string // the directory of the configuration within FS
	// Unedited returns the base if the working tree has not been edited since this commit; nil if edits do not matter.
	Unedited func() (Revision, error)

	lacking func() error
	head    func() (fs.FS, error) // the files of HEAD
	parent  func() (Revision, error)
}

// Parent returns the revision of the first parent. It is an error if the commit has none, or if this clone lacks it.
func (r Revision) Parent() (Revision, error) { return r.parent() }

// Lacking returns the error of objects that were requested and are missing from a partial clone, with the
// command to get them; nil if none is missing.
func (r Revision) Lacking() error { return r.lacking() }

// ErrUntracked is the error of a file that is in no commit: it was written for this run.
var ErrUntracked = errors.New("it is not in Git")

// Read returns a file that a command names, as it is in the commit. The error is fs.ErrNotExist for a
// file that was added since, and ErrUntracked for a file that is not in HEAD either.
func (r Revision) Read(name string) ([]byte, error) {
	data, err := fs.ReadFile(r.FS, name)
	if lacking := r.Lacking(); err != nil && lacking != nil {
		return nil, lacking
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return data, err
	}
	head, headErr := r.head()
	if headErr != nil {
		return nil, headErr
	}
	if _, headErr := fs.Stat(head, name); errors.Is(headErr, fs.ErrNotExist) {
		return nil, ErrUntracked
	}
	return nil, err
}

// Open returns the source at a path. The environment contains what a CI system reports about the
// change, and configures git. The error is ErrNoRepository for a plain directory; other errors explain
// what is wrong, and what to do.
func Open(ctx context.Context, path string, getenv func(string) string) (*Source, error) {
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
	s := &Source{getenv: getenv}
	if err := s.open(ctx, abs); err != nil {
		return nil, err
	}
	s.dir, err = dirIn(s.top, abs)
	return s, err
}

// errNoProgram is the error if git is not installed.
var errNoProgram = errors.New("git is not installed; install it")

// dirIn returns the path of a directory in a working tree as it was given: links in the repository are
// resolved in each commit.
func dirIn(top, abs string) (string, error) {
	real, err := filepath.EvalSymlinks(top)
	if err != nil {
		return "", fmt.Errorf("find the working tree: %w", err)
	}
	for ancestor := abs; ; ancestor = filepath.Dir(ancestor) {
		if at, err := filepath.EvalSymlinks(ancestor); err == nil && at == real {
			below, err := filepath.Rel(ancestor, abs)
			return filepath.ToSlash(below), err
		}
		if ancestor == filepath.Dir(ancestor) {
			break
		}
	}
	linked, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", err
	}
	below, err := filepath.Rel(real, linked)
	if err != nil || !filepath.IsLocal(below) {
		return "", fmt.Errorf("%s is not in the working tree %s of its repository", abs, top)
	}
	return filepath.ToSlash(below), nil
}

// DotGit returns the nearest .git around a directory; "" if there is none.
func DotGit(abs string) string {
	for dir := abs; ; dir = filepath.Dir(dir) {
		at := filepath.Join(dir, ".git")
		if _, err := os.Lstat(at); err == nil {
			return at
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// First identifies the repository by the first commit of its history, which clones and forks share; "" if there is no
// commit, or if this clone is shallow.
func (s *Source) First() (string, error) {
	if _, err := s.commit("HEAD"); s.program.shallow || errors.Is(err, errMissing) {
		return "", nil
	}
	const enough = 12
	id, err := s.program.run("rev-list", "--first-parent", "--max-parents=0", "HEAD")
	if err != nil {
		return "", fmt.Errorf("find the first commit of the repository: %w", err)
	}
	return id[:min(len(id), enough)], nil
}

// At returns the configuration in a commit: a branch, a tag, or any other name that Git resolves. A
// directory that the commit lacks is missing from its file system.
func (s *Source) At(ref string) (Revision, error) {
	if strings.HasPrefix(ref, "-") || strings.ContainsAny(ref, "\n\x00") {
		return Revision{}, fmt.Errorf("find %q: this is not the name of a commit", ref)
	}
	if err := s.ambiguous(ref); err != nil {
		return Revision{}, err
	}
	c, err := s.commit(ref)
	if errors.Is(err, errMissing) {
		return Revision{}, s.notFound(ref)
	}
	if err != nil {
		return Revision{}, fmt.Errorf("find %s: %w", ref, err)
	}
	return s.revision(c, "")
}

// ambiguous refuses a name of several things, such as a branch and a tag: Git prefers the tag, so a user
// who can push tags would select the base.
func (s *Source) ambiguous(ref string) error {
	cmd, said := s.command(s.ctx, "-c", "core.warnAmbiguousRefs=true", "rev-parse", "--verify", ref+"^{commit}")
	if cmd.Run() == nil && strings.Contains(said.String(), "is ambiguous") {
		return fmt.Errorf("find %s: this is the name of a branch and of a tag; write the full name, such as "+
			"--base git:refs/remotes/%s", ref, ref)
	}
	return nil // another error is found again
}

// notFound explains how to get a commit that this clone lacks.
func (s *Source) notFound(ref string) error {
	if _, err := s.commit("HEAD"); err != nil {
		return s.unborn(err)
	}
	err := fmt.Errorf("git:%s: this clone has no such commit, branch or tag", ref)
	if remote, _ := s.remote(); remote != "" {
		return withAdvice(err, s.fetch(remote, ""))
	}
	return err
}

// revision returns the file system of a commit, and the directory in it.
func (s *Source) revision(c commit, why string) (Revision, error) {
	tree, err := s.tree(c.tree)
	if err != nil {
		return Revision{}, s.unreadable(c, err)
	}
	dir, _, err := tree.find(s.dir, true)
	if errors.Is(err, fs.ErrNotExist) {
		dir, err = s.dir, nil
	}
	if err != nil {
		return Revision{}, s.unreadable(c, err)
	}
	lacking := func() error {
		if tree.lacks.Load() {
			return s.unreadable(c, errMissing)
		}
		return nil
	}
	parent := func() (Revision, error) {
		if len(c.parents) == 0 {
			return Revision{}, errMissing
		}
		before, err := s.commit(c.parents[0])
		if err != nil {
			return Revision{}, err
		}
		return s.revision(before, "")
	}
	return Revision{ID: c.id, Why: why, FS: tree, Dir: dir, lacking: lacking, head: s.head, parent: parent}, nil
}

// head returns the file system of HEAD.
func (s *Source) head() (fs.FS, error) {
	c, err := s.commit("HEAD")
	if err != nil {
		return nil, s.unborn(err)
	}
	return s.tree(c.tree)
}

// unreadable adds how to get what a partial clone lacks.
func (s *Source) unreadable(c commit, err error) error {
	err = fmt.Errorf("read commit %.12s: %w", c.id, err)
	if errors.Is(err, errMissing) {
		return withAdvice(fmt.Errorf("%w; this is a partial clone", err),
			s.git(fmt.Sprintf("archive --output=%s %.12s", os.DevNull, c.id)))
	}
	return err
}
