package source

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"
)

// point is where a change is going: a branch, or a commit of it.
type point struct {
	name   string
	commit bool
	by     string // what names it: a variable
}

// trunk is the branch that a change is going to, as it is here.
type trunk struct {
	commit commit
	name   string // such as origin/main
	why    string // "named by GITHUB_BASE_REF"
	change bool   // a CI system says that a change is checked out, which goes there
}

// Base returns the configuration as it was before the change that is checked out: where
// the branch left the trunk. On the trunk itself it is the commit that is checked out if the
// working tree has been edited since, and else the commit before. Whether it has been
// edited, edited knows. If the trunk is not known for sure, or not here, the error says
// what to type.
func (s *Source) Base(edited func(head Revision) (bool, error)) (Revision, error) {
	head, err := s.commit("HEAD")
	if err != nil {
		if s.empty() {
			return s.before("there is no commit yet: all is new"), nil
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
	case len(bases) == 0 && s.program.shallow():
		return Revision{}, s.incomplete(fmt.Errorf("the commit where the change leaves %s is not in this shallow clone",
			to.name))
	case len(bases) == 0:
		return Revision{}, fmt.Errorf("%s and the checked out commit have nothing in common; name what to compare with "+
			"by --base",
			to.name)
	case len(bases) > 1:
		slices.Sort(bases)
		return Revision{}, fmt.Errorf("the change and %s have been merged into each other, and have %d commits in common; "+
			"choose one: --base git:%.12s, or --base git:%.12s", to.name, len(bases), bases[0], bases[1])
	case bases[0] == head.id:
		return s.onTrunk(head, to, edited)
	}
	if bases[0] != to.commit.id {
		cut, err := s.program.cut(head.id, to.commit.id, bases[0])
		if err != nil {
			return Revision{}, err
		}
		if cut {
			return Revision{}, s.incomplete(fmt.Errorf("commits between the change and %s are not in this shallow clone",
				to.name))
		}
	}
	base, err := s.commit(bases[0])
	if err != nil {
		return Revision{}, s.unreadable(commit{id: bases[0]}, err)
	}
	why := fmt.Sprintf("merge base with %s, %s", to.name, to.why)
	if bases[0] != to.commit.id && s.changed(base, to.commit) {
		why += "; this directory has changed there since, and so may have its guards"
	}
	return s.revision(base, why)
}

// changed reports whether two commits have the directory with other files. One that
// cannot be read may have.
func (s *Source) changed(a, b commit) bool {
	_, was, errA := newTree(commitTree{s.program, &atomic.Bool{}}, a.tree).find(s.dir, true)
	_, is, errB := newTree(commitTree{s.program, &atomic.Bool{}}, b.tree).find(s.dir, true)
	if errors.Is(errA, fs.ErrNotExist) && errors.Is(errB, fs.ErrNotExist) {
		return false
	}
	return errA != nil || errB != nil || was.id != is.id
}

// onTrunk returns the base of a commit that is in the trunk.
func (s *Source) onTrunk(head commit, to trunk, edited func(Revision) (bool, error)) (Revision, error) {
	if to.change {
		return Revision{}, fmt.Errorf("the checked out commit is in %s already, %s, so this is not the change that goes "+
			"there; check that out, or name what to compare with by --base", to.name, to.why)
	}
	branch, err := s.program.symbolic("HEAD")
	if err != nil {
		return Revision{}, err
	}
	short := strings.TrimPrefix(branch, "refs/heads/")
	if begun, err := s.isNewBranch(short, to); err != nil || begun {
		why := fmt.Sprintf("the checked out commit, where %s leaves %s, %s", short, to.name, to.why)
		if err != nil {
			return Revision{}, err
		}
		return s.revision(head, why)
	}
	if pushed, known := s.pushed(); known && !s.submodule {
		before, err := s.commit(pushed.name)
		if err != nil {
			return Revision{}, s.incomplete(fmt.Errorf("%.12s, the commit before this push by %s, is not in this clone",
				pushed.name,
				pushed.by))
		}
		return s.revision(before, fmt.Sprintf("the commit before this push to %s, named by %s", to.name, pushed.by))
	}
	now, err := s.revision(head, "the checked out commit, because files of this directory are not committed")
	if err != nil {
		return Revision{}, err
	}
	if changed, err := edited(now); err != nil || changed {
		return now, err
	}
	if len(head.parents) == 0 {
		return s.before("the first commit: all is new"), nil
	}
	before, err := s.commit(head.parents[0])
	if err != nil {
		return Revision{}, s.incomplete(errors.New("the commit before this one is not in this clone"))
	}
	return s.revision(before, fmt.Sprintf("the commit before, because this one is in %s, %s", to.name, to.why))
}

// before is the state before the first commit.
func (s *Source) before(why string) Revision {
	return Revision{Why: why, FS: nothing{}, Dir: s.dir, lacking: func() error { return nil }, head: s.head}
}

// empty reports whether the repository has no commit at all, and is no clone of another.
func (s *Source) empty() bool {
	branches, err := s.program.branches()
	remotes, remotesErr := s.program.remotes()
	return err == nil && remotesErr == nil && len(branches)+len(remotes) == 0
}

// isNewBranch reports whether a branch has just begun: it has no commits besides those of the trunk, is not the
// trunk, and no remote has it. What is not committed is then all of the change.
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

// incomplete says how to get the history that a shallow clone lacks.
func (s *Source) incomplete(err error) error {
	if whole := s.ci().whole; whole != "" {
		err = fmt.Errorf("%w; %s", err, whole)
	}
	return advise(err, s.deepen())
}

// trunk finds where the change is going: by what the CI system says, or else by the
// default branch of the remote. It is never guessed.
func (s *Source) trunk(head commit) (trunk, error) {
	ci := s.ci()
	change, defaults := s.github(s.said(ci.change), s.said(ci.trunk), head)
	switch {
	case len(change) > 0 && s.submodule:
		return trunk{}, fmt.Errorf("%s is in a submodule, and what %s says is about the repository around it; name what to "+
			"compare with: --base git:REF", s.top, change[0].by)
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

// first returns the first of the points that is here. All of them name one branch.
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

// unfetched says how to get the branch that a change goes to.
func (s *Source) unfetched(remote string, points []point) error {
	i := max(0, slices.IndexFunc(points, func(p point) bool { return !p.commit }))
	err := fmt.Errorf("%s, which %s names, is not in this clone", points[i].name, points[i].by)
	if whole := s.ci().whole; whole != "" {
		err = fmt.Errorf("%w; %s", err, whole)
	}
	switch {
	case remote == "":
		return fmt.Errorf("%w, and there is no remote to fetch it from; name what to compare with by --base", err)
	case points[i].commit:
		return advise(err, s.fetch(remote, "")+" "+points[i].name)
	}
	return advise(err, s.fetch(remote, points[i].name))
}

// remoteTrunk is the default branch of a remote, as the clone has written it down.
func (s *Source) remoteTrunk(remote string) (trunk, error) {
	name := "refs/remotes/" + remote + "/HEAD"
	to, err := s.program.symbolic(name)
	if err != nil {
		return trunk{}, err
	}
	where := s.ci().name
	if where != "" {
		where = " " + where + " does not say where this change goes, and"
	}
	if to == "" {
		return trunk{}, advise(fmt.Errorf("there is no telling what to compare with:%s this clone does not know the default "+
			"branch of %s; name a base with --base git:%s/BRANCH, or have git ask %s for it", where, remote, remote, remote),
			s.fetch(remote, "*")+" && "+s.git("remote set-head "+quoted(remote)+" --auto"))
	}
	short := strings.TrimPrefix(to, "refs/remotes/")
	c, err := s.commit(to)
	if errors.Is(err, errMissing) {
		return trunk{}, advise(fmt.Errorf("%s, which is the default branch by %s/HEAD, is not in this clone", short, remote),
			s.fetch(remote, strings.TrimPrefix(short, remote+"/")))
	}
	return trunk{commit: c, name: short, why: "the default branch by " + remote + "/HEAD"}, err
}

// localTrunk is the trunk of a repository that knows no other: its only branch, or the
// one that has the name that git gives the first.
func (s *Source) localTrunk() (trunk, error) {
	branches, err := s.program.branches()
	if err != nil {
		return trunk{}, err
	}
	to, why := "", "the only branch of this repository, which has no remote"
	if len(branches) == 1 {
		to = branches[0]
	} else {
		usual := slices.DeleteFunc(slices.Clone(branches), func(b string) bool { return b != "main" && b != "master" })
		if len(usual) == 1 {
			to, why = usual[0], "which git calls the first branch, in this repository without a remote"
		}
	}
	if to == "" {
		name := "BRANCH"
		if len(branches) > 0 {
			name = branches[0]
		}
		return trunk{}, fmt.Errorf("there is no telling what to compare with: this repository has no remote, and none or "+
			"several of its branches may be the trunk; name it: --base git:%s", name)
	}
	c, err := s.commit("refs/heads/" + to)
	return trunk{commit: c, name: to, why: why}, err
}
