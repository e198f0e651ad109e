package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/comparison"
	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/nodeplan"
	"github.com/lkeplan/lkeplan/kube"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

const nodePlanDiffHelp = `Compare the working tree of a directory with the cluster as a NodePlan would
apply it: with its variables, its guards, the fields that it lets others set,
and what it would prune. The cluster is only read.

Guards and policies of the source are those of the commit where the change
begins, as for lkeplan diff. Values that the NodePlan has from Secrets are not
read: give those that the directory needs with --var.`

func newNodePlanDiff(env *flags.Env) *cobra.Command {
	var (
		namespace string
		detailed  bool
		out       flags.Output
	)
	d := comparison.Comparison{Env: env, Base: "live"}
	cmd := &cobra.Command{
		Use:     "diff NAME [DIR]",
		Short:   "Say what a NodePlan would do with a directory",
		Long:    nodePlanDiffHelp,
		Example: "  lkeplan nodeplan diff prod clusters/prod",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			from := nodePlanFlags{access: d.Access, namespace: namespace}
			if err := compareAsNodePlan(cmd.Context(), env, &from, &d, args[0]); err != nil {
				return err
			}
			d.Args = args[1:]
			found, err := d.Run(cmd.Context())
			if err != nil {
				return err
			}
			verdict := found.Verdict(detailed)
			report := found.Report(verdict)
			if report.Digest, err = found.Plan.Digest(); err != nil {
				return err
			}
			about := d.About(cmd)
			about.Apply = nil // the NodePlan does
			if err := out.Write(env.Stdout, env.Getenv, report, about); err != nil {
				return err
			}
			return verdict.AsError()
		},
	}
	d.Flags(cmd)
	cmd.Flags().StringVarP(&namespace, "namespace", "n", "", "`NAMESPACE` of the NodePlan (default: that of the context)")
	cmd.Flags().BoolVar(&detailed, "detailed-exitcode", false, "exit with 2 if there are changes")
	out.Add(cmd)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
		from := nodePlanFlags{access: d.Access, namespace: namespace}
		return from.names(cmd.Context(), begun), cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

// compareAsNodePlan has a comparison be that of a NodePlan.
func compareAsNodePlan(ctx context.Context, env *flags.Env, from *nodePlanFlags, d *comparison.Comparison, name string) error {
	cluster, np, err := from.get(ctx, name)
	if err != nil {
		return err
	}
	vars, secrets, err := nodeplan.Variables(ctx, cluster, np)
	if err != nil {
		return err
	}
	if len(secrets) > 0 {
		progress(env, "Values of Secret %s are not read: give those that the directory needs with --var.",
			strings.Join(secrets, ", "))
	}
	d.Given(vars)
	d.Prune = np.Spec.Prune == nil || *np.Spec.Prune
	d.Keeper = keeperOf(np)
	return nil
}

func keeperOf(np *lkeplanv1alpha1.NodePlan) *comparison.Keeper {
	return &comparison.Keeper{
		Owner:   kube.LabelValue(kube.NodePlanOwner, np.Namespace, np.Name),
		Applied: nodeplan.InventoryOf(np.Status.Inventory).Has,
		Ignore:  nodeplan.Ignored(np.Spec.DriftIgnore),
		Guards: func(source config.Guards, nodes int) config.Guards {
			return nodeplan.Stricter(source, np.Spec.Guards, nodes)
		},
	}
}
