package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/apis/v1alpha1"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas"
)

// Move is what Karpenter does with a node only after a change, because other capacity is cheaper or has room.
type Move struct {
	Node     string   `json:"node" doc:"The name of the NodeClaim."`
	Pool     string   `json:"-"`
	NodeName string   `json:"-"` // of its Node
	Plan     string   `json:"plan_type"`
	To       []string `json:"replaced_by,omitempty" doc:"Pool and plan type of the new nodes; absent if the pods fit on other nodes."`
	Pods     int      `json:"pods" doc:"How many pods move, with those of other nodes that go in the same step."`
	Saves    Amount   `json:"saves_monthly" doc:"In dollars, with other nodes that go in the same step."`
	When     string   `json:"when,omitempty" doc:"What must happen before, such as the end of a pod that holds the node; absent if nothing must."`
}

// Moves are what the disruption of Karpenter does after a change and not before it.
type Moves struct {
	Known bool
	Nodes []Move // by pool and name
	// Unknown is why it is not known, as a sentence without a period; "" if no cluster was read.
	Unknown string
	// Joining are the NodeClaims without a machine because of which it is not known yet; nil if it has another reason.
	Joining []string
	// Overlays are the NodeOverlays of the cluster.
	Overlays []*v1alpha1.NodeOverlay
}

// of are the moves of a pool, by the names of NodeClaims.
func (m Moves) of(pool string) map[string]Move {
	moves := map[string]Move{}
	for _, move := range m.Nodes {
		if move.Pool == pool {
			moves[move.Node] = move
		}
	}
	return moves
}

const otherLabels = "it has other labels"

// An attractor is a change of a pool that adds capacity for the pods of other pools: Karpenter consolidates over all
// pools, and gives a pod to the first pool, by weight, that has a place for it.
type attractor struct {
	change   int // that adds it
	of       int // the change of the pool
	pool     object
	adds     string            // what it adds, for people
	offers   []Offer           // that it adds; nil if they are unknown
	existing bool              // its nodes do not depend on pods, or exist: their room costs nothing
	labels   map[string]string // that pods of other pools must select, if only labels are new
}

// overlaid reports whether an overlay selects nodes by one of some labels, so that their prices and sizes change with
// it.
func overlaid(labels []string, base, head side) bool {
	selects := func(overlay *v1alpha1.NodeOverlay) bool {
		return slices.ContainsFunc(overlay.Spec.Requirements, func(r v1alpha1.NodeSelectorRequirement) bool {
			return slices.Contains(labels, r.Key)
		})
	}
	for _, o := range slices.Concat(base.objects, head.objects) {
		if o.overlay != nil && selects(o.overlay) {
			return true
		}
	}
	return slices.ContainsFunc(head.Moves.Overlays, selects)
}

// attractors are the changes of a plan that add capacity.
func (p *Plan) attractors(base, head side) (all []attractor) {
	for i, c := range p.Changes {
		if c.Kind != schemas.Pool.Object.Kind {
			continue
		}
		old, now := base.byKey[c.Key()], head.byKey[c.Key()]
		if j := slices.IndexFunc(base.others, func(o object) bool { return o.Key() == c.Key() }); old.pool == nil && j >= 0 {
			old = base.others[j]
		}
		a := attractor{change: i, of: i, pool: now}
		switch {
		case now.pool == nil || hasNoNodes(now.pool): // the nodes of a pool that is deleted count themselves
			continue
		case old.pool == nil:
			a.adds, a.offers = "it is new", Admitted(head.Offers, now.requirements())
		default:
			if a.adds, a.offers = added(old, now, head.Offers); a.adds == otherLabels {
				a.labels = newLabels(old.pool, now.pool)
			}
		}
		if a.adds == "" {
			continue
		}
		a.existing = a.existing || now.pool != nil && now.pool.Spec.Replicas != nil || a.offers == nil
		all = append(all, a)
	}
	return append(all, p.raisedLimits(base, head)...)
}

// hasNoNodes reports whether a pool has a limit or a number of replicas of zero.
func hasNoNodes(pool *karpv1.NodePool) bool {
	if pool.Spec.Replicas != nil && *pool.Spec.Replicas == 0 {
		return true
	}
	for _, limit := range pool.Spec.Limits {
		if limit.Sign() <= 0 {
			return true
		}
	}
	return false
}

// added says what capacity a change of a pool adds, and of which plan types; "" if none. The plan types are nil if
// pods may run on the nodes that exist.
func added(old, now object, offers []Offer) (what string, of []Offer) {
	before, after := old.pool, now.pool
	all := Admitted(offers, now.requirements())
	switch {
	case ptr.Deref(after.Spec.Replicas, 0) > ptr.Deref(before.Spec.Replicas, 0):
		return "it has more nodes", all
	case hasNoNodes(before):
		return "it has nodes again", all
	case len(withoutTaints(before, after)) > 0:
		return "it has fewer taints", nil
	}
	had := Admitted(offers, old.requirements())
	fresh := slices.DeleteFunc(slices.Clone(all), func(o Offer) bool {
		return slices.ContainsFunc(had, func(h Offer) bool { return h.Name == o.Name })
	})
	for _, r := range slices.Concat(before.Spec.Template.Spec.Requirements, after.Spec.Template.Spec.Requirements) {
		if !widensRequirement(before, after, r.Key) {
			continue
		}
		ofPlans := len(offers) > 0 && !slices.ContainsFunc(offers, func(o Offer) bool { return !o.Unknown && !o.Requirements.Has(r.Key) })
		switch {
		case len(fresh) > 0:
			return "it allows more plan types", fresh
		case !ofPlans:
			return "it allows more nodes", all
		}
	}
	for name, limit := range before.Spec.Limits {
		if most, limited := after.Spec.Limits[name]; !limited || most.Cmp(limit) > 0 {
			return "its limits are larger", all
		}
	}
	if len(newLabels(before, after)) > 0 { // which concerns fewer pools than the other reasons
		return otherLabels, nil
	}
	return "", nil
}

// withoutTaints are the taints that keep pods away before and not after.
func withoutTaints(before, after *karpv1.NodePool) []corev1.Taint {
	return slices.DeleteFunc(slices.Clone(before.Spec.Template.Spec.Taints), func(t corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectPreferNoSchedule || has(after, t)
	})
}

// keepsOut is a taint of a pool that pods which run in another pool do not tolerate for it; nil if there is none.
func keepsOut(pool, other *karpv1.NodePool) *corev1.Taint {
	for _, t := range pool.Spec.Template.Spec.Taints {
		if t.Effect != corev1.TaintEffectPreferNoSchedule && !has(other, t) {
			return &t
		}
	}
	return nil
}

// has reports whether a pool has a taint, or one with the same key and value that keeps the same pods away.
func has(pool *karpv1.NodePool, taint corev1.Taint) bool {
	return slices.ContainsFunc(pool.Spec.Template.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == taint.Key && t.Value == taint.Value && t.Effect != corev1.TaintEffectPreferNoSchedule
	})
}

// newLabels are the labels of nodes that a pool has after a change and not before it.
func newLabels(before, after *karpv1.NodePool) map[string]string {
	fresh := map[string]string{}
	for key, value := range after.Spec.Template.Labels {
		if was, had := before.Spec.Template.Labels[key]; !had || was != value {
			fresh[key] = value
		}
	}
	return fresh
}

// concerns reports whether pods that run in another pool, as it was before the change, may ask for what an attractor
// adds: of new labels, only pods that select one of them do, and they run on nodes that have it.
func (a attractor) concerns(other object) bool {
	if a.adds != otherLabels || other.pool == nil {
		return true
	}
	own := other.requirements()
	own.Add(scheduling.NewLabelRequirements(other.pool.Spec.Template.Labels).Values()...)
	for key, value := range a.labels {
		if own.Has(key) && own.Get(key).Has(value) {
			return true
		}
	}
	return false
}

// excludes says of pods that run in another pool why the capacity cannot be for them, or else why it may be, as far
// as the pools alone say; theirs are the offers that they admit. A taint counts, because pods tolerate the taints of
// their own pool. A label or a requirement does not: a pod that selects no label runs anywhere.
func (a attractor) excludes(other object, theirs []Offer) (cannot, may string) {
	if other.pool == nil {
		return "", "the other pool is unknown"
	}
	switch allows(other) {
	case consolidatesNone:
		return "their nodes are not consolidated", ""
	case consolidatesEmpty:
		return "their nodes are consolidated only when they are empty", ""
	}
	if t := keepsOut(a.pool.pool, other.pool); t != nil {
		return "it has the taint " + t.ToString() + ", which they do not tolerate for their own pool", ""
	}
	switch weight, theirs := ptr.Deref(a.pool.pool.Spec.Weight, 0), ptr.Deref(other.pool.Spec.Weight, 0); {
	case a.existing:
		return "", "no taint keeps them off its nodes"
	case weight > theirs:
		return "", "it has no taint that they do not tolerate, and a larger weight"
	case weight == theirs:
		return "", "it has no taint that they do not tolerate, and the same weight"
	}
	if len(theirs) == 0 || len(a.offers) == 0 {
		return "", "it has no taint that they do not tolerate, and the prices are unknown"
	}
	if unknown := unpriced(theirs, a.offers); unknown != "" {
		return "", fmt.Sprintf("it has no taint that they do not tolerate, and the price of %s is unknown; to update the catalogue, "+
			"run \"lkeplan catalog refresh\"", unknown)
	}
	price := func(x, y Offer) int { return cmp.Compare(x.Monthly, y.Monthly) }
	cheapest, dearest := slices.MinFunc(a.offers, price), slices.MaxFunc(theirs, price)
	if cheapest.Monthly < dearest.Monthly {
		return "", fmt.Sprintf("it has no taint that they do not tolerate, and its cheapest plan type costs %s a month, their dearest %s",
			cheapest.Monthly.Text(), dearest.Monthly.Text())
	}
	return fmt.Sprintf("its weight is lower, and its plan types cost at least %s a month, theirs at most %s",
		cheapest.Monthly.Text(), dearest.Monthly.Text()), ""
}

// unpriced names plan types whose price is unknown; "" if there are none.
func unpriced(offers ...[]Offer) string {
	names := map[string]bool{}
	for _, o := range slices.Concat(offers...) {
		if o.Unknown {
			names[o.Name] = true
		}
	}
	const most = 2
	list := slices.Sorted(maps.Keys(names))
	if more := len(list) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), more)
	}
	return strings.Join(list, " and ")
}

// raised reports whether a limits block allows more than before.
func raised(old, now object) bool {
	if old.limit == nil || now.limit == nil {
		return old.limit != nil
	}
	was, is := old.limit.Spec, now.limit.Spec
	more := func(was, is *resource.Quantity) bool { return was != nil && (is == nil || is.Cmp(*was) > 0) }
	money := func(text *string) *resource.Quantity {
		if text == nil {
			return nil
		}
		m, err := catalog.ParseMoney(*text)
		if err != nil {
			return nil // more than any amount
		}
		return resource.NewQuantity(int64(m), resource.DecimalSI)
	}
	count := func(n *int64) *resource.Quantity {
		if n == nil {
			return nil
		}
		return resource.NewQuantity(*n, resource.DecimalSI)
	}
	return more(count(was.Nodes), count(is.Nodes)) || more(was.CPU, is.CPU) || more(was.Memory, is.Memory) ||
		more(money(was.MonthlyCost), money(is.MonthlyCost)) || !slices.Equal(was.NodePools, is.NodePools)
}

// raisedLimits are the pools to which a limits block allows more nodes.
func (p *Plan) raisedLimits(base, head side) (all []attractor) {
	for i, c := range p.Changes {
		old := base.byKey[c.Key()]
		if c.Kind != schemas.Limits.Object.Kind || c.Action == Create || c.Action == Forget || !raised(old, head.byKey[c.Key()]) {
			continue
		}
		for j, of := range p.Changes {
			pool := head.byKey[of.Key()]
			if pool.pool != nil && !hasNoNodes(pool.pool) && (old.limit.Spec.NodePools == nil || slices.Contains(old.limit.Spec.NodePools, of.Name)) {
				all = append(all, attractor{change: i, of: j, pool: pool, adds: "its limits are larger", offers: Admitted(head.Offers, pool.requirements())})
			}
		}
	}
	return all
}

// A reducer is a change after which a pool takes fewer pods, or is gone. Karpenter then tries the next pools for pods
// for which it tried this one, and replaces their nodes if that is cheaper.
type reducer struct {
	change int // that reduces it
	of     int // the change of the pool
	before *karpv1.NodePool
	why    func(other object) (why string, less bool) // for pods that run in another pool; "" if it is gone
}

// reducers are the changes of a plan after which a pool takes fewer pods.
func (p *Plan) reducers(base, head side) (all []reducer) {
	for i, c := range p.Changes {
		before, after := base.byKey[c.Key()].pool, head.byKey[c.Key()].pool
		switch {
		case c.Action == Forget || before == nil || hasNoNodes(before):
		case c.Action == Delete:
			all = append(all, reducer{i, i, before, func(object) (string, bool) { return "", true }})
		case after != nil && before.Spec.Replicas == nil: // for pods, Karpenter makes no nodes of pools with replicas
			all = append(all, reducer{i, i, before, reduced(before, after)})
		}
	}
	for i, c := range p.Changes {
		now := head.byKey[c.Key()]
		if c.Kind != schemas.Limits.Object.Kind || c.Action == Delete || c.Action == Forget || !raised(now, base.byKey[c.Key()]) {
			continue
		}
		for j, of := range p.Changes {
			before := base.byKey[of.Key()].pool
			if before != nil && before.Spec.Replicas == nil && of.Action != Delete && !hasNoNodes(before) &&
				(now.limit.Spec.NodePools == nil || slices.Contains(now.limit.Spec.NodePools, of.Name)) {
				all = append(all, reducer{i, j, before, func(object) (string, bool) { return lowerLimits, true }})
			}
		}
	}
	return all
}

const lowerLimits = "its limits are lower"

// reduced returns whether a pool may take fewer of the pods that run in another pool, and why.
func reduced(before, after *karpv1.NodePool) func(other object) (why string, less bool) {
	always := func(why string) func(object) (string, bool) { return func(object) (string, bool) { return why, true } }
	if after.Spec.Replicas != nil {
		return always("it has a number of nodes")
	}
	for name, limit := range after.Spec.Limits {
		if had, limited := before.Spec.Limits[name]; !limited || limit.Cmp(had) < 0 {
			return always(lowerLimits)
		}
	}
	for _, r := range slices.Concat(before.Spec.Template.Spec.Requirements, after.Spec.Template.Spec.Requirements) {
		if widensRequirement(after, before, r.Key) {
			return always("its requirements are narrower")
		}
	}
	lost := attractor{adds: otherLabels, labels: newLabels(after, before)}
	return func(other object) (string, bool) {
		if keepsOut(after, other.pool) != nil {
			return "it has more taints", true
		}
		return otherLabels, len(lost.labels) > 0 && lost.concerns(other)
	}
}

// attracts are sentences on the pools, by reason, whose pods the pool of an attractor may attract or cannot attract.
func (a attractor) attracts(addr string, may, cannot map[string][]string) (list []string) {
	for _, why := range slices.Sorted(maps.Keys(may)) {
		list = append(list, fmt.Sprintf("%s may attract pods of %s: %s; %s", addr, strings.Join(may[why], ", "), a.adds, why))
	}
	for _, why := range slices.Sorted(maps.Keys(cannot)) {
		list = append(list, fmt.Sprintf("%s attracts no pods of %s: %s", addr, strings.Join(cannot[why], ", "), why))
	}
	return list
}
