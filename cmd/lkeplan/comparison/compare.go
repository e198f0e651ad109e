// Package comparison is what diff, plan and apply have in common: their flags, and the
// comparison of one directory or several with what the flags say.
//
// It decides nothing of a plan, and writes none: package report does.
package comparison

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/cmd/lkeplan/podsource"
	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	reports "github.com/lkeplan/lkeplan/engine/report"
	"github.com/lkeplan/lkeplan/engine/revision"
	"github.com/lkeplan/lkeplan/kube"
)

// A Comparison is one run of diff or plan: of the working tree of a directory,
// the head, with a base.
type Comparison struct {
	Env    *flags.Env
	src    flags.Source
	Args   []string
	Base   string
	Nodes  string // the cluster whose nodes are counted for bases that have none
	Access kube.Access
	rules  string // where guards and policies are read from, for bases that have none
	Prune  bool
	dryRun bool             // ask the API server what it would make of the objects
	at     time.Time        // zero: now
	Allow  []string         // permissions for what guards refuse
	Owner  *Owner           // nil where this program applies the directory
	member *revision.Member // where it is one of several directories

	simulate bool // simulate pods on both sides
	pods     podsource.Flags
}

// Owner is a NodePlan that applies the directory, as far as a comparison knows it.
type Owner struct {
	Label   string                                              // of its objects: the value of the inventory label
	Applied func(obj map[string]any) bool                       // it has applied a live object
	Ignore  func(plan.Drift) bool                               // the fields that others may set
	Guards  func(source config.Guards, nodes int) config.Guards // with its own
}

// keepsObject returns a function that reports whether an object that is no longer declared stays:
// it has the label, and the NodePlan has not applied it.
func (k Owner) keepsObject(removed []config.Removal) func(config.Object) bool {
	return func(o config.Object) bool {
		orphaned := slices.ContainsFunc(removed, func(r config.Removal) bool { return r.Key() == o.Key() && !r.Delete })
		return !orphaned && !k.Applied(o.Manifest)
	}
}

// Given adds values of variables, NAME=VALUE, which those of --var replace.
func (d *Comparison) Given(vars []string) { d.src.Vars = append(vars, d.src.Vars...) }

// SourceFlags adds the flags that say what is compiled.
func (d *Comparison) SourceFlags(cmd *cobra.Command) { d.src.Flags(cmd) }

// Flags adds the flags that say what to compare with.
func (d *Comparison) Flags(cmd *cobra.Command) {
	d.SourceFlags(cmd)
	flags.ClusterFlags(cmd, d.Env, &d.Access)
	cmd.Flags().StringVar(&d.rules, "guards", "",
		"`BASE` to read guards and policies from, where a cluster or a plan is compared with: git:REF or dir:PATH "+
			"(default: where the branch left the trunk)")
	d.workloadFlags(cmd)
	cmd.Flags().BoolVar(&d.dryRun, "server-dry-run", false,
		"let the API server compute what it would make of the objects; this needs the right to patch them")
	cmd.Flags().StringArrayVar(&d.Allow, "allow", nil,
		"allow what a guard or policy refuses: `GUARD:ADDRESS`, such as max_deleted_pools:pool.web; may be repeated")
}

// AtFlag adds the flag --at, for commands that apply nothing: a change would pass a freeze by
// naming another time.
func (d *Comparison) AtFlag(cmd *cobra.Command) {
	cmd.Flags().Func("at",
		"evaluate budgets and freezes for this `TIME`, such as 2026-11-20T17:00:00Z (default: now)",
		func(text string) (err error) {
			if d.at, err = time.Parse(time.RFC3339, text); err != nil {
				return errors.New("write it like 2026-11-20T17:00:00Z")
			}
			return nil
		})
}

// Effects are those of the flags. Some are of some bases only.
func (d *Comparison) Effects() flags.Effects {
	base := func() string { kind, _, _ := strings.Cut(d.Base, ":"); return kind }
	asks := flags.Effect{
		When: func([]string) bool { return base() == "live" || d.Nodes == "live" || d.pods.Live },
		Else: "is for --base live, --cluster live or --live: without one of them no cluster is asked",
	}
	return d.pods.Effects(func([]string) bool { return d.simulate }, "is for --simulate: add it").And(
		flags.Effects{
			"kubeconfig": asks, "context": asks, "request-timeout": asks,
			"server-dry-run": {
				When: func([]string) bool { return base() == "live" }, Else: "is for --base live: nobody else can be asked",
			},
			"prune": {
				When: func([]string) bool { return base() == "live" || base() == "snapshot" },
				Else: "is for a cluster as the base: --base live or snapshot:FILE",
			},
		})
}

// Compared is what a comparison has found.
type Compared struct {
	Head, Base         compile.Result    // base: what was last applied, as far as that is known
	Rules              compile.Result    // whose guards and policies judge
	Cluster            *kube.Cluster     // nil where none was asked
	compare.Comparison                   // without targets, where no cluster was compared with
	warnings           []diag.Diagnostic // of compiling head
	picture            template.HTML     // of the nodes that pods get
	renamed            string            // the directory that the base has for the cluster instead
	asked              *opened           // the cluster, where it is asked ahead
	work               fs.FS             // that head was compiled from
}

// Report is the plan with what else is known of it.
func (c Compared) Report(verdict flags.Outcome) reports.Report {
	return reports.Report{Plan: c.Plan, Diagnostics: c.warnings, ExitCode: int(verdict), Picture: c.picture}
}

// About says what a report is about.
func (d *Comparison) About(cmd *cobra.Command) reports.Options {
	root, _ := d.src.Place(d.Dir())
	return reports.Options{
		Target: strings.Join(d.Args, ","), Version: flags.Version(), Path: flags.PathFrom(root),
		Apply: flags.CommandLine(cmd, "apply", flags.Shared(), d.Args),
	}
}

// Verdict is how a command ends that has shown the plan.
func (c Compared) Verdict(detailed bool) flags.Outcome {
	switch {
	case c.Plan.Refused(), c.Plan.Summary().Conflicts > 0:
		return flags.Refused
	case detailed && !c.Plan.Empty():
		return flags.Changes
	}
	return flags.Fine
}

// Run compiles head and base, compares them, and asks the guards.
func (d *Comparison) Run(ctx context.Context) (Compared, error) {
	c, err := d.compare(ctx)
	if err != nil {
		return c, err
	}
	if err := d.workloads(ctx, &c); err != nil {
		return c, err
	}
	if d.Owner != nil {
		c.Rules.Guards = d.Owner.Guards(c.Rules.Guards, c.Plan.Nodes)
	}
	return c, compare.Guard(&c.Plan, c.Rules, c.Head, d.Allow)
}

func (d *Comparison) compare(ctx context.Context) (c Compared, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.asked = d.askAhead(ctx)
	opts, err := d.compileHead(ctx, &c)
	if err != nil {
		return c, err
	}
	against, rules, err := d.compileBase(ctx, &c, opts)
	if err != nil {
		return c, err
	}
	if d.member != nil && d.member.Gone {
		c.Head.Cluster = c.Base.Cluster // whose nodes and prices it is about
		c.Head.Catalog, c.Head.CatalogFile = c.Base.Catalog, c.Base.CatalogFile
	}
	head := c.Head
	prices, err := head.Prices()
	if err != nil {
		return c, err
	}
	now := d.Now()
	switch kind, _, _ := strings.Cut(d.Base, ":"); {
	case kind == "live" || kind == "snapshot":
		against, err = d.withCluster(ctx, &c, compare.LiveOptions{
			Base: c.Base, Prices: prices, Now: now, Prune: d.Prune, PruneNow: c.Rules.Guards.PruneNow,
		})
	case d.Nodes == "":
		c.Plan, err = compare.Revisions(c.Base, head, prices, now)
	default:
		var view compare.View
		kind, file, _ := strings.Cut(d.Nodes, ":")
		if view, _, err = d.view(&c, kind, file, c.Base.Cluster.Name); d.member != nil && errors.Is(err, fs.ErrNotExist) {
			c.Plan, err = compare.Revisions(c.Base, head, prices, now)
			c.Plan.Notes = append(c.Plan.Notes, "There is no snapshot of its cluster, so its nodes are not counted.")
			break
		}
		if err != nil {
			return c, err
		}
		c.Plan, err = compare.RevisionsOn(ctx, c.Base, head, view, prices, now)
	}
	if err != nil {
		return c, err
	}
	c.Plan.Base, c.Plan.Head, c.Plan.Rules = against, plan.Revision{Kind: "dir", Ref: d.Dir()}, rules
	return c, compare.Reprice(&c.Plan, c.Base, head)
}

// Compile compiles head and, where one is named, the base, git:REF or dir:PATH. It
// compares nothing.
func (d *Comparison) Compile(ctx context.Context) (c Compared, against plan.Revision, err error) {
	kind, _, _ := strings.Cut(d.Base, ":")
	if d.Base != "" && kind != "git" && kind != "dir" {
		return c, against, fmt.Errorf("--base %s: write git:REF or dir:PATH", d.Base)
	}
	opts, err := d.compileHead(ctx, &c)
	if err != nil || d.Base == "" {
		return c, against, err
	}
	against, _, err = d.compileBase(ctx, &c, opts)
	return c, against, err
}

// compileHead compiles the working tree. A directory that is gone compiles to nothing.
func (d *Comparison) compileHead(ctx context.Context, c *Compared) (opts compile.Options, err error) {
	var fsys fs.FS
	if d.member != nil {
		fsys, opts = d.member.FS, d.member.Options()
		c.work = fsys
		if d.member.Gone {
			return opts, nil
		}
	} else if fsys, opts, err = d.src.Directory(ctx, d.Args); err != nil {
		return opts, err
	}
	c.work = fsys
	head, diags := compile.Dir(ctx, fsys, opts)
	if d.Owner != nil {
		head.Inventory = d.Owner.Label
	}
	c.Head, c.warnings = head, diag.New(diags, head.Files)
	return opts, flags.Report(d.Env, head, diags)
}

// withCluster compares head with a cluster, or a snapshot of one.
func (d *Comparison) withCluster(ctx context.Context, c *Compared,
	live compare.LiveOptions) (against plan.Revision, err error) {
	kind, name, _ := strings.Cut(d.Base, ":")
	view, against, err := d.view(c, kind, name, d.Nodes)
	if err != nil {
		return against, err
	}
	if d.dryRun {
		if c.Cluster == nil {
			return against, fmt.Errorf("--server-dry-run: a snapshot cannot be asked; use it with --base live")
		}
		live.Predict = c.Cluster.DryRun
	}
	if d.Owner != nil {
		live.Ignore, live.Keeps = d.Owner.Ignore, d.Owner.keepsObject(c.Head.Removed)
	}
	c.Comparison, err = compare.Live(ctx, c.Head, view, live)
	return against, Another(err)
}

// Now is the moment for which budgets and freezes are evaluated.
func (d *Comparison) Now() time.Time {
	if d.at.IsZero() {
		return time.Now()
	}
	return d.at
}

// Dir is the directory that is compared.
func (d *Comparison) Dir() string {
	if len(d.Args) > 0 {
		return d.Args[0]
	}
	return "."
}
