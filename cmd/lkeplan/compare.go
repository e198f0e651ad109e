package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/base"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	reports "github.com/lkeplan/lkeplan/engine/report"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// A comparison is one run of diff or plan: of the working tree of a directory,
// the head, with a base.
type comparison struct {
	env        *env
	src        source
	args       []string
	base       string
	cluster    string // where nodes are looked up for bases that have none
	kubeconfig string
	prune      bool
	dryRun     bool      // ask the API server what it would make of the objects
	at         time.Time // zero: now
	allow      []string  // permissions for what guards refuse
}

// flags adds the flags that say what to compare with.
func (d *comparison) flags(cmd *cobra.Command) {
	d.src.flags(cmd)
	kubeconfigFlag(cmd, d.env, &d.kubeconfig)
	cmd.Flags().BoolVar(&d.dryRun, "server-dry-run", false,
		"let the API server compute what it would make of the objects; this needs the right to patch them")
	cmd.Flags().StringArrayVar(&d.allow, "allow", nil,
		"allow what a guard or policy refuses: `GUARD:ADDRESS`, such as max_deleted_pools:pool.web; may be repeated")
	cmd.Flags().Func("at",
		"evaluate budgets and freezes for this `TIME`, such as 2026-11-20T17:00:00Z (default: now)",
		func(text string) (err error) {
			if d.at, err = time.Parse(time.RFC3339, text); err != nil {
				return errors.New("write it like 2026-11-20T17:00:00Z")
			}
			return nil
		})
}

// compared is what a comparison has found.
type compared struct {
	head, base compile.Result // base: what was last applied, as far as that is known
	cluster    *kube.Cluster  // nil where none was asked
	plan       plan.Plan
	targets    []compare.Target  // of head in the cluster; none where none was compared with
	warnings   []diag.Diagnostic // of compiling head
}

// report is the plan with what else is known of it.
func (c compared) report(verdict outcome) reports.Report {
	return reports.Report{Plan: c.plan, Diagnostics: c.warnings, ExitCode: int(verdict)}
}

// verdict is how a command ends that has shown the plan.
func (c compared) verdict(detailed bool) outcome {
	switch {
	case c.plan.Refused():
		return refused
	case detailed && !c.plan.Empty():
		return changes
	}
	return fine
}

// run compiles head and base, compares them, and asks the guards.
func (d *comparison) run(ctx context.Context) (compared, error) {
	c, err := d.compare(ctx)
	if err != nil {
		return c, err
	}
	lastApplied := c.base
	if len(lastApplied.Files) == 0 {
		lastApplied.Guards = c.head.Guards // a new directory has none before
	}
	return c, compare.Guard(&c.plan, lastApplied, c.head, d.allow)
}

func (d *comparison) compare(ctx context.Context) (compared, error) {
	fsys, opts, err := d.src.open(d.args)
	if err != nil {
		return compared{}, err
	}
	head, diags := compile.Dir(ctx, fsys, opts)
	if err := report(d.env, head, diags); err != nil {
		return compared{}, err
	}
	prices, err := catalog.Embedded()
	if err != nil {
		return compared{}, err
	}
	c := compared{head: head, warnings: diag.New(diags, head.Files)}
	now := d.now()
	if kind, _, _ := strings.Cut(d.base, ":"); kind == "live" || kind == "snapshot" {
		var note []string
		c.base, note = d.lastApplied(ctx, head, opts)
		err := d.withCluster(ctx, &c, compare.LiveOptions{Base: c.base, Prices: prices, Now: now, Prune: d.prune})
		c.plan.Notes = append(note, c.plan.Notes...)
		return c, err
	}
	var against plan.Revision
	if c.base, against, err = d.compileBase(ctx, opts); err != nil {
		return c, err
	}
	if d.cluster == "" {
		c.plan, err = compare.Revisions(c.base, head, prices, now)
	} else {
		var view compare.View
		kind, file, _ := strings.Cut(d.cluster, ":")
		if view, _, err = d.view(&c, kind, file); err != nil {
			return c, err
		}
		c.plan, err = compare.RevisionsOn(ctx, c.base, head, view, prices, now)
	}
	c.plan.Base, c.plan.Head = against, d.headRevision()
	return c, err
}

// withCluster compares head with a cluster, or a snapshot of one.
func (d *comparison) withCluster(ctx context.Context, c *compared, live compare.LiveOptions) error {
	kind, name, _ := strings.Cut(d.base, ":")
	view, against, err := d.view(c, kind, name)
	if err != nil {
		return err
	}
	if d.dryRun {
		if c.cluster == nil {
			return fmt.Errorf("--server-dry-run: a snapshot cannot be asked; use it with --base live")
		}
		live.Predict = c.cluster.DryRun
	}
	notes := c.plan.Notes
	found, err := compare.Live(ctx, c.head, view, live)
	c.plan, c.targets = found.Plan, found.Targets
	c.plan.Base, c.plan.Head, c.plan.Notes = against, d.headRevision(), append(notes, c.plan.Notes...)
	return err
}

// view opens the cluster, or a snapshot of it.
func (d *comparison) view(c *compared, kind, name string) (compare.View, plan.Revision, error) {
	switch kind {
	case "live":
		cluster, err := kube.Connect(d.kubeconfig)
		if err != nil {
			return nil, plan.Revision{}, err
		}
		c.cluster = cluster
		return compare.LiveView(cluster), plan.Revision{Kind: "live"}, nil
	case "snapshot":
		snapshot, err := base.Snapshot(name)
		if err != nil {
			return nil, plan.Revision{}, err
		}
		return snapshot.View(), plan.Revision{Kind: "snapshot", Ref: name, Taken: snapshot.Taken}, nil
	}
	return nil, plan.Revision{}, fmt.Errorf("%q names no cluster: write live or snapshot:FILE", kind)
}

// lastApplied is what the cluster should be like before the change: the merge base.
// Where there is none, or it does not compile, head stands for it, and a note
// says so.
func (d *comparison) lastApplied(
	ctx context.Context, head compile.Result, opts compile.Options,
) (before compile.Result, note []string) {
	const instead = "Guards and policies are those of the directory itself: "
	commit, err := base.AtCommit(ctx, d.dir(), "", opts)
	switch {
	case err != nil:
		return head, []string{instead + "there is no earlier commit to read them from."}
	case commit.Diagnostics.HasErrors():
		const why = "commit %.12s, from which they would be read, has errors."
		return head, []string{instead + fmt.Sprintf(why, commit.ID)}
	}
	return commit.Compiled, nil
}

// compileBase compiles the configuration that head is compared with.
func (d *comparison) compileBase(
	ctx context.Context, opts compile.Options,
) (before compile.Result, against plan.Revision, err error) {
	switch kind, name, _ := strings.Cut(d.base, ":"); kind {
	case "plan":
		saved, err := base.Plan(name)
		return saved.Result, plan.Revision{Kind: "plan", Ref: name}, err
	case "dir":
		fsys, dirOpts, err := d.src.open([]string{name})
		if err != nil {
			return before, against, err
		}
		compiled, diags := compile.Dir(ctx, fsys, dirOpts)
		return compiled, plan.Revision{Kind: "dir", Ref: name}, d.checkBase(compiled, diags, name)
	case "", "git":
		commit, err := base.AtCommit(ctx, d.dir(), name, opts)
		if err != nil {
			return before, against, err
		}
		against = plan.Revision{Kind: "git", Ref: fmt.Sprintf("%.12s", commit.ID)}
		if commit.Missing {
			against.Ref += ", which does not have this directory"
		}
		return commit.Compiled, against, d.checkBase(commit.Compiled, commit.Diagnostics, against.String())
	}
	return before, against, unknownBase(d.base)
}

// checkBase shows the errors of a base.
func (d *comparison) checkBase(compiled compile.Result, diags hcl.Diagnostics, against string) error {
	if !diags.HasErrors() {
		return nil
	}
	if err := report(d.env, compiled, diags); !errors.Is(err, errReported) {
		return err
	}
	return fmt.Errorf("the base, %s, has these errors; name another with --base", against)
}

// unknownBase says how to write a base; a word alone is most likely a commit.
func unknownBase(base string) error {
	ref := "REF"
	if !strings.Contains(base, ":") {
		ref = base
	}
	return fmt.Errorf("--base %s: write git:%s, dir:PATH, plan:FILE, snapshot:FILE or live", base, ref)
}

func (d *comparison) headRevision() plan.Revision {
	return plan.Revision{Kind: "dir", Ref: d.dir()}
}

// now is the moment for which budgets and freezes are evaluated.
func (d *comparison) now() time.Time {
	if d.at.IsZero() {
		return time.Now()
	}
	return d.at
}

func (d *comparison) dir() string {
	if len(d.args) > 0 {
		return d.args[0]
	}
	return "."
}
