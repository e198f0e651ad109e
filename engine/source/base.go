package source

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/config/diag"
)

// point is where a change goes: a branch, or a commit on it.
type point struct {
	name   string
	commit bool
	by     string // the variable that names it
}

// trunk is the local state of the branch that a change goes to.
type trunk struct {
	commit commit
	name   string // such as origin/main
	why    string // "named by GITHUB_BASE_REF"
	change bool   // according to a CI system, the checked out commit is a change for this branch
}

// Base returns the configuration before the checked out change: at the merge base with the trunk. On
// the trunk it is HEAD, with Unedited: the base if the working tree has not been edited since. If the
// trunk is uncertain or missing, the error contains what to type.
func (s *Source) Base() (Revision, error) {
	head, err := s.commit("HEAD")
	if err != nil {
		if s.empty() {
			return s.before("there are no commits yet: everything is new"), nil
		}
		return Revision{}, s.unborn(err)
	}
	to, err := s.trunk(head)
	if err != nil {
		return Revision{}, err
	}
	bases, err := s.program.mergeBases(head.id, to.commit.id)
	switch {
	case err != nil:
		return Revision{}, err
	case len(bases) == 0 && s.program.shallow:
		return Revision{}, s.incomplete(fmt.Errorf("the merge base with %s is not in this shallow clone",
			to.name))
	case len(bases) == 0:
		return Revision{}, fmt.Errorf("HEAD and %s have no common history; select a base with --base",
			to.name)
	case len(bases) > 1:
		slices.Sort(bases)
		return Revision{}, fmt.Errorf("HEAD and %s have been merged into each other, and have %d merge bases; choose one: "+
			"--base git:%.12s, or --base git:%.12s", to.name, len(bases), bases[0], bases[1])
	case bases[0] == head.id:
		return s.onTrunk(head, to)
	}
	if bases[0] != to.commit.id {
		cut, err := s.program.cut(head.id, to.commit.id, bases[0])
		if err != nil {
			return Revision{}, err
		}
		if cut {
			return Revision{}, s.incomplete(fmt.Errorf("commits between HEAD and %s are not in this shallow clone",
				to.name))
		}
	}
	base, err := s.commit(bases[0])
	if err != nil {
		return Revision{}, s.unreadable(commit{id: bases[0]}, err)
	}
	why := fmt.Sprintf("merge base with %s, %s", to.name, to.why)
	if bases[0] != to.commit.id && s.changed(base, to.commit) {
		why += "; this directory has changed there since, possibly including its guards"
	}
	return s.revision(base, why)
}

// changed reports whether the directory differs in two commits. If one cannot be read, it may.
func (s *Source) changed(a, b commit) bool {
	_, err := s.run("diff", "--quiet", "--no-ext-diff", "--no-textconv", a.id, b.id, "--", ":(top,literal)"+s.dir)
	return err != nil
}

// onTrunk returns the base of a commit on the trunk.
func (s *Source) onTrunk(head commit, to trunk) (Revision, error) {
	if to.change {
		return Revision{}, fmt.Errorf("HEAD is already in %s, %s, so it is not the change; check out the change, or select "+
			"a base with --base", to.name, to.why)
	}
	branch, err := s.program.symbolic("HEAD")
	if err != nil {
		return Revision{}, err
	}
	short := strings.TrimPrefix(branch, "refs/heads/")
	if begun, err := s.isNewBranch(short, to); err != nil || begun {
		why := fmt.Sprintf("HEAD, because %s has no commits beyond %s, %s", short, to.name, to.why)
		if err != nil {
			return Revision{}, err
		}
		return s.revision(head, why)
	}
	if pushed, known := s.pushed(); known && !s.submodule {
		before, err := s.commit(pushed.name)
		if err != nil {
			return Revision{}, s.incomplete(fmt.Errorf("%.12s, the commit before this push according to %s, is not in this "+
				"clone", pushed.name, pushed.by))
		}
		return s.revision(before, fmt.Sprintf("the commit before this push to %s, named by %s", to.name, pushed.by))
	}
	edited, err := s.revision(head, "HEAD, because this directory has uncommitted changes")
	edited.Unedited = func() (Revision, error) { return s.beforeHead(head, to) }
	return edited, err
}

// beforeHead returns the base of a commit on the trunk if nothing has been edited since.
func (s *Source) beforeHead(head commit, to trunk) (Revision, error) {
	if len(head.parents) == 0 {
		return s.before("HEAD is the first commit: everything is new"), nil
	}
	before, err := s.commit(head.parents[0])
	if err != nil {
		return Revision{}, s.incomplete(errors.New("the parent of HEAD is not in this clone"))
	}
	return s.revision(before, fmt.Sprintf("the parent of HEAD, because HEAD is in %s, %s", to.name, to.why))
}

// before returns the state before the first commit.
func (s *Source) before(why string) Revision {
	return Revision{
		Why: why, FS: nothing{}, Dir: s.dir, lacking: func() error { return nil }, head: s.head,
		parent: func() (Revision, error) { return Revision{}, errMissing },
	}
}

// empty reports whether the repository has no commits and is not a clone.
func (s *Source) empty() bool {
	branches, err := s.program.branches()
	remotes, remotesErr := s.program.remotes()
	return err == nil && remotesErr == nil && len(branches)+len(remotes) == 0
}

// isNewBranch reports whether a branch is new: it has no commits beyond the trunk, is not the trunk, and no
// remote has it. The change then consists of what is not committed.
func (s *Source) isNewBranch(branch string, to trunk) (bool, error) {
	if branch == "" || to.name == branch || strings.HasSuffix(to.name, "/"+branch) {
		return false, nil
	}
	remotes, err := s.program.remotes()
	if err != nil {
		return false, err
	}
	for _, remote := range remotes {
		if _, err := s.commit("refs/remotes/" + remote + "/" + branch); err == nil {
			return false, nil
		}
	}
	return true, nil
}

// incomplete adds how to get the history that a shallow clone lacks.
func (s *Source) incomplete(err error) error {
	if whole := s.ci().whole; whole != "" {
		err = fmt.Errorf("%w; %s", err, whole)
	}
	return withAdvice(err, s.deepen())
}

// trunk finds where the change goes: from the CI system, or else from the default branch of the remote.
// It never guesses.
func (s *Source) trunk(head commit) (trunk, error) {
	ci := s.ci()
	change, defaults := s.github(s.values(ci.change), s.values(ci.trunk), head)
	switch {
	case len(change) > 0 && s.submodule:
		return trunk{}, fmt.Errorf("%s is in a submodule, but %s describes the outer repository; select a base with "+
			"--base git:REF", s.top, change[0].by)
	case len(change) > 0:
		to, err := s.first(change)
		to.change = true
		return to, err
	case len(defaults) > 0 && !s.submodule:
		return s.first(defaults)
	}
	remote, err := s.remote()
	if err != nil {
		return trunk{}, err
	}
	if remote == "" {
		return s.localTrunk()
	}
	return s.remoteTrunk(remote)
}

// first returns the first of the points that exists in this clone. All of them name the same branch.
func (s *Source) first(points []point) (trunk, error) {
	remote, err := s.remote()
	if err != nil {
		return trunk{}, err
	}
	for _, p := range points {
		to := trunk{name: p.name, why: "named by " + p.by}
		switch {
		case p.commit:
			to.commit, err = s.commit(p.name)
			to.name = fmt.Sprintf("%.12s", p.name)
		case remote == "":
			to.commit, err = s.commit("refs/heads/" + p.name)
		default:
			to.commit, err = s.commit("refs/remotes/" + remote + "/" + p.name)
			to.name = remote + "/" + p.name
		}
		if err == nil {
			return to, nil
		}
		if !errors.Is(err, errMissing) {
			return trunk{}, fmt.Errorf("find %s, which %s names: %w", to.name, p.by, err)
		}
	}
	return trunk{}, s.unfetched(remote, points)
}

// unfetched adds how to get the branch that a change goes to.
func (s *Source) unfetched(remote string, points []point) error {
	i := max(0, slices.IndexFunc(points, func(p point) bool { return !p.commit }))
	err := fmt.Errorf("%s, which %s names, is not in this clone", points[i].name, points[i].by)
	if whole := s.ci().whole; whole != "" {
		err = fmt.Errorf("%w; %s", err, whole)
	}
	switch {
	case remote == "":
		return fmt.Errorf("%w, and there is no remote to fetch it from; select a base with --base", err)
	case points[i].commit:
		return withAdvice(err, s.fetch(remote, "")+" "+points[i].name)
	}
	return withAdvice(err, s.fetch(remote, points[i].name))
}

// remoteTrunk returns the default branch of a remote, as recorded in the clone.
func (s *Source) remoteTrunk(remote string) (trunk, error) {
	name := "refs/remotes/" + remote + "/HEAD"
	to, err := s.program.symbolic(name)
	if err != nil {
		return trunk{}, err
	}
	where := s.ci().name
	if where != "" {
		where = " " + where + " does not report where this change goes, and"
	}
	if to == "" {
		return trunk{}, withAdvice(fmt.Errorf("cannot determine the base:%s this clone does not know the default "+
			"branch of %s; select a base with --base git:%s/BRANCH, or let git ask %s for it", where, remote, remote, remote),
			s.fetch(remote, "*")+" && "+s.git("remote set-head "+diag.ShellLine(remote)+" --auto"))
	}
	short := strings.TrimPrefix(to, "refs/remotes/")
	c, err := s.commit(to)
	if errors.Is(err, errMissing) {
		return trunk{}, withAdvice(fmt.Errorf("%s, the default branch according to %s/HEAD, is not in this clone", short, remote),
			s.fetch(remote, strings.TrimPrefix(short, remote+"/")))
	}
	return trunk{commit: c, name: short, why: "the default branch according to " + remote + "/HEAD"}, err
}

// localTrunk returns the trunk of a repository without a remote: its only branch, or the branch with git's
// default name.
func (s *Source) localTrunk() (trunk, error) {
	branches, err := s.program.branches()
	if err != nil {
		return trunk{}, err
	}
	to, why := "", "the only branch (no remote)"
	if len(branches) == 1 {
		to = branches[0]
	} else {
		usual := slices.DeleteFunc(slices.Clone(branches), func(b string) bool { return b != "main" && b != "master" })
		if len(usual) == 1 {
			to, why = usual[0], "the default branch name (no remote)"
		}
	}
	if to == "" {
		name := "BRANCH"
		if len(branches) > 0 {
			name = branches[0]
		}
		return trunk{}, fmt.Errorf("cannot determine the base: this repository has no remote, and not exactly one branch "+
			"called main or master; select the trunk with --base git:%s", name)
	}
	c, err := s.commit("refs/heads/" + to)
	return trunk{commit: c, name: to, why: why}, err
}
