package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/engine/apply"
	"github.com/lkeplan/lkeplan/engine/base"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	reports "github.com/lkeplan/lkeplan/engine/report"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

const applyHelp = `Compile and check a directory, then apply its objects by server-side apply as
the field manager "lkeplan": node classes first, then pools. Values that others
have set are never overwritten: lkeplan shows them, and applies nothing. Nor
does it apply anything where a guard or policy refuses the plan.

A plan that "lkeplan plan --out FILE" has saved is applied exactly, or not at
all: if one of its fields or objects has changed since, the exit code is 4.

Objects that are not in the directory stay as they are, unless --prune is given
and they were applied from it. Another run continues one that was interrupted.`

func newApply(env *env) *cobra.Command {
	a := application{comparison: comparison{env: env, base: "live"}, counts: map[apply.Event]int{}}
	a.wait = choice{value: "ready", of: []string{"ready", "rolled", "none"}}
	cmd := &cobra.Command{
		Use:   "apply [DIR | FILE]",
		Short: "Apply a directory or a saved plan to a cluster",
		Long:  applyHelp,
		Example: "  lkeplan apply clusters/dev\n  lkeplan apply --wait none clusters/dev\n  lkeplan apply --wait " +
			"rolled prod.plan",
		Args: oneDirectory,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.args, a.started = args, time.Now()
			if len(args) == 1 {
				if info, err := os.Stat(args[0]); err == nil && info.Mode().IsRegular() {
					return a.saved(cmd.Context(), args[0])
				}
			}
			return a.directory(cmd.Context())
		},
	}
	a.flags(cmd)
	cmd.Flags().BoolVar(&a.prune, "prune", false,
		"delete what was applied from this directory and is no longer in it")
	a.wait.flag(cmd, "wait", "", "wait until objects are ready, or until all nodes are rolled; `STATE`")
	cmd.Flags().DurationVar(&a.timeout, "timeout", 0, "time to wait (default 2m, for nodes 1h)")
	return cmd
}

// application is one run of apply.
type application struct {
	comparison
	wait    choice
	timeout time.Duration
	started time.Time
	counts  map[apply.Event]int
}

// directory applies the working tree of a directory.
func (a *application) directory(ctx context.Context) error {
	found, err := a.run(ctx)
	if err != nil {
		return err
	}
	if len(found.head.Objects) == 0 && found.plan.Empty() {
		return errors.New("the directory has no node_class and no pool; there is nothing to apply")
	}
	if found.plan.Refused() {
		return a.refuse(found.plan)
	}
	for _, note := range found.plan.Notes {
		fmt.Fprintln(a.env.Stderr, "Note:", note)
	}
	return a.execute(ctx, found.cluster, found.head, compare.Comparison{Plan: found.plan, Targets: found.targets})
}

// saved carries out a plan that was saved.
func (a *application) saved(ctx context.Context, name string) error {
	saved, err := base.Plan(name)
	if err != nil {
		return err
	}
	cluster, err := kube.Connect(a.access)
	if err != nil {
		return err
	}
	prices, err := catalog.Embedded()
	if err != nil {
		return err
	}
	head := saved.Result
	now, err := compare.Live(ctx, head, compare.LiveView(cluster), compare.LiveOptions{
		Base: head, Prices: prices, Now: a.now(), Prune: saved.Prune,
	})
	if err != nil {
		return err
	}
	if err := saved.Fresh(now.Plan); err != nil {
		fmt.Fprintln(a.env.Stderr, "lkeplan:", err)
		return stale
	}
	if err := saved.Judge(&now.Plan, a.allow); err != nil {
		return err
	}
	if now.Plan.Refused() {
		return a.refuse(now.Plan)
	}
	return a.execute(ctx, cluster, head, now)
}

// refuse shows the plan that a guard or policy refuses.
func (a *application) refuse(p plan.Plan) error {
	shown := reports.Report{Plan: p, ExitCode: int(refused)}
	opts := reports.Options{Target: a.dir(), Version: version()}
	if err := reports.Write(a.env.Stderr, "text", shown, opts); err != nil {
		return err
	}
	return refused
}

// execute does what the comparison says, and waits for what comes of it.
func (a *application) execute(ctx context.Context, cluster *kube.Cluster, head compile.Result, found compare.Comparison) error {
	deleted, err := apply.Run(ctx, cluster, found, a.show)
	if err != nil {
		return err
	}
	if a.wait.value != "none" {
		if err := a.await(ctx, compare.LiveView(cluster), head, deleted); err != nil {
			return err
		}
	}
	text := fmt.Sprintf("applied %s: %d created, %d changed, %d unchanged", objectCount(len(head.Objects)),
		a.counts[apply.Event(kube.Created)], a.counts[apply.Event(kube.Changed)], a.counts[apply.Event(kube.Unchanged)])
	if n := a.counts[apply.Deleted]; n > 0 {
		text += fmt.Sprintf(", %d deleted", n)
	}
	fmt.Fprintf(a.env.Stdout, "%s (%s)\n", text, time.Since(a.started).Round(100*time.Millisecond))
	return nil
}

// await waits until objects are ready and, where that is asked for, all nodes
// are as they should be and what was deleted is gone.
func (a *application) await(ctx context.Context, in compare.View, head compile.Result, deleted []map[string]any) error {
	rolled := a.wait.value == "rolled"
	timeout := a.timeout
	switch {
	case timeout > 0:
	case rolled:
		timeout = time.Hour
	default:
		timeout = 2 * time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := apply.WaitReady(ctx, in, head.Manifests(), a.show); err != nil || !rolled {
		return err
	}
	if err := apply.WaitRolled(ctx, in, head, a.show); err != nil {
		return err
	}
	return apply.WaitGone(ctx, in, deleted, a.show)
}

func (a *application) show(p apply.Progress) {
	a.counts[p.Event]++
	what := string(p.Event)
	if p.Event == apply.Rolls {
		what = fmt.Sprintf("%d of %d nodes as they should be", p.Rolled, p.Of)
	}
	fmt.Fprintf(a.env.Stdout, "%-15s %-24s %s\n", p.Kind, p.Name, what)
}

func objectCount(n int) string {
	if n == 1 {
		return "1 object"
	}
	return fmt.Sprintf("%d objects", n)
}
