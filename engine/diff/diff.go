// Package diff compares one or several directories with a base.
//
// A pull request becomes a comment in these steps: the command reads its flags and calls Comparison.Run. Package
// engine/source finds the repository of the directory and the commit where the change begins; engine/compile
// compiles the working tree, and the same directory in that commit. engine/compare puts both on the nodes of a
// snapshot or a cluster, and engine/plan computes which fields, nodes and costs change. The guards of the base
// judge the plan, and engine/report writes it in each format that was requested. In CI,
// cmd/lkeplan/starter/github.yml posts the Markdown as the comment.
//
// It does not write plans: package report does.
package diff

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/podsource"
	"github.com/lkeplan/lkeplan/engine/report"
	"github.com/lkeplan/lkeplan/engine/revision"
	"github.com/lkeplan/lkeplan/engine/source"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// ErrReported is returned instead of errors that Comparison.Report has written.
var ErrReported = errors.New("reported")

// A Comparison compares the working tree of a directory, the head, with a base.
type Comparison struct {
	Source revision.Options // values for the variables of the directory, and its catalogue
	Dirs   []string         // none: the working directory
	Base   string           // git:REF, dir:PATH, plan:FILE, snapshot:FILE or live; "": where the change begins
	Nodes  string           // where to count nodes, if the base has none: live or snapshot:FILE
	Name   string           // of the cluster, if it is not the one that the directory names
	Rules  string           // where to read guards and policies, if the base has none
	Access kube.Access
	Prune  bool
	Reads  bool      // nothing is applied afterwards
	At     time.Time // when budgets and freezes are evaluated; zero: now
	Allow  []string  // permissions for changes that guards refuse
	Owner  *Owner    // the NodePlan that applies the directory; nil for lkeplan apply

	Simulate             bool // simulate pods on both sides
	WithoutConsolidation bool // do not simulate the consolidation that the change starts
	Pods                 podsource.Sources

	Stdin  io.Reader
	Getenv func(string) string
	// Report writes the diagnostics of a configuration. It returns ErrReported if one of them is an error.
	Report func(compile.Result, hcl.Diagnostics) error

	member *revision.Member // nil for a single directory
}

// Owner is the part of a NodePlan that a comparison needs.
type Owner struct {
	Label   string                                              // the inventory label of its objects
	Applied func(obj map[string]any) bool                       // it has applied a live object
	Ignore  func(plan.Drift) bool                               // a field that others can set
	Guards  func(source config.Guards, nodes int) config.Guards // guards with those of the NodePlan
}

// keepsObject returns a function that reports whether an object that is no longer declared stays,
// because the NodePlan has not applied it.
func (k Owner) keepsObject(removed []config.Removal) func(config.Object) bool {
	return func(o config.Object) bool {
		orphaned := slices.ContainsFunc(removed, func(r config.Removal) bool { return r.Key() == o.Key() && !r.Delete })
		return !orphaned && !k.Applied(o.Manifest)
	}
}

// Compared is the result of a comparison.
type Compared struct {
	Head, Base         compile.Result    // base: the last applied configuration, if it is known
	Rules              compile.Result    // whose guards and policies apply
	Cluster            *kube.Cluster     // nil if no cluster was read
	compare.Comparison                   // without targets if no cluster was compared
	warnings           []diag.Diagnostic // from compiling head
	picture            template.HTML     // of the nodes that pods get
	renamed            string            // the directory of the cluster in the base, if it has another name
	broken             string            // the commit of the base, if it has errors and an earlier one is compared
	ahead              *opened           // the cluster that readAhead reads
	work               fs.FS             // from which head was compiled
}

// ReportOf returns the plan with its warnings and picture.
func (c Compared) ReportOf(exitCode int) report.Report {
	cluster := c.Head.Cluster.Name
	if cluster == "" && c.Cluster != nil {
		cluster = c.Cluster.Place()
	}
	return report.Report{
		Plan: c.Plan, Diagnostics: c.warnings, ExitCode: exitCode, Picture: c.picture, Cluster: cluster,
	}
}

// Run compiles head and base, compares them, and evaluates the guards.
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
	c.ahead = d.readAhead(ctx)
	opts, err := d.compileHead(ctx, &c)
	if err != nil {
		return c, err
	}
	against, rules, err := d.compileBase(ctx, &c, opts)
	if err != nil {
		return c, err
	}
	if d.member != nil && d.member.Gone {
		c.Head.Cluster = c.Base.Cluster // the removed directory has none
		c.Head.Catalog, c.Head.CatalogFile = c.Base.Catalog, c.Base.CatalogFile
	}
	head := c.Head
	prices, err := c.prices()
	if err != nil {
		return c, err
	}
	now := d.Now()
	switch {
	case d.OfCluster():
		against, err = d.withCluster(ctx, &c, compare.LiveOptions{
			Prices: prices, Now: now, Prune: d.Prune, PruneNow: c.Rules.Guards.PruneNow,
		})
	case d.Nodes == "":
		c.Plan, err = compare.Revisions(ctx, c.Base, head, prices, now)
	default:
		var view compare.View
		kind, file, _ := strings.Cut(d.Nodes, ":")
		view, _, err = d.view(&c, kind, file, cmp.Or(d.Name, c.Base.Cluster.Name))
		if d.member != nil && errors.Is(err, fs.ErrNotExist) {
			c.Plan, err = compare.Revisions(ctx, c.Base, head, prices, now)
			c.Plan.Notes = append(c.Plan.Notes, "There is no snapshot of its cluster, so its nodes are not counted.")
			break
		}
		if err != nil {
			return c, err
		}
		c.Plan, err = compare.RevisionsOn(ctx, c.Base, head, view, prices, now)
		err = Another(err)
	}
	if err != nil {
		return c, err
	}
	c.Plan.Base, c.Plan.Head, c.Plan.Rules = against, plan.Revision{Kind: "dir", Ref: d.Dir()}, rules
	compare.NameCatalog(&c.Plan, c.Base, head)
	if c.broken != "" {
		c.Plan.Notes = append(c.Plan.Notes, fmt.Sprintf("Commit %.12s, where the change starts, has errors, so its guards are unknown. Guards are "+
			"those of the last commit before it that compiles.", c.broken))
	}
	return c, nil
}

// prices returns the catalogue for the costs of the change.
func (c *Compared) prices() (*catalog.Catalog, error) {
	after, err := c.Head.Prices()
	if err != nil {
		return nil, err
	}
	return compare.JudgedBy(c.Base, c.Head, after)
}

// Compile compiles head, and the base git:REF or dir:PATH if there is one. It compares
// nothing.
func (d *Comparison) Compile(ctx context.Context) (c Compared, against plan.Revision, err error) {
	if kind := KindOf(d.Base); d.Base != "" && kind != "git" && kind != "dir" {
		return c, against, fmt.Errorf("--base %s: write git:REF or dir:PATH", d.Base)
	}
	opts, err := d.compileHead(ctx, &c)
	if err != nil || d.Base == "" {
		return c, against, err
	}
	against, _, err = d.compileBase(ctx, &c, opts)
	return c, against, err
}

// compileHead compiles the working tree. A removed directory compiles to nothing.
func (d *Comparison) compileHead(ctx context.Context, c *Compared) (opts compile.Options, err error) {
	if err := d.checkPlaces(); err != nil {
		return opts, err
	}
	var fsys fs.FS
	if d.member != nil {
		fsys, opts = d.member.FS, d.member.Options()
		c.work = fsys
		if d.member.Gone {
			return opts, nil
		}
	} else if fsys, opts, err = d.Source.Open(ctx, d.Dir()); err != nil {
		return opts, err
	}
	c.work = fsys
	head, diags := compile.Dir(ctx, fsys, opts)
	if d.Owner != nil {
		head.Inventory = d.Owner.Label
	}
	c.Head, c.warnings = head, diag.New(diags, head.Files)
	return opts, d.Report(head, diags)
}

// withCluster compares head with a cluster or a snapshot.
func (d *Comparison) withCluster(ctx context.Context, c *Compared,
	live compare.LiveOptions) (against plan.Revision, err error) {
	kind, name, _ := strings.Cut(d.Base, ":")
	view, against, err := d.view(c, kind, name, d.Name)
	if err == nil {
		err = d.identify(ctx, c)
	}
	if err != nil {
		return against, err
	}
	live.Base, live.Reads = c.Base, d.Reads
	if c.Cluster != nil {
		live.DryRun = c.Cluster.DryRun
	}
	if d.Owner != nil {
		live.Ignore, live.Keeps = d.Owner.Ignore, d.Owner.keepsObject(c.Head.Removed)
	}
	c.Comparison, err = compare.Live(ctx, c.Head, view, live)
	return against, Another(err)
}

// identify adds the repository to the names of the directory, which owns objects in the cluster.
func (d *Comparison) identify(ctx context.Context, c *Compared) error {
	if d.Owner != nil || d.member != nil && d.member.Gone {
		return nil
	}
	repository, err := source.Open(ctx, d.Dir(), d.Getenv)
	if errors.Is(err, source.ErrNoRepository) {
		return nil
	}
	if err != nil {
		return err
	}
	id, err := repository.First()
	for _, r := range []*compile.Result{&c.Head, &c.Base, &c.Rules} {
		*r = r.InRepository(id)
	}
	return err
}

// Now returns the time at which budgets and freezes are evaluated.
func (d *Comparison) Now() time.Time {
	if d.At.IsZero() {
		return time.Now()
	}
	return d.At
}

// Dir returns the directory that is compared.
func (d *Comparison) Dir() string {
	if len(d.Dirs) > 0 {
		return d.Dirs[0]
	}
	return "."
}
