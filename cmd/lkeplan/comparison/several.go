package comparison

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
	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/plan"
	reports "github.com/lkeplan/lkeplan/engine/report"
	"github.com/lkeplan/lkeplan/engine/revision"
	commits "github.com/lkeplan/lkeplan/engine/source"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// A Branch is the comparison of one of several directories, with its result.
type Branch struct {
	revision.Member
	Comparison
	stderr   bytes.Buffer
	Found    Compared
	Err      error
	Verdict  flags.Outcome
	Reported reports.Report
}

// several compares several directories. It returns the result of each in their order, and the
// directories that the change does not affect.
func (d *Comparison) several(ctx context.Context, s Selection, detailed bool) (all []*Branch, unreached []string,
	err error) {
	if err := d.suits(s); err != nil {
		return nil, nil, err
	}
	var begin revision.FindBase
	if _, name, _ := strings.Cut(d.Base, ":"); d.InGit() {
		begin = func(dir string, edited func(commits.Revision) (bool, error)) (*commits.Revision, error) {
			rev, err := revision.Git{Dir: dir, Ref: name, Getenv: d.Env.Getenv, Edited: edited}.Open(ctx)
			return &rev, err
		}
	}
	members, err := s.Members(ctx, &d.src, d.Args, begin)
	if err != nil {
		return nil, nil, err
	}
	allowed, err := d.permissions(members)
	if err != nil {
		return nil, nil, err
	}
	reached, errs := make([]bool, len(members)), make([]error, len(members))
	workqueue.ParallelizeUntil(ctx, runtime.GOMAXPROCS(0), len(members), func(i int) {
		if reached[i] = true; s.Affected {
			reached[i], errs[i] = members[i].Reached()
		}
	})
	for i, m := range members {
		switch {
		case errs[i] != nil:
			return nil, nil, fmt.Errorf("%s: %w", m.Dir, errs[i])
		case reached[i]:
			all = append(all, d.of(m, allowed[m.Dir]))
		default:
			unreached = append(unreached, m.Dir)
		}
	}
	workqueue.ParallelizeUntil(ctx, runtime.GOMAXPROCS(0), len(all), func(i int) { all[i].run(ctx, detailed) })
	all = withoutRenamed(all)
	declaredTwice(all)
	return all, unreached, ctx.Err()
}

// declaredTwice fails directories that declare an object that another directory declares for the
// same cluster.
func declaredTwice(all []*Branch) {
	type object struct {
		cluster config.Cluster
		key     manifest.Key
	}
	declared := map[object]string{}
	for _, b := range all {
		if b.Err != nil {
			continue
		}
		of := b.Found.Head.Cluster
		of.KubernetesVersion = ""
		for _, o := range b.Found.Head.Objects {
			if other, twice := declared[object{of, o.Key()}]; twice {
				b.fail(fmt.Errorf("%s is also declared in %s, for the same cluster, %s: remove it from one of the two, or "+
					"correct the name of the cluster", o.Addr, other, of.Name))
				break
			}
			declared[object{of, o.Key()}] = b.Member.Dir
		}
	}
}

// suits refuses flags that are for one directory only.
func (d *Comparison) suits(s Selection) error {
	switch {
	case s.Affected && !d.InGit():
		return errors.New("--affected is for a base in Git: it compares files")
	case kindOf(d.Base) == "plan":
		return errors.New("--base plan:FILE is for one directory")
	case d.Access.Context != "":
		return errors.New("--context is for one directory: each of several uses the context with the name of its cluster")
	}
	return nil
}

// permissions groups --allow by the directories at the start of its values.
func (d *Comparison) permissions(members []revision.Member) (map[string][]string, error) {
	allowed := map[string][]string{}
	for _, permission := range d.Allow {
		i := slices.IndexFunc(members, func(m revision.Member) bool { return strings.HasPrefix(permission, m.Dir+":") })
		if i < 0 {
			return nil, fmt.Errorf("--allow %s: with several directories write DIRECTORY:GUARD:ADDRESS, as in "+
				"%s:max_deleted_pools:pool.web", permission, members[0].Dir)
		}
		dir := members[i].Dir
		allowed[dir] = append(allowed[dir], strings.TrimPrefix(permission, dir+":"))
	}
	return allowed, nil
}

// of returns the comparison of one of several directories.
func (d *Comparison) of(m revision.Member, allowed []string) *Branch {
	b := &Branch{Member: m, Comparison: *d}
	own, stderr := *d.Env, diag.NewWriter(&b.stderr)
	if terminal, ok := d.Env.Stderr.(*diag.Writer); ok {
		stderr.Width = terminal.Width
	}
	own.Stderr = stderr
	b.Comparison.Env, b.Args, b.Allow = &own, []string{m.Dir}, allowed
	b.Comparison.member = &b.Member
	return b
}

// run compares the directory, and reports the result.
func (b *Branch) run(ctx context.Context, detailed bool) {
	b.Found, b.Err = b.Comparison.Run(ctx)
	b.Verdict = b.Found.Verdict(detailed)
	b.Reported = b.Found.Report(b.Verdict)
	b.Reported.Directory = b.Member.Dir
	if b.Err != nil {
		b.fail(b.Err)
	}
}

// fail reports an error instead of a plan.
func (b *Branch) fail(err error) {
	b.Err = err
	b.Reported.Plan, b.Verdict = plan.Plan{Incomplete: true}, flags.Fine
	b.Reported.Failed, b.Reported.ExitCode = strings.TrimSpace(diag.Visible(b.Err.Error())), 1
	if errors.Is(err, flags.ErrReported) {
		lines := strings.Split(strings.TrimSpace(b.stderr.String()), "\n")
		b.Reported.Failed = lines[len(lines)-1] // 2 errors
	} else {
		fmt.Fprintln(diag.NewWriter(&b.stderr), "lkeplan:", strings.TrimSpace(b.Err.Error()))
	}
}

// withoutRenamed drops removed directories that have another name now: the directory with the
// new name is compared with them.
func withoutRenamed(all []*Branch) []*Branch {
	return slices.DeleteFunc(all, func(gone *Branch) bool {
		return gone.Gone && slices.ContainsFunc(all, func(b *Branch) bool {
			return b.Root == gone.Root && b.Found.renamed == gone.Below
		})
	})
}

// conclude prints the messages of each directory, and joins the reports and the exit codes:
// errors take precedence over refusals, and refusals over changes.
func conclude(stderr io.Writer, all []*Branch, unreached []string) (reports.Report, error) {
	var parts []reports.Report
	var verdict flags.Outcome
	failed := false
	for _, b := range all {
		if b.stderr.Len() > 0 {
			fmt.Fprintf(stderr, "%s:\n\n", diag.Harmless(diag.OneLine(b.Member.Dir)))
			if _, err := b.stderr.WriteTo(diag.Plain(stderr)); err != nil {
				return reports.Report{}, err
			}
		}
		parts, failed = append(parts, b.Reported), failed || b.Err != nil
		verdict = max(verdict, b.Verdict)
	}
	sum := reports.Join(parts, unreached)
	if sum.ExitCode = int(verdict); failed {
		sum.ExitCode = 1
		return sum, flags.ErrReported
	}
	return sum, verdict.AsError()
}

// RunSeveral writes one report of several directories, or of a removed one. Save saves the plan of each; nil saves none.
func (d *Comparison) RunSeveral(cmd *cobra.Command, s Selection, detailed bool, out *flags.Output,
	save func([]*Branch) error) error {
	all, unreached, err := d.several(cmd.Context(), s, detailed)
	if err != nil {
		return err
	}
	if save != nil {
		for _, b := range all {
			if b.Reported.Digest, err = b.Found.Plan.Digest(); err != nil {
				return err
			}
		}
		if err := save(all); err != nil {
			return err
		}
	}
	sum, verdict := conclude(d.Env.Stderr, all, unreached)
	about := d.About(cmd)
	if about.Apply = nil; !s.Several(d.Args) {
		if all[0].Err != nil {
			return verdict
		}
		sum = all[0].Reported
	}
	if err := out.Write(d.Env.Data(), d.Env.Getenv, sum, about); err != nil {
		return err
	}
	return verdict
}
