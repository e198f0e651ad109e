package plan

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/inplace"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// Node is a NodeClaim of a cluster and its Node, with what matters for replacing it.
type Node struct {
	Name               string            `json:"name"`           // of the NodeClaim
	Node               string            `json:"node,omitempty"` // "" until it has joined
	Pool               string            `json:"pool"`
	Class              string            `json:"class"`
	Labels             map[string]string `json:"labels"` // of the NodeClaim
	Annotations        map[string]string `json:"annotations,omitempty"`
	Version            string            `json:"version,omitempty"` // of Kubernetes; "" if unknown
	Created            time.Time         `json:"made"`
	ExpireAfter        time.Duration     `json:"expire_after,omitempty"` // 0: never
	MilliCPU           int64             `json:"milli_cpu"`              // capacity
	MemoryBytes        int64             `json:"memory_bytes"`
	Unlaunched         bool              `json:"unlaunched,omitempty"` // without a plan type and its labels
	Initialized        bool              `json:"settled"`              // by Karpenter, so that it counts for budgets
	Unready            bool              `json:"unready,omitempty"`    // it has joined and is not ready
	Deleting           bool              `json:"leaving,omitempty"`    // it uses up budgets: deleted or not ready
	NoTerminationGrace bool              `json:"patient"`              // it has no terminationGracePeriod, and waits for its pods
	Holds              []Hold            `json:"holds,omitempty"`      // that keep Karpenter from replacing it
	Condemned          bool              `json:"-"`                    // its pool is draining, or will be
	// Selects are the workloads with pods on the node whose placement uses a label of nodes, by the key of the label,
	// each with how it does: "Deployment shop/web (its nodeSelector)". Nil if the pods are unknown.
	Selects map[string][]string `json:"-"`
}

// Impact is what happens to the nodes of a pool. If no cluster was read, only Pace is known, without numbers.
type Impact struct {
	Known   bool `json:"known,omitempty"` // a cluster was read
	Of      int  `json:"of"`              // nodes of the pool
	Rolled  int  `json:"rolled"`          // replaced because of the change
	Deleted int  `json:"deleted"`         // deleted immediately: with the pool, or because it has fewer replicas
	// Relabeled are the nodes whose labels or annotations change in place, including nodes that are replaced for
	// another field.
	Relabeled int `json:"relabeled"`
	// Removable are other nodes that Karpenter may remove or replace because of the change, within the budgets: those
	// of Moves, if what Karpenter does is known.
	Removable int    `json:"removable"`
	Moves     []Move `json:"moves,omitempty"`
	// Elsewhere reports that the pool is draining: nodes of other pools replace its nodes.
	Elsewhere bool `json:"elsewhere,omitempty"`
	// Upgrade is the old and the new Kubernetes version of the rolled nodes: v1.33.4+lke2 → v1.34.1+lke1; "" if it
	// stays.
	Upgrade string `json:"kubernetes_version,omitempty"`
	// Pace is when the budgets allow the roll; nil if no node rolls.
	Pace *Pace `json:"budget,omitempty"`
	// Holds keep rolled nodes from being replaced, most nodes first.
	Holds []Held `json:"holds,omitempty"`
	// Refresh is when nodes are replaced because of their age; nil if they are not.
	Refresh *Calendar `json:"refresh,omitempty"`
	// Expiring nodes reach their expireAfter within a week, and are then replaced regardless of budgets.
	Expiring int `json:"expiring"`
}

// Exact reports whether Removable are the nodes that Karpenter moves, not the most that it may.
func (im Impact) Exact() bool { return len(im.Moves) > 0 && im.Removable == len(im.Moves) }

// Hold is something that keeps a node from being replaced.
type Hold struct {
	Reason HoldReason `json:"reason"`
	Object string     `json:"object" doc:"What blocks the nodes; a sentence for limits."` // for HeldAsLoop, too
	// Workload is the controller of the pod that holds the node, such as Deployment shop/web; "" if there is none.
	Workload string `json:"-"`
}

// HoldReason is a kind of hold.
type HoldReason string

// The reasons.
const (
	HeldByPDB          HoldReason = "pdb"            // a PodDisruptionBudget allows no eviction
	HeldByDoNotDisrupt HoldReason = "do-not-disrupt" // the annotation of a pod or of the node
	NoRoom             HoldReason = "limits"         // the pool's limits leave no capacity for a replacement
	HeldAsLoop         HoldReason = "replacements"   // the pool kept replacing its nodes, and was stopped
	NoOtherPlace       HoldReason = "no-other-place" // of a draining pool: a pod fits on no other pool or node
)

// Held is a hold with the rolled nodes that it blocks.
type Held struct {
	Hold
	Nodes int      `json:"nodes" doc:"How many nodes it blocks."`
	On    []string `json:"-"` // names of the nodes; nil if unknown
}

// SetImpact sets what happens to the nodes of each changed pool, as Diff does for the nodes of its states. A node
// rolls if it drifts from the new objects and did not drift from the old ones, by the comparisons of Karpenter
// (karpenter v1.15.0, drift.go in pkg/controllers/nodeclaim/disruption) and of the provider.
func (p *Plan) SetImpact(ctx context.Context, base, head State) error {
	before, err := sideOf(base)
	if err != nil {
		return err
	}
	after, err := sideOf(head)
	if err != nil {
		return err
	}
	return p.setImpact(ctx, before, after)
}

func (p *Plan) setImpact(ctx context.Context, base, head side) error {
	changes := map[manifest.Key]bool{}
	for _, c := range p.Changes {
		changes[c.Key()] = true
	}
	changed := func(key manifest.Key) bool { return changes[key] }
	before := judgesOf(base, changed)
	kept := side{State: State{Unheld: base.Unheld}, decoded: decoded{objects: slices.Clone(head.objects)}}
	kept.others = slices.Concat(base.objects, head.others) // including forgotten pools
	for _, c := range p.Changes {
		if c.Released == nil {
			continue
		}
		released, err := decodeObject(config.Object{Manifest: c.Released, Defaulted: c.Released})
		if err != nil {
			return fmt.Errorf("%s: %w", c.Addr, err)
		}
		kept.objects = append(kept.objects, released)
	}
	after := judgesOf(kept, changed)
	pools := byPool(head.Nodes)
	for i := range p.Changes {
		if err := ctx.Err(); err != nil {
			return err
		}
		c := &p.Changes[i]
		key := c.Key()
		stays := c.Action == Forget && c.Effect != Roll && !c.Loosens && c.Released == nil
		if c.Kind != "NodePool" || c.Action == Create && before[key].pool == nil || stays {
			continue // it has no nodes, or they stay
		}
		c.Impact = &Impact{Known: head.Nodes != nil, Of: len(pools[c.Name])}
		asks, was := after[key], before[key]
		was.removing = false // compare with the pool as it was before its removal
		switch {
		case c.Prune == StartRemoval:
			asks, was = before[key], judge{}
			asks.removing = true
		case c.Action == Delete:
			c.Impact.Deleted = c.Impact.Of
			continue
		}
		if err := c.Impact.roll(asks, was, pools[c.Name], head.State); err != nil {
			return fmt.Errorf("%s: %w", c.Addr, err)
		}
		if c.Action == Create && c.Impact.Rolled > 0 {
			c.worsen(Roll, true) // the cluster already has it, in another form
		}
		if c.Relabels {
			c.Impact.Relabeled = c.Impact.Of
		}
		if (c.Action == Update || c.Action == Forget) && c.Impact.Rolled > 0 {
			// A key has left the list of keys that change in place, and nodes do not have its value yet; or the
			// budget of a first wave, which has kept nodes from being replaced, is removed.
			c.worsen(Roll, true)
		}
		if c.Action == Create && was.pool != nil && asks.pool != nil && !head.Moves.Known && loosensAny(was.pool, asks.pool) {
			c.Loosens = true
			c.worsen(MayRemove, false)
		}
		if c.Effect != Roll {
			c.Impact.Pace = nil
		}
		if replicas, static := lookupPath(c.New, "spec.replicas").(int64); static && c.Effect == DeleteNodes {
			c.Impact.Deleted = max(0, c.Impact.Of-int(replicas))
		}
		if c.Loosens {
			c.Impact.Removable = max(0, countRemovable(asks, was, pools[c.Name])-c.Impact.Deleted)
		}
		of := head.Moves.of(c.Name)
		for _, n := range pools[c.Name] {
			if m, moved := of[n.Name]; moved && !asks.replaces(was, n) {
				c.Impact.Moves = append(c.Impact.Moves, m)
			}
		}
		if head.Moves.Known && !c.Sooner {
			c.Impact.Removable = max(0, len(c.Impact.Moves)-c.Impact.Deleted)
		}
	}
	return nil
}

// countRemovable counts the nodes of a pool that match after a loosening change and that Karpenter may remove because
// of it. A pool without consolidation replaces only nodes that had already drifted, and nodes whose hosts have
// maintenance, which may be any. If nodes are replaced at a lower age, each of them goes sooner.
func countRemovable(after, before judge, nodes []Node) (n int) {
	for _, node := range nodes {
		if !after.replaces(before, node) &&
			(before.drifted(node) || after.pool == nil || after.allows > consolidatesNone ||
				after.leads[node.Class] > before.leads[node.Class] || before.pool != nil && refreshesSooner(before.pool, after.pool)) {
			n++
		}
	}
	return n
}

// roll computes which nodes of a pool are replaced, when, and what blocks them.
func (im *Impact) roll(after, before judge, nodes []Node, head State) error {
	var rolled []Node
	initialized, leaving := 0, 0
	for _, n := range nodes {
		if after.replaces(before, n) {
			rolled = append(rolled, n)
		}
		if n.Initialized {
			initialized++
		}
		if n.Initialized && n.Deleting {
			leaving++
		}
		if n.ExpireAfter > 0 && n.Created.Add(n.ExpireAfter).Before(head.Now.AddDate(0, 0, 7)) {
			im.Expiring++
		}
	}
	im.Rolled, im.Elsewhere = len(rolled), after.removing
	if !im.Elsewhere {
		im.Upgrade = after.upgraded(rolled)
	}
	if after.pool != nil && !head.Now.IsZero() && (im.Rolled > 0 || !im.Known) {
		if initialized == 0 {
			initialized = len(nodes) // they count once they are ready
		}
		spread, err := PaceOf(after.pool, initialized, leaving, len(rolled), head.Now)
		if err != nil {
			return err
		}
		im.Pace = spread
	}
	if after.pool != nil && !after.removing && im.Known && !head.Now.IsZero() {
		differs := func(n Node) bool { return after.drifted(n) || after.replaces(before, n) }
		calendar, err := CalendarOf(after.pool, nodes, differs, head.Now)
		if err != nil {
			return err
		}
		im.Refresh = calendar
	}
	im.Holds = countHolds(rolled)
	if len(rolled) == 0 {
		return nil
	}
	if text := after.noRoom(nodes, head.Offers); text != "" {
		im.Holds = append(im.Holds, Held{Hold: Hold{Reason: NoRoom, Object: text}, Nodes: len(rolled)})
	}
	return nil
}

// countHolds counts the holds of nodes.
func countHolds(nodes []Node) []Held {
	on := map[Hold][]string{}
	for _, n := range nodes {
		for _, h := range n.Holds {
			on[h] = append(on[h], n.Name)
		}
	}
	holds := make([]Held, 0, len(on))
	for h, names := range on {
		holds = append(holds, Held{h, len(names), names})
	}
	slices.SortFunc(holds, func(a, b Held) int {
		return cmp.Or(cmp.Compare(b.Nodes, a.Nodes), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Object, b.Object))
	})
	return holds
}

// noRoom describes the limit of a pool that leaves no capacity for a replacement of any plan type: Karpenter creates
// the replacement before it deletes the old node.
func (j judge) noRoom(nodes []Node, offers []Offer) string {
	if j.pool == nil || j.removing || len(offers) == 0 {
		return ""
	}
	used := map[string]int64{"nodes": int64(len(nodes))}
	for _, n := range nodes {
		used["cpu"] += n.MilliCPU
		used["memory"] += n.MemoryBytes
	}
	for _, name := range []string{"nodes", "cpu", "memory"} {
		limit, limited := j.pool.Spec.Limits[corev1.ResourceName(name)]
		if !limited {
			continue
		}
		total := limit.Value()
		if name == "cpu" {
			total = limit.MilliValue()
		}
		fits := slices.ContainsFunc(Admitted(offers, j.requirements), func(o Offer) bool {
			return used[name]+o.Size(name) <= total
		})
		if !fits {
			return fmt.Sprintf("limits.%s = %s leaves no capacity for a replacement next to %s", name, limit.String(),
				text.Count(len(nodes), "existing node"))
		}
	}
	return ""
}

// judge decides whether the nodes of one pool match it.
type judge struct {
	pool         *karpv1.NodePool // nil: none, or unknown
	allows       consolidation
	template     func() inplace.Template
	requirements scheduling.Requirements
	classes      map[string]string        // hashes by name
	versions     map[string]string        // desired Kubernetes versions, by class
	leads        map[string]time.Duration // see maintenanceLead, by class
	removing     bool                     // the pool is draining
	held         bool                     // the budget of a first wave keeps nodes that have drifted from being replaced
}

// judgesOf returns the judges of some pools.
func judgesOf(s side, some func(manifest.Key) bool) map[manifest.Key]judge {
	all, of := map[manifest.Key]judge{}, judgeOf(s)
	for _, o := range slices.Concat(s.others, s.objects) { // declared objects override others
		if o.Kind() == "NodePool" && some(o.Key()) {
			all[o.Key()] = of(o)
		}
	}
	return all
}

// judgeOf returns a function that returns the judge of a pool of a side.
func judgeOf(s side) func(pool object) judge {
	classes, versions, leads := map[string]string{}, map[string]string{}, map[string]time.Duration{}
	for _, o := range slices.Concat(s.others, s.objects) { // declared objects override others
		if o.class != nil {
			name := o.class.Name
			classes[name], versions[name], leads[name] = o.hash(), ptr.Deref(o.class.Spec.LKEK8sVersion, ""), maintenanceLead(o.class)
		}
	}
	return func(o object) judge {
		j := judge{classes: classes, versions: versions, leads: leads, requirements: o.requirements(), pool: o.pool,
			allows: allows(o)}
		if j.pool == nil {
			return j
		}
		j.held = s.Unheld != nil && !reflect.DeepEqual(s.Unheld(o.Defaulted)["spec"], o.Defaulted["spec"])
		_, j.removing = removalOf(o.pool)
		if j.removing {
			j.pool = j.pool.DeepCopy()
			delete(j.pool.Spec.Template.Annotations, schemas.AnnotationRemoval)
			if len(j.pool.Spec.Template.Annotations) == 0 {
				j.pool.Spec.Template.Annotations = nil // an empty map has another hash than nil
			}
		}
		j.template = sync.OnceValue(func() inplace.Template { return inplace.TemplateOf(j.pool) })
		return j
	}
}

// replaces reports whether a node is replaced that was not before, or that the budget of a first wave has held back.
// The version of a node is unknown if the user may not list nodes; it may then differ from the desired one.
func (j judge) replaces(before judge, n Node) bool {
	want := j.versions[n.Class]
	_, version := catalog.ParseVersion(want)
	unknown := version && want != before.versions[n.Class] && n.Version == ""
	return (j.drifted(n) || unknown || j.rehashes(before, n)) && (!before.drifted(n) || before.held && !j.held)
}

// rehashes reports whether the hash of pool or class changes, and the node has a hash of another hash version. The
// effect under that version is unknown, and a controller with that version may replace the node.
func (j judge) rehashes(before judge, n Node) bool {
	other := func(key, version string) bool { return n.Annotations[key] != "" && n.Annotations[key] != version }
	if j.pool != nil && before.pool != nil && other(karpv1.NodePoolHashVersionAnnotationKey, karpv1.NodePoolHashVersion) &&
		inplace.Differs(before.pool, j.pool) {
		return true
	}
	hash, known := j.classes[n.Class]
	return known && before.classes != nil && hash != before.classes[n.Class] && // or the class was unknown
		other(linodev1alpha1.AnnotationHashVersion, linodev1alpha1.HashVersion)
}

// drifted reports whether a node does not match its pool. Like Karpenter and the provider, it compares only hashes of
// the same hash version.
func (j judge) drifted(n Node) bool {
	if j.removing {
		return true
	}
	if j.pool != nil && n.Annotations[karpv1.NodePoolHashVersionAnnotationKey] == karpv1.NodePoolHashVersion &&
		j.template().Drifted(n.Labels, n.Annotations) {
		return true
	}
	if hash, known := j.classes[n.Class]; known && n.Annotations[linodev1alpha1.AnnotationHashVersion] == linodev1alpha1.HashVersion &&
		n.Annotations[linodev1alpha1.AnnotationHash] != hash {
		return true
	}
	if catalog.OutdatedVersion(n.Version, j.versions[n.Class]) {
		return true // once the control plane has the version, and the pool's turn has come
	}
	return j.pool != nil && !n.Unlaunched && scheduling.NewLabelRequirements(n.Labels).Compatible(j.requirements) != nil
}
