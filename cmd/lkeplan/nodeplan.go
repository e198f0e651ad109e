package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/engine/nodeplan"
	"github.com/lkeplan/lkeplan/kube"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

const nodePlanHelp = `Look at the NodePlans of a cluster, and do by hand what a commit cannot: approve
what guards refuse, suspend, resume, and reconcile now.

A NodePlan keeps the cluster as a directory in Git says; the controller does the
work. Each command takes the name of one NodePlan, in the namespace of the
context or that of --namespace.`

// newNodePlan returns the command with its subcommands.
func newNodePlan(env *flags.Env) *cobra.Command {
	cmd := &cobra.Command{Use: "nodeplan", Short: "Look at NodePlans, approve and reconcile them", Long: nodePlanHelp,
		Example: "  lkeplan nodeplan get\n  lkeplan nodeplan approve prod"}
	for _, sub := range []*cobra.Command{
		newNodePlanGet(env), newNodePlanDiff(env), newNodePlanApprove(env), newNodePlanReconcile(env), newNodePlanSuspend(env), newNodePlanResume(env), newNodePlanHistory(env),
	} {
		flags.ExplainMistakes(sub)
		cmd.AddCommand(sub)
	}
	return cmd
}

// nodePlanFlags is which NodePlan of which cluster a command is for.
type nodePlanFlags struct {
	access    kube.Access
	namespace string
	all       bool // namespaces
}

// flags adds the flags that say which NodePlan is meant, and has the shell complete names.
func (a *nodePlanFlags) flags(cmd *cobra.Command, env *flags.Env) {
	flags.ClusterFlags(cmd, env, &a.access)
	cmd.Flags().StringVarP(&a.namespace, "namespace", "n", "", "`NAMESPACE` of the NodePlan (default: that of the "+
		"context)")
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.names(cmd.Context(), begun), cobra.ShellCompDirectiveNoFileComp
	}
}

// names are those of NodePlans that begin with a text. A cluster that does not answer has
// none.
func (a *nodePlanFlags) names(ctx context.Context, begun string) (names []string) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	cluster, err := a.connect()
	if err != nil {
		return nil
	}
	plans, err := nodeplan.List(ctx, cluster, a.namespace)
	if err != nil {
		return nil
	}
	for _, np := range plans {
		if strings.HasPrefix(np.Name, begun) {
			names = append(names, np.Name+"\t"+nodeplan.State(&np))
		}
	}
	return names
}

// connect returns the cluster, and completes the namespace.
func (a *nodePlanFlags) connect() (*kube.Cluster, error) {
	cluster, err := kube.Connect(a.access)
	if err != nil {
		return nil, err
	}
	if a.namespace == "" && !a.all {
		a.namespace = cluster.Namespace()
	}
	return cluster, nil
}

// get returns the cluster, and the NodePlan of a name in it.
func (a *nodePlanFlags) get(ctx context.Context, name string) (*kube.Cluster, *lkeplanv1alpha1.NodePlan, error) {
	cluster, err := a.connect()
	if err != nil {
		return nil, nil, err
	}
	np, err := nodeplan.Get(ctx, cluster, types.NamespacedName{Namespace: a.namespace, Name: name})
	return cluster, np, err
}

// oneNodePlan is the positional argument of commands for one NodePlan.
func oneNodePlan(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s takes the name of one NodePlan, and got %d arguments; lkeplan nodeplan get lists them",
			cmd.Name(), len(args))
	}
	return nil
}

// progress says on standard error what is going on.
func progress(env *flags.Env, format string, args ...any) {
	fmt.Fprintf(env.Stderr, format+"\n", args...)
}
