package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/diff"
	"github.com/lkeplan/lkeplan/engine/nodeplan"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/text"
)

const nodePlanApproveHelp = `Approve the pending plan of a NodePlan (an object that applies commits in a
cluster), if a guard (a limit on one change) refuses the plan. The approval is
only for this plan. It permits only what the
guards refuse now. The plan may delete, drain or replace at most the number of
nodes that the plan shows. The approval replaces an earlier one. It
expires after the time in --for. After the plan is applied, the approval cannot
be used again. If the plan also waits for a window (a time for changes), it
still waits: an approval cannot lift a window. "lkeplan nodeplan history" shows the approval.

A NodePlan with the mode PlanOnly shows the plan of a pull request, and does not
apply it. If you approve this plan, the approval counts for another NodePlan: the
one that applies the plan after the merge.

You need the ClusterRole lkeplan-approve in the namespace of the NodePlan that
applies the plan.`

const maxApprovalTime = 30 * 24 * time.Hour

// approval is the approval that the flags describe.
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
		Short: "Approve one plan that guards refuse",
		Long:  nodePlanApproveHelp,
		Example: `  lkeplan nodeplan approve prod
  lkeplan nodeplan approve prod --yes --digest sha256:... --max-nodes 7 --for 2h
  lkeplan nodeplan approve prod --take-back`,
		Args: oneNodePlan,
		RunE: func(cmd *cobra.Command, args []string) error { return a.run(cmd, env, args[0]) },
	}
	a.from.flags(cmd, env)
	cmd.Flags().StringArrayVar(&a.guards, "guard", nil,
		"approve only this `GUARD:ADDRESS`; may be repeated (default: all guards that refuse the plan)")
	cmd.Flags().IntVar(&a.nodes, "max-nodes", -1,
		"allow at most `N` nodes to be deleted, drained or replaced (default: the number in the plan)")
	cmd.Flags().Lookup("max-nodes").DefValue = "0" // the description has the default
	cmd.Flags().DurationVar(&a.lasts, "for", 24*time.Hour, "let the approval expire after `TIME`; "+
		"if the plan waits for a window (a time for changes), TIME counts from the start of the next window; "+
		"the approval ends at most 720h from now")
	cmd.Flags().StringVar(&a.reason, "reason", "", "show `TEXT` in the history, as the reason of the approval")
	cmd.Flags().StringVar(&a.digest, "digest", "", "approve only if the plan has this `DIGEST`")
	cmd.Flags().BoolVarP(&a.yes, "yes", "y", false, "do not ask for confirmation")
	cmd.Flags().BoolVar(&a.takeBack, "take-back", false, "take back the current approval")
	return cmd
}

func (a *approval) run(cmd *cobra.Command, env *flags.Env, name string) error {
	ctx := cmd.Context()
	if a.nodes < 0 && cmd.Flags().Changed("max-nodes") {
		return fmt.Errorf("--max-nodes %d: it must be at least 0", a.nodes)
	}
	if a.lasts <= 0 || a.lasts > maxApprovalTime {
		return fmt.Errorf("--for %s: it must be more than 0 and at most 720h", a.lasts)
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
		fmt.Fprintf(env.Stdout, "The approval of NodePlan %s is taken back.\n", to)
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
	if err := printPage(env.Stdout, flags.Columns(env.Stdout, env.Getenv), func(p *diag.Page) { describeApproval(p, np, given) }); err != nil {
		return err
	}
	if !a.yes && flags.Terminal(env.Stdin) == nil {
		return errors.New("approve asks for confirmation, because nodes may be deleted, and there is no terminal; add --yes")
	}
	if err := confirm(ctx, env, a.yes, "Approve this plan?", "nothing was approved"); err != nil {
		return err
	}
	if err := nodeplan.Approve(ctx, cluster, to, &given); err != nil {
		return err
	}
	said, blocks := "Approved.", stillBlocks(np, given)
	switch {
	case to != nodeplan.Key(np):
		said = fmt.Sprintf("Approved for NodePlan %s, which applies it after the merge.", to)
	case len(blocks) == 0:
		said += fmt.Sprintf(" To follow it: lkeplan nodeplan reconcile -n %s %s", to.Namespace, to.Name)
	}
	return printPage(env.Stdout, flags.Columns(env.Stdout, env.Getenv), func(p *diag.Page) {
		p.Paragraph(0, "%s", strings.Join(append([]string{said}, blocks...), " "))
	})
}

// until returns when the approval ends. If the plan waits for a window, the time counts from its start, even if
// more blocks the plan.
func (a *approval) until(np *lkeplanv1alpha1.NodePlan, now time.Time) time.Time {
	from := now
	if opens := plan.Opens(np); opens.After(now) {
		from = opens
	}
	if most := now.Add(maxApprovalTime); from.Add(a.lasts).After(most) {
		return most
	}
	return from.Add(a.lasts)
}

// approval returns the approval of the pending plan, within the flags.
func (a *approval) approval(np *lkeplanv1alpha1.NodePlan) (lkeplanv1alpha1.Approval, error) {
	given, err := plan.ApprovalFor(np)
	if err != nil {
		return given, err
	}
	if a.digest != "" && a.digest != given.PlanDigest {
		return given, fmt.Errorf("the plan of NodePlan %s has changed; its digest is %s", nodeplan.Key(np), diag.OneLine(given.PlanDigest))
	}
	for _, guard := range a.guards {
		if slices.ContainsFunc(np.Status.Guards, func(g lkeplanv1alpha1.GuardStatus) bool {
			kind, _, _ := strings.Cut(guard, ":")
			return g.Status == string(plan.Waiting) && kind == g.Guard
		}) {
			return given, fmt.Errorf("--guard %s: an approval cannot lift a window or a freeze, and it can be given before the time "+
				"comes; to apply the plan sooner, change the window or the freeze in an earlier commit", guard)
		}
		if !slices.Contains(given.Guards, guard) {
			return given, fmt.Errorf("--guard %s: the plan is refused by %s", guard, diag.OneLine(strings.Join(given.Guards, ", ")))
		}
	}
	if len(a.guards) > 0 {
		given.Guards = a.guards
	}
	if a.nodes >= 0 && a.nodes < given.MaxNodes {
		return given, fmt.Errorf("--max-nodes %d: the plan affects %s, and is not applied with an approval for fewer", a.nodes,
			text.Count(given.MaxNodes, "node"))
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
	p.Paragraph(0, "The approval permits what these guards refuse: %s.", strings.Join(a.Guards, ", "))
	p.Paragraph(0, "It is for at most %s, until %s, in the name of %s.", text.Count(a.MaxNodes, "node"), momentText(a.Expires.Time), a.By)
	for _, sentence := range stillBlocks(np, a) {
		p.Paragraph(0, "%s", sentence)
	}
}

// stillBlocks returns sentences about what blocks the plan of a NodePlan even after an approval, for the command
// nodeplan approve.
func stillBlocks(np *lkeplanv1alpha1.NodePlan, a lkeplanv1alpha1.Approval) (texts []string) {
	for _, g := range np.Status.Guards {
		if g.Status != string(plan.Waiting) && g.Permission != "" && !slices.Contains(a.Guards, g.Permission) {
			texts = append(texts, fmt.Sprintf("The plan still waits for an approval of %s.", diag.OneLine(g.Permission)))
		}
	}
	if waits := plan.WaitsFor(np); waits != "" {
		texts = append(texts, fmt.Sprintf("The plan still waits for %s. An approval does not change that.", waits))
	}
	return texts
}

const nodePlanDiffHelp = `Show what a NodePlan (an object that applies commits in a cluster) would change
if it applied the directory. The comparison uses the variables of the NodePlan,
its guards (limits on one change) and its rules for pruning. It ignores the fields
that the NodePlan lets other owners set. The cluster is only read.

Guards and policies (conditions that a plan must meet) in the directory are not read from your branch, but
from the commit where it left the main branch, as in "lkeplan diff". lkeplan does not read
variables that the NodePlan takes from Secrets. If the directory needs them,
pass them with --var.

With --pending, show the change that the controller has planned and not yet
applied, such as one that waits for approval. The report shows the objects, the
applied and the planned value of each field, and the guards that block the
change. --pending takes no directory. The exit code is 3 if guards block the
change. It is 1 if the change is unknown, because the controller could not
compare the directory with the cluster.`

func newNodePlanDiff(env *flags.Env) *cobra.Command {
	var (
		namespace         string
		detailed, pending bool
		out               flags.Output
	)
	d := newComparison(env, "live")
	cmd := &cobra.Command{
		Use:     "diff NAME [DIR] | NAME --pending",
		Short:   "Show what a NodePlan would change",
		Long:    nodePlanDiffHelp,
		Example: "  lkeplan nodeplan diff prod clusters/prod\n  lkeplan nodeplan diff prod --pending",
		Args:    flags.Arguments(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			from := nodePlanFlags{access: d.Access, namespace: namespace}
			if pending {
				if err := onlyPending(cmd, args[1:]); err != nil {
					return err
				}
				return showPending(cmd.Context(), env, &from, args[0], &out, detailed)
			}
			if err := compareAsNodePlan(cmd.Context(), env, &from, &d, args[0]); err != nil {
				return err
			}
			d.Dirs = args[1:]
			found, err := d.Run(cmd.Context())
			if err != nil {
				return err
			}
			verdict := verdictOf(found.Plan, detailed)
			report := found.ReportOf(int(verdict))
			if report.Digest, err = found.Plan.Digest(); err != nil {
				return err
			}
			about := d.about(cmd)
			about.Apply = nil // the NodePlan does
			if err := out.Write(env.Data(), env.Getenv, report, about); err != nil {
				return err
			}
			return verdict.AsError()
		},
	}
	d.flags(cmd)
	cmd.Flags().StringVarP(&namespace, "namespace", "n", "", "`NAMESPACE` of the NodePlan (default: that of the context)")
	cmd.Flags().BoolVar(&detailed, "detailed-exitcode", false, "exit with 2 if there are changes")
	cmd.Flags().BoolVar(&pending, "pending", false, "show the change that the controller has planned and not yet applied")
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

// onlyPending returns an error if the command line also asks for a comparison with a directory.
func onlyPending(cmd *cobra.Command, dirs []string) (err error) {
	if len(dirs) > 0 {
		return fmt.Errorf("--pending shows what the controller has planned, without a directory: leave out %s or --pending", dirs[0])
	}
	with := []string{"pending", "namespace", "detailed-exitcode", "output", "width", "kubeconfig", "context", "request-timeout"}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && !slices.Contains(with, f.Name) {
			err = fmt.Errorf("--%s is for a comparison with a directory, and not for --pending", f.Name)
		}
		if formats := []string{"text", "json"}; f.Name == "output" && !slices.Contains(formats, f.Value.String()) {
			err = fmt.Errorf("--output %s is for a comparison with a directory; --pending has %s", f.Value, strings.Join(formats, " and "))
		}
	})
	return err
}

// pendingChange is what a NodePlan is about to apply.
type pendingChange struct {
	NodePlan string                        `json:"nodeplan"`
	State    string                        `json:"state"`
	Message  string                        `json:"message"`
	Applied  string                        `json:"applied_revision"`
	Unknown  string                        `json:"unknown"` // why it is unknown what is pending; "" if it is known
	Plan     *lkeplanv1alpha1.PlanSummary  `json:"plan"`    // null if no change is pending, or if that is unknown
	Guards   []lkeplanv1alpha1.GuardStatus `json:"guards"`
}

func pendingOf(np *lkeplanv1alpha1.NodePlan) pendingChange {
	c := pendingChange{
		NodePlan: nodeplan.Key(np).String(), State: nodeplan.State(np), Message: nodeplan.Message(np),
		Applied: np.Status.LastAppliedRevision, Guards: []lkeplanv1alpha1.GuardStatus{},
	}
	c.Plan, c.Unknown = nodeplan.Pending(np)
	if c.Plan != nil {
		c.Guards = append(c.Guards, np.Status.Guards...)
	}
	return c
}

// blocked reports whether a guard blocks the change.
func (c pendingChange) blocked() bool {
	return slices.ContainsFunc(c.Guards, func(g lkeplanv1alpha1.GuardStatus) bool { return g.Status == string(plan.Blocked) })
}

// showPending shows the change that a NodePlan is about to apply.
func showPending(ctx context.Context, env *flags.Env, from *nodePlanFlags, name string, to *flags.Output, detailed bool) error {
	_, np, err := from.get(ctx, name)
	if err != nil {
		return err
	}
	out := textOrJSON{to.Format}
	pending := pendingOf(np)
	if err := out.print(env, pending, func(p *diag.Page) {
		p.Width = to.Columns(env.Stdout, env.Getenv)
		writePending(p, np, pending)
	}); err != nil {
		return err
	}
	switch {
	case pending.Unknown != "":
		return flags.ErrReported
	case pending.blocked():
		return flags.Refused
	case detailed && pending.Plan != nil:
		return flags.Changes
	}
	return nil
}

// writePending writes the change that a NodePlan is about to apply.
func writePending(p *diag.Page, np *lkeplanv1alpha1.NodePlan, c pendingChange) {
	p.Line(0, "NodePlan %s: %s", nodeplan.Key(np), c.State)
	p.Words(2, c.Message)
	p.Line(0, "Applied: %s", nodeplan.Short(c.Applied))
	switch {
	case c.Unknown != "":
		p.Paragraph(0, "What is pending is unknown: %s", c.Unknown)
		if last := np.Status.Plan; last != nil {
			p.Line(0, "To show the last plan, of %s: lkeplan nodeplan get -n %s %s", nodeplan.Short(last.Revision), np.Namespace, np.Name)
		}
		return
	case c.Plan == nil:
		p.Line(0, "No change is pending.")
		return
	}
	writePlanOf(p, np)
	if c.blocked() {
		p.Line(0, "To approve it: lkeplan nodeplan approve -n %s %s", np.Namespace, np.Name)
	}
}

// compareAsNodePlan makes a comparison that of a NodePlan.
func compareAsNodePlan(ctx context.Context, env *flags.Env, from *nodePlanFlags, d *comparison, name string) error {
	cluster, np, err := from.get(ctx, name)
	if err != nil {
		return err
	}
	vars, secrets, err := nodeplan.Variables(ctx, cluster, np)
	if err != nil {
		return err
	}
	if len(secrets) > 0 {
		flags.Say(env.Stderr, "Values of Secret %s are not read: pass those that the directory needs with --var.",
			strings.Join(secrets, ", "))
	}
	d.Source.Vars = append(vars, d.Source.Vars...)
	d.Prune = np.Spec.Prune == nil || *np.Spec.Prune
	d.Owner = ownerOf(np)
	return nil
}

func ownerOf(np *lkeplanv1alpha1.NodePlan) *diff.Owner {
	return &diff.Owner{
		Label:   kube.LabelValue(kube.NodePlanOwner, np.Namespace, np.Name),
		Applied: nodeplan.InventoryOf(np.Status.Inventory).Has,
		Ignore:  nodeplan.Ignored(np.Spec.DriftIgnore),
		Guards: func(source config.Guards, nodes int) config.Guards {
			return nodeplan.Stricter(source, np.Spec.Guards, nodes)
		},
	}
}
