package simulate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	karpv1alpha1 "sigs.k8s.io/karpenter/pkg/apis/v1alpha1"
	podutils "sigs.k8s.io/karpenter/pkg/utils/pod"

	"github.com/lkeplan/lkeplan/engine/simulate/disrupt"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/task"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// Moved is a node that Karpenter removes or replaces because other capacity is cheaper or has room.
type Moved struct {
	NodeRef // its Name is that of its NodeClaim
	Kind    disrupt.Kind
	To      []NodeRef // the new nodes of the step; none if the pods fit on others
	Pods    int       // of the step
	Saves   Cost      // of the step
	When    string    // one of the constants; "" for now
}

// When a node goes, if not now.
const (
	WhenFree    = "once no PodDisruptionBudget and no pod that ends holds the node" // see withoutHolds
	WhenRefused = "if Linode refuses the changed class"
	WhenPending = "if the nodes for pods that are pending do not join"
)

// Moves are the nodes of a cluster that Karpenter's disruption removes or replaces with the objects after a change
// and not with those before it. Disruption runs until nothing changes any more, once with each set of objects, and
// replaces nodes that differ from their pool as well; these nodes, and those beyond the replicas of a pool, are not
// in the result, because they are the direct effect of the change.
//
// Before and after are all NodePools, LinodeNodeClasses, CapacityLimits, NodeOverlays and CapacityBuffers of the
// cluster, as the API server stores them. Schedules of budgets are those from now on. It assumes that nodes join,
// pods become ready, and nothing else changes. But if a node goes without the change because its pods fit on nodes for
// pending pods, the nodes that move without those are in the result as well: Linode may have none. The error is that
// of the context if the time is up. Classes are ready, but those that the change creates or edits are as in the
// cluster before it, and may be ready or not after it.
//
// New nodes have the size that nodes of their plan type report, as in the controller. It also knows sizes that
// earlier nodes have reported, which Moves does not.
//
// What can start a move, each with a row in the tests:
//
//	a new pool                         "a new pool that is cheaper and tried first"
//	a deleted pool                     "a pool that was tried first is deleted"
//	a pool that takes fewer pods       "a lower limit of a pool that was tried first", "more taints of a pool that was tried first"
//	a smaller weight                   "a lower weight of a pool that was tried first"
//	wider requirements                 "wider requirements that are cheaper", "wider requirements of another pool"
//	a larger limit                     "a larger limit of the pool that is tried first", "a larger limits block"
//	a larger weight                    "a larger weight"
//	fewer taints                       "taints that go"
//	replicas                           "a pool with replicas that has room"
//	the policy or delay of disruption  "consolidation that begins", "a policy that allows more"
//	budgets                            "a budget that opens"
//	the price of an overlay            "an overlay with a price", "another price of an overlay", "an overlay that goes"
//	labels that change in place        "a label in place that an overlay selects", "a label in place that pods select"
//	                                   "a label in place that a DaemonSet selects"
//	a class that becomes ready         "a class that becomes ready", "a class that is created"
//	a class that becomes unready       "a class that may become unready"
//	a class with more room             "a class whose nodes have more room"
//	less spare capacity                "a buffer that goes", "a smaller buffer", "a buffer of another pod template"
//
// Two more are not simulated. A new version of the controller with other feature gates or batches, and a price that
// Linode changes, are not in a commit: no plan can name what they move. The controller reports a price with an event
// (package linode, ReasonPriceChanged).
//
// Karpenter applies NodeOverlays only with its feature gate NodeOverlay, and then it reports whether they are valid.
// If no overlay has such a report, the result has the nodes that move with the gate, and those that move without it.
//
// What holds a node only for a time does not make a change harmless. The nodes that move as soon as nothing does so
// any more are in the result, too.
func Moves(ctx context.Context, in Live, now time.Time, before, after []client.Object) ([]Moved, error) {
	gates, edited := []bool{true}, editedClasses(before, after)
	if applied, some := overlays(before); !applied {
		if _, more := overlays(after); some || more {
			gates = []bool{true, false}
		}
	}
	type assumption struct {
		Live
		when string
	}
	assumed, goes := []assumption{{in, ""}}, map[string]Moved{}
	if free, held := withoutHolds(in); held {
		assumed = append(assumed, assumption{free, WhenFree})
	}
	for i := 0; i < len(assumed); i++ {
		in, pending := assumed[i].Live, false
		for _, gate := range gates {
			was, then, err := sides(ctx, func(ctx context.Context) (map[string]going, error) {
				return disrupted(ctx, in, now, gate, classes{asFound: edited}, before, before)
			}, func(ctx context.Context) (map[string]going, error) {
				return disrupted(ctx, in, now, gate, classes{}, before, after)
			})
			if err != nil {
				return nil, err
			}
			add := func(then map[string]going, when string) {
				for name, m := range then {
					pending = pending || was[name].pending
					if !goesAnyway(was[name], m) && goes[name].Name == "" {
						m.When = when
						goes[name] = m.Moved
					}
				}
			}
			add(then, assumed[i].when)
			if len(edited) > 0 {
				refused, err := disrupted(ctx, in, now, gate, classes{unready: edited}, before, after)
				if err != nil {
					return nil, err
				}
				add(refused, WhenRefused)
			}
		}
		if pending && assumed[i].when != WhenPending {
			assumed = append(assumed, assumption{withoutPending(in), WhenPending})
		}
	}
	var moved []Moved
	for _, m := range goes {
		switch m.Kind {
		case disrupt.Empty, disrupt.Multi, disrupt.Single:
			moved = append(moved, m)
		}
	}
	slices.SortFunc(moved, func(a, b Moved) int { return cmp.Or(cmp.Compare(a.Pool, b.Pool), cmp.Compare(a.Name, b.Name)) })
	return moved, nil
}

// going is a node that goes.
type going struct {
	Moved
	onto    []NodeRef // nodes that take pods of the step, and do not exist yet
	pending bool      // some of them are for pods that are pending
}

// goesAnyway reports whether a node that goes after a change goes without it as well. If its pods go to new nodes elsewhere
// without the change, and it still runs, these may be out of stock, so that the change decides.
func goesAnyway(was, then going) bool {
	places := func(m going) (all []string) {
		for _, n := range slices.Concat(m.To, m.onto) {
			all = append(all, n.Pool+" "+n.Plan)
		}
		slices.Sort(all)
		return all
	}
	switch was.Kind {
	case "":
		return false
	case disrupt.Multi, disrupt.Single:
		return len(places(was)) == 0 || slices.Equal(places(was), places(then))
	}
	return true
}

// classes are those with the conditions of the cluster, and those that are not ready. Others are ready.
type classes struct{ asFound, unready map[string]bool }

// withoutHolds is a cluster without what holds its nodes only for a time, and whether anything does: pods of no
// controller, or of a Job, that must not be disrupted, because they end; and PodDisruptionBudgets that count pods
// without a node as unavailable, because these get one. What holds for good stays: the annotation of a controller's
// pods or of a node, and a budget that never allows an eviction.
func withoutHolds(in Live) (free Live, held bool) {
	in.Pods = slices.Clone(in.Pods)
	for i, pod := range in.Pods {
		owner := metav1.GetControllerOf(pod)
		if pod.Spec.NodeName == "" {
			held = held || slices.ContainsFunc(in.Budgets, func(b *policyv1.PodDisruptionBudget) bool {
				selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
				return err == nil && b.Namespace == pod.Namespace && selector.Matches(labels.Set(pod.Labels))
			})
		} else if pod.Annotations[karpv1.DoNotDisruptAnnotationKey] == "true" && (owner == nil || owner.Kind == "Job") {
			pod = pod.DeepCopy()
			delete(pod.Annotations, karpv1.DoNotDisruptAnnotationKey)
			in.Pods[i], held = pod, true
		}
	}
	in.ready = true
	return in, held
}

// withoutPending is a cluster without the pods that wait, and the nodes that have not joined.
func withoutPending(in Live) Live {
	in.Claims = slices.DeleteFunc(slices.Clone(in.Claims), func(nc *karpv1.NodeClaim) bool { return nc.Status.NodeName == "" })
	in.Pods = slices.DeleteFunc(slices.Clone(in.Pods), func(pod *corev1.Pod) bool { return pod.Spec.NodeName == "" })
	return in
}

// overlays reports whether Karpenter has validated a NodeOverlay among some objects, and whether there is one.
func overlays(objects []client.Object) (validated, some bool) {
	for _, o := range objects {
		if overlay, ok := o.(*karpv1alpha1.NodeOverlay); ok {
			some = true
			validated = validated || !overlay.StatusConditions().Get(karpv1alpha1.ConditionTypeValidationSucceeded).IsUnknown()
		}
	}
	return validated, some
}

// editedClasses are the names of the LinodeNodeClasses that a change creates or edits.
func editedClasses(before, after []client.Object) map[string]bool {
	had, edited := map[string]*linodev1alpha1.LinodeNodeClass{}, map[string]bool{}
	for _, o := range before {
		if class, ok := o.(*linodev1alpha1.LinodeNodeClass); ok {
			had[class.Name] = class
		}
	}
	for _, o := range after {
		if class, ok := o.(*linodev1alpha1.LinodeNodeClass); ok &&
			(had[class.Name] == nil || !equality.Semantic.DeepEqual(class.Spec, had[class.Name].Spec)) {
			edited[class.Name] = true
		}
	}
	return edited
}

// sides runs both sides at the same time: they share nothing that is changed. A panic is an error.
func sides[T any](ctx context.Context, one, other func(context.Context) (T, error)) (a, b T, err error) {
	errs := task.Each(slog.Default(), 2, []func() error{
		func() (err error) { a, err = one(ctx); return err },
		func() (err error) { b, err = other(ctx); return err },
	}, func(_ int, side func() error) error { return side() })
	return a, b, cmp.Or(errs...)
}

// disrupted are the nodes that go with some objects in the place of others, by their names.
func disrupted(ctx context.Context, in Live, now time.Time, gate bool, kept classes, before, objects []client.Object) (map[string]going, error) {
	e, err := newDisruption(in, now)
	if err != nil {
		return nil, err
	}
	e.ungated, e.edited, e.broken = !gate, kept.asFound, kept.unready
	existing, there := map[string]string{}, map[string]bool{}
	for _, m := range e.made {
		existing[m.node] = m.claim.Name
	}
	for _, node := range in.Nodes {
		there[node.Name] = true
	}
	if err := e.redeclare(ctx, before); err != nil { // so that pools which the change deletes are being removed
		return nil, err
	}
	e.dynamic, e.static, e.changed = nil, nil, true
	if err := e.redeclare(ctx, objects); err != nil {
		return nil, err
	}
	if err := e.scaleStatic(withSettings(ctx)); err != nil {
		return nil, err
	}
	if e.pending, err = e.place(ctx, e.pending); err != nil {
		return nil, err
	}
	fresh := slices.DeleteFunc(e.refs(e.made), func(n NodeRef) bool { return there[n.Name] })
	pending := len(fresh)
	if err := e.run(ctx, 0); err != nil {
		return nil, err
	}
	if err := e.incomplete(); err != nil {
		return nil, err
	}
	gone := map[string]going{}
	for i, step := range e.out.Steps {
		g := going{Moved: Moved{Kind: step.Kind, To: step.Made, Pods: step.Pods, Saves: step.Saved}}
		for j, n := range fresh {
			if slices.Contains(e.onto[i], n.Name) {
				g.onto, g.pending = append(g.onto, n), g.pending || j < pending
			}
		}
		fresh = append(fresh, step.Made...)
		for _, ref := range step.Gone {
			if claim := existing[ref.Name]; claim != "" {
				ref.Name = claim
				g.NodeRef = ref
				gone[claim] = g
			}
		}
	}
	return gone, nil
}

// incomplete is why the steps are not all that Karpenter would do; nil if they are.
func (e *consolidation) incomplete() error {
	switch {
	case e.slow:
		return errors.New("the search of Karpenter for several nodes stops after a minute")
	case !e.out.Ended:
		return fmt.Errorf("it does not end after %s", text.Count(len(e.out.Steps), "step"))
	}
	return nil
}

// mostSpare is how many pods the buffers of a cluster may have. The controller simulates disruption with limited
// memory.
const mostSpare = 10_000

// newDisruption is a cluster as it is once its nodes have joined and those that are being deleted are gone.
func newDisruption(in Live, now time.Time) (*consolidation, error) {
	if in.Region == "" {
		return nil, errNoRegion
	}
	instancetype.Register()
	w := emptyCluster(in.Catalog, in.Region, in.Tier)
	w.packFrom = manyPods
	w.addDaemonSets(in.Daemons)
	e := &consolidation{cluster: w, now: disrupt.ClockAt(now), ready: in.ready}
	w.clock = e.now
	for _, budget := range in.Budgets {
		w.store.Budgets = append(w.store.Budgets, budget.DeepCopy()) // what they allow is counted anew
	}
	e.resetCaches()
	nodes := map[string]*corev1.Node{}
	for _, node := range in.Nodes {
		nodes[node.Name] = node
	}
	joined := map[string]bool{}
	for _, nc := range in.Claims {
		node := nodes[nc.Status.NodeName]
		joined[nc.Status.NodeName] = true
		if !nc.DeletionTimestamp.IsZero() || nc.Status.ProviderID == "" {
			continue // it goes, or has no machine yet
		}
		e.stands(nc.DeepCopy(), Joined(nc, node).DeepCopy())
		if node != nil && node.Labels[karpv1.NodeInitializedLabelKey] == "true" { // as the controller learns sizes
			w.types.Observe(nodeclaim.PlanOf(nc), node)
		}
	}
	for _, node := range in.Nodes {
		if !joined[node.Name] && node.DeletionTimestamp.IsZero() {
			w.store.Nodes[node.Name] = node.DeepCopy()
			w.attachable(node)
			w.unclaimed = append(w.unclaimed, node.Name)
		}
	}
	slices.Sort(w.unclaimed)
	e.adopt(in)
	w.store.Templates, w.store.MostSpare = in.Templates, mostSpare
	return e, nil
}

// stands adds a node that is there.
func (e *consolidation) stands(nc *karpv1.NodeClaim, node *corev1.Node) {
	m := &simNode{claim: nc, node: node.Name}
	e.made = append(e.made, m)
	e.store.Claims = append(e.store.Claims, nc)
	e.store.Nodes[node.Name] = node
	e.attachable(node)
	annotations := node.Annotations
	node.Status.Conditions = nil
	e.setAgedConditions(m)
	node.Annotations = annotations
}

// Joined is a node once it has joined and lost the taints that nodes join with. The node is nil if it does not exist
// yet.
func Joined(nc *karpv1.NodeClaim, node *corev1.Node) *corev1.Node {
	switch {
	case node == nil:
		return joinedNode(nc)
	case node.Labels[karpv1.NodeInitializedLabelKey] != "":
		return node
	}
	node = node.DeepCopy()
	node.Labels, node.Spec.Taints = joinedNode(nc).Labels, nc.Spec.Taints
	node.Labels[corev1.LabelHostname] = node.Name
	node.Status.Capacity, node.Status.Allocatable = nc.Status.Capacity, nc.Status.Allocatable
	return node
}

// adopt puts the pods of a cluster on its nodes. Those of nodes that are gone wait, with those that wait already.
// Pods of DaemonSets go with their nodes.
func (e *consolidation) adopt(in Live) {
	shapes := map[string]int{}
	for _, pod := range in.Pods {
		node := e.store.Nodes[pod.Spec.NodeName]
		switch {
		case podutils.IsTerminal(pod):
			continue
		case !NeedsNode(pod) || pod.Spec.NodeName == "" && (len(pod.Spec.SchedulingGates) > 0 || podutils.IsOwnedByDaemonSet(pod)):
			if node != nil {
				e.store.Bind(withAttached(pod, in.Attached[pod.UID]), node.Name)
			}
			continue
		}
		pod = withAttached(pod, in.Attached[pod.UID]).DeepCopy()
		shape := Owner(pod) + "/" + string(ownerUID(pod))
		load, known := shapes[shape]
		if !known {
			load = len(e.workloads)
			shapes[shape] = load
			e.workloads = append(e.workloads, Workload{Name: Owner(pod), Pod: *pod})
		}
		e.workloadOf[pod.UID] = load
		e.refusePod(pod, "")
		e.pods = append(e.pods, pod)
		if name := pod.Spec.NodeName; node != nil {
			pod.Spec.NodeName = ""
			e.store.Bind(pod, name)
			continue
		}
		pod.Spec.NodeName = ""
		e.pending = append(e.pending, pod)
	}
	slices.SortFunc(e.pending, func(a, b *corev1.Pod) int { return cmp.Compare(a.UID, b.UID) })
}

// ownerUID is the controller of a pod, or the pod itself.
func ownerUID(pod *corev1.Pod) types.UID {
	if owner := metav1.GetControllerOf(pod); owner != nil {
		return owner.UID
	}
	return pod.UID
}
