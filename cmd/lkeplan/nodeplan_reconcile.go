package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/nodeplan"
	"github.com/lkeplan/lkeplan/kube"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// reconciliation is a reconciliation that a command waits for.
type reconciliation struct {
	from    nodePlanFlags
	out     textOrJSON
	timeout time.Duration
}

func (w *reconciliation) flags(cmd *cobra.Command, env *flags.Env) {
	w.from.flags(cmd, env)
	w.out.add(cmd)
	cmd.Flags().DurationVar(&w.timeout, "timeout", 5*time.Minute, "stop waiting after `TIME`; the controller continues")
}

func newNodePlanReconcile(env *flags.Env) *cobra.Command {
	var (
		w          reconciliation
		withSource bool
	)
	cmd := &cobra.Command{
		Use:   "reconcile NAME",
		Short: "Reconcile a NodePlan now, and wait",
		Long: `Let the controller compare and apply a NodePlan (an object that applies commits in
a cluster) now, and wait until the NodePlan is ready, stalled or failed. Meanwhile,
show what it is waiting for. The exit code is 0 if the NodePlan is ready, 3 if
guards (limits on one change) refuse its plan, and 1 otherwise.`,
		Example: "  lkeplan nodeplan reconcile prod\n  lkeplan nodeplan reconcile prod --with-source",
		Args:    oneNodePlan,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), w.timeout)
			defer cancel()
			cluster, np, err := w.from.get(ctx, args[0])
			switch {
			case err != nil:
				return err
			case np.Spec.Suspend:
				return fmt.Errorf("NodePlan %s is suspended; lkeplan nodeplan resume -n %s %s reconciles it",
					nodeplan.Key(np), np.Namespace, np.Name)
			case withSource:
				err = nodeplan.Fetch(ctx, cluster, np, time.Now(), func(what string) { flags.Say(env.Stderr, "%s", what) })
				if err != nil && !errors.Is(err, nodeplan.ErrNoSource) {
					return err
				}
			}
			return w.reconcile(ctx, env, cluster, np)
		},
	}
	w.flags(cmd, env)
	cmd.Flags().BoolVar(&withSource, "with-source", false, "let Flux fetch the source first")
	return cmd
}

// reconcile requests a reconciliation, waits for it, and shows the result.
func (w *reconciliation) reconcile(ctx context.Context, env *flags.Env, cluster *kube.Cluster,
	np *lkeplanv1alpha1.NodePlan) error {
	token, err := nodeplan.Request(ctx, cluster, nodeplan.Key(np), time.Now())
	if err != nil {
		return err
	}
	flags.Say(env.Stderr, "Requested a reconciliation of NodePlan %s", nodeplan.Key(np))
	np, err = nodeplan.Await(ctx, cluster, nodeplan.Key(np), token, func(doing string) {
		_ = printPage(env.Stderr, flags.Columns(env.Stderr, env.Getenv), func(p *diag.Page) { p.Words(2, doing) })
	})
	if err != nil {
		return err
	}
	if err := w.out.print(env, np, func(p *diag.Page) { writeNodePlan(p, np) }); err != nil {
		return err
	}
	return nodePlanVerdict(np)
}

// nodePlanVerdict returns the exit code for the state of a NodePlan.
func nodePlanVerdict(np *lkeplanv1alpha1.NodePlan) error {
	switch nodeplan.State(np) {
	case nodeplan.Ready:
		return nil
	case nodeplan.Waiting:
		return flags.Refused
	}
	return flags.ErrReported
}

func newNodePlanSuspend(env *flags.Env) *cobra.Command {
	var from nodePlanFlags
	cmd := &cobra.Command{
		Use:   "suspend NAME",
		Short: "Suspend a NodePlan until it is resumed",
		Long: `Suspend a NodePlan (an object that applies commits in a cluster): until you resume
it, the controller applies no commit of it. Karpenter still creates and removes nodes for the objects in the
cluster. If Flux or another tool applies the NodePlan object from Git, that tool may resume
the NodePlan.`,
		Example: "  lkeplan nodeplan suspend prod",
		Args:    oneNodePlan,
		RunE: func(cmd *cobra.Command, args []string) error {
			cluster, np, err := from.get(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := nodeplan.Suspend(cmd.Context(), cluster, nodeplan.Key(np), true); err != nil {
				return err
			}
			fmt.Fprintf(env.Stdout, "NodePlan %s is suspended.\n", nodeplan.Key(np))
			return nil
		},
	}
	from.flags(cmd, env)
	return cmd
}

func newNodePlanResume(env *flags.Env) *cobra.Command {
	var w reconciliation
	cmd := &cobra.Command{
		Use:   "resume NAME",
		Short: "Resume a NodePlan, and wait",
		Long: "Resume a suspended NodePlan (an object that applies commits in a cluster), and wait for it as\n" +
			"\"lkeplan nodeplan reconcile\" does.",
		Example: "  lkeplan nodeplan resume prod",
		Args:    oneNodePlan,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), w.timeout)
			defer cancel()
			cluster, np, err := w.from.get(ctx, args[0])
			if err != nil {
				return err
			}
			if err := nodeplan.Suspend(ctx, cluster, nodeplan.Key(np), false); err != nil {
				return err
			}
			return w.reconcile(ctx, env, cluster, np)
		},
	}
	w.flags(cmd, env)
	return cmd
}
