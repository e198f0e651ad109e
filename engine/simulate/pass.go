package simulate

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	"sigs.k8s.io/karpenter/pkg/utils/daemonset"
	podutils "sigs.k8s.io/karpenter/pkg/utils/pod"
)

// passResult is the result of a pass.
type passResult struct {
	pending  []*corev1.Pod
	progress bool // some pod got a node, or a node was created for pods of buffers
}

// planErrors has the reasons why pods have no node, from Karpenter and the choice of plan types.
type planErrors struct {
	errors  map[types.UID]error
	refused map[types.UID]Reason // from the choice of plan types
	without map[string]bool      // pools without any usable plan type
}

// pass runs Karpenter's scheduler once, chooses the plan types of the new nodes, and binds the pods.
func (w *cluster) pass(ctx context.Context, pending []*corev1.Pod) (passResult, error) {
	ctx = withSettings(ctx)
	found := planErrors{errors: map[types.UID]error{}, refused: map[types.UID]Reason{}, without: map[string]bool{}}
	var asking []*corev1.Pod
	for _, pod := range pending {
		if why := w.podReasons[pod.UID]; why != "" {
			found.refused[pod.UID] = Reason{Text: why}
			continue
		}
		asking = append(asking, pod)
	}
	results, err := w.solve(ctx, slices.Concat(asking, w.spare.pods), found.without)
	if err != nil {
		return passResult{}, fmt.Errorf("run Karpenter's scheduler: %w", err)
	}
	b := newBinder(w.store, pending)
	refuse := func(pool string, pods []*corev1.Pod, why string) {
		for _, pod := range pods {
			found.refused[pod.UID] = Reason{Pool: pool, Text: why}
		}
	}
	w.spare.begin()
	for _, node := range results.ExistingNodes {
		pods, over := withinSkew(w.spare.fit(node.Pods, node.Name(), node.ProviderID()), w.store.Bound[node.Name()])
		refuse(node.Labels()[karpv1.NodePoolLabelKey], over, beyondSkew)
		if err := b.Bind(pods, node.Name()); err != nil {
			return passResult{}, err
		}
	}
	reserved := false
	for _, claim := range results.NewNodeClaims {
		bound := slices.DeleteFunc(slices.Clone(claim.Pods), w.spare.has)
		spare := len(bound) < len(claim.Pods)
		if spare && w.spare.most == 0 { // until the next pass finds room for them
			refuse(claim.NodePoolName, claim.Pods, "each further node that Karpenter creates leaves as many pods of buffers without capacity.")
			if len(bound) == 0 {
				continue
			}
		}
		node, why, err := w.makeNode(ctx, claim.ToNodeClaim(), false)
		if err != nil {
			return passResult{}, err
		}
		if why != "" {
			refuse(claim.NodePoolName, claim.Pods, why)
			continue
		}
		if spare && w.spare.most > 0 {
			reserved = true
			w.spare.most--
		}
		pods, over := withinSkew(bound, nil)
		refuse(claim.NodePoolName, over, beyondSkew)
		left, err := b.BindNew(pods, node, w.made[len(w.made)-1].plan())
		if err != nil {
			return passResult{}, err
		}
		for uid, l := range left {
			found.refused[uid] = (Reason{Pool: claim.NodePoolName, Text: l.Why})
			if l.Never {
				w.podReasons[uid] = l.Why
			}
		}
	}
	for pod, err := range results.PodErrors {
		found.errors[pod.UID] = err
	}
	w.last = found
	left := podsWithoutNode(pending)
	return passResult{left, len(left) < len(pending) || reserved}, found.check(left, len(pending)-len(left))
}

// check compares Karpenter's errors with the pods that have no node.
func (a planErrors) check(left []*corev1.Pod, bound int) error {
	for _, pod := range left {
		_, said := a.errors[pod.UID]
		if _, refused := a.refused[pod.UID]; !said && !refused {
			return fmt.Errorf("internal error: %d of %d pods unaccounted for; please report this", len(left), bound+len(left))
		}
	}
	return nil
}

// solve runs one pass of Karpenter's scheduler. It does not use Karpenter's provisioner, which ends a pass after a
// minute without an error for the remaining pods.
func (w *cluster) solve(ctx context.Context, pending []*corev1.Pod, without poolsLeftOut) (scheduling.Results, error) {
	var none scheduling.Results
	cluster, err := w.karpenterState(ctx)
	if err != nil {
		return none, err
	}
	nodes := cluster.DeepCopyNodes().Active()
	offered, provider := map[string][]*cloudprovider.InstanceType{}, w.offered()
	for _, pool := range w.dynamic {
		if offered[pool.Name], err = provider.GetInstanceTypes(ctx, pool); err != nil {
			return none, err
		}
	}
	opts := []scheduling.Options{
		scheduling.DisableReservedCapacityFallback, scheduling.NumConcurrentReconciles(1),
		scheduling.MinValuesPolicy(options.MinValuesPolicyStrict),
	}
	topology, err := scheduling.NewTopology(ctx, w.store, cluster, nodes, w.dynamic, offered, pending, opts...)
	if err != nil {
		return none, err
	}
	if len(pending) >= w.packFrom {
		return w.pack(ctx, nodes, topology, offered, without, slices.Clone(pending))
	}
	s := scheduling.NewScheduler(ctx, w.store, w.dynamic, cluster, nodes, topology, offered, w.copies(), without,
		w.clock, nil, nil, opts...)
	results, err := s.Solve(ctx, slices.Clone(pending)) // it sorts them
	if err != nil {
		return none, err
	}
	return results.TruncateInstanceTypes(ctx, scheduling.MaxInstanceTypes), nil
}

// copies returns copies of the pods of DaemonSets, because Karpenter removes affinity terms that a pool does not
// match.
func (w *cluster) copies() (daemons []*corev1.Pod) {
	for _, pod := range w.daemons {
		daemons = append(daemons, pod.DeepCopy())
	}
	if len(daemons) > 0 {
		daemons = append(daemons, daemonset.PodForDaemonSet(emptyDaemon()))
	}
	return daemons
}

// karpenterState builds Karpenter's state of the existing nodes.
func (w *cluster) karpenterState(ctx context.Context) (*state.Cluster, error) {
	cluster := state.NewCluster(w.clock, w.store, w.provider)
	nodes := slices.Clone(w.unclaimed)
	for _, m := range w.made {
		cluster.UpdateNodeClaim(m.claim)
		nodes = append(nodes, m.node)
	}
	for _, name := range nodes {
		node := w.store.Nodes[name]
		if node == nil {
			continue
		}
		if err := cluster.UpdateNode(ctx, node); err != nil {
			return nil, err
		}
		for _, pod := range w.store.Bound[name] {
			if !podutils.HasRequiredPodAntiAffinity(pod) { // the others are known from their nodes
				continue
			}
			if err := cluster.UpdatePod(ctx, pod); err != nil {
				return nil, err
			}
		}
	}
	cluster.UpdateBufferPodCounts(maps.Clone(w.spare.counts))
	return cluster, nil
}

// binder binds the pods of one pass of Karpenter to the nodes that Karpenter has found for them, as kube-scheduler
// does.
type binder struct {
	store   *store
	pending map[types.UID]*corev1.Pod
}

// newBinder starts a pass for pending pods.
func newBinder(store *store, pending []*corev1.Pod) binder {
	p := binder{store: store, pending: make(map[types.UID]*corev1.Pod, len(pending))}
	for _, pod := range pending {
		p.pending[pod.UID] = pod
	}
	return p
}

// Bind binds pods to a node. The pods that Karpenter returns are copies.
func (p binder) Bind(pods []*corev1.Pod, node string) error {
	for _, planned := range pods {
		pod := p.pending[planned.UID]
		if pod == nil || pod.Spec.NodeName != "" {
			return fmt.Errorf("internal error: pod %s is placed on %s, but is not pending; please report this", planned.UID, node)
		}
		p.store.Bind(pod, node)
	}
	return nil
}

// unbound is why a pod is not bound to the node that Karpenter has planned for it.
type unbound struct {
	Why   string
	Never bool // no later planned node fits either
}

// BindNew binds pods to a new node, as far as it can attach their volumes: Karpenter counts volumes for existing
// nodes only, not for planned ones.
func (p binder) BindNew(pods []*corev1.Pod, node, plan string) (map[types.UID]unbound, error) {
	most, limited := p.store.Attachable[node]
	attached, left := map[string]bool{}, map[types.UID]unbound{}
	var fit []*corev1.Pod
	for _, pod := range pods {
		var fresh []string
		for _, v := range pod.Spec.Volumes {
			if name := pod.Namespace + "/" + ClaimOf(pod.Name, v); !attached[name] {
				fresh = append(fresh, name)
			}
		}
		switch {
		case limited && len(pod.Spec.Volumes) > most:
			left[pod.UID] = unbound{Never: true, Why: fmt.Sprintf(
				"it has %d volumes, and the %s that Karpenter creates for it can attach %d.", len(pod.Spec.Volumes), plan, most)}
			continue
		case limited && len(attached)+len(fresh) > most:
			left[pod.UID] = unbound{Why: fmt.Sprintf(
				"the %s that Karpenter creates for it can attach %d volumes, which other pods use.", plan, most)}
			continue
		}
		for _, name := range fresh {
			attached[name] = true
		}
		fit = append(fit, pod)
	}
	return left, p.Bind(fit, node)
}
