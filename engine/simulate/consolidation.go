package simulate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	nodeclaimdisruption "sigs.k8s.io/karpenter/pkg/controllers/nodeclaim/disruption"
	reqs "sigs.k8s.io/karpenter/pkg/scheduling"
	podutils "sigs.k8s.io/karpenter/pkg/utils/pod"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/lkeplan/lkeplan/engine/simulate/disrupt"
	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/inplace"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// Consolidation says what to simulate after the pods have their nodes: some pods leave, and Karpenter removes and
// replaces nodes until nothing changes.
type Consolidation struct {
	Keep  int // percent of the pods of each workload that stay, rounded up; 0 means all
	Steps int // the largest number of steps; 0 means maxSteps
}

// maxSteps is the largest number of steps of Karpenter that are simulated.
const maxSteps = 1000

// Consolidated has the nodes after consolidation, and the steps.
type Consolidated struct {
	Left   int    `json:"left"`  // pods that left before the first step
	Steps  []Move `json:"steps"` // Karpenter's commands in their order
	Plans  []Plan `json:"plans"`
	Total  Cost   `json:"total"`
	Nodes  []Node `json:"nodes"`
	Placed int    `json:"placed"`
	// Refused is the number of pods without a node at the end.
	Refused int      `json:"refused"`
	Held    []Kept   `json:"held"`  // why the remaining nodes stay
	Notes   []string `json:"notes"` // what was not simulated
	Ended   bool     `json:"ended"` // nothing changes any more
	Peak    Cost     `json:"peak"`  // the highest cost of all nodes at one time: new nodes start before old ones go
}

// consolidate simulates what Karpenter does with the existing nodes.
func (w *cluster) consolidate(ctx context.Context, in Input, pending []*corev1.Pod) (*consolidation, error) {
	now := disrupt.NewClock()
	w.clock, w.store.Budgets = now, in.Budgets
	e := &consolidation{cluster: w, now: now, pending: pending, explains: true}
	e.resetCaches()
	if err := e.scaleDown(ctx, in.Consolidate.Keep); err != nil {
		return nil, err
	}
	return e, e.run(ctx, in.Consolidate.Steps)
}

// resetCaches discards what earlier steps have learned about nodes.
func (e *consolidation) resetCaches() {
	e.out = &Consolidated{Steps: []Move{}, Held: []Kept{}, Notes: []string{}}
	e.stuck, e.stays, e.onto = map[string]string{}, map[string]bool{}, map[int][]string{}
	e.blocked = disrupt.Blocked{Nodes: map[string]string{}, Pools: map[string]bool{}}
}

// run takes steps until nothing changes any more, or at most the given number.
func (e *consolidation) run(ctx context.Context, most int) error {
	e.peak()
	most = cmp.Or(most, maxSteps)
	for !e.out.Ended {
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(e.out.Steps) == most {
			e.out.Notes = append(e.out.Notes, fmt.Sprintf("The simulation stops after %s; more would follow.", text.Count(most, "step")))
			break
		}
		if err := e.step(withSettings(ctx)); err != nil {
			return err
		}
	}
	return ctx.Err() // when the time is up, Karpenter finds nothing more and reports no error
}

// consolidation is a cluster in which Karpenter disrupts nodes until nothing changes any more.
type consolidation struct {
	*cluster
	now      *disrupt.Clock
	pending  []*corev1.Pod
	stuck    map[string]string // why nodes could not be replaced
	stays    map[string]bool   // nodes for which Single finds nothing until a step changes something that matters to them
	blocked  disrupt.Blocked
	explains bool // collect why nodes stay
	ready    bool // PodDisruptionBudgets count pods without a node as ready
	out      *Consolidated
	onto     map[int][]string // by step, the nodes that were there and take pods
	slow     bool
	changed  bool // pools have been replaced since the nodes were created
}

// scaleDown removes pods of each workload: first those without a node, then one after the other from the node that
// has most of them. The controllers of Kubernetes choose at random among the nodes with the most pods.
func (e *consolidation) scaleDown(ctx context.Context, keep int) error {
	if keep <= 0 || keep >= 100 {
		return nil
	}
	byLoad := make([][]*corev1.Pod, len(e.workloads))
	for _, pod := range e.pods {
		byLoad[e.workloadOf[pod.UID]] = append(byLoad[e.workloadOf[pod.UID]], pod)
	}
	var leave []*corev1.Pod
	for _, pods := range byLoad {
		leave = append(leave, firstToLeave(pods, len(pods)-(len(pods)*keep+99)/100)...)
	}
	e.remove(leave)
	e.out.Left = len(leave)
	var err error
	e.pending, err = e.place(ctx, e.pending)
	return err
}

func (e *consolidation) remove(pods []*corev1.Pod) {
	gone := make(map[*corev1.Pod]bool, len(pods))
	for _, pod := range pods {
		gone[pod] = true
	}
	is := func(pod *corev1.Pod) bool { return gone[pod] }
	e.store.Unbind(pods)
	e.pods, e.pending = slices.DeleteFunc(slices.Clone(e.pods), is), slices.DeleteFunc(slices.Clone(e.pending), is)
}

// step finds and carries out Karpenter's next command.
func (e *consolidation) step(ctx context.Context) error {
	for _, m := range e.made {
		e.setAgedConditions(m)
	}
	if e.changed {
		if err := e.markDrifted(ctx); err != nil {
			return err
		}
	}
	shown, err := e.disruptCluster(ctx, e.waiting())
	if err != nil {
		return err
	}
	found, err := shown.Next(ctx)
	e.slow = e.slow || found.Slow
	switch {
	case err != nil:
		return fmt.Errorf("simulate consolidation: %w", err)
	case found.Command == nil:
		e.out.Ended = true
		if e.explains {
			e.keptNodes(e.blocked)
		}
		return nil
	}
	return e.carryOut(ctx, found.Command)
}

// disruptCluster returns the cluster for Karpenter's disruption, including the pending pods.
func (e *consolidation) disruptCluster(ctx context.Context, waiting []*corev1.Pod) (disrupt.Cluster, error) {
	disrupt.CountAllowed(e.store.Budgets, e.pods, e.ready)
	e.store.Bound[""] = waiting
	provider := e.offered()
	prices, err := e.prices(ctx, provider)
	if err != nil {
		return disrupt.Cluster{}, err
	}
	state, err := e.karpenterState(ctx)
	return disrupt.Cluster{
		Client: e.store, Provider: provider, State: state, Clock: e.now, Prices: prices,
		Except: func(kind disrupt.Kind, node string) bool {
			return e.stuck[stuckAs(kind, node)] != "" || kind == disrupt.Single && e.stays[node]
		},
		Spare: e.spare.cache, NotFound: func(node string) { e.stays[node] = true }, Blocked: e.blocked,
		Gate: func(m disruption.Method) disruption.Method { return disrupt.Gate(m, state, e.policies, e.now.Now) },
	}, err
}

// policies returns the consolidation policy of a class. The paid hour is ignored, because consolidation ends at the
// same nodes.
func (e *consolidation) policies(ctx context.Context, class string) (nodeclaim.ConsolidationPolicy, error) {
	p, err := disrupt.LivePolicies(e.store)(ctx, class)
	p.Last = 0
	return p, err
}

// setAgedConditions sets the conditions that a node gets after some time.
func (e *consolidation) setAgedConditions(m *simNode) {
	node := e.store.Nodes[m.node]
	if len(node.Status.Conditions) > 0 {
		return
	}
	for _, condition := range []string{karpv1.ConditionTypeLaunched, karpv1.ConditionTypeRegistered,
		karpv1.ConditionTypeInitialized, karpv1.ConditionTypeConsolidatable} {
		m.claim.StatusConditions().SetTrue(condition)
	}
	m.claim.Status.NodeName = m.node
	node.Annotations = m.claim.Annotations
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
}

// waiting returns the pods without a node, with the conditions that kube-scheduler sets. All other pods are
// running.
func (e *consolidation) waiting() []*corev1.Pod {
	for _, pod := range e.pods {
		pod.Status = corev1.PodStatus{StartTime: ptr.To(metav1.NewTime(time.Unix(0, 0)))}
	}
	for _, pod := range e.pending {
		reason := corev1.PodReasonUnschedulable
		if e.podReasons[pod.UID] != "" {
			reason = corev1.PodReasonSchedulingGated // Karpenter makes no room for such pods
		}
		pod.Status = corev1.PodStatus{Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason,
		}}}
	}
	return e.pending
}

// prices returns the total price of all nodes of each pool, including NodeOverlays.
func (e *consolidation) prices(ctx context.Context, provider *offered) (map[string]float64, error) {
	of := map[string]float64{}
	for _, m := range e.made {
		pool := e.store.Pools[m.pool()]
		if pool == nil {
			continue
		}
		types, err := provider.GetInstanceTypes(ctx, pool)
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(types, func(it *cloudprovider.InstanceType) bool { return it.Name == m.plan() }); i >= 0 {
			price, _ := types[i].OfferingPrice(e.types.Region(), karpv1.CapacityTypeOnDemand)
			of[pool.Name] += price
		}
	}
	return of, nil
}

// carryOut creates the new nodes of a command, moves the pods, and removes the old nodes. If a new node is
// unavailable, nothing changes, and the command is not tried again.
func (e *consolidation) carryOut(ctx context.Context, command *disrupt.Command) error {
	var old, fresh []*simNode
	for _, m := range e.made {
		if slices.Contains(command.SourceNodeNames(), m.node) {
			old = append(old, m)
			m.claim.StatusConditions().SetTrue(karpv1.ConditionTypeDisruptionReason) // limits count such nodes separately
		}
	}
	if _, err := e.chooser.Limits.Show(ctx); err != nil {
		return err
	}
	targets, onto := map[types.UID]string{}, []string{}
	for _, node := range command.Results.ExistingNodes {
		for _, pod := range node.Pods {
			targets[pod.UID] = node.Name()
		}
		if len(node.Pods) > 0 {
			onto = append(onto, node.Name())
		}
	}
	for _, r := range command.Replacements {
		name, why, err := e.makeNode(ctx, r.ToNodeClaim(), command.Kind == disrupt.StaticDrift)
		if err != nil {
			return err
		}
		if why != "" {
			return e.fail(ctx, command.Kind, old, fresh, why)
		}
		fresh = append(fresh, e.made[len(e.made)-1])
		for _, pod := range r.Pods {
			targets[pod.UID] = name
		}
	}
	e.peak()
	move := Move{Kind: command.Kind, Reason: string(command.Reason), Gone: e.refs(old), Made: e.refs(fresh)}
	move.Saved = e.cost(old).Less(e.cost(fresh))
	var err error
	if move.Pods, err = e.move(ctx, old, targets); err != nil {
		return err
	}
	e.onto[len(e.out.Steps)] = onto
	e.out.Steps = append(e.out.Steps, move)
	waited := len(e.pending)
	if e.pending, err = e.place(ctx, e.pending); err != nil {
		return err
	}
	if waited > 0 || len(e.spare.pods) > 0 || e.uncached {
		clear(e.stays) // pending pods take room
		return nil
	}
	touched := map[string]bool{}
	for _, m := range slices.Concat(old, fresh) {
		touched[m.pool()] = true
	}
	for _, node := range targets {
		touched[e.store.Nodes[node].Labels[karpv1.NodePoolLabelKey]] = true
	}
	e.revisit(touched)
	return nil
}

// revisit lets Single look again at the nodes whose pods could run in some pools, whose nodes or room have changed.
// Nothing has changed for pods that cannot run there.
func (e *consolidation) revisit(pools map[string]bool) {
	for _, load := range e.workloads {
		if dividesNodes(load.Pod.Spec) {
			clear(e.stays)
			return
		}
	}
	may := make([]bool, len(e.workloads)) // whether the workload can run in the pools
	for i, load := range e.workloads {
		pod := pendingPod(load.Pod)
		if len(pod.Spec.TopologySpreadConstraints) > 0 { // they count nodes with taints as well
			pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		}
		for name := range pools {
			if pool := e.store.Pools[name]; pool == nil {
				may[i] = true
			} else if _, ok := instancetype.ForPod(pool, pod); ok {
				may[i] = true
			}
		}
	}
	for node := range e.stays {
		on := e.store.Bound[node]
		if len(on) == 0 || pools[e.store.Nodes[node].Labels[karpv1.NodePoolLabelKey]] ||
			slices.ContainsFunc(on, func(pod *corev1.Pod) bool { return may[e.workloadOf[pod.UID]] }) {
			delete(e.stays, node)
		}
	}
}

// fail removes what was created for a command that cannot be carried out.
func (e *consolidation) fail(ctx context.Context, kind disrupt.Kind, old, fresh []*simNode, why string) error {
	for _, m := range old {
		e.stuck[stuckAs(kind, m.node)] = why
		if err := m.claim.StatusConditions().Clear(karpv1.ConditionTypeDisruptionReason); err != nil {
			return err
		}
	}
	return e.removeNodes(ctx, fresh)
}

func stuckAs(kind disrupt.Kind, node string) string { return string(kind) + " " + node }

// move moves the pods of old nodes to their new nodes, and removes the old nodes. Pods without a new node are
// pending.
func (e *consolidation) move(ctx context.Context, old []*simNode, targets map[types.UID]string) (pods int, err error) {
	for _, m := range old {
		all := slices.Clone(e.store.Bound[m.node])
		e.store.Unbind(all)
		for _, pod := range all {
			if _, moves := e.workloadOf[pod.UID]; moves { // other pods, such as those of DaemonSets, go with the node
				e.pending = append(e.pending, pod)
				pods++
			}
		}
	}
	if err := e.removeNodes(ctx, old); err != nil {
		return 0, err
	}
	left := []*corev1.Pod{}
	for _, pod := range e.pending {
		switch node := targets[pod.UID]; {
		case node == "":
			left = append(left, pod)
		case e.store.Nodes[node] == nil:
			return 0, fmt.Errorf("internal error: pod %s moves to %s, which does not exist; please report this", pod.UID, node)
		default:
			e.store.Bind(pod, node)
		}
	}
	e.pending = left
	return pods, nil
}

// removeNodes removes nodes. Limits remember choices until they see the nodes, so that they must see the state before
// and after the removal.
func (e *consolidation) removeNodes(ctx context.Context, nodes []*simNode) error {
	if _, err := e.chooser.Limits.Show(ctx); err != nil {
		return err
	}
	for _, m := range nodes {
		e.store.Remove(m.node)
	}
	e.made = slices.DeleteFunc(e.made, func(m *simNode) bool { return slices.Contains(nodes, m) })
	_, err := e.chooser.Limits.Show(ctx)
	return err
}

func (e *consolidation) refs(nodes []*simNode) []NodeRef {
	refs := []NodeRef{}
	for _, m := range nodes {
		refs = append(refs, m.ref())
	}
	return refs
}

func (e *consolidation) cost(nodes []*simNode) (sum Cost) {
	for _, m := range nodes {
		price := e.types.Price(m.plan())
		sum.Add(Cost{Hourly: price.Hourly, Monthly: price.PerMonth()})
	}
	return sum
}

// peak updates the highest cost of all nodes at one time.
func (e *consolidation) peak() {
	if now := e.cost(e.made); now.Hourly > e.out.Peak.Hourly {
		e.out.Peak = now
	}
}

func (e *consolidation) keptNodes(blocked disrupt.Blocked) {
	at := map[string]int{}
	for _, m := range e.made {
		text := e.keptBecause(m, blocked)
		i, known := at[m.pool()+" "+text]
		if !known {
			i = len(e.out.Held)
			at[m.pool()+" "+text] = i
			e.out.Held = append(e.out.Held, Kept{Pool: m.pool(), Text: text})
		}
		e.out.Held[i].Nodes = append(e.out.Held[i].Nodes, m.node)
	}
	slices.SortStableFunc(e.out.Held, func(a, b Kept) int { return cmp.Compare(a.Pool, b.Pool) })
}

func (e *consolidation) keptBecause(m *simNode, blocked disrupt.Blocked) string {
	reason, differs := karpv1.DisruptionReasonUnderutilized, ""
	switch {
	case isDrifted(m):
		reason, differs = karpv1.DisruptionReasonDrifted, "the node does not match its pool, and "
	case m.static:
		return "the pool has a fixed number of nodes"
	case len(e.store.Bound[m.node]) == 0:
		reason = karpv1.DisruptionReasonEmpty
	}
	text := e.stuck[stuckAs(disrupt.StaticDrift, m.node)] + e.stuck[stuckAs(disrupt.Drift, m.node)]
	if differs == "" {
		text = cmp.Or(e.stuck[stuckAs(disrupt.Single, m.node)], e.stuck[stuckAs(disrupt.Multi, m.node)])
	}
	if text == "" {
		text = blocked.Why(m.node, e.store.Pools[m.pool()], reason, e.workloadName)
	}
	return differs + strings.TrimSuffix(text, ".")
}

// workloadName returns the workload of a pod, in place of the pod's name in the simulation.
func (e *consolidation) workloadName(object string) string {
	if _, uid, ok := strings.Cut(object, "/pod-"); ok {
		if i, known := e.workloadOf[types.UID(uid)]; known {
			return "a pod of " + e.workloads[i].Name
		}
	}
	return object
}

const slowNote = "Karpenter stopped a search for several nodes after a minute, as it does in a cluster: " +
	"on another machine it may find other steps."

// finish returns the result.
func (e *consolidation) finish(asked int) (*Consolidated, error) {
	out := e.out
	out.Nodes, out.Refused = []Node{}, len(e.pending)+len(e.spare.left())
	asked += len(e.spare.pods)
	for _, m := range e.made {
		n := e.node(m)
		out.Nodes = append(out.Nodes, n)
		out.Total.Add(n.Cost)
		for _, s := range n.Pods {
			out.Placed += s.Pods
		}
	}
	out.Plans = sumByPlan(out.Nodes)
	out.Notes = append(out.Notes, overfullNotes(out.Nodes, out.Plans)...)
	if e.slow {
		out.Notes = append(out.Notes, slowNote)
	}
	if out.Placed+out.Refused != asked {
		return nil, fmt.Errorf("internal error: of %d pods, %d have a node at the end and %d are pending; please report this", asked,
			out.Placed, out.Refused)
	}
	return out, nil
}

// Change simulates what a change does to existing nodes. It starts with the nodes that the pods of base get, after
// consolidation. Then the pools of head apply, and Karpenter replaces nodes that have drifted, within the budgets,
// until nothing changes any more. Pools that head does not have are being removed. Both inputs have Consolidate,
// the same pods and the same region.
//
// A new version of Kubernetes rolls all pools at once here; in a cluster they take turns.
func Change(ctx context.Context, base, head Input) (*Consolidated, error) {
	if base.Consolidate == nil || base.Region != head.Region || base.Tier != head.Tier {
		return nil, errors.New("nodes cannot move to another region or tier")
	}
	w, pending, err := startCluster(ctx, base, manyPods)
	if err != nil {
		return nil, err
	}
	e, err := w.consolidate(ctx, base, pending)
	if err != nil {
		return nil, err
	}
	e.resetCaches()
	e.changed = true
	e.dynamic, e.static, e.notes = nil, nil, nil
	if err := e.redeclare(ctx, head.Objects); err != nil {
		return nil, err
	}
	if err := e.scaleStatic(withSettings(ctx)); err != nil {
		return nil, err
	}
	if e.pending, err = e.place(ctx, e.pending); err != nil {
		return nil, err
	}
	if err := e.run(ctx, head.Consolidate.Steps); err != nil {
		return nil, err
	}
	return e.finish(len(e.pods))
}

// redeclare replaces the objects of the cluster.
func (w *cluster) redeclare(ctx context.Context, objects []client.Object) error {
	old := w.store.Pools
	fresh := newStore()
	w.store.Pools, w.store.Classes, w.store.Limits = fresh.Pools, fresh.Classes, fresh.Limits
	w.store.Overlays, w.store.Buffers = fresh.Overlays, fresh.Buffers
	w.declare(objects)
	w.admitPools(ctx)
	for _, pool := range sortedValues(old) {
		if w.store.Pools[pool.Name] == nil {
			w.store.Pools[pool.Name] = removed(pool)
		}
	}
	for _, pool := range sortedValues(w.store.Pools) {
		metav1.SetMetaDataAnnotation(&pool.ObjectMeta, karpv1.NodePoolHashAnnotationKey, pool.Hash())
		metav1.SetMetaDataAnnotation(&pool.ObjectMeta, karpv1.NodePoolHashVersionAnnotationKey, karpv1.NodePoolHashVersion)
	}
	for _, m := range w.made {
		w.relabel(m)
	}
	if err := errors.Join(w.overlay(ctx), w.reserve(ctx)); err != nil {
		return err
	}
	_, err := w.chooser.Limits.Show(ctx)
	return err
}

// relabel sets the labels and annotations of a node that change in place with its pool, as the controller does, and
// removes pods of DaemonSets that no longer select the node.
func (w *cluster) relabel(m *simNode) {
	pool := w.store.Pools[m.pool()]
	if pool == nil {
		return
	}
	claim, node := inplace.TemplateOf(pool).Next(m.claim, w.store.Nodes[m.node])
	if claim != nil {
		*m.claim = *claim // the store has the same object
	}
	if node == nil {
		return
	}
	w.store.Nodes[m.node] = node
	labels := reqs.NewLabelRequirements(node.Labels)
	leaves := func(pod *corev1.Pod) bool { // the controller of DaemonSets deletes it
		return pod.Spec.NodeName == m.node && podutils.IsOwnedByDaemonSet(pod) && !selectsNode(pod, labels)
	}
	w.store.Bound[m.node] = slices.DeleteFunc(w.store.Bound[m.node], leaves)
	w.store.Pods = slices.DeleteFunc(w.store.Pods, leaves)
}

// removed returns a pool that is no longer declared in the form of package plan: it creates no nodes, and its nodes
// have drifted. A pool with replicas gives up its nodes in the same way.
func removed(pool *karpv1.NodePool) *karpv1.NodePool {
	pool = pool.DeepCopy()
	if pool.Spec.Limits == nil {
		pool.Spec.Limits = karpv1.Limits{}
	}
	pool.Spec.Limits[resources.Node], pool.Spec.Replicas = resource.Quantity{}, nil
	metav1.SetMetaDataAnnotation(&pool.ObjectMeta, schemas.AnnotationRemoval, "simulated")
	if pool.Spec.Template.Annotations == nil {
		pool.Spec.Template.Annotations = map[string]string{}
	}
	pool.Spec.Template.Annotations[schemas.AnnotationRemoval] = "simulated"
	return pool
}

// ready sets the conditions of a pool that the controllers would set.
func ready(pool *karpv1.NodePool) {
	pool.StatusConditions().SetTrue(karpv1.ConditionTypeValidationSucceeded)
	pool.StatusConditions().SetTrue(karpv1.ConditionTypeNodeClassReady)
}

// scaleStatic creates nodes that static pools are missing, and at once removes those that are too many: those with
// the fewest pods first.
func (e *consolidation) scaleStatic(ctx context.Context) error {
	for _, m := range e.made {
		pool := e.store.Pools[m.pool()]
		m.static = pool != nil && pool.Spec.Replicas != nil
	}
	for _, pool := range e.static {
		var has []*simNode
		for _, m := range e.made {
			if m.pool() == pool.Name {
				has = append(has, m)
			}
		}
		slices.SortStableFunc(has, func(a, b *simNode) int { return len(e.store.Bound[a.node]) - len(e.store.Bound[b.node]) })
		wanted := min(int(*pool.Spec.Replicas), maxStatic)
		if gone := has[:max(0, len(has)-wanted)]; len(gone) > 0 {
			move := Move{Kind: disrupt.Replicas, Gone: e.refs(gone), Made: []NodeRef{}, Saved: e.cost(gone)}
			var err error
			if move.Pods, err = e.move(ctx, gone, nil); err != nil {
				return err
			}
			e.out.Steps = append(e.out.Steps, move)
		}
	}
	count := map[string]int64{}
	for _, m := range e.made {
		count[m.pool()]++
	}
	standing := len(e.made)
	if err := e.makeStatic(ctx, count); err != nil {
		return err
	}
	if fresh := e.made[standing:]; len(fresh) > 0 {
		e.out.Steps = append(e.out.Steps, Move{
			Kind: disrupt.Replicas, Gone: []NodeRef{}, Made: e.refs(fresh), Saved: Cost{}.Less(e.cost(fresh)),
		})
	}
	return nil
}

// markDrifted sets the condition Drifted of NodeClaims, with Karpenter's own controller.
func (e *consolidation) markDrifted(ctx context.Context) error {
	// Another chooser is needed, because this one caches for a while how far versions have rolled out.
	chooser := *e.chooser
	chooser.Orders = e.mode.Orders(e.store, e.types)
	provider := linode.NewProvider(&chooser, nil)
	controller := nodeclaimdisruption.NewController(e.now, linode.WithoutStamps(e.store), provider)
	for _, m := range e.made {
		asked := m.claim.DeepCopy()
		if _, err := controller.Reconcile(ctx, asked); err != nil {
			return fmt.Errorf("check %s with Karpenter: %w", m.node, err)
		}
		conditions := m.claim.StatusConditions(status.WithClock(e.now))
		if found := asked.StatusConditions().Get(karpv1.ConditionTypeDrifted); found.IsTrue() {
			conditions.SetTrueWithReason(karpv1.ConditionTypeDrifted, found.Reason, found.Message)
		} else if err := conditions.Clear(karpv1.ConditionTypeDrifted); err != nil {
			return err
		}
	}
	return nil
}

func isDrifted(m *simNode) bool {
	return m.claim.StatusConditions().Get(karpv1.ConditionTypeDrifted).IsTrue()
}

// kubelet returns the version of Kubernetes of new nodes; "" if the class has none.
func (w *cluster) kubelet(nc *karpv1.NodeClaim) (info corev1.NodeSystemInfo) {
	if class := w.store.Classes[nc.Spec.NodeClassRef.Name]; class != nil && class.Spec.LKEK8sVersion != nil {
		info.KubeletVersion = *class.Spec.LKEK8sVersion
	}
	return info
}
