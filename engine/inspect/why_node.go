package inspect

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// node explains why a node, or a NodeClaim whose node has not joined, has its plan type, stays or is removed.
func (w *reader) node(ctx context.Context, a *Answer) error {
	n := findNamed(w.Snapshot.Nodes, a.Name)
	if n == nil {
		if nc := findNamed(w.Claims, a.Name); nc != nil {
			a.Summary = fmt.Sprintf("NodeClaim %s is %s.%s", nc.Name, w.describe(nc), w.stage(nc))
			return w.explain(ctx, a, nc)
		}
		return w.absent("Node", "", a.Name, append(namesOf(w.Snapshot.Nodes), namesOf(w.Claims)...))
	}
	of, _ := claimsOf(w.Snapshot.Nodes, w.Claims)
	if nc := of[n.Name]; nc != nil {
		a.Summary = fmt.Sprintf("Node %s is %s.%s", n.Name, w.describe(nc), w.stage(nc))
		return w.explain(ctx, a, nc, cluster.SubjectOf("Node", n))
	}
	a.Summary = fmt.Sprintf("Node %s belongs to no pool: it has no NodeClaim.", n.Name)
	if pool := n.Labels[karpv1.NodePoolLabelKey]; pool != "" {
		a.Summary = fmt.Sprintf("Node %s belongs to pool %s according to its label %s, but no NodeClaim has the name or the "+
			"provider id of the node. Its NodeClaim was deleted, or is not updated yet.", n.Name, pool, karpv1.NodePoolLabelKey)
	}
	w.addSaid(a, cluster.SubjectOf("Node", n))
	return nil
}

// findNamed returns the object with a name in a list of one namespace; nil if there is none.
func findNamed[T metav1.Object](list []T, name string) (found T) {
	for _, obj := range list {
		if obj.GetName() == name {
			return obj
		}
	}
	return found
}

func namesOf[T metav1.Object](list []T) (names []string) {
	for _, obj := range list {
		names = append(names, obj.GetName())
	}
	return names
}

// explain adds all sections about a claim and its node.
func (w *reader) explain(ctx context.Context, a *Answer, nc *karpv1.NodeClaim, of ...cluster.Subject) error {
	a.add(AboutPlan, w.explainPlan(nc)...)
	why, lines := w.replaced(nc)
	rest, about := w.stays, AboutStays
	if why != "" {
		a.add(why, lines...)
		rest, about = w.delays, AboutDelays
	}
	if c := undeletedCondition(nc); c != nil {
		a.add(AboutMachine, plainLines(fmt.Sprintf("the deletion of the machine has failed for %s: %s", w.age(c.LastTransitionTime.Time), c.Message))...)
	}
	if nc.Status.NodeName != "" && (about == AboutDelays || nc.DeletionTimestamp.IsZero()) {
		lines, err := rest(ctx, nc)
		if err != nil {
			return err
		}
		a.add(about, lines...)
	}
	w.addSaid(a, append(of, cluster.SubjectOf("NodeClaim", nc))...)
	return nil
}

// describe describes a claim, for the end of a sentence.
func (w *reader) describe(nc *karpv1.NodeClaim) string {
	plan, pool := nodeclaim.PlanOf(nc), nc.Labels[karpv1.NodePoolLabelKey]
	text := "a node"
	if plan != "" {
		text = fmt.Sprintf("a %s (%s)", plan, w.price(plan).AnHour())
	}
	if pool != "" {
		text += " of pool " + pool
	}
	return text + fmt.Sprintf(", %s old", w.age(nc.CreationTimestamp.Time))
}

// stage returns a sentence, after a space, about a claim that has no ready node yet or is being deleted; "" for
// others.
func (w *reader) stage(nc *karpv1.NodeClaim) string {
	switch {
	case !nc.DeletionTimestamp.IsZero():
		return " It is being deleted."
	case nc.Status.NodeName != "":
		return ""
	case cluster.ProgressOf(nc, nil) == cluster.NodeJoining:
		return " Its machine is starting."
	case nodeclaim.PlanOf(nc) == "":
		return " Its plan type is not chosen yet."
	}
	return " Its machine is requested from Linode."
}

func (w *reader) price(plan string) catalog.Price {
	price, _ := w.Catalog.Price(plan, w.region)
	return price
}

func (w *reader) poolOf(nc *karpv1.NodeClaim) *karpv1.NodePool {
	return findNamed(w.Snapshot.Pools, nc.Labels[karpv1.NodePoolLabelKey])
}

// explainPlan explains why a claim has its plan type, and not a cheaper one.
func (w *reader) explainPlan(nc *karpv1.NodeClaim) (lines []Line) {
	plan, pool := nodeclaim.PlanOf(nc), w.poolOf(nc)
	if w.region == "" {
		return plainLines(regionless)
	}
	if plan == "" || pool == nil {
		return nil
	}
	allowed, own := w.allowed(pool), w.price(plan)
	switch {
	case !slices.ContainsFunc(allowed, func(it *cloudprovider.InstanceType) bool { return it.Name == plan }):
		return plainLines(fmt.Sprintf("pool %s no longer allows %s", pool.Name, plan))
	case !own.Known():
		return plainLines(fmt.Sprintf("the price of %s is unknown, so it cannot be compared with other plan types", plan))
	}
	wants, cheaper := scheduling.NewNodeSelectorRequirementsWithMinValues(nc.Spec.Requirements...), 0
	slices.SortStableFunc(allowed, func(a, b *cloudprovider.InstanceType) int {
		return cmp.Compare(w.price(b.Name).Hourly, w.price(a.Name).Hourly)
	})
	for _, it := range allowed {
		has := w.price(it.Name)
		if !has.Known() || has.Hourly >= own.Hourly {
			continue
		}
		cheaper++
		if cheaper <= mostPlans {
			lines = append(lines, Line{Text: fmt.Sprintf("not %s ($%s): %s", it.Name, has.Hourly, w.whyNotPlan(it, nc, pool, wants))})
		}
	}
	switch {
	case cheaper == 0:
		return plainLines(fmt.Sprintf("%s is the cheapest plan type that pool %s allows", plan, pool.Name))
	case cheaper > mostPlans:
		lines = append(lines, Line{Text: fmt.Sprintf("not %s either", text.Count(cheaper-mostPlans, "other cheaper plan type"))})
	}
	return lines
}

// regionless is the answer if the region is unknown, so that prices and offers are unknown, too.
const regionless = "the region of the cluster is unknown; name it with --region"

const mostPlans = 4

// allowed returns the plan types that a pool allows, whether they are available or not.
func (w *reader) allowed(pool *karpv1.NodePool) []*cloudprovider.InstanceType {
	want := instancetype.RequirementsOf(pool)
	return slices.DeleteFunc(slices.Clone(w.types().List()), func(it *cloudprovider.InstanceType) bool {
		return want.Intersects(it.Requirements) != nil
	})
}

// whyNotPlan explains why a claim does not have a plan type that its pool allows.
func (w *reader) whyNotPlan(it *cloudprovider.InstanceType, nc *karpv1.NodeClaim, pool *karpv1.NodePool,
	wants scheduling.Requirements) string {
	switch asked := nc.Spec.Resources.Requests; {
	case !resources.Fits(asked, it.Allocatable()):
		return missingResources(asked, it)
	case slices.Contains(linode.OutOfStock(pool), it.Name):
		return "Linode is out of stock"
	case len(it.Offerings.Available()) == 0:
		return "not sold in " + w.region
	case wants.Intersects(it.Requirements) != nil:
		return "Karpenter did not request it, because some of the pods do not allow it, or because it is too small for them " +
			"and the pods of DaemonSets"
	}
	return "it fits now; when the node was created, it was not available, or a limit did not allow it"
}

// missingResources returns what a plan type has too little of for the pods that a node was created for.
func missingResources(asked corev1.ResourceList, it *cloudprovider.InstanceType) string {
	var offers, requests []string
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		wanted, has := asked[name], it.Allocatable()[name]
		if wanted.Cmp(has) > 0 {
			offers = append(offers, instancetype.AmountOf(name, has))
			requests = append(requests, instancetype.AmountOf(name, wanted))
		}
	}
	return fmt.Sprintf("it has %s; the node was created for pods that request %s (with DaemonSets)",
		strings.Join(offers, " and "), strings.Join(requests, " and "))
}
