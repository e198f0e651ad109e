package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/base"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/fleet"
	"github.com/lkeplan/lkeplan/engine/plan"
	reports "github.com/lkeplan/lkeplan/engine/report"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// A comparison is one run of diff or plan: of the working tree of a directory,
// the head, with a base.
type comparison struct {
	env     *env
	src     source
	args    []string
	base    string
	cluster string // where nodes are looked up for bases that have none
	access  kube.Access
	rules   string // where guards and policies are read from, for bases that have none
	prune   bool
	dryRun  bool          // ask the API server what it would make of the objects
	at      time.Time     // zero: now
	allow   []string      // permissions for what guards refuse
	member  *fleet.Member // where it is one of several directories
}

// flags adds the flags that say what to compare with.
func (d *comparison) flags(cmd *cobra.Command) {
	d.src.flags(cmd)
	clusterFlags(cmd, d.env, &d.access)
	cmd.Flags().StringVar(&d.rules, "guards", "",
		"`BASE` to read guards and policies from, where a cluster or a plan is compared with: git:REF or dir:PATH "+
			"(default: where the branch left the trunk)")
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
	rules      compile.Result // whose guards and policies judge
	cluster    *kube.Cluster  // nil where none was asked
	plan       plan.Plan
	targets    []compare.Target  // of head in the cluster; none where none was compared with
	warnings   []diag.Diagnostic // of compiling head
	renamed    string            // the directory that the base has for the cluster instead
}

// report is the plan with what else is known of it.
func (c compared) report(verdict outcome) reports.Report {
	return reports.Report{Plan: c.plan, Diagnostics: c.warnings, ExitCode: int(verdict)}
}

// about says what a report is about.
func (d *comparison) about(cmd *cobra.Command) reports.Options {
	return reports.Options{
		Target: strings.Join(d.args, ","), Version: version(),
		Apply: flags.CommandLine(cmd, "apply", flags.Shared(), d.args),
	}
}

// verdict is how a command ends that has shown the plan.
func (c compared) verdict(detailed bool) outcome {
	switch {
	case c.plan.Refused(), c.plan.Summary().Conflicts > 0:
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
	return c, compare.Guard(&c.plan, c.rules, c.head, d.allow)
}

func (d *comparison) compare(ctx context.Context) (c compared, err error) {
	opts, err := d.compileHead(ctx, &c)
	if err != nil {
		return c, err
	}
	against, rules, err := d.compileBase(ctx, &c, opts)
	if err != nil {
		return c, err
	}
	if d.member != nil && d.member.Gone {
		c.head.Cluster = c.base.Cluster // whose nodes and prices it is about
	}
	head := c.head
	prices, err := catalog.Embedded()
	if err != nil {
		return c, err
	}
	now := d.now()
	switch kind, _, _ := strings.Cut(d.base, ":"); {
	case kind == "live" || kind == "snapshot":
		against, err = d.withCluster(ctx, &c, compare.LiveOptions{Base: c.base, Prices: prices, Now: now, Prune: d.prune})
	case d.cluster == "":
		c.plan, err = compare.Revisions(c.base, head, prices, now)
	default:
		var view compare.View
		kind, file, _ := strings.Cut(d.cluster, ":")
		if view, _, err = d.view(&c, kind, file); d.member != nil && errors.Is(err, fs.ErrNotExist) {
			c.plan, err = compare.Revisions(c.base, head, prices, now)
			c.plan.Notes = append(c.plan.Notes, "There is no snapshot of its cluster, so its nodes are not counted.")
			break
		}
		if err != nil {
			return c, err
		}
		c.plan, err = compare.RevisionsOn(ctx, c.base, head, view, prices, now)
	}
	c.plan.Base, c.plan.Head, c.plan.Rules = against, d.headRevision(), rules
	return c, err
}

// compileHead compiles the working tree. A directory that is gone compiles to nothing.
func (d *comparison) compileHead(ctx context.Context, c *compared) (opts compile.Options, err error) {
	var fsys fs.FS
	if d.member != nil {
		fsys, opts = d.member.FS, d.member.Options()
		if d.member.Gone {
			return opts, nil
		}
	} else if fsys, opts, err = d.src.open(d.args); err != nil {
		return opts, err
	}
	head, diags := compile.Dir(ctx, fsys, opts)
	c.head, c.warnings = head, diag.New(diags, head.Files)
	return opts, report(d.env, head, diags)
}

// withCluster compares head with a cluster, or a snapshot of one.
func (d *comparison) withCluster(ctx context.Context, c *compared,
	live compare.LiveOptions) (against plan.Revision, err error) {
	kind, name, _ := strings.Cut(d.base, ":")
	view, against, err := d.view(c, kind, name)
	if err != nil {
		return against, err
	}
	if d.dryRun {
		if c.cluster == nil {
			return against, fmt.Errorf("--server-dry-run: a snapshot cannot be asked; use it with --base live")
		}
		live.Predict = c.cluster.DryRun
	}
	found, err := compare.Live(ctx, c.head, view, live)
	c.plan, c.targets = found.Plan, found.Targets
	return against, err
}

// view opens the cluster, or a snapshot of it.
func (d *comparison) view(c *compared, kind, name string) (compare.View, plan.Revision, error) {
	switch kind {
	case "live":
		if d.member != nil {
			d.access.Context = c.head.Cluster.Name
		}
		cluster, err := kube.Connect(d.access)
		if err != nil {
			return nil, plan.Revision{}, err
		}
		c.cluster = cluster
		return compare.LiveView(cluster), plan.Revision{Kind: "live", Ref: cluster.Place()}, nil
	case "snapshot":
		if d.member != nil {
			name = filepath.Join(name, filepath.FromSlash(d.dir())+".json")
		}
		snapshot, err := base.Snapshot(name)
		if err != nil {
			return nil, plan.Revision{}, err
		}
		return snapshot.View(), plan.Revision{Kind: "snapshot", Ref: name, Taken: snapshot.Taken}, nil
	}
	return nil, plan.Revision{}, fmt.Errorf("%q names no cluster: write live or snapshot:FILE", kind)
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
