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
	"time"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/comparison"
	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/apply"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	reports "github.com/lkeplan/lkeplan/engine/report"
	"github.com/lkeplan/lkeplan/engine/revision"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

const applyHelp = `Compile and check a directory, show what an apply does to objects, nodes and the
bill, and ask whether to do it. Then its objects are applied by server-side
apply as the field manager "lkeplan": node classes first, then pools. --yes asks
nothing; without a terminal to ask on, nothing is applied without it.

Values that others have set are never overwritten unless --force-conflicts names
the field: lkeplan shows them, and applies nothing. Nor does it apply anything
where a guard or policy refuses the plan. The exit code is then 3.

A plan that "lkeplan plan --out FILE" has saved is applied exactly, or not at
all: if one of its fields or objects has changed since, the exit code is 4. It
asks nothing.

Objects that are not in the directory stay as they are, unless --prune is given
and they were applied from it. What other directories of the cluster have
applied is theirs. A pool that has nodes is then condemned: it makes no new
ones, gives up those that it has within its budgets, and the next run with
--prune deletes it when it has none left, as --wait rolled does. Until then it
is kept by declaring it again. With prune = "now" in the guards block, pools go
at once. Another run continues one that was interrupted.`

const applyExamples = `  lkeplan apply clusters/dev
  lkeplan apply --yes --wait none clusters/dev
  lkeplan apply --wait rolled prod.plan
  lkeplan apply --force-conflicts pool.web:spec.weight clusters/dev`

// errUnasked is returned where a change needs an answer and nobody can give one.
var errUnasked = errors.New("apply changes a cluster, and there is no terminal to ask on; add --yes, or apply a " +
	"plan that \"lkeplan plan --out FILE\" has saved")

func newApply(env *env) *cobra.Command {
	a := application{Comparison: comparison.Comparison{Env: env, Base: "live"}, counts: map[apply.Event]int{}}
	a.wait = flags.Choice{Value: "ready", Of: []string{"ready", "rolled", "none"}}
	cmd := &cobra.Command{
		Use:     "apply [DIR | FILE]",
		Short:   "Apply a directory or a saved plan to a cluster",
		Long:    applyHelp,
		Example: applyExamples,
		Args:    flags.OneDirectory,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.cmd, a.Args, a.started = cmd, args, time.Now()
			if isSaved(args) {
				return a.saved(cmd.Context(), args[0])
			}
			return a.directory(cmd.Context())
		},
	}
	a.Flags(cmd)
	cmd.Flags().StringVar(&a.Nodes, "cluster", "",
		"`NAME` of the cluster, where it is meant though it is not that of the directory")
	cmd.Flags().BoolVar(&a.Prune, "prune", false,
		"delete what was applied from this directory and is no longer in it")
	cmd.Flags().BoolVarP(&a.yes, "yes", "y", false, "apply without asking")
	cmd.Flags().StringArrayVar(&a.force, "force-conflicts", nil,
		"take back a `FIELD` that others have set, such as pool.web:spec.weight, or spec.weight for any object; may be "+
			"repeated")
	cmd.Flags().BoolVar(&a.all, "all", false, "list each of the objects with the same change")
	a.wait.Flag(cmd, "wait", "", "wait until objects are ready, or until all nodes are rolled; `STATE`")
	cmd.Flags().DurationVar(&a.timeout, "timeout", 0, "time to wait (default 2m, for nodes 1h)")
	a.effects().RejectUnused(cmd)
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

// effects are those of the flags. What a saved plan was made of cannot be given to it again.
func (a *application) effects() flags.Effects {
	all := a.Effects().And(flags.Effects{"timeout": {
		When: func([]string) bool { return a.wait.Value != "none" },
		Else: "is for --wait ready or rolled: nothing is waited for",
	}})
	for _, name := range []string{
		"var", "var-file", "catalog", "guards", "simulate", "pods", "workloads", "live", "snapshot",
		"server-dry-run", "prune",
	} {
		all[name] = all[name].Unless(isSaved, "is not for a saved plan, which stays as it was made: give it to lkeplan plan")
	}
	return all
}

type application struct {
	comparison.Comparison
	cmd      *cobra.Command
	yes, all bool
	force    []string // the fields that are taken back
	wait     flags.Choice
	timeout  time.Duration
	started  time.Time
	counts   map[apply.Event]int
	taken    map[manifest.Key][]plan.Conflict
}

// directory applies the working tree of a directory.
func (a *application) directory(ctx context.Context) error {
	if !a.yes && flags.Terminal(a.Env.Stdin) == nil {
		return errUnasked
	}
	found, err := a.Run(ctx)
	if err != nil {
		return err
	}
	if len(found.Head.Objects) == 0 && found.Plan.Empty() {
		return errors.New("the directory has no node_class and no pool; there is nothing to apply")
	}
	shown := found.Plan
	if err := a.judge(&found.Plan); err != nil {
		return err
	}
	if err := a.print(a.Env.Stdout, shown, flags.Fine); err != nil {
		return err
	}
	if !a.yes && !shown.Empty() {
		question := "Apply this to " + diag.OneLine(shown.Base.String()) + "?"
		if err := confirm(ctx, a.Env, question, "nothing was applied"); err != nil {
			return err
		}
	}
	return a.execute(ctx, found.Cluster, found.Head, found.Comparison)
}

// saved carries out a plan that was saved.
func (a *application) saved(ctx context.Context, name string) error {
	saved, err := revision.SavedPlan(name)
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
	now, err := compare.Live(ctx, head, comparison.Tied(compare.LiveView(cluster), cluster, head, cmp.Or(a.Nodes, saved.OtherCluster)),
		compare.LiveOptions{
			Base: before, Prices: prices, Now: a.Now(), Prune: saved.Prune, PruneNow: saved.Guards.PruneNow,
		})
	if err != nil {
		return comparison.Another(err)
	}
	if err := saved.Fresh(now.Plan); err != nil {
		fmt.Fprintln(a.Env.Stderr, "lkeplan:", diag.OneLine(err.Error()))
		return flags.Stale
	}
	if err := saved.Judge(&now.Plan, a.Allow); err != nil {
		return err
	}
	if err := a.judge(&now.Plan); err != nil {
		return err
	}
	a.Args = []string{saved.Plan.Head.Ref} // for what is said of it
	return a.execute(ctx, cluster, head, now)
}

// judge drops the conflicts about fields that are to be taken back. Where others, or
// a guard or policy, refuse the plan, it shows it.
func (a *application) judge(p *plan.Plan) (err error) {
	before := *p
	if a.taken, err = p.TakeBack(a.force); err != nil {
		return err
	}
	if _, waits := p.Waits(); !waits && !p.Refused() && p.Summary().Conflicts == 0 {
		return nil
	}
	if err := a.print(a.Env.Stderr, before, flags.Refused); err != nil {
		return err
	}
	return flags.Refused
}

// print shows a plan to people.
func (a *application) print(stream io.Writer, p plan.Plan, verdict outcome) error {
	opts := a.About(a.cmd)
	opts.All, opts.Width, opts.ASCII = a.all, flags.Columns(stream, a.Env.Getenv), !flags.Unicode(a.Env.Getenv)
	opts.Color, opts.Apply = flags.Colored(stream, a.Env.Getenv), flags.CommandLine(a.cmd, "apply", nil, a.Args)
	return reports.Write(diag.Plain(stream), "text", reports.Report{Plan: p, ExitCode: int(verdict)}, opts)
}

// execute does what the comparison says, and waits for what comes of it.
func (a *application) execute(ctx context.Context, cluster *kube.Cluster, head compile.Result,
	found compare.Comparison) error {
	fmt.Fprintf(a.Env.Stderr, "Applying to the cluster %s (%s)\n", head.Cluster.Name, cluster.Place())
	deleted, err := apply.Run(ctx, apply.TakingBack(cluster, a.taken), found, a.show)
	if err != nil {
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
	text := fmt.Sprintf("applied %s: %d created, %d changed, %d unchanged", objectCount(len(head.Objects)),
		a.counts[apply.Event(kube.Created)], a.counts[apply.Event(kube.Changed)], a.counts[apply.Event(kube.Unchanged)])
	if n := a.counts[apply.Deleted]; n > 0 {
		text += fmt.Sprintf(", %d deleted", n)
	}
	if n := len(found.Condemned); n > 0 && a.wait.Value != "rolled" {
		text += fmt.Sprintf("; %d condemned, apply with --prune again to delete what has given up its nodes", n)
	}
	fmt.Fprintf(a.Env.Stdout, "%s (%s)\n", text, time.Since(a.started).Round(100*time.Millisecond))
	return nil
}

// await waits until objects are ready and, where that is asked for, all nodes
// are as they should be, condemned pools have given up theirs and are deleted, and what
// was deleted is gone.
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

// waitTimeout is how long it waits.
func (a *application) waitTimeout() time.Duration {
	switch {
	case a.timeout > 0:
		return a.timeout
	case a.wait.Value == "rolled":
		return time.Hour
	}
	return 2 * time.Minute
}

// unfinished says of a wait that has ended early what goes on without it, what
// holds that, and how to look again.
func (a *application) unfinished(ctx context.Context, in compare.View, head compile.Result,
	found apply.UnfinishedError) error {
	why := "interrupted"
	if errors.Is(found.Cause, context.DeadlineExceeded) {
		why = "timed out after " + a.waitTimeout().String()
	}
	var page diag.Page
	page.Line(0, "lkeplan: %s. Everything is applied, and the controller continues:", why)
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
		page.Line(2, "what holds the nodes could not be read: %v", err)
	}
	for _, note := range notes {
		page.Line(2, "%s", note)
	}
	for _, p := range pools {
		state, holds := reports.Progress(p)
		page.Line(2, "%s: %s", p.Addr, state)
		for _, text := range holds {
			page.Line(4, "%s", text)
		}
	}
	if _, err := io.WriteString(a.Env.Stderr, page.String()); err != nil {
		return err
	}
	status := flags.CommandLine(a.cmd, "status", []string{"kubeconfig", "context"}, nil)
	fmt.Fprintf(a.Env.Stderr, "What waits, and for what: %s\n", reports.ShellLine(status...))
	look := flags.CommandLine(a.cmd, "diff", flags.Shared(), a.Args)
	fmt.Fprintf(a.Env.Stderr, "To look again: %s\n", reports.ShellLine(slices.Insert(look, 2, "--base", "live")...))
	wait := flags.CommandLine(a.cmd, "apply", flags.Shared(), a.Args)
	fmt.Fprintf(a.Env.Stderr, "To wait again: %s\n", reports.ShellLine(slices.Insert(wait, 2, "--yes", "--wait",
		a.wait.Value)...))
	return flags.ErrReported
}

func (a *application) show(p apply.Progress) {
	a.counts[p.Event]++
	what := string(p.Event)
	switch p.Event {
	case apply.Rolls:
		what = fmt.Sprintf("%d of %d nodes as they should be", p.Rolled, p.Of)
	case apply.Drains:
		what = "condemned, nodes left: " + strconv.Itoa(p.Of)
	case apply.Event(kube.Changed):
		for _, c := range a.taken[manifest.Key{Kind: p.Kind, Name: p.Name}] {
			what += fmt.Sprintf("; %s taken back from %s", diag.OneLine(c.Path), diag.OneLine(c.Owner))
		}
	}
	fmt.Fprintf(a.Env.Stdout, "%-15s %-24s %s\n", p.Kind, p.Name, what)
}

func objectCount(n int) string {
	if n == 1 {
		return "1 object"
	}
	return fmt.Sprintf("%d objects", n)
}
