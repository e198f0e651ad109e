package inspect

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	conditions "github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	nodeutils "sigs.k8s.io/karpenter/pkg/utils/node"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/inplace"
	"github.com/lkeplan/lkeplan/linode/limits"
	"github.com/lkeplan/lkeplan/linode/maintenance"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// PoolStatus is the state of a NodePool.
type PoolStatus struct {
	Name   string        `json:"name"` // "" for the nodes without a pool
	Class  string        `json:"node_class,omitempty"`
	Nodes  int           `json:"nodes"`
	States []Count       `json:"states"`
	Cost   catalog.Price `json:"cost"` // without the unpriced
	// Unpriced are the nodes whose price is unknown.
	Unpriced int            `json:"unpriced,omitempty"`
	Refresh  *plan.Calendar `json:"refresh,omitempty"` // when nodes are replaced because of their age
	Limits   []Amount       `json:"limits"`            // its own
	Says     []Remark       `json:"says"`
	coming   int
}

// Count is the number of nodes of a pool in a state.
type Count struct {
	State cluster.NodeState `json:"state"`
	Nodes int               `json:"nodes"`
}

// rolls has the progress of pools whose nodes are replaced.
type rolls struct {
	pools    map[string]plan.Rolling
	outdated map[string]bool // by the name of the claim
	held     map[string]bool
	leaving  map[string][]plan.Held // of nodes that are being deleted and are not outdated, by pool
	drift    map[manifest.Key][]Remark
}

// findOutdated finds outdated nodes as Karpenter does, what blocks their replacement, and what other tools have set.
func (w *reader) findOutdated() (err error) {
	w.rolls = rolls{pools: map[string]plan.Rolling{}, held: map[string]bool{}, leaving: map[string][]plan.Held{}, drift: map[manifest.Key][]Remark{}}
	r := &w.rolls
	state := plan.State{Pools: filterList(w.Snapshot.Pools, func(p *karpv1.NodePool) bool { return classOf(p) != "" }), Classes: w.Classes,
		Nodes: compare.NodesOf(w.Claims, w.Snapshot.Nodes), Now: w.Now}
	if r.outdated, err = plan.Outdated(state); err != nil {
		return err
	}
	for _, pool := range state.Pools {
		if err := r.addDrift(manifest.Key{Kind: "NodePool", Name: pool.Name}, pool); err != nil {
			return err
		}
	}
	for _, class := range w.Classes {
		if err := r.addDrift(manifest.Key{Kind: "LinodeNodeClass", Name: class.Name}, class); err != nil {
			return err
		}
	}
	deleted := slices.ContainsFunc(w.Claims, func(nc *karpv1.NodeClaim) bool { return !nc.DeletionTimestamp.IsZero() })
	if len(r.outdated) > 0 || deleted { // else nothing can be blocked
		leaving := map[string]bool{} // before nodes that are not ready count as well
		for _, n := range state.Nodes {
			leaving[n.Name] = n.Deleting && !r.outdated[n.Name]
		}
		if state.Nodes, err = w.holdNodes(state.Nodes); err != nil {
			return err
		}
		for _, n := range state.Nodes {
			r.held[n.Name] = len(n.Holds) > 0
			if leaving[n.Name] && len(n.Holds) > 0 {
				all := r.leaving[n.Pool]
				i := slices.IndexFunc(all, func(h plan.Held) bool { return h.Hold == n.Holds[0] })
				if i < 0 {
					i, all = len(all), append(all, plan.Held{Hold: n.Holds[0]})
				}
				all[i].Nodes++
				r.leaving[n.Pool] = all
			}
		}
	}
	all, err := plan.Rolls(state)
	for _, p := range all {
		r.pools[p.Pool] = p
	}
	return err
}

// holdNodes sets what blocks the removal of nodes. Those of draining pools are also blocked by pods that fit on no other
// pool or node.
func (w *reader) holdNodes(nodes []plan.Node) ([]plan.Node, error) {
	for i := range nodes {
		nodes[i].Condemned = slices.ContainsFunc(w.Snapshot.Pools, func(pool *karpv1.NodePool) bool {
			return pool.Name == nodes[i].Pool && pool.Annotations[schemas.AnnotationRemoval] != ""
		})
	}
	return compare.Hold(nodes, nil, w.Snapshot, w.Now)
}

// addDrift adds the fields that other tools have set in an object that lkeplan applies.
func (r *rolls) addDrift(key manifest.Key, obj metav1.Object) error {
	if obj.GetLabels()[kube.InventoryLabel] == "" {
		return nil
	}
	fields, err := plan.SetByOthers(obj, kube.FieldManager)
	if err != nil {
		return fmt.Errorf("read the field owners of %s: %w", key, err)
	}
	for _, f := range fields {
		r.drift[key] = append(r.drift[key], Remark{What: RemarkDrift, Text: fmt.Sprintf("%s was set by %s and not by lkeplan: compare "+
			"it with the configuration with lkeplan diff --base live", f.Path, strings.Join(f.Owners, ", "))})
	}
	return nil
}

// classOf returns the name of a pool's LinodeNodeClass; "" if its node class is not a LinodeNodeClass.
func classOf(pool *karpv1.NodePool) string {
	if ref := pool.Spec.Template.Spec.NodeClassRef; ref != nil && ref.Group == linodev1alpha1.Group {
		return ref.Name
	}
	return ""
}

// pools returns all pools by name, also those of nodes whose NodePool was deleted or cannot be read, and last the
// nodes without a pool.
func (w *reader) pools(nodes []Node) []PoolStatus {
	of := byPool(nodes)
	objects := map[string]*karpv1.NodePool{}
	for _, p := range w.Snapshot.Pools {
		objects[p.Name] = p
		of[p.Name] = slices.Clip(of[p.Name]) // also those without nodes
	}
	names := slices.SortedFunc(maps.Keys(of), func(a, b string) int {
		return cmp.Or(falseFirst(a == "", b == ""), strings.Compare(a, b))
	})
	pools := []PoolStatus{}
	for _, name := range names {
		sum := totalsOf(of[name])
		p := PoolStatus{Name: name, Nodes: sum.nodes, Cost: sum.cost, Unpriced: sum.unpriced, coming: sum.coming,
			States: []Count{}, Limits: []Amount{}, Says: []Remark{}}
		for _, state := range cluster.NodeStates() {
			if n := sum.states[state]; n > 0 {
				p.States = append(p.States, Count{state, n})
			}
		}
		if object := objects[name]; object != nil {
			p.Class, p.Limits, p.Refresh = classOf(object), w.ownLimits(object), w.rolls.pools[name].Refresh
			if w.rolls.pools[name].Condemned != nil { // it may have no more nodes, which is no limit that a user has set
				p.Limits = slices.DeleteFunc(p.Limits, func(a Amount) bool { return a.Most == "0" })
			}
			p.Says = append(w.remarks(object, w.rolls.pools[name], p.Limits), w.rolls.drift[manifest.Key{Kind: "NodePool", Name: name}]...)
		}
		for _, text := range (plan.Impact{Holds: w.rolls.leaving[name]}).Obstacles(diag.OneLine) {
			p.Says = append(p.Says, Remark{What: RemarkHeld, Text: "being deleted: " + text})
		}
		pools = append(pools, p)
	}
	return pools
}

// remarks returns what to report about a pool.
func (w *reader) remarks(pool *karpv1.NodePool, r plan.Rolling, capacityLimits []Amount) []Remark {
	says := []Remark{}
	set := pool.StatusConditions(conditions.WithObservedOnly())
	if c := set.Get(karpv1.ConditionTypeValidationSucceeded); c.IsFalse() {
		says = append(says, Remark{What: RemarkNotReady, Text: "it gets no nodes: " + c.Message,
			Since: timeOrNil(c.LastTransitionTime.Time)})
	}
	if c := set.Get(karpv1.ConditionTypeNodeClassReady); c.IsFalse() {
		text := fmt.Sprintf("it gets no nodes: its LinodeNodeClass %s is not ready", classOf(pool))
		says = append(says, Remark{What: RemarkClass, Text: text, Since: timeOrNil(c.LastTransitionTime.Time)})
	}
	for _, of := range []struct {
		condition string
		what      RemarkKind
	}{
		{linode.ConditionRefreshInvalid, RemarkRefresh}, {linode.ConditionOutOfStock, RemarkStock}, {linode.ConditionReplicaFailure, RemarkReplicas},
		{limits.ConditionReplacementsStopped, RemarkLoop},
	} {
		if c := set.Get(of.condition); c.IsTrue() {
			says = append(says, newRemark(of.what, c.Message, c.LastTransitionTime))
		}
	}
	var full []string
	for _, a := range capacityLimits {
		if a.full {
			full = append(full, fmt.Sprintf("%s of %s %s", a.used(), a.most(), a.Resource))
		}
	}
	if len(full) > 0 {
		says = append(says, Remark{What: RemarkFull, Text: "it is at its limit: " + strings.Join(full, ", ")})
	}
	says = append(says, w.refusals(pool.Name)...)
	says = append(says, w.unrepaired(pool)...)
	says = append(says, w.maintained(pool)...)
	says = append(says, w.relabels(pool)...)
	says = append(says, w.repriced(pool)...)
	state, holds := r.Progress(diag.OneLine)
	switch {
	case r.Condemned != nil:
		says = append(says, Remark{What: RemarkCondemned, Text: state, Since: timeOrNil(r.Condemned.Since)})
	case r.Outdated > 0: // the states of joining nodes are enough
		says = append(says, Remark{What: RemarkRolling, Text: state})
	}
	if text := r.Refresh.Short(); text != "" {
		says = append(says, Remark{What: RemarkRefresh, Text: text})
	}
	for _, text := range holds {
		says = append(says, Remark{What: RemarkHeld, Text: text})
	}
	return says
}

// repriced reports prices that Linode has changed, and how many nodes of a pool Karpenter moves that no commit does.
func (w *reader) repriced(pool *karpv1.NodePool) []Remark {
	moved := 0
	for _, nc := range w.Claims {
		if nc.Labels[karpv1.NodePoolLabelKey] == pool.Name && isConsolidated(nc) && w.movedBy(nc.Name) == "" {
			moved++
		}
	}
	of := []*karpv1.NodePool{pool}
	if moved > 0 { // to a pool whose plan types may be cheaper now
		of = w.Snapshot.Pools
	}
	e := w.priceChange(of...)
	if e == nil {
		return nil
	}
	sentence := e.Message
	if moved > 0 {
		sentence = fmt.Sprintf("Karpenter moves %s, which no NodePlan names; %s", text.Count(moved, "node"), sentence)
	}
	return []Remark{{What: RemarkPrice, Text: sentence, Since: timeOrNil(w.events.LastSeen(e)), quoted: true}}
}

// priceChange returns the last event in the last hour about a price that Linode has changed; nil if there is none.
func (w *reader) priceChange(pools ...*karpv1.NodePool) (last *corev1.Event) {
	for _, pool := range pools {
		for _, e := range w.events.About(cluster.SubjectOf("NodePool", pool)) {
			if e.Reason == linode.ReasonPriceChanged && w.Now.Sub(w.events.LastSeen(e)) < time.Hour &&
				(last == nil || w.events.LastSeen(e).After(w.events.LastSeen(last))) {
				last = e
			}
		}
	}
	return last
}

// unrepaired reports that Karpenter repairs no node of a pool, because more than a fifth of its nodes, rounded up,
// are not ready (karpenter v1.15.0, breakerTrippedPools).
func (w *reader) unrepaired(pool *karpv1.NodePool) []Remark {
	all, sick, joined := 0, 0, false
	var since time.Time
	for _, n := range w.Snapshot.Nodes {
		if n.Labels[karpv1.NodePoolLabelKey] != pool.Name {
			continue
		}
		all++
		if c := nodeutils.GetCondition(n, corev1.NodeReady); c.Status == corev1.ConditionFalse || c.Status == corev1.ConditionUnknown {
			sick++
			joined = joined || n.Labels[karpv1.NodeInitializedLabelKey] == "true"
			if since.Before(c.LastTransitionTime.Time) {
				since = c.LastTransitionTime.Time
			}
		}
	}
	if sick <= (all+4)/5 || !joined {
		return nil
	}
	return []Remark{{What: RemarkUnhealthy, Since: timeOrNil(since), Text: fmt.Sprintf("%d of %s are not ready: repair stops above "+
		"20 %% (%d), so Karpenter replaces none of them; check the control plane and the network, then delete the nodes that "+
		"stay so, one at a time", sick, text.Count(all, "node"), (all+4)/5)}}
}

// maintained reports maintenance of the hosts of a pool's nodes.
func (w *reader) maintained(pool *karpv1.NodePool) []Remark {
	nodes := 0
	var first *maintenance.Window
	for _, nc := range w.Claims {
		window := maintenance.Of(nc)
		if window == nil || nc.Labels[karpv1.NodePoolLabelKey] != pool.Name {
			continue
		}
		nodes++
		if first == nil || window.Compare(*first) < 0 {
			first = window
		}
	}
	if first == nil {
		return nil
	}
	return []Remark{{What: RemarkHosts, Text: fmt.Sprintf("Linode has announced maintenance of the hosts of %s; the first: %s",
		text.Count(nodes, "node"), diag.OneLine(first.String()))}}
}

// mostRelabeled is the largest number of nodes without their new labels that are named.
const mostRelabeled = 5

// relabels returns a remark about nodes of a pool on which labels or annotations have not been changed in place yet, and
// one with the reason, if an event has it.
func (w *reader) relabels(pool *karpv1.NodePool) (says []Remark) {
	template, all := inplace.TemplateOf(pool), 0
	nodes := map[string]*corev1.Node{}
	for _, n := range w.Snapshot.Nodes {
		nodes[n.Name] = n
	}
	var behind []string
	for _, nc := range w.Claims {
		if nc.Labels[karpv1.NodePoolLabelKey] != pool.Name || !nodeclaim.Managed(nc) || !nc.DeletionTimestamp.IsZero() {
			continue
		}
		all++
		if claim, node := template.Behind(nc, nodes[nc.Status.NodeName]); claim || node {
			behind = append(behind, cmp.Or(nc.Status.NodeName, nc.Name))
		}
	}
	if len(behind) == 0 {
		return nil
	}
	slices.Sort(behind)
	names := behind[:min(len(behind), mostRelabeled)]
	sentence := fmt.Sprintf("labels or annotations change in place: %d of %s have the current values; not yet: %s", all-len(behind),
		text.Count(all, "node"), strings.Join(names, ", "))
	if more := len(behind) - len(names); more > 0 {
		sentence += fmt.Sprintf(" and %d more", more)
	}
	says = append(says, Remark{What: RemarkRelabel, Text: sentence})
	for _, e := range w.events.About(cluster.SubjectOf("NodePool", pool)) {
		if e.Reason == inplace.ReasonNotRelabeled && w.Now.Sub(w.events.LastSeen(e)) < lately {
			return append(says, Remark{What: RemarkRelabel, Text: messageOf(w.events, e), Since: timeOrNil(e.FirstTimestamp.Time),
				quoted: true})
		}
	}
	return says
}

// lately is how old an event can be to count as current: what lasts is reported again.
const lately = 10 * time.Minute

// mostRefusals is how many NodeClaims of a pool are reported with what they lack.
const mostRefusals = 5

// refusals are about the claims of a pool that get no machine, whose machine does not join, or whose machine is
// not deleted: each text once, and at most mostRefusals.
func (w *reader) refusals(pool string) (says []Remark) {
	if p := findNamed(w.Snapshot.Pools, pool); p != nil {
		for _, e := range w.events.About(cluster.SubjectOf("NodePool", p)) {
			if e.Reason == linode.ReasonClaimRefused && w.Now.Sub(w.events.LastSeen(e)) < lately {
				says = append(says, Remark{What: RemarkRefused, Text: messageOf(w.events, e), Since: timeOrNil(e.FirstTimestamp.Time), quoted: true})
				break
			}
		}
	}
	for _, nc := range w.Claims {
		if nc.Labels[karpv1.NodePoolLabelKey] != pool {
			continue
		}
		var r Remark
		if c := undeletedCondition(nc); c != nil {
			r = newRemark(RemarkUndeleted, c.Message, c.LastTransitionTime)
		} else if e := w.warning(nc); e != nil {
			r = Remark{What: RemarkRefused, Text: messageOf(w.events, e), Since: timeOrNil(e.FirstTimestamp.Time), quoted: true}
		}
		if r.Text != "" && !slices.ContainsFunc(says, func(o Remark) bool { return o.Text == r.Text }) {
			says = append(says, r)
		}
	}
	if more := len(says) - mostRefusals + 1; more > 1 {
		says = append(says[:mostRefusals-1], Remark{What: RemarkRefused, Text: fmt.Sprintf("%d more NodeClaims of the pool have "+
			"such messages: see lkeplan why node NAME", more)})
	}
	return says
}

// undeletedCondition returns the condition of a claim whose machine cannot be deleted; nil for others.
func undeletedCondition(nc *karpv1.NodeClaim) *conditions.Condition {
	c := claimCondition(nc, nodeclaim.ConditionMachineDeleted)
	if nc.DeletionTimestamp.IsZero() || !c.IsFalse() {
		return nil
	}
	return c
}

// warning returns the last warning on a claim without a node; nil if there is none. For a claim whose machine is
// starting, and before other warnings, it is why the machine does not join.
func (w *reader) warning(nc *karpv1.NodeClaim) (last *corev1.Event) {
	if !nc.DeletionTimestamp.IsZero() || nc.Status.NodeName != "" {
		return nil
	}
	for _, e := range w.events.About(cluster.SubjectOf("NodeClaim", nc)) {
		switch {
		case e.Type != corev1.EventTypeWarning || w.Now.Sub(w.events.LastSeen(e)) >= lately:
		case saysWhyUnjoined(e):
			return e
		case last == nil && cluster.ProgressOf(nc, nil) == cluster.NodeRequested:
			last = e
		}
	}
	return last
}

// attempt is the end of a message with a time that is relative to the event.
var attempt = regexp.MustCompile(`next attempt in (\S+)$`)

// messageOf returns the message of an event, with the time of the next attempt instead of the delay before it. A
// message with the delay stays the same in each attempt, so the API server has one event.
func messageOf(events cluster.Events, e *corev1.Event) string {
	found := attempt.FindStringSubmatchIndex(e.Message)
	if found == nil {
		return e.Message
	}
	delay, err := time.ParseDuration(e.Message[found[2]:found[3]])
	if err != nil {
		return e.Message
	}
	return e.Message[:found[0]] + "next attempt at " + events.LastSeen(e).Add(delay).UTC().Format("15:04:05 UTC")
}

// saysWhyUnjoined reports whether an event explains why a machine does not join.
func saysWhyUnjoined(e *corev1.Event) bool {
	return slices.Contains([]string{"MachineCannotJoin", "MachineNotJoined", "CertificateDenied"}, e.Reason)
}

func newRemark(what RemarkKind, text string, since metav1.Time) Remark {
	return Remark{What: what, Text: text, Since: timeOrNil(since.Time), quoted: true}
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC().Truncate(time.Second)
	return &t
}
