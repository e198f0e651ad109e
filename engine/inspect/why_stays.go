package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	nodeutils "sigs.k8s.io/karpenter/pkg/utils/node"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/engine/stop"
	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/age"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/inplace"
	"github.com/lkeplan/lkeplan/linode/maintenance"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// stays explains why a node is neither removed nor replaced by a cheaper one: by its pool,
// by what blocks its removal, and by where its pods would go.
func (w *reader) stays(ctx context.Context, nc *karpv1.NodeClaim) ([]Line, error) {
	pool := w.poolOf(nc)
	if pool == nil {
		return plainLines("its pool was deleted"), nil
	}
	pods := w.movable(nc)
	lines := plainLines(w.stopped(nc)...)
	if text := w.movedBy(nc.Name); text != "" {
		lines = append(lines, plainLines(text)...)
	}
	lines = append(lines, plainLines(slices.Concat(w.relabeled(pool, nc), w.hosts(nc), w.aged(nc), w.policy(pool, nc, len(pods)))...)...)
	holds, err := w.holds(nc, true)
	if err != nil {
		return nil, err
	}
	lines = append(lines, plainLines(holds...)...)
	reason := karpv1.DisruptionReasonUnderutilized
	if len(pods) == 0 {
		reason = karpv1.DisruptionReasonEmpty
	}
	lines = append(lines, plainLines(w.closedBudgets(pool, nc, reason)...)...)
	without, err := w.without(ctx, nc, pods)
	return append(lines, plainLines(without...)...), err
}

// stopped explains that disruption is stopped.
func (w *reader) stopped(nc *karpv1.NodeClaim) []string {
	switch s := stop.At(w.Stops, w.Now); {
	case !s.Stopped():
		return nil
	case nc.DeletionTimestamp.IsZero():
		return []string{"disruption is " + s.String()}
	case s.Holds():
		return []string{"its pods are not evicted: drains are " + s.String()}
	}
	return nil
}

// relabeled explains that labels or annotations of a node changed without a replacement, or have not changed yet.
func (w *reader) relabeled(pool *karpv1.NodePool, nc *karpv1.NodeClaim) (texts []string) {
	keys := strings.Join(inplace.Keys(pool), ", ")
	node := findNamed(w.Snapshot.Nodes, nc.Status.NodeName)
	switch claim, onNode := inplace.TemplateOf(pool).Behind(nc, node); {
	case claim || onNode:
		texts = append(texts, "labels or annotations of the node change in place, and it does not have the current values yet: "+keys)
	case inplace.Changed(nc.Annotations):
		texts = append(texts, "labels or annotations of the node were changed in place, and the node was not replaced for it: "+keys)
	default:
		return nil
	}
	return texts
}

// delays explains what delays the removal of a node that is removed or replaced: what blocks it, budgets, and pods
// that would have no node.
func (w *reader) delays(ctx context.Context, nc *karpv1.NodeClaim) ([]Line, error) {
	texts, err := w.holds(nc, false)
	texts = append(w.stopped(nc), texts...)
	if err != nil || !nc.DeletionTimestamp.IsZero() {
		return plainLines(texts...), err // neither budgets nor room for its pods keep a deleting node
	}
	pool := w.poolOf(nc)
	if pool == nil {
		return plainLines(texts...), nil // nothing counts budgets
	}
	texts = append(texts, w.closedBudgets(pool, nc, karpv1.DisruptionReasonDrifted)...)
	if !w.draining(nc) {
		pods := w.movable(nc)
		_, refused, err := w.moved(ctx, nc, pods)
		if err != nil {
			return nil, err
		}
		if len(refused) > 0 {
			texts = append(texts, refused[0])
		}
	}
	return plainLines(texts...), nil
}

// aged says when a node is replaced because of its age.
func (w *reader) aged(nc *karpv1.NodeClaim) []string {
	pool := w.poolOf(nc)
	if pool == nil {
		return nil
	}
	after, err := age.After(pool)
	if err != nil || after == 0 {
		return nil // an invalid value is a condition of the pool
	}
	sentence := fmt.Sprintf("pool %s replaces nodes by age: refresh_after is %s, and the node is due at %s", pool.Name, text.Duration(after),
		text.SoonTime(age.Due(nc.CreationTimestamp.Time, nc.Name, after)))
	if night, ok := w.rolls.pools[pool.Name].Refresh.Night(nc.Name); ok {
		sentence += fmt.Sprintf("; the budgets let it go from %s", text.SoonTime(night.First))
	}
	return []string{sentence}
}

// hosts reports maintenance of a node's host that does not replace the node yet, and until when its paid hour keeps it.
func (w *reader) hosts(nc *karpv1.NodeClaim) (texts []string) {
	class := w.classOf(nc)
	if window := maintenance.Of(nc); window != nil && nc.Annotations[maintenance.AnnotationReplace] == "" {
		sentence := "the node is not replaced before maintenance, because its LinodeNodeClass does not set replaceBeforeMaintenance"
		if class != nil && class.Spec.ReplaceBeforeMaintenance != nil {
			sentence = fmt.Sprintf("its LinodeNodeClass replaces nodes %s before maintenance starts at a known time",
				text.Duration(class.Spec.ReplaceBeforeMaintenance.Duration))
		}
		texts = append(texts, fmt.Sprintf("maintenance of its host: %s; %s", diag.OneLine(window.String()), sentence))
	}
	texts = append(texts, w.awaited(nc)...)
	if class == nil {
		return texts
	}
	p, err := nodeclaim.ConsolidationPolicyOf(class)
	if err != nil {
		return append(texts, err.Error())
	}
	if !p.Open(nc.CreationTimestamp.Time, w.Now) {
		from, until := p.Window(nc.CreationTimestamp.Time, w.Now)
		texts = append(texts, fmt.Sprintf("its LinodeNodeClass allows consolidation only from %s to %s UTC, at the end of the paid hour",
			from.UTC().Format("15:04"), until.UTC().Format("15:04")))
	}
	return texts
}

// awaited reports that Karpenter will repair the node of a claim that is not ready, or that the controller waits for
// its machine, because its host is maintained: the Node is not ready, or has not joined.
func (w *reader) awaited(nc *karpv1.NodeClaim) []string {
	window := maintenance.Of(nc)
	switch sick := nc.Status.NodeName != "" && !isNodeReady(w.Snapshot.Nodes, nc.Status.NodeName); {
	case sick && !window.Explains(w.Now):
		return []string{fmt.Sprintf("the node is not ready; unless repair is off, Karpenter replaces it after %s, within the budgets "+
			"for the reason Unhealthy", text.Duration(linode.RepairAfter))}
	case !sick && nc.Status.NodeName != "" || !window.Explains(w.Now):
		return nil
	}
	return []string{"the node is not ready; because its host is maintained, lkeplan waits for its machine until " +
		text.Time(window.Until())}
}

// movable returns the pods of a claim's node that would have to move.
func (w *reader) movable(nc *karpv1.NodeClaim) (pods []*corev1.Pod) {
	for _, pod := range cluster.PodsToMove(w.Pods, nc.Status.NodeName) {
		if pod.DeletionTimestamp.IsZero() {
			pods = append(pods, pod)
		}
	}
	return pods
}

// policy explains how the pool's disruption block keeps a node.
func (w *reader) policy(pool *karpv1.NodePool, nc *karpv1.NodeClaim, pods int) (texts []string) {
	d := pool.Spec.Disruption
	after := d.ConsolidateAfter.Duration
	switch {
	case pool.Spec.Replicas != nil:
		return []string{fmt.Sprintf("pool %s has a fixed number of nodes", pool.Name)}
	case after == nil:
		return []string{fmt.Sprintf("pool %s never removes nodes to save cost (consolidate_after is Never)", pool.Name)}
	case d.ConsolidationPolicy == karpv1.ConsolidationPolicyWhenEmpty && pods > 0:
		texts = append(texts, fmt.Sprintf("pool %s removes only empty nodes (policy WhenEmpty), and %s on the node",
			pool.Name, text.CountAre(pods, "pod")))
	}
	since := nc.Status.LastPodEventTime.Time
	if since.IsZero() {
		since = nc.CreationTimestamp.Time
	}
	if rest := *after - w.Now.Sub(since); rest > 0 {
		texts = append(texts, fmt.Sprintf("a pod was added or removed %s ago, and consolidate_after is %s", w.age(since),
			text.Duration(*after)))
	}
	return texts
}

// holds returns what blocks Karpenter from draining a node.
func (w *reader) holds(nc *karpv1.NodeClaim, consolidation bool) (texts []string, err error) {
	nodes := compare.NodesOf([]*karpv1.NodeClaim{nc}, w.Snapshot.Nodes)
	if consolidation { // which pods block even if a node has a termination grace period
		nodes[0].NoTerminationGrace = true
	}
	if nodes, err = w.holdNodes(nodes); err != nil {
		return nil, err
	}
	for _, h := range nodes[0].Holds {
		switch h.Reason {
		case plan.HeldByPDB:
			texts = append(texts, fmt.Sprintf("the PodDisruptionBudget %s allows no eviction", h.Object))
		case plan.HeldByDoNotDisrupt:
			texts = append(texts, fmt.Sprintf("karpenter.sh/do-not-disrupt on %s blocks the removal", h.Object))
		case plan.NoOtherPlace:
			texts = append(texts, fmt.Sprintf("%s fits on no other pool or node", h.Object))
		default:
			texts = append(texts, h.Object)
		}
	}
	return texts, nil
}

// without shows where the pods of a node would go if it did not exist, by Karpenter's own
// scheduler.
func (w *reader) without(ctx context.Context, nc *karpv1.NodeClaim, pods []*corev1.Pod) ([]string, error) {
	if len(pods) == 0 {
		return []string{"no pod needs the node, which has only pods of DaemonSets"}, nil
	}
	fresh, refused, err := w.moved(ctx, nc, pods)
	switch {
	case err != nil:
		return nil, err
	case len(refused) > 0:
		return refused[:1], nil
	case len(fresh) == 0:
		return []string{"its pods fit on existing nodes, so they do not block the removal"}, nil
	}
	return []string{w.instead(nc, fresh)}, nil
}

// moved places the pods of a node as if it did not exist. Fresh are the new nodes that they would get, by name, and
// refused is why a pod would have no node, for each such pod.
func (w *reader) moved(ctx context.Context, nc *karpv1.NodeClaim, pods []*corev1.Pod) (
	fresh map[string]simulate.Placement, refused []string, err error) {
	placed, err := simulate.Place(ctx, w.live(ctx, nc))
	if err != nil {
		return nil, nil, err
	}
	fresh = map[string]simulate.Placement{}
	for _, pod := range pods {
		switch p := placed[types.UID(pod.UID)]; {
		case p.Plan != "":
			fresh[p.New] = p
		case p.Node == "":
			name := pod.Namespace + "/" + pod.Name
			text := fmt.Sprintf("without this node, pod %s would have no node", name)
			if len(p.Reasons) > 0 {
				text += ": " + strings.TrimSuffix(mergeLines(w.placing(pod, p))[0].String(), ".")
			}
			refused = append(refused, text)
		}
	}
	return fresh, refused, nil
}

// instead compares a node with the nodes that its pods would get.
func (w *reader) instead(nc *karpv1.NodeClaim, fresh map[string]simulate.Placement) string {
	var names []string
	var cost catalog.Money
	for _, p := range fresh {
		names = append(names, p.Plan)
		cost += w.price(p.Plan).Hourly
	}
	slices.Sort(names)
	has := w.price(nodeclaim.PlanOf(nc))
	own := has.Hourly
	text := fmt.Sprintf("without this node, its pods would need a %s", strings.Join(names, " and a "))
	switch {
	case !has.Known():
		return text + fmt.Sprintf(" ($%s an hour); the price of this node is unknown", cost)
	case cost < own && len(fresh) == 1:
		return text + fmt.Sprintf(", which is cheaper ($%s an hour instead of $%s) and does not block the removal", cost, own)
	case cost < own:
		return text + fmt.Sprintf(" ($%s an hour instead of $%s), but Karpenter replaces a node only with a single cheaper one", cost,
			own)
	}
	return text + fmt.Sprintf(", which is not cheaper ($%s an hour instead of $%s)", cost, own)
}

// closedBudgets returns the budgets of a pool that do not allow a disruption now for a reason: those that
// allow none, with their end, and those that are already used.
func (w *reader) closedBudgets(pool *karpv1.NodePool, nc *karpv1.NodeClaim, reason karpv1.DisruptionReason) (texts []string) {
	nodes, going := w.countNodes(pool, nc)
	if nodes == 0 {
		return nil
	}
	for _, b := range pool.Spec.Disruption.Budgets {
		if len(b.Reasons) > 0 && !slices.Contains(b.Reasons, reason) {
			continue
		}
		alone := pool.DeepCopy()
		b.Reasons = nil
		alone.Spec.Disruption.Budgets = []karpv1.Budget{b}
		switch pace, err := plan.PaceOf(alone, nodes, len(going), 0, w.Now); {
		case err != nil:
			texts = append(texts, fmt.Sprintf("the budgets of pool %s cannot be evaluated: %v", pool.Name, err))
		case len(pace.Closed) > 0:
			sentence := fmt.Sprintf("pool %s: the budget %s allows no disruption of its %s", pool.Name, pace.Closed[0], text.Count(nodes, "node"))
			if !pace.Next.IsZero() {
				sentence += " before " + text.SoonTime(pace.Next)
			}
			texts = append(texts, sentence)
		case pace.Now == 0:
			texts = append(texts, fmt.Sprintf("pool %s: the budget %s allows the disruption of %s at a time, and %s", pool.Name,
				b.Nodes, text.Count(pace.Windows[0].Nodes, "node"), removalCount(going)))
		}
	}
	return texts
}

// countNodes returns the number of nodes of a pool that budgets count, and the names of those that
// use them: they are being removed, or are not ready.
func (w *reader) countNodes(pool *karpv1.NodePool, but *karpv1.NodeClaim) (nodes int, going []string) {
	for _, nc := range w.Claims {
		if nc.Labels[karpv1.NodePoolLabelKey] != pool.Name || nc.Status.NodeName == "" {
			continue
		}
		nodes++
		marked := claimCondition(nc, karpv1.ConditionTypeDisruptionReason)
		if nc != but && (marked.IsTrue() || !nc.DeletionTimestamp.IsZero() || !isNodeReady(w.Snapshot.Nodes, nc.Status.NodeName)) {
			going = append(going, nc.Status.NodeName)
		}
	}
	return nodes, going
}

// isNodeReady reports whether a Node is ready; true if that is unknown.
func isNodeReady(nodes []*corev1.Node, name string) bool {
	n := findNamed(nodes, name)
	if n == nil {
		return true
	}
	c := nodeutils.GetCondition(n, corev1.NodeReady)
	return c.Status == "" || c.Status == corev1.ConditionTrue
}

func removalCount(nodes []string) string {
	if len(nodes) == 1 {
		return "node " + nodes[0] + " is being removed or is not ready"
	}
	return fmt.Sprintf("%d nodes are being removed or are not ready", len(nodes))
}
