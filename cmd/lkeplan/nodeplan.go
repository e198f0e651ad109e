package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/nodeplan"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/catalog"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/text"
)

const nodePlanHelp = `A NodePlan is a Kubernetes object that names a directory in Git. The controller
of lkeplan applies that directory to the cluster, and applies it again after
each commit.

These commands show NodePlans, and do what a commit cannot do: suspend, resume or
reconcile a NodePlan, and approve a plan that a guard (a limit on one change)
refuses. Each command reads the namespace of the kubeconfig context, or the
namespace in its flag --namespace.`

func newNodePlan(env *flags.Env) *cobra.Command {
	cmd := &cobra.Command{Use: "nodeplan", Short: "Show, approve and reconcile NodePlans", Long: nodePlanHelp,
		Example: "  lkeplan nodeplan get\n  lkeplan nodeplan approve prod"}
	cmd.AddCommand(newNodePlanGet(env), newNodePlanDiff(env), newNodePlanApprove(env), newNodePlanReconcile(env),
		newNodePlanSuspend(env), newNodePlanResume(env), newNodePlanHistory(env))
	return cmd
}

// nodePlanFlags are the cluster and the namespace of a NodePlan.
type nodePlanFlags struct {
	access    kube.Access
	namespace string
	all       bool // namespaces
}

// flags adds the flags, and completes names in the shell.
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

// names returns the names of NodePlans that start with a text; none if the cluster does not
// answer.
func (a *nodePlanFlags) names(ctx context.Context, begun string) (names []string) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	plans, err := a.list(ctx)
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

// list returns the NodePlans of the namespace, or of all.
func (a *nodePlanFlags) list(ctx context.Context) ([]lkeplanv1alpha1.NodePlan, error) {
	cluster, err := a.connect()
	if err != nil {
		return nil, err
	}
	return nodeplan.List(ctx, cluster, a.namespace)
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

// oneNodePlan returns the positional argument of commands for one NodePlan.
func oneNodePlan(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s takes the name of one NodePlan, and got %d arguments; lkeplan nodeplan get lists the NodePlans",
			cmd.Name(), len(args))
	}
	return nil
}

func newNodePlanGet(env *flags.Env) *cobra.Command {
	var (
		from nodePlanFlags
		out  textOrJSON
	)
	cmd := &cobra.Command{
		Use:   "get [NAME]",
		Short: "List NodePlans, or show one",
		Long: `List NodePlans (objects that apply commits in a cluster). The list shows whether
a NodePlan is ready, which revision is applied, how many nodes are outdated, when the next nodes can be replaced, and
what is wrong. With NAME, show the plan, guards (limits on one change) and pools of one NodePlan. -o
json prints the objects.`,
		Example: "  lkeplan nodeplan get\n  lkeplan nodeplan get --all-namespaces\n  lkeplan nodeplan get prod",
		Args:    flags.Arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				_, np, err := from.get(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return out.print(env, np, func(p *diag.Page) { writeNodePlan(p, np) })
			}
			plans, err := from.list(cmd.Context())
			if err != nil {
				return err
			}
			return out.print(env, plans, func(p *diag.Page) {
				if len(plans) == 0 {
					hint := ""
					if !from.all {
						hint = " To list those of all namespaces: lkeplan nodeplan get --all-namespaces"
					}
					flags.Say(env.Stderr, "No NodePlans in %s.%s", placeOf(from), hint)
					return
				}
				writeNodePlans(p, plans, from.all)
			})
		},
	}
	from.flags(cmd, env)
	cmd.Flags().BoolVarP(&from.all, "all-namespaces", "A", false, "list the NodePlans of all namespaces")
	out.add(cmd)
	return cmd
}

func placeOf(from nodePlanFlags) string {
	if from.all {
		return "the cluster"
	}
	return "the namespace " + from.namespace
}

// writeNodePlans lists NodePlans, one per line, with the first line of their messages.
func writeNodePlans(p *diag.Page, plans []lkeplanv1alpha1.NodePlan, namespaces bool) {
	rows := [][]string{{"NAMESPACE", "NAME", "STATE", "REVISION", "OUTDATED", "WINDOW", "MESSAGE"}}
	for i := range plans {
		np := &plans[i]
		outdated := "-"
		if n := np.Status.Outdated; n != nil {
			outdated = fmt.Sprint(*n)
		}
		message, _, _ := strings.Cut(nodeplan.Message(np), "\n")
		rows = append(rows, []string{np.Namespace, np.Name, nodeplan.State(np), nodeplan.Short(np.Status.LastAppliedRevision),
			outdated, formatTime(np.Status.NextWindow), message})
	}
	for i := range rows {
		if !namespaces {
			rows[i] = rows[i][1:]
		}
	}
	p.TableOfTexts(rows)
}

// writeNodePlan writes everything about one NodePlan.
func writeNodePlan(p *diag.Page, np *lkeplanv1alpha1.NodePlan) {
	p.Line(0, "NodePlan %s: %s", nodeplan.Key(np), nodeplan.State(np))
	p.Words(2, nodeplan.Message(np))
	p.Line(0, "Applied: %s", nodeplan.Short(np.Status.LastAppliedRevision))
	if np.Status.LastAttemptedRevision != np.Status.LastAppliedRevision {
		p.Line(0, "Tried:   %s", nodeplan.Short(np.Status.LastAttemptedRevision))
	}
	if !nodeplan.Superseded(np) {
		writePlanOf(p, np)
	}
	if a := np.Status.Approval; a != nil {
		p.Paragraph(0, "Approved by %s for plan %s: %s, at most %s, until %s", a.By, a.PlanDigest, strings.Join(a.Guards, ", "),
			text.Count(a.MaxNodes, "node"), formatTime(&a.Expires))
	}
	writeRollout(p, np)
	if len(np.Status.Pools) == 0 {
		return
	}
	p.Break()
	rows := [][]string{{"POOL", "NODES", "OUTDATED", "WINDOW"}}
	for _, pool := range np.Status.Pools {
		rows = append(rows, []string{diag.Name(pool.Name), fmt.Sprint(pool.Nodes), fmt.Sprint(pool.Outdated), formatTime(pool.NextWindow)})
	}
	p.Table(rows)
}

// writePlanOf writes the plan of a NodePlan, and the verdicts of its guards.
func writePlanOf(to *diag.Page, np *lkeplanv1alpha1.NodePlan) {
	p := np.Status.Plan
	if p == nil {
		return
	}
	undone := ""
	if s := np.Status.Rollout; s != nil && s.Phase == lkeplanv1alpha1.PhaseRolledBack && s.Revision == p.Revision {
		undone = ", which is rolled back"
	}
	title := "Plan of"
	if _, unknown := nodeplan.Pending(np); unknown != "" {
		title = "Last plan, of" // another one may be pending
	}
	to.Paragraph(0, "%s %s%s: %s", title, nodeplan.Short(p.Revision), undone, p.Summary)
	if p.CostCeiling != "" {
		ceiling := "$" + p.CostCeiling
		if amount, err := catalog.ParseMoney(p.CostCeiling); err == nil {
			ceiling = amount.Text()
		}
		to.Line(2, "at most %s a month", ceiling)
	}
	for _, c := range p.Changes {
		to.Paragraph(2, "%s: %s", objectName(c.Object), c.Effect)
		for _, field := range c.Fields {
			to.Words(4, field)
		}
		if c.FieldsLeftOut > 0 {
			to.Line(4, "not shown: %s", text.Count(c.FieldsLeftOut, "field"))
		}
	}
	if n := len(p.Changes); n >= mostPlanned { // which objects are moved is not in the status, so the others cannot be counted
		to.Line(2, "only the first %d objects are shown; to list all: lkeplan nodeplan diff NAME DIR", n)
	}
	for _, g := range np.Status.Guards {
		to.Paragraph(2, "%s: %s: %s", diag.Name(g.Status), permissionOf(g), g.Message)
	}
	to.Line(2, "digest %s", p.Digest)
}

// permissionOf names a guard as an approval lists it; only its name if no approval can lift it.
func permissionOf(g lkeplanv1alpha1.GuardStatus) string {
	if g.Permission == "" || g.Status == string(plan.Waiting) {
		return g.Guard
	}
	return g.Permission
}

// mostPlanned is the maximum length of PlanSummary.Changes.
const mostPlanned = 100

// named matches what a plan calls an object: an address, or a kind and a name.
var named = regexp.MustCompile(`^(?:[a-z_]+(?:\.[\w-]+(?:\["[\w./-]+"\])?)+|` +
	`(?:NodePool|LinodeNodeClass|NodeOverlay|CapacityBuffer|CapacityLimit) [\w./-]+)$`)

// objectName returns an object in a status with which a line can begin: other text is quoted.
func objectName(object string) string {
	if named.MatchString(object) {
		return object
	}
	return strconv.Quote(object)
}

// writeRollout writes on which pools a revision proves itself, or has proven itself.
func writeRollout(to *diag.Page, np *lkeplanv1alpha1.NodePlan) {
	s := np.Status.Rollout
	if s == nil {
		return
	}
	var pools []string
	for _, p := range s.Pools {
		what := fmt.Sprintf("%d to replace", p.Before)
		if p.Created {
			what = "new"
		}
		pools = append(pools, fmt.Sprintf("%s (%s)", p.Name, what))
	}
	to.Paragraph(0, "First wave of %s: %s since %s, on %s", nodeplan.Short(s.Revision), s.Phase, formatTime(&s.Since),
		strings.Join(pools, ", "))
}

// formatTime writes a time for people; "-" for none.
func formatTime(t *metav1.Time) string {
	if t == nil || t.IsZero() {
		return "-"
	}
	return text.Time(t.Time)
}

// momentText writes a time in a sentence.
func momentText(t time.Time) string { return formatTime(&metav1.Time{Time: t}) }

func newNodePlanHistory(env *flags.Env) *cobra.Command {
	var (
		from nodePlanFlags
		out  textOrJSON
	)
	cmd := &cobra.Command{
		Use:   "history NAME",
		Short: "List the last revisions and their approvals",
		Long: `List the last revisions (commits) that a NodePlan has applied or refused, newest
first. A NodePlan is an object that applies commits in a cluster. If a user
approved a revision that guards (limits on one change) refused, the list shows the user and the
reason.`,
		Example: "  lkeplan nodeplan history prod",
		Args:    oneNodePlan,
		RunE: func(cmd *cobra.Command, args []string) error {
			_, np, err := from.get(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			entries := append([]lkeplanv1alpha1.HistoryEntry{}, np.Status.History...)
			return out.print(env, entries, func(p *diag.Page) { writeHistory(p, entries) })
		},
	}
	from.flags(cmd, env)
	out.add(cmd)
	return cmd
}

func writeHistory(p *diag.Page, entries []lkeplanv1alpha1.HistoryEntry) {
	rows := [][]string{{"TIME", "REVISION", "RESULT", "APPROVED BY", "FOR"}}
	for _, h := range entries {
		by, lifted := "-", "-"
		if a := h.Approval; a != nil {
			by, lifted = a.By, strings.Join(a.Guards, ", ")
			if a.Reason != "" {
				lifted += ": " + a.Reason
			}
		}
		rows = append(rows, []string{formatTime(&h.Time), nodeplan.Short(h.Revision), h.Status, by, lifted})
	}
	p.TableOfTexts(rows)
}
