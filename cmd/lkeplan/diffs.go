package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/util/workqueue"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/base"
	"github.com/lkeplan/lkeplan/engine/fleet"
	"github.com/lkeplan/lkeplan/engine/plan"
	reports "github.com/lkeplan/lkeplan/engine/report"
	commits "github.com/lkeplan/lkeplan/engine/source"
)

// A branch is the comparison of one of several directories, and what came of it.
type branch struct {
	fleet.Member
	comparison
	said     bytes.Buffer // to standard error
	found    compared
	err      error
	verdict  outcome
	reported reports.Report
}

// several compares several directories, and returns what came of each, in their order,
// and those that the change does not reach.
func (d *comparison) several(ctx context.Context, s selection, detailed bool) (all []*branch, unreached []string,
	err error) {
	if err := d.suits(s); err != nil {
		return nil, nil, err
	}
	var begin func(string) (*commits.Revision, error)
	if _, name, _ := strings.Cut(d.base, ":"); d.inGit() {
		begin = func(dir string) (*commits.Revision, error) {
			rev, err := base.Git{Dir: dir, Ref: name, Getenv: d.env.Getenv}.Open(ctx)
			return &rev, err
		}
	}
	members, err := s.members(&d.src, d.args, begin)
	if err != nil {
		return nil, nil, err
	}
	allowed, err := d.permissions(members)
	if err != nil {
		return nil, nil, err
	}
	for _, m := range members {
		reached := true
		if s.affected {
			if reached, err = m.Reached(); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", m.Dir, err)
			}
		}
		if !reached {
			unreached = append(unreached, m.Dir)
			continue
		}
		all = append(all, d.of(m, allowed[m.Dir]))
	}
	workqueue.ParallelizeUntil(ctx, runtime.GOMAXPROCS(0), len(all), func(i int) { all[i].run(ctx, detailed) })
	return withoutRenamed(all), unreached, ctx.Err()
}

// suits reports flags that are for one directory only.
func (d *comparison) suits(s selection) error {
	kind, _, _ := strings.Cut(d.base, ":")
	switch {
	case s.affected && kind != "" && kind != "git":
		return errors.New("--affected is for a base in Git: it looks at the files that differ")
	case kind == "plan":
		return errors.New("--base plan:FILE is for one directory")
	case d.access.Context != "":
		return errors.New("--context is for one directory: of several, each has the context with the name of its cluster")
	}
	return nil
}

// permissions sorts what is allowed by the directories that it begins with.
func (d *comparison) permissions(members []fleet.Member) (map[string][]string, error) {
	allowed := map[string][]string{}
	for _, permission := range d.allow {
		i := slices.IndexFunc(members, func(m fleet.Member) bool { return strings.HasPrefix(permission, m.Dir+":") })
		if i < 0 {
			return nil, fmt.Errorf("--allow %s: with several directories write DIRECTORY:GUARD:ADDRESS, as in "+
				"%s:max_deleted_pools:pool.web", permission, members[0].Dir)
		}
		dir := members[i].Dir
		allowed[dir] = append(allowed[dir], strings.TrimPrefix(permission, dir+":"))
	}
	return allowed, nil
}

// of is the comparison of one of several directories.
func (d *comparison) of(m fleet.Member, allowed []string) *branch {
	b := &branch{Member: m, comparison: *d}
	own := *d.env
	own.Stderr = &b.said
	b.comparison.env, b.args, b.allow = &own, []string{m.Dir}, allowed
	b.comparison.member = &b.Member
	return b
}

// run compares the directory, and reports what came of it.
func (b *branch) run(ctx context.Context, detailed bool) {
	b.found, b.err = b.comparison.run(ctx)
	b.verdict = b.found.verdict(detailed)
	b.reported = b.found.report(b.verdict)
	b.reported.Directory = b.Dir
	if b.err == nil {
		return
	}
	b.reported.Plan, b.verdict = plan.Plan{}, fine
	b.reported.Failed, b.reported.ExitCode = strings.TrimSpace(diag.Visible(b.err.Error())), 1
	if errors.Is(b.err, errReported) {
		lines := strings.Split(strings.TrimSpace(b.said.String()), "\n")
		b.reported.Failed = lines[len(lines)-1] // 2 errors
	} else {
		fmt.Fprintln(&b.said, "lkeplan:", strings.TrimSpace(b.err.Error()))
	}
}

// withoutRenamed drops directories that are gone because they have another name: they
// are what those with the new name are compared with.
func withoutRenamed(all []*branch) []*branch {
	return slices.DeleteFunc(all, func(gone *branch) bool {
		return gone.Gone && slices.ContainsFunc(all, func(b *branch) bool {
			return b.Root == gone.Root && b.found.renamed == gone.Below
		})
	})
}

// conclude shows what was said of each directory, and joins the reports and the
// verdicts: errors beat refusals, and those beat changes.
func conclude(stderr io.Writer, all []*branch, unreached []string) (reports.Report, error) {
	var parts []reports.Report
	var verdict outcome
	failed := false
	for _, b := range all {
		if b.said.Len() > 0 {
			fmt.Fprintf(stderr, "%s:\n\n", diag.Harmless(diag.OneLine(b.Dir)))
			if _, err := b.said.WriteTo(stderr); err != nil {
				return reports.Report{}, err
			}
		}
		parts, failed = append(parts, b.reported), failed || b.err != nil
		verdict = max(verdict, b.verdict)
	}
	sum := reports.Join(parts, unreached)
	if sum.ExitCode = int(verdict); failed {
		sum.ExitCode = 1
		return sum, errReported
	}
	return sum, verdict.asError()
}

// inGit reports whether the base is a commit.
func (d *comparison) inGit() bool {
	kind, _, _ := strings.Cut(d.base, ":")
	return kind == "" || kind == "git"
}

// diffSeveral writes one report of several directories, or that of one that is gone.
func (d *comparison) diffSeveral(cmd *cobra.Command, s selection, detailed bool, out *flags.Output) error {
	all, unreached, err := d.several(cmd.Context(), s, detailed)
	if err != nil {
		return err
	}
	sum, verdict := conclude(d.env.Stderr, all, unreached)
	about := d.about(cmd)
	if about.Apply = nil; !s.several(d.args) {
		if all[0].err != nil {
			return verdict
		}
		sum = all[0].reported
	}
	if err := out.Write(d.env.Stdout, d.env.Getenv, sum, about); err != nil {
		return err
	}
	return verdict
}

// planSeveral writes one report of several directories, and saves the plan of each.
func (d *comparison) planSeveral(cmd *cobra.Command, s selection, detailed bool, out *flags.Output,
	saved planFile) error {
	all, unreached, err := d.several(cmd.Context(), s, detailed)
	if err != nil {
		return err
	}
	for _, b := range all {
		if b.reported.Digest, err = b.found.plan.Digest(); err != nil {
			return err
		}
	}
	if err := saved.saveEach(all); err != nil {
		return err
	}
	sum, verdict := conclude(d.env.Stderr, all, unreached)
	about := d.about(cmd)
	about.Apply = nil
	if err := out.Write(d.env.Stdout, d.env.Getenv, sum, about); err != nil {
		return err
	}
	return verdict
}
