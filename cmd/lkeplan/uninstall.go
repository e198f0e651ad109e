package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/migrate"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/revision"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas/text"
)

const uninstallHelp = `Prepare a cluster for the removal of lkeplan. If you delete the controller
without this command, the nodes that it created stay and are billed, and objects
with finalizers of lkeplan cannot be deleted. So before you delete the
controller, run one of these:

  --drain  lkeplan deletes all pools, and the running controller drains and
           deletes their nodes. Then lkeplan deletes all node classes, all
           NodePlans (objects that apply commits) and all CapacityLimits (limits
           over several pools). Pods move to the remaining nodes. If a pod fits
           on no remaining node, it stays pending.
  --leave  Nodes, pools and all other objects stay. lkeplan removes the
           finalizers and taints that only its controller would remove. Stop the
           controller first. If you start it again, it manages the nodes again.

With either flag, the command first shows the objects and asks for confirmation.
Afterwards, it says how many machines are still billed, and you can delete the
controller and the CRDs in any order.`

func newUninstall(env *flags.Env) *cobra.Command {
	u := uninstalling{env: env}
	cmd := &cobra.Command{
		Use: "uninstall --drain | --leave", Short: "Prepare a cluster for the removal of lkeplan", Long: uninstallHelp,
		Example: "  lkeplan uninstall --drain\n  lkeplan uninstall --leave --yes",
		Args:    flags.Arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if u.drain == u.leave {
				return errors.New("usage: lkeplan uninstall --drain | --leave: drain the nodes, or keep them")
			}
			if !u.yes && flags.Terminal(env.Stdin) == nil {
				return errors.New("uninstall changes a cluster, and there is no terminal to ask on; add --yes")
			}
			return u.run(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&u.drain, "drain", false, "drain and delete all nodes of pools")
	cmd.Flags().BoolVar(&u.leave, "leave", false, "keep all nodes")
	cmd.Flags().BoolVarP(&u.yes, "yes", "y", false, "do not ask for confirmation")
	cmd.Flags().DurationVar(&u.timeout, "timeout", time.Hour, "stop waiting after `TIME`; the controller continues")
	flags.ClusterFlags(cmd, env, &u.access)
	flags.RejectUnused(cmd, flags.Use{
		Flags: "timeout", If: func() bool { return !u.leave || u.drain }, Else: "is for --drain: --leave does not wait",
	})
	return cmd
}

type uninstalling struct {
	env               *flags.Env
	access            kube.Access
	drain, leave, yes bool
	timeout           time.Duration
}

func (u *uninstalling) run(ctx context.Context) error {
	in, err := kube.Connect(u.access)
	if err != nil {
		return err
	}
	if err := u.checkController(ctx, in); err != nil {
		return err
	}
	held, err := migrate.ReadHoldings(ctx, in)
	if err != nil {
		return err
	}
	question := "Drain and delete these nodes, and delete these objects?"
	what := "deletes"
	if u.leave {
		question = "Keep these nodes and objects, and remove what only the controller would remove from them?"
		what = "keeps"
	}
	fmt.Fprintf(u.env.Stdout, "%s: lkeplan uninstall %s:\n", in.Place(), what)
	writeHoldings(u.env.Stdout, held)
	if u.drain {
		found, err := cluster.Load(ctx, cluster.Reader(in), &corev1.NodeList{}, &corev1.PodList{}, &karpv1.NodePoolList{})
		if err != nil {
			return err
		}
		prices, err := revision.Options{}.Prices()
		if err != nil {
			return err
		}
		text, err := drainLosses(held, found, prices)
		if err != nil {
			return err
		}
		fmt.Fprint(u.env.Stdout, text)
	}
	if err := confirm(ctx, u.env, u.yes, question, "nothing was changed"); err != nil {
		return err
	}
	report := func(step string) { fmt.Fprintln(u.env.Stdout, diag.OneLine(step)) }
	if u.leave {
		if err = migrate.UninstallAndKeep(ctx, in, report); err == nil {
			report("Checking for some seconds that no controller undoes this")
			err = migrate.StayReleased(ctx, in)
		}
	} else {
		err = u.empty(ctx, in, report)
	}
	if err != nil {
		return err
	}
	return u.writeLeft(ctx, in)
}

// checkController returns an error if a controller has to be stopped first. If none is known that could drain nodes, it
// prints a warning: one without leader election has no Lease.
func (u *uninstalling) checkController(ctx context.Context, in *kube.Cluster) error {
	running, err := cluster.Controllers(ctx, in, time.Now())
	if err != nil {
		return err
	}
	if u.leave {
		return migrate.Stopped(ctx, in, running)
	}
	if !slices.ContainsFunc(running, func(c cluster.Controller) bool { return c.MakesNodes() && c.Works() }) {
		flags.Say(u.env.Stderr, "warning: no controller has a Lease that shows that it works. Nodes are drained only while a "+
			"controller runs: start it, or use --leave.")
	}
	return nil
}

// empty drains and deletes all nodes.
func (u *uninstalling) empty(ctx context.Context, in *kube.Cluster, report func(string)) error {
	waiting, cancel := context.WithTimeoutCause(ctx, u.timeout, fmt.Errorf("timed out after %s", u.timeout))
	defer cancel()
	err := migrate.UninstallByDrain(waiting, in, blockingObjects, report)
	if err == nil || waiting.Err() == nil {
		return err
	}
	return fmt.Errorf("%w\nTo see what blocks a node: lkeplan why node NAME\n"+
		"To wait again: run the same command", err)
}

// blockingObjects is migrate.Blocking.
func blockingObjects(ctx context.Context, in cluster.Lister) string {
	unknown := func(why string) string { return "what blocks them is unknown: " + why }
	h, err := migrate.ReadHoldings(ctx, in)
	if err != nil {
		return unknown(err.Error())
	}
	found, err := cluster.Load(ctx, cluster.Reader(in), &corev1.NodeList{}, &corev1.PodList{}, &policyv1.PodDisruptionBudgetList{})
	if err != nil {
		return unknown(err.Error())
	}
	if why := found.Unread(cluster.KindNodes, cluster.KindPods, cluster.KindBudgets); why != "" {
		return unknown(why)
	}
	held, err := compare.Hold(compare.NodesOf(h.Claims, h.Nodes), nil, found, time.Now())
	if err != nil {
		return unknown(err.Error())
	}
	on := map[string][]string{}
	for _, n := range held {
		for _, hold := range n.Holds {
			switch {
			case hold.Reason == plan.HeldByPDB:
				text := "the PodDisruptionBudget " + hold.Object + " allows no eviction"
				on[text] = append(on[text], n.Node)
			case hold.Reason == plan.HeldByDoNotDisrupt && hold.Workload != "":
				text := "karpenter.sh/do-not-disrupt on pods of " + hold.Workload + " blocks the removal"
				on[text] = append(on[text], n.Node)
			}
		}
	}
	var texts []string
	for _, text := range slices.Sorted(maps.Keys(on)) {
		texts = append(texts, text+" on node "+strings.Join(on[text], ", "))
	}
	return strings.Join(texts, "; ")
}

// drainLosses describes what a drain of all nodes does to their pods, and the cost that ends.
func drainLosses(h migrate.Holdings, found cluster.Snapshot, prices *catalog.Catalog) (string, error) {
	if len(h.Claims) == 0 {
		return "", nil
	}
	bill := migrate.BillOf(migrate.Holdings{Claims: h.Claims}, prices)
	cost := fmt.Sprintf("  These nodes cost %s a month.\n", bill.Monthly.Text())
	switch {
	case bill.Unpriced == bill.Machines:
		cost = "  The price of these nodes is unknown.\n"
	case bill.Unpriced > 0:
		cost = fmt.Sprintf("  These nodes cost at least %s a month: the price of %d is unknown.\n", bill.Monthly.Text(), bill.Unpriced)
	}
	if why := found.Unread(cluster.KindNodes, cluster.KindPods, cluster.KindPools); why != "" {
		return fmt.Sprintf("  How many pods fit on no node that stays is unknown: %s.\n", why) + cost, nil
	}
	nodes := compare.NodesOf(h.Claims, h.Nodes)
	for i := range nodes {
		nodes[i].Condemned = true
	}
	found.Pools = slices.DeleteFunc(slices.Clone(found.Pools), func(p *karpv1.NodePool) bool {
		return slices.ContainsFunc(h.Pools, func(o *karpv1.NodePool) bool { return o.Name == p.Name }) // even without nodes
	})
	held, err := compare.Hold(nodes, nil, found, time.Now())
	if err != nil {
		return "", err
	}
	without := 0
	for _, n := range held {
		for _, hold := range n.Holds {
			if hold.Reason == plan.NoOtherPlace {
				without++
			}
		}
	}
	return fmt.Sprintf("  Pods that will be pending, because no node that stays matches them: %d. Whether\n"+
		"  other pods have room there is not checked.\n", without) + cost, nil
}

// writeHoldings lists the objects of lkeplan.
func writeHoldings(out io.Writer, h migrate.Holdings) {
	nodes := map[string]int{}
	for _, claim := range h.Claims {
		nodes[claim.Labels["karpenter.sh/nodepool"]]++
	}
	for _, pool := range h.Pools {
		fmt.Fprintf(out, "  NodePool %s, %s\n", pool.Name, text.Count(nodes[pool.Name], "node"))
		delete(nodes, pool.Name)
	}
	gone := 0
	for _, n := range nodes {
		gone += n
	}
	if gone > 0 {
		fmt.Fprintf(out, "  %s of pools that no longer exist\n", text.Count(gone, "node"))
	}
	for _, np := range h.NodePlans {
		fmt.Fprintf(out, "  NodePlan %s/%s\n", np.Namespace, np.Name)
	}
	for _, class := range h.Classes {
		fmt.Fprintf(out, "  LinodeNodeClass %s\n", class.Name)
	}
	for _, limit := range h.Limits {
		fmt.Fprintf(out, "  CapacityLimit %s\n", limit.Name)
	}
}

// writeLeft lists what is still billed, and what to delete now.
func (u *uninstalling) writeLeft(ctx context.Context, in *kube.Cluster) error {
	left, err := migrate.ReadHoldings(ctx, in)
	if err != nil {
		return err
	}
	prices, err := revision.Options{}.Prices()
	if err != nil {
		return err
	}
	return printPage(u.env.Stdout, flags.Columns(u.env.Stdout, u.env.Getenv), func(p *diag.Page) {
		p.Break()
		p.Paragraph(0, "%s. Linode also bills the control plane.", migrate.BillOf(left, prices))
		if u.leave {
			p.Paragraph(0, "To delete a machine, delete its LKE pool in Cloud Manager or by the Linode API. The LKE pools keep the tags "+
				"of lkeplan: a controller that is installed again without the NodeClaims takes their nodes for leftovers, and deletes them.")
		}
		p.Paragraph(0, "Now you can delete the controller (helm uninstall) and the CRDs. Deleting the CRDs deletes "+
			"all objects of their kinds, such as NodePools and CapacityBuffers:")
		p.Line(2, "kubectl delete crd \\")
		definitions := kube.CRDs()
		for i, definition := range definitions {
			more := " \\"
			if i == len(definitions)-1 {
				more = ""
			}
			p.Line(4, "%s%s", definition.Name, more)
		}
	})
}
