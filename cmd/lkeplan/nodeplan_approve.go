package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/comparison"
	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/nodeplan"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

const nodePlanApproveHelp = `Approve the plan with which a NodePlan waits, and no other: this digest, the
guards that refuse it now, at most as many nodes as it touches now,
until --for ends. The apply uses the approval up; it is kept in the history.

Of a NodePlan that only plans, such as that of a pull request, the plan is
approved for the NodePlan that will apply it. It takes the role lkeplan-approve
in that namespace.`

const maxApprovalTime = 30 * 24 * time.Hour

// approval is what an approval is to be, as the flags say.
type approval struct {
	from     nodePlanFlags
	guards   []string
	nodes    int
	lasts    time.Duration
	reason   string
	digest   string
	yes      bool
	takeBack bool
}

func newNodePlanApprove(env *flags.Env) *cobra.Command {
	var a approval
	cmd := &cobra.Command{
		Use:   "approve NAME",
		Short: "Let one plan pass that guards refuse",
		Long:  nodePlanApproveHelp,
		Example: `  lkeplan nodeplan approve prod
  lkeplan nodeplan approve prod --yes --digest sha256:... --max-nodes 7 --for 2h
  lkeplan nodeplan approve prod --take-back`,
		Args: oneNodePlan,
		RunE: func(cmd *cobra.Command, args []string) error { return a.run(cmd, env, args[0]) },
	}
	a.from.flags(cmd, env)
	cmd.Flags().StringArrayVar(&a.guards, "guard", nil,
		"lift only this `GUARD:ADDRESS` of those that refuse the plan; may be repeated (default: all of them)")
	cmd.Flags().IntVar(&a.nodes, "max-nodes", -1,
		"let at most `N` nodes be deleted, drained or replaced (default: those of the plan)")
	cmd.Flags().DurationVar(&a.lasts, "for", 24*time.Hour, "let it hold for this `TIME`, from the next window on "+
		"where the plan waits for one; until 720h from now at most")
	cmd.Flags().StringVar(&a.reason, "reason", "", "`TEXT` for those who read the history")
	cmd.Flags().StringVar(&a.digest, "digest", "", "approve only if the plan has this `DIGEST`")
	cmd.Flags().BoolVarP(&a.yes, "yes", "y", false, "do not ask for confirmation")
	cmd.Flags().BoolVar(&a.takeBack, "take-back", false, "take back the approval that is there")
	return cmd
}

func (a *approval) run(cmd *cobra.Command, env *flags.Env, name string) error {
	ctx := cmd.Context()
	if a.lasts <= 0 || a.lasts > maxApprovalTime {
		return fmt.Errorf("--for %s: an approval holds for more than nothing, and for 720h at most", a.lasts)
	}
	cluster, np, err := a.from.get(ctx, name)
	if err != nil {
		return err
	}
	to, err := nodeplan.Applies(np)
	if err != nil {
		return err
	}
	if a.takeBack {
		if err := nodeplan.Approve(ctx, cluster, to, nil); err != nil {
			return err
		}
		fmt.Fprintf(env.Stdout, "NodePlan %s has no approval any more.\n", to)
		return nil
	}
	given, err := a.approval(np)
	if err != nil {
		return err
	}
	if given.By, err = cluster.User(ctx); err != nil {
		return err
	}
	given.Expires = metav1.NewTime(a.until(np, time.Now()).UTC().Truncate(time.Second))
	var shown diag.Page
	describeApproval(&shown, np, given)
	if _, err := io.WriteString(env.Stdout, shown.String()); err != nil {
		return err
	}
	if !a.yes {
		if flags.Terminal(env.Stdin) == nil {
			return errors.New("an approval lets nodes go, and there is no terminal to ask on; add --yes")
		}
		if err := confirm(ctx, env, "Approve this plan?", "nothing was approved"); err != nil {
			return err
		}
	}
	if err := nodeplan.Approve(ctx, cluster, to, &given); err != nil {
		return err
	}
	if to == nodeplan.Key(np) {
		fmt.Fprintf(env.Stdout, "Approved. To watch it: lkeplan nodeplan reconcile -n %s %s\n", to.Namespace, to.Name)
	} else {
		fmt.Fprintf(env.Stdout, "Approved for NodePlan %s, which applies it when it is merged.\n", to)
	}
	return nil
}

// until is when the approval ends: if the plan waits for a window, the time counts from when that opens.
func (a *approval) until(np *lkeplanv1alpha1.NodePlan, now time.Time) time.Time {
	from := now
	if opens := np.Status.NextWindow; opens != nil && opens.After(now) {
		from = opens.Time
	}
	if most := now.Add(maxApprovalTime); from.Add(a.lasts).After(most) {
		return most
	}
	return from.Add(a.lasts)
}

// approval is that of the plan that waits, within what the flags say.
func (a *approval) approval(np *lkeplanv1alpha1.NodePlan) (lkeplanv1alpha1.Approval, error) {
	given, err := plan.ApprovalFor(np)
	if err != nil {
		return given, err
	}
	if a.digest != "" && a.digest != given.PlanDigest {
		return given, fmt.Errorf("the plan of NodePlan %s is another one by now, %s", nodeplan.Key(np), diag.OneLine(given.PlanDigest))
	}
	for _, guard := range a.guards {
		if !slices.Contains(given.Guards, guard) {
			return given, fmt.Errorf("--guard %s: what refuses the plan is %s", guard, diag.OneLine(strings.Join(given.Guards, ", ")))
		}
	}
	if len(a.guards) > 0 {
		given.Guards = a.guards
	}
	if a.nodes >= 0 {
		given.MaxNodes = a.nodes
	}
	given.Reason = a.reason
	return given, nil
}

func describeApproval(p *diag.Page, np *lkeplanv1alpha1.NodePlan, a lkeplanv1alpha1.Approval) {
	p.Line(0, "NodePlan %s", nodeplan.Key(np))
	writePlanOf(p, np)
	p.Line(0, "The approval lifts %s, for %s at most, until %s, in the name of %s.", strings.Join(a.Guards, ", "),
		diag.Counted(a.MaxNodes, "node"), momentText(a.Expires.Time), a.By)
}

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
			if err := out.Write(env.Data(), env.Getenv, report, about); err != nil {
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
	d.Owner = ownerOf(np)
	return nil
}

func ownerOf(np *lkeplanv1alpha1.NodePlan) *comparison.Owner {
	return &comparison.Owner{
		Label:   kube.LabelValue(kube.NodePlanOwner, np.Namespace, np.Name),
		Applied: nodeplan.InventoryOf(np.Status.Inventory).Has,
		Ignore:  nodeplan.Ignored(np.Spec.DriftIgnore),
		Guards: func(source config.Guards, nodes int) config.Guards {
			return nodeplan.Stricter(source, np.Spec.Guards, nodes)
		},
	}
}
