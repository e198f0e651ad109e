package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/apply"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/diff"
	"github.com/lkeplan/lkeplan/engine/migrate"
	"github.com/lkeplan/lkeplan/engine/plan"
	reports "github.com/lkeplan/lkeplan/engine/report"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas/manifest"
	"github.com/lkeplan/lkeplan/schemas/text"
)

const applyHelp = `Compile and check a directory, show what an apply does to objects, nodes and
cost, and ask for confirmation. Then apply the objects: node classes first, then
pools. lkeplan uses server-side apply with the field manager "lkeplan". --yes
skips the question. Without a terminal, apply needs --yes or a saved plan.

If another owner, such as kubectl or Helm, has set a field that the apply would
overwrite, the command shows the field and changes nothing. Use --force-conflicts to
overwrite the field. If a guard (a limit on one change) or a policy (a condition
that a plan must meet) refuses the plan, lkeplan also changes nothing. The
exit code is 3 in both cases. The same applies to a plan that may replace or remove
nodes while "lkeplan stop" has stopped disruption: wait, or use "lkeplan resume".

If you name a FILE that "lkeplan plan --out FILE" has saved, apply makes exactly
the changes of that plan, without a question. If it would now make another change,
because an object has changed since, "lkeplan apply" does nothing, and the exit code
is 4. Fields that the directory does not set do not count.

An object that is no longer in the directory stays in the cluster. With --prune,
apply deletes it if it was applied from this directory. If a pruned pool has
nodes, it is drained first: the pool gets no new nodes, and its nodes drain
within the disruption budgets. The next apply with --prune deletes the empty
pool. If you declare the pool again before that, its removal is canceled. If the
guards block has prune = "now", pools are deleted immediately.

--wait selects how long apply waits:

  ready   until the objects are ready
  rolled  until all nodes are up to date, and all pruned pools are empty. apply
          deletes the empty pools
  none    apply does not wait

If an import block names an object, lkeplan becomes the only owner of the fields
that the directory sets: if you later remove one of them, an apply removes it from
the object. Flux, Argo CD, Helm or Terraform can still set their fields again, and
can delete an object that you remove from their sources. apply prints how to
prevent that.

To continue an apply that was interrupted, run the command again.`

const applyExamples = `  lkeplan apply clusters/dev
  lkeplan apply --yes --wait none clusters/dev
  lkeplan apply --wait rolled prod.plan
  lkeplan apply --force-conflicts pool.web:spec.weight clusters/dev`

// errNoTerminal is returned if a change needs confirmation and there is no terminal.
var errNoTerminal = errors.New("apply changes a cluster, and there is no terminal for the confirmation; add --yes, or " +
	"apply a plan that \"lkeplan plan --out FILE\" has saved")

func newApply(env *env) *cobra.Command {
	a := application{comparison: newComparison(env, "live"), counts: map[apply.Event]int{}}
	a.wait = flags.Choice{Value: "ready", Of: []string{"ready", "rolled", "none"}}
	cmd := &cobra.Command{
		Use:     "apply [DIR | FILE]",
		Short:   "Apply a directory or a saved plan",
		Long:    applyHelp,
		Example: applyExamples,
		Args:    flags.OneDirectory,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.cmd, a.Dirs, a.started = cmd, args, time.Now()
			if isSaved(args) {
				return a.saved(cmd.Context(), args[0])
			}
			return a.directory(cmd.Context())
		},
	}
	a.flags(cmd)
	a.clusterFlag(cmd)
	cmd.Flags().BoolVar(&a.Prune, "prune", false,
		"delete objects that were applied from this directory and are no longer in it")
	cmd.Flags().BoolVarP(&a.yes, "yes", "y", false, "do not ask for confirmation")
	cmd.Flags().StringArrayVar(&a.force, "force-conflicts", nil,
		"overwrite `FIELD`, which another owner has set: pool.web:spec.weight, or spec.weight for all objects; "+
			"may be repeated")
	cmd.Flags().BoolVar(&a.all, "all", false, "list each object, even if several have the same change")
	a.wait.Flag(cmd, "wait", "", "wait for this `STATE`")
	cmd.Flags().DurationVar(&a.timeout, "timeout", 0, "stop waiting after `TIME` (default 2m; 1h with --wait rolled)")
	flags.RejectUnused(cmd, slices.Concat([]flags.Use{
		{Flags: "var var-file catalog guards simulate pods workloads prune",
			If:   func() bool { return !isSaved(cmd.Flags().Args()) },
			Else: "cannot change a saved plan; pass it to lkeplan plan"},
		{Flags: "timeout", If: func() bool { return a.wait.Value != "none" }, Else: "is for --wait ready or rolled"},
	}, a.uses())...)
	return cmd
}

// isSaved reports whether the arguments name a saved plan.
func isSaved(args []string) bool {
	if len(args) != 1 {
		return false
	}
	info, err := os.Stat(args[0])
	return err == nil && info.Mode().IsRegular()
}

type application struct {
	comparison
	cmd      *cobra.Command
	yes, all bool
	force    []string // fields to overwrite
	wait     flags.Choice
	timeout  time.Duration
	started  time.Time
	counts   map[apply.Event]int
	taken    map[manifest.Key][]plan.Conflict
}

// directory applies the working tree of a directory.
func (a *application) directory(ctx context.Context) error {
	if dir := a.Dir(); isMissing(dir) {
		return fmt.Errorf("%s: no such file or directory", dir)
	}
	if !a.yes && flags.Terminal(a.env.Stdin) == nil {
		return errNoTerminal
	}
	found, err := a.Run(ctx)
	if err != nil {
		return err
	}
	if len(found.Head.Objects) == 0 && found.Plan.Empty() {
		return errors.New("the directory has no node_class and no pool: there is nothing to apply")
	}
	shown := found.Plan
	if err := stopPlan(ctx, found.Cluster, &found.Plan); err != nil {
		return err
	}
	if err := a.judge(&found.Plan); err != nil {
		return err
	}
	if err := a.print(a.env.Stdout, shown, flags.Fine); err != nil {
		return err
	}
	question := "Apply this to " + diag.OneLine(shown.Base.String()) + "?"
	nothing := shown.Empty() && !slices.ContainsFunc(found.Targets, compare.Target.TakesOver)
	if err := confirm(ctx, a.env, a.yes || nothing, question, "nothing was applied"); err != nil {
		return err
	}
	return a.execute(ctx, found.Cluster, found.Head, found.Comparison)
}

// saved carries out a plan that was saved.
func (a *application) saved(ctx context.Context, name string) error {
	saved, err := compare.ReadSavedPlan(name)
	if err != nil {
		return err
	}
	cluster, err := kube.Connect(a.Access)
	if err != nil {
		return err
	}
	prices, err := saved.Prices()
	if err != nil {
		return err
	}
	head := saved.Result
	before := head
	before.Directory = saved.BaseDirectory
	view := diff.Tied(compare.LiveView(cluster), cluster, head, cmp.Or(a.Name, saved.OtherCluster))
	now, err := compare.Live(ctx, head, a.Consolidating(view),
		compare.LiveOptions{
			Base: before, Prices: prices, Now: a.Now(), Prune: saved.Prune, PruneNow: saved.Guards.PruneNow,
			DryRun: cluster.DryRun,
		})
	if err != nil {
		return fmt.Errorf("plan %s: %w", name, diff.Another(err))
	}
	err = saved.Fresh(now.Plan)
	if stale, ok := errors.AsType[compare.StaleError](err); ok {
		return cmp.Or(writeStale(a.env.Stderr, name, stale), error(flags.Stale))
	}
	if err != nil {
		return fmt.Errorf("plan %s: %w", name, err)
	}
	if err := saved.Judge(&now.Plan, a.Allow); err != nil {
		return err
	}
	if err := stopPlan(ctx, cluster, &now.Plan); err != nil {
		return err
	}
	if err := a.judge(&now.Plan); err != nil {
		return err
	}
	a.Dirs = []string{saved.Plan.Head.Ref} // for messages
	return a.execute(ctx, cluster, head, now)
}

// writeStale writes why the plan in a file is not applied, one reason per line.
func writeStale(to io.Writer, name string, stale compare.StaleError) error {
	return printPage(to, 0, func(p *diag.Page) {
		p.Line(0, "lkeplan: plan %s: %v", name, stale)
		for _, reason := range stale.Reasons {
			p.Line(2, "%s", reason)
		}
	})
}

// judge removes the conflicts about fields that --force-conflicts names. If other conflicts, a
// guard or a policy refuse the plan, it prints the plan and returns flags.Refused.
func (a *application) judge(p *plan.Plan) (err error) {
	before := *p
	if a.taken, err = p.TakeBack(a.force); err != nil {
		return err
	}
	if _, waits := p.Waits(); !waits && !p.Refused() && p.Summary().Conflicts == 0 {
		return nil
	}
	if err := a.print(a.env.Stderr, before, flags.Refused); err != nil {
		return err
	}
	return flags.Refused
}

// print writes a plan as text.
func (a *application) print(stream io.Writer, p plan.Plan, verdict outcome) error {
	opts := a.about(a.cmd)
	opts.All, opts.Width, opts.ASCII = a.all, flags.Columns(stream, a.env.Getenv), !flags.Unicode(a.env.Getenv)
	opts.Color, opts.Apply = flags.Colored(stream, a.env.Getenv), flags.CommandLine(a.cmd, "apply", nil, a.Dirs)
	return reports.Write(diag.Plain(stream), "text", reports.Report{Plan: p, ExitCode: int(verdict)}, opts)
}

// execute applies a comparison, and waits as --wait says.
func (a *application) execute(ctx context.Context, cluster *kube.Cluster, head compile.Result,
	found compare.Comparison) error {
	fmt.Fprintf(a.env.Stderr, "Applying to the cluster %s (%s)\n", head.Cluster.Name, cluster.Place())
	deleted, err := apply.Run(ctx, apply.TakingBack(cluster, a.taken), found, a.show)
	if err != nil {
		return err
	}
	if err := a.takeOver(ctx, cluster, head, found); err != nil {
		return err
	}
	if a.wait.Value != "none" {
		view := compare.LiveView(cluster)
		var unfinished apply.UnfinishedError
		if err := a.await(ctx, cluster, view, head, deleted, found.Condemned); errors.As(err, &unfinished) {
			return a.unfinished(ctx, view, head, unfinished)
		} else if err != nil {
			return err
		}
	}
	sentence := fmt.Sprintf("applied %s: %d created, %d changed, %d unchanged", text.Count(len(head.Objects), "object"),
		a.counts[apply.Event(kube.Created)], a.counts[apply.Event(kube.Changed)], a.counts[apply.Event(kube.Unchanged)])
	if n := a.counts[apply.Deleted]; n > 0 {
		sentence += fmt.Sprintf(", %d deleted", n)
	}
	if n := len(found.Condemned); n > 0 && a.wait.Value != "rolled" {
		sentence += fmt.Sprintf("; %s draining, apply with --prune again to delete each pool that has no nodes left",
			text.Count(n, "pool"))
	}
	fmt.Fprintf(a.env.Stdout, "%s (%s)\n", sentence, time.Since(a.started).Round(100*time.Millisecond))
	return nil
}

// await waits until objects are ready. With --wait rolled, it waits until all nodes are up to
// date, draining pools are empty and deleted, and deleted objects are removed.
func (a *application) await(ctx context.Context, cluster *kube.Cluster, in compare.View, head compile.Result,
	deleted []map[string]any, condemned []compare.Target) error {
	ctx, cancel := context.WithTimeout(ctx, a.waitTimeout())
	defer cancel()
	if err := apply.WaitReady(ctx, in, head.Manifests(), a.show); err != nil || a.wait.Value != "rolled" {
		return err
	}
	if err := apply.WaitRolled(ctx, in, head, a.show); err != nil {
		return err
	}
	if err := apply.Drain(ctx, cluster, in, condemned, a.show); err != nil {
		return err
	}
	return apply.WaitGone(ctx, in, deleted, a.show)
}

// waitTimeout returns the time limit of the wait.
func (a *application) waitTimeout() time.Duration {
	switch {
	case a.timeout > 0:
		return a.timeout
	case a.wait.Value == "rolled":
		return time.Hour
	}
	return 2 * time.Minute
}

// unfinished reports a wait that has ended early: what continues, what blocks it, and how to
// check and to wait again.
func (a *application) unfinished(ctx context.Context, in compare.View, head compile.Result,
	found apply.UnfinishedError) error {
	why := "interrupted"
	if errors.Is(found.Cause, context.DeadlineExceeded) {
		why = "timed out after " + a.waitTimeout().String()
	}
	var page diag.Page
	page.Line(0, "lkeplan: %s. All objects are applied, and the controller continues:", why)
	if !errors.Is(found.Missing, found.Cause) {
		page.Words(2, found.Missing.Error())
	}
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	prices, err := head.Prices()
	if err != nil {
		return err
	}
	pools, notes, err := compare.UnderWay(asking, in, head, prices, a.Now())
	if err != nil {
		page.Line(2, "what blocks the nodes could not be read: %v", err)
	}
	for _, note := range notes {
		page.Line(2, "%s", note)
	}
	for _, p := range pools {
		state, holds := p.Progress(diag.OneLine)
		page.Line(2, "%s: %s", p.Addr, state)
		for _, text := range holds {
			page.Line(4, "%s", text)
		}
	}
	if _, err := io.WriteString(a.env.Stderr, page.String()); err != nil {
		return err
	}
	status := flags.CommandLine(a.cmd, "status", []string{"kubeconfig", "context"}, nil)
	fmt.Fprintf(a.env.Stderr, "To see what is waiting: %s\n", diag.ShellLine(status...))
	look := flags.CommandLine(a.cmd, "diff", flags.Shared(), a.Dirs)
	fmt.Fprintf(a.env.Stderr, "To compare again: %s\n", diag.ShellLine(slices.Insert(look, 2, "--base", "live")...))
	wait := flags.CommandLine(a.cmd, "apply", flags.Shared(), a.Dirs)
	fmt.Fprintf(a.env.Stderr, "To wait again: %s\n", diag.ShellLine(slices.Insert(wait, 2, "--yes", "--wait",
		a.wait.Value)...))
	return flags.ErrReported
}

// takeOver takes over the objects of import blocks from their owners.
func (a *application) takeOver(ctx context.Context, cluster *kube.Cluster, head compile.Result, found compare.Comparison) error {
	var owners migrate.Owners
	err := apply.TakeOver(ctx, cluster, head, found.Targets, func(t apply.Taken) {
		fmt.Fprintf(a.env.Stdout, "%-15s %-24s taken over from %s\n", t.Key.Kind, t.Key.Name, diag.OneLine(strings.Join(t.From, ", ")))
		owners.Add(t.Key.String(), t.Owners)
	})
	printOwners(a.env.Stdout, flags.Columns(a.env.Stdout, a.env.Getenv), owners)
	return err
}

func (a *application) show(p apply.Progress) {
	a.counts[p.Event]++
	what := string(p.Event)
	switch p.Event {
	case apply.Rolls:
		what = fmt.Sprintf("%d of %d nodes up to date", p.Rolled, p.Of)
	case apply.Drains:
		what = "draining, nodes left: " + strconv.Itoa(p.Of)
	case apply.Event(kube.Changed):
		for _, c := range a.taken[manifest.Key{Kind: p.Kind, Name: p.Name}] {
			what += fmt.Sprintf("; %s overwritten, was set by %s", diag.OneLine(c.Path), diag.OneLine(c.Owner))
		}
	}
	fmt.Fprintf(a.env.Stdout, "%-15s %-24s %s\n", p.Kind, p.Name, what)
}
