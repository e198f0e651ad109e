package nodeplan

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/nodeplan"
	"github.com/lkeplan/lkeplan/kube"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// waiting is a reconciliation that a command waits for.
type waiting struct {
	from    at
	out     output
	timeout time.Duration
}

func (w *waiting) flags(cmd *cobra.Command, env *flags.Env) {
	w.from.flags(cmd, env)
	w.out.flags(cmd)
	cmd.Flags().DurationVar(&w.timeout, "timeout", 5*time.Minute, "wait for at most this `TIME`; the work goes on")
}

func newReconcile(env *flags.Env) *cobra.Command {
	var (
		w          waiting
		withSource bool
	)
	cmd := &cobra.Command{
		Use:   "reconcile NAME",
		Short: "Reconcile a NodePlan now, and wait for what comes of it",
		Long: `Have a NodePlan compared and applied now, and wait until it is ready, stalled or
has failed; meanwhile say what it waits for. The exit code is 0 where it is
ready, 3 where guards refuse its plan, and 1 for all else.`,
		Example: "  lkeplan nodeplan reconcile prod\n  lkeplan nodeplan reconcile prod --with-source",
		Args:    oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			cluster, err := w.from.connect()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), w.timeout)
			defer cancel()
			np, err := nodeplan.Get(ctx, cluster, w.from.named(args[0]))
			switch {
			case err != nil:
				return err
			case np.Spec.Suspend:
				return fmt.Errorf("NodePlan %s is suspended; lkeplan nodeplan resume -n %s %s reconciles it",
					nodeplan.Key(np), np.Namespace, np.Name)
			case withSource:
				err = nodeplan.Fetch(ctx, cluster, np, time.Now(), func(what string) { step(env, "%s", diag.OneLine(what)) })
				if err != nil && !errors.Is(err, nodeplan.ErrNoSource) {
					return err
				}
			}
			return w.reconcile(ctx, env, cluster, np)
		},
	}
	w.flags(cmd, env)
	cmd.Flags().BoolVar(&withSource, "with-source", false, "have Flux fetch its source first")
	return cmd
}

// reconcile asks for a reconciliation, waits for it, and says how it ended.
func (w *waiting) reconcile(ctx context.Context, env *flags.Env, cluster *kube.Cluster,
	np *lkeplanv1alpha1.NodePlan) error {
	token, err := nodeplan.Request(ctx, cluster, nodeplan.Key(np), time.Now())
	if err != nil {
		return err
	}
	step(env, "NodePlan %s is asked to reconcile", nodeplan.Key(np))
	np, err = nodeplan.Await(ctx, cluster, nodeplan.Key(np), token, func(doing string) {
		for line := range strings.Lines(doing) {
			step(env, "  %s", diag.OneLine(strings.TrimRight(line, "\n")))
		}
	})
	if err != nil {
		return err
	}
	if w.out.json() {
		err = writeJSON(env.Stdout, np)
	} else {
		err = show(env.Stdout, np)
	}
	if err != nil {
		return err
	}
	return verdict(np)
}

// verdict is the exit code for the state of a NodePlan.
func verdict(np *lkeplanv1alpha1.NodePlan) error {
	switch nodeplan.State(np) {
	case nodeplan.Ready:
		return nil
	case nodeplan.Waiting:
		return flags.Refused
	}
	return flags.ErrReported
}

func newSuspend(env *flags.Env) *cobra.Command {
	var from at
	cmd := &cobra.Command{
		Use:   "suspend NAME",
		Short: "Compare and apply nothing until it is resumed",
		Long: `Suspend a NodePlan: nothing is compared or applied until it is resumed. Nodes
are still made and removed for the objects that are in the cluster. Whatever
applies the NodePlan itself from Git may set it back.`,
		Example: "  lkeplan nodeplan suspend prod",
		Args:    oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			cluster, err := from.connect()
			if err != nil {
				return err
			}
			np, err := nodeplan.Get(cmd.Context(), cluster, from.named(args[0]))
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

func newResume(env *flags.Env) *cobra.Command {
	var w waiting
	cmd := &cobra.Command{
		Use:     "resume NAME",
		Short:   "Resume a NodePlan, and wait for what comes of it",
		Long:    "Resume a NodePlan that was suspended, and reconcile it as reconcile does.",
		Example: "  lkeplan nodeplan resume prod",
		Args:    oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			cluster, err := w.from.connect()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), w.timeout)
			defer cancel()
			np, err := nodeplan.Get(ctx, cluster, w.from.named(args[0]))
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
