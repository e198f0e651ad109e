package inspect

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"
	podutils "sigs.k8s.io/karpenter/pkg/utils/pod"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// node explains why a node has its plan type, stays or is removed.
func (w *reader) node(ctx context.Context, a *Answer) error {
	n := named(w.Snapshot.Nodes, a.Name)
	if n == nil {
		if w.gone(a, func(g linodev1alpha1.GoneNode) bool { return g.Node == a.Name }) {
			return nil
		}
		return w.absent("node", "", a.Name, namesOf(w.Snapshot.Nodes))
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
	if unread := w.Unread("NodeClaims"); unread != "" {
		a.Summary = fmt.Sprintf("Node %s exists. Its pool is unknown: %s.", n.Name, unread)
	}
	a.add(AboutSaid, w.said(cluster.SubjectOf("Node", n))...)
	return nil
}

// named is the object with a name in a list of one namespace; nil if there is none.
func named[T metav1.Object](list []T, name string) (found T) {
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

// claim explains the same about a NodeClaim, with or without a node.
func (w *reader) claim(ctx context.Context, a *Answer) error {
	if nc := named(w.Claims, a.Name); nc != nil {
		a.Summary = fmt.Sprintf("NodeClaim %s is %s.%s", nc.Name, w.describe(nc), w.stage(nc))
		return w.explain(ctx, a, nc)
	}
	if w.gone(a, func(g linodev1alpha1.GoneNode) bool { return g.NodeClaim == a.Name }) {
		return nil
	}
	return w.absent("NodeClaim", "", a.Name, namesOf(w.Claims))
}

// explain adds all sections about a claim and its node.
func (w *reader) explain(ctx context.Context, a *Answer, nc *karpv1.NodeClaim, of ...cluster.Subject) error {
	var smaller []string
	if w.Unread("Pods", "DaemonSets") == "" { // pods that are not listed need capacity, too
		var err error
		if smaller, err = w.smaller(ctx, nc); err != nil {
			return err
		}
	}
	a.add(AboutPlan, append(w.planOf(nc), plainly(smaller...)...)...)
	why, lines, err := w.replaced(nc)
	if err != nil {
		return err
	}
	rest, about := w.stays, AboutStays
	if why != "" {
		a.add(why, lines...)
		rest, about, lines = w.delays, AboutDelays, nil
	}
	if c := undeleted(nc); c != nil {
		a.add(AboutMachine, plainly(fmt.Sprintf("the deletion of the machine has failed for %s: %s", w.age(c.LastTransitionTime.Time), c.Message))...)
	}
	if nc.Status.NodeName != "" && nc.DeletionTimestamp.IsZero() {
		more, err := rest(ctx, nc)
		if err != nil {
			return err
		}
		lines = append(lines, more...)
	}
	a.add(about, lines...)
	a.add(AboutSaid, w.said(append(of, cluster.SubjectOf("NodeClaim", nc))...)...)
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

// stage is a sentence, after a space, about a claim that has no ready node yet or is being deleted; "" for others.
func (w *reader) stage(nc *karpv1.NodeClaim) string {
	switch {
	case !nc.DeletionTimestamp.IsZero():
		return " It is being deleted."
	case nc.Status.NodeName != "":
		return ""
	case strings.HasPrefix(nc.Status.ProviderID, "linode://"):
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
	return named(w.Snapshot.Pools, nc.Labels[karpv1.NodePoolLabelKey])
}

// planOf explains why a claim has its plan type, and not a cheaper one.
func (w *reader) planOf(nc *karpv1.NodeClaim) (lines []Line) {
	plan, pool := nodeclaim.PlanOf(nc), w.poolOf(nc)
	if w.region == "" {
		return plainly(w.unknown("the region of the cluster", kindsOfRegion...)...)
	}
	if plan == "" || pool == nil {
		return nil
	}
	allowed, own := w.allowed(pool), w.price(plan)
	switch {
	case !slices.ContainsFunc(allowed, func(it *cloudprovider.InstanceType) bool { return it.Name == plan }):
		return plainly(fmt.Sprintf("pool %s no longer allows %s", pool.Name, plan))
	case !own.Known():
		return plainly(fmt.Sprintf("the price of %s is unknown, so it cannot be compared with other plan types", plan))
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
		if cheaper++; cheaper <= mostPlans {
			lines = append(lines, Line{Text: fmt.Sprintf("not %s ($%s): %s", it.Name, has.Hourly, w.not(it, nc, pool, wants))})
		}
	}
	switch {
	case cheaper == 0:
		return plainly(fmt.Sprintf("%s is the cheapest plan type that pool %s allows", plan, pool.Name))
	case cheaper > mostPlans:
		lines = append(lines, Line{Text: fmt.Sprintf("not %s either", diag.Counted(cheaper-mostPlans, "other cheaper plan type"))})
	}
	return lines
}

const mostPlans = 4

// allowed are the plan types that a pool allows, whether they are available or not.
func (w *reader) allowed(pool *karpv1.NodePool) []*cloudprovider.InstanceType {
	want := instancetype.RequirementsOf(pool)
	return slices.DeleteFunc(slices.Clone(w.types().List()), func(it *cloudprovider.InstanceType) bool {
		return want.Intersects(it.Requirements) != nil
	})
}

// not explains why a claim does not have a plan type that its pool allows.
func (w *reader) not(it *cloudprovider.InstanceType, nc *karpv1.NodeClaim, pool *karpv1.NodePool,
	wants scheduling.Requirements) string {
	switch asked := nc.Spec.Resources.Requests; {
	case !resources.Fits(asked, it.Allocatable()):
		return lacks(asked, it)
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

// lacks is what a plan type has too little of for the pods that a node was created for.
func lacks(asked corev1.ResourceList, it *cloudprovider.InstanceType) string {
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

// A small reduction leaves pods three quarters of their requests.
const (
	keptOf  = 3
	keptIn  = 4
	mostTry = 4 // plan types that are tried
)

// smaller is a cheaper plan type on which the pods of a node would fit if they requested a
// little less, by Karpenter's own scheduler.
func (w *reader) smaller(ctx context.Context, nc *karpv1.NodeClaim) ([]string, error) {
	pool, pods := w.poolOf(nc), w.movable(nc)
	if pool == nil || len(pods) == 0 || w.region == "" {
		return nil, nil
	}
	asked := resources.RequestsForPods(pods...)
	daemons := resources.RequestsForPods(w.daemonsOn(nc)...)
	tries := 0
	for _, it := range w.cheaper(nc, pool) {
		less, small := reduction(asked, resources.Subtract(it.Allocatable(), daemons))
		if len(less) == 0 || !small {
			continue
		}
		if tries++; tries > mostTry {
			return nil, nil
		}
		fits, err := w.onOne(ctx, pool, reduced(pods, asked, less), it.Name)
		if err != nil {
			return nil, err
		}
		if fits {
			return []string{fmt.Sprintf("%s ($%s) would fit if the pods of the node requested %s", it.Name, w.price(it.Name).Hourly,
				lessText(asked, less))}, nil
		}
	}
	return nil, nil
}

// daemonsOn are the pods of DaemonSets on a node, and the static pods of its kubelet.
func (w *reader) daemonsOn(nc *karpv1.NodeClaim) (pods []*corev1.Pod) {
	for _, pod := range w.Pods {
		if pod.Spec.NodeName == nc.Status.NodeName && !podutils.IsTerminal(pod) &&
			(podutils.IsOwnedByDaemonSet(pod) || podutils.IsOwnedByNode(pod)) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// cheaper are the available plan types that a pool allows and that cost less than the
// one of a claim; the cheapest first.
func (w *reader) cheaper(nc *karpv1.NodeClaim, pool *karpv1.NodePool) []*cloudprovider.InstanceType {
	own := w.price(nodeclaim.PlanOf(nc)).Hourly
	list := slices.DeleteFunc(instancetype.Candidates(w.types().List(), instancetype.RequirementsOf(pool), nil),
		func(it *cloudprovider.InstanceType) bool { return w.price(it.Name).Hourly >= own })
	slices.SortStableFunc(list, func(a, b *cloudprovider.InstanceType) int {
		return cmp.Or(cmp.Compare(w.price(a.Name).Hourly, w.price(b.Name).Hourly), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// reduction is how much CPU and memory the requests exceed a plan type, in amounts that people write; small is
// whether most of the requests remain, and no other resource is short.
func reduction(asked, room corev1.ResourceList) (less corev1.ResourceList, small bool) {
	less = corev1.ResourceList{}
	for name, wanted := range asked {
		has := room[name]
		if wanted.Cmp(has) <= 0 {
			continue
		}
		missing := wanted.DeepCopy()
		missing.Sub(has)
		switch name {
		case corev1.ResourceCPU:
			missing = *resource.NewMilliQuantity((missing.MilliValue()+9)/10*10, resource.DecimalSI)
			small = missing.MilliValue()*keptIn <= wanted.MilliValue()*(keptIn-keptOf)
		case corev1.ResourceMemory:
			const step = 100 << 20
			missing = *resource.NewQuantity((missing.Value()+step-1)/step*step, resource.BinarySI)
			small = missing.Value()*keptIn <= wanted.Value()*(keptIn-keptOf)
		default:
			return less, false
		}
		if less[name] = missing; !small {
			return less, false
		}
	}
	return less, true
}

// reduced are waiting copies of pods that request less in total, each reduced by the same share.
func reduced(pods []*corev1.Pod, asked, less corev1.ResourceList) (copies []*corev1.Pod) {
	for _, pod := range pods {
		pod = pod.DeepCopy()
		pod.Spec.NodeName = ""
		for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
			for i := range containers {
				shrink(containers[i].Resources.Requests, asked, less)
			}
		}
		copies = append(copies, pod)
	}
	return copies
}

func shrink(requests, asked, less corev1.ResourceList) {
	for name, missing := range less {
		all, own := asked[name], requests[name]
		if own.IsZero() {
			continue
		}
		if name == corev1.ResourceCPU {
			kept := own.MilliValue() * (all.MilliValue() - missing.MilliValue()) / all.MilliValue()
			requests[name] = *resource.NewMilliQuantity(kept, resource.DecimalSI)
			continue
		}
		share := float64(all.Value()-missing.Value()) / float64(all.Value())
		requests[name] = *resource.NewQuantity(int64(float64(own.Value())*share), resource.BinarySI)
	}
}

// onOne reports whether all pods would fit on one new node of a plan type, without other nodes and
// pools.
func (w *reader) onOne(ctx context.Context, pool *karpv1.NodePool, pods []*corev1.Pod, plan string) (bool, error) {
	placed, err := simulate.Place(ctx, simulate.Live{
		Snapshot: cluster.Snapshot{Pools: []*karpv1.NodePool{pool}, Classes: w.Classes, Pods: pods, Daemons: w.Daemons},
		Region:   w.region, Tier: w.tier, Catalog: w.Catalog, Attached: w.attached(ctx),
	})
	if err != nil {
		return false, err
	}
	nodes := map[string]bool{}
	for _, p := range placed {
		nodes[p.New] = true
		if p.Plan != plan {
			return false, nil
		}
	}
	return len(placed) == len(pods) && len(nodes) == 1, nil
}

// lessText is a reduction: 4 instead of 5 CPUs.
func lessText(asked, less corev1.ResourceList) string {
	text := ""
	for i, name := range slices.Sorted(maps.Keys(less)) {
		all, left := asked[name], asked[name].DeepCopy()
		left.Sub(less[name])
		if i > 0 {
			text += " and "
		}
		text += fmt.Sprintf("%s instead of %s", instancetype.Amount(name, left), instancetype.AmountOf(name, all))
	}
	return text
}
