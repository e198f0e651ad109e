package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/files"
	"github.com/lkeplan/lkeplan/engine/plan"
	reports "github.com/lkeplan/lkeplan/engine/report"
	revision "github.com/lkeplan/lkeplan/engine/source"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// A comparison is one run of diff or plan: of a directory as it lies there, the
// head, with a base.
type comparison struct {
	env        *env
	src        source
	args       []string
	base       string
	cluster    string // where nodes are looked up for bases that have none
	kubeconfig string
	prune      bool
	dryRun     bool // ask the API server what it would make of the objects
	at         moment
	allow      []string // permissions for what guards refuse
}

// flags adds the flags that say what to compare with.
func (d *comparison) flags(cmd *cobra.Command) {
	d.src.flags(cmd)
	kubeconfigFlag(cmd, d.env, &d.kubeconfig)
	cmd.Flags().BoolVar(&d.dryRun, "server-dry-run", false, "let the API server compute what it would make of the objects; this needs the right to patch them")
	cmd.Flags().StringArrayVar(&d.allow, "allow", nil, "allow what a guard or policy refuses: `GUARD:ADDRESS`, such as max_deleted_pools:pool.web; may be repeated")
	cmd.Flags().Var(&d.at, "at", "evaluate budgets and freezes for this `TIME`, such as 2026-11-20T17:00:00Z (default: now)")
}

// moment is a flag with a time; now where it is not given.
type moment struct{ time.Time }

// String implements pflag.Value.
func (m *moment) String() string {
	if m.IsZero() {
		return ""
	}
	return m.Format(time.RFC3339)
}

// Set implements pflag.Value.
func (m *moment) Set(text string) (err error) {
	if m.Time, err = time.Parse(time.RFC3339, text); err != nil {
		return errors.New("write it like 2026-11-20T17:00:00Z")
	}
	return nil
}

// Type implements pflag.Value.
func (m *moment) Type() string { return "time" }

func (m *moment) orNow() time.Time {
	if m.IsZero() {
		return time.Now()
	}
	return m.Time
}

// compared is what a comparison has found.
type compared struct {
	head, base compile.Result // base: what is in force, as far as that is known
	cluster    *kube.Cluster  // nil where none was asked
	plan       plan.Plan
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
	inForce := c.base
	if len(inForce.Files) == 0 {
		inForce.Guards = c.head.Guards // a new directory has none before
	}
	return c, compare.Guard(&c.plan, inForce, c.head, d.allow)
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
	kind, name, _ := strings.Cut(d.base, ":")
	if kind == "live" || kind == "snapshot" {
		err := d.withCluster(ctx, &c, kind, name, prices, opts)
		return c, err
	}
	var against plan.Revision
	if c.base, against, err = d.compileBase(ctx, kind, name, opts); err != nil {
		return c, err
	}
	now := d.at.orNow()
	if d.cluster == "" {
		c.plan, err = compare.Revisions(c.base, head, prices, now)
	} else {
		clusterKind, file, _ := strings.Cut(d.cluster, ":")
		var sight compare.View
		if sight, _, err = d.sight(&c, clusterKind, file); err != nil {
			return c, err
		}
		c.plan, err = compare.RevisionsOn(ctx, c.base, head, sight, prices, now)
	}
	c.plan.Base, c.plan.Head = against, d.headRevision()
	return c, err
}

// withCluster compares head with a cluster, or a snapshot of one.
func (d *comparison) withCluster(ctx context.Context, c *compared, kind, name string, prices *catalog.Catalog, opts compile.Options) error {
	sight, against, err := d.sight(c, kind, name)
	if err != nil {
		return err
	}
	live := compare.LiveOptions{Prices: prices, Now: d.at.orNow(), Prune: d.prune}
	var note string
	if c.base, note = d.inForce(ctx, c.head, opts); note != "" {
		c.plan.Notes = append(c.plan.Notes, note)
	}
	live.Base = c.base
	if d.dryRun {
		if c.cluster == nil {
			return fmt.Errorf("--server-dry-run: a snapshot cannot be asked; use it with --base live")
		}
		live.Predict = c.cluster.DryRun
	}
	notes := c.plan.Notes
	found, err := compare.Live(ctx, c.head, sight, live)
	c.plan = found.Plan
	c.plan.Base, c.plan.Head, c.plan.Notes = against, d.headRevision(), append(notes, c.plan.Notes...)
	return err
}

// sight opens the cluster, or a snapshot of it.
func (d *comparison) sight(c *compared, kind, name string) (compare.View, plan.Revision, error) {
	switch kind {
	case "live":
		cluster, err := connect(d.kubeconfig)
		if err != nil {
			return nil, plan.Revision{}, err
		}
		c.cluster = cluster
		return compare.LiveView(cluster), plan.Revision{Kind: "live"}, nil
	case "snapshot":
		file, err := os.Open(name)
		if err != nil {
			return nil, plan.Revision{}, fmt.Errorf("snapshot %s: %w", name, files.Cause(err))
		}
		defer file.Close()
		snapshot, err := compare.ReadSnapshot(file)
		if err != nil {
			return nil, plan.Revision{}, fmt.Errorf("snapshot %s: %w", name, err)
		}
		return snapshot, plan.Revision{Kind: "snapshot", Ref: name, Taken: snapshot.Taken}, nil
	}
	return nil, plan.Revision{}, fmt.Errorf("%q names no cluster: write live or snapshot:FILE", kind)
}

// inForce is what the cluster should be like before the change: the merge base.
// Where there is none, or it does not compile, head stands for it, and a note
// says so.
func (d *comparison) inForce(ctx context.Context, head compile.Result, opts compile.Options) (compile.Result, string) {
	rev, err := d.revision("")
	if err != nil {
		return head, "Guards and policies are those of the directory itself: there is no earlier commit to read them from."
	}
	opts.Dir = rev.Dir
	if opts.Dir == "" {
		opts.Dir = "."
	}
	if _, err := fs.Stat(rev.FS, opts.Dir); errors.Is(err, fs.ErrNotExist) {
		return compile.Result{}, ""
	}
	base, diags := compile.Dir(ctx, rev.FS, opts)
	if diags.HasErrors() {
		return head, fmt.Sprintf("Guards and policies are those of the directory itself: commit %.12s, from which they would be read, has errors.", rev.ID)
	}
	return base, ""
}

// compileBase compiles the configuration that head is compared with.
func (d *comparison) compileBase(ctx context.Context, kind, name string, opts compile.Options) (compile.Result, plan.Revision, error) {
	switch kind {
	case "plan":
		saved, err := readPlan(name)
		return saved.Result, plan.Revision{Kind: "plan", Ref: name}, err
	case "dir":
		fsys, dirOpts, err := d.src.open([]string{name})
		if err != nil {
			return compile.Result{}, plan.Revision{}, err
		}
		compiled, err := d.compile(ctx, fsys, dirOpts, name)
		return compiled, plan.Revision{Kind: "dir", Ref: name}, err
	case "", "git":
		rev, err := d.revision(name)
		if err != nil {
			return compile.Result{}, plan.Revision{}, err
		}
		against := plan.Revision{Kind: "git", Ref: fmt.Sprintf("%.12s", rev.ID)}
		opts.Dir = rev.Dir
		if opts.Dir == "" {
			opts.Dir = "."
		}
		if _, err := fs.Stat(rev.FS, opts.Dir); errors.Is(err, fs.ErrNotExist) {
			against.Ref += ", which does not have this directory"
			return compile.Result{}, against, nil
		}
		compiled, err := d.compile(ctx, rev.FS, opts, "commit "+against.Ref)
		return compiled, against, err
	}
	return compile.Result{}, plan.Revision{}, unknownBase(d.base)
}

// unknownBase says how to write a base; a word alone is most likely a commit.
func unknownBase(base string) error {
	ref := "REF"
	if !strings.Contains(base, ":") {
		ref = base
	}
	return fmt.Errorf("--base %s: write git:%s, dir:PATH, plan:FILE, snapshot:FILE or live", base, ref)
}

func (d *comparison) compile(ctx context.Context, fsys fs.FS, opts compile.Options, against string) (compile.Result, error) {
	compiled, diags := compile.Dir(ctx, fsys, opts)
	if !diags.HasErrors() {
		return compiled, nil
	}
	if err := report(d.env, compiled, diags); !errors.Is(err, errReported) {
		return compiled, err
	}
	return compiled, fmt.Errorf("the base, %s, has these errors; name another with --base", against)
}

func (d *comparison) headRevision() plan.Revision {
	return plan.Revision{Kind: "dir", Ref: d.dir()}
}

func (d *comparison) dir() string {
	if len(d.args) > 0 {
		return d.args[0]
	}
	return "."
}

// revision finds the commit of a base: the named one, or the merge base.
func (d *comparison) revision(commit string) (revision.Revision, error) {
	s, err := revision.Open(d.dir())
	if err != nil {
		return revision.Revision{}, err
	}
	var rev revision.Revision
	if commit == "" {
		rev, err = s.MergeBase()
	} else {
		rev, err = s.At(commit)
	}
	if errors.Is(err, revision.ErrNoRepository) {
		where, _ := os.Getwd()
		return rev, fmt.Errorf("%s is in no Git repository; name what to compare with by --base dir:PATH", strings.TrimSpace(where))
	}
	return rev, err
}
