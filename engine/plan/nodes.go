package plan

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Node is a NodeClaim of a cluster and the node that it became, as far as its
// replacement goes.
type Node struct {
	Name               string            `json:"name"`           // of the NodeClaim
	Node               string            `json:"node,omitempty"` // "" until it has joined
	Pool               string            `json:"pool"`
	Class              string            `json:"class"`
	Labels             map[string]string `json:"labels"` // of the NodeClaim
	Annotations        map[string]string `json:"annotations,omitempty"`
	Version            string            `json:"version,omitempty"` // of Kubernetes; "" where it is not known
	Created            time.Time         `json:"made"`
	ExpireAfter        time.Duration     `json:"expire_after,omitempty"` // 0: never
	MilliCPU           int64             `json:"milli_cpu"`              // capacity
	MemoryBytes        int64             `json:"memory_bytes"`
	Unlaunched         bool              `json:"unlaunched,omitempty"` // it has no plan type, and not the labels of one
	Initialized        bool              `json:"settled"`              // it counts for budgets: Karpenter has initialized it
	Unready            bool              `json:"unready,omitempty"`    // it has joined, and is not ready
	Deleting           bool              `json:"leaving,omitempty"`    // it counts against budgets: deleted, or not ready
	NoTerminationGrace bool              `json:"patient"`              // it waits for its pods: it has no terminationGracePeriod
	Holds              []Hold            `json:"holds,omitempty"`      // what keeps Karpenter from replacing it
	Condemned          bool              `json:"-"`                    // its pool is, or is to be
}

// Impact is what becomes of the nodes of a pool. Where no cluster was asked,
// only Pace is known, and of it no number.
type Impact struct {
	Known   bool // a cluster was asked
	Of      int  // nodes of the pool
	Rolled  int  // that are replaced for the change, and not already before it
	Deleted int  // that go at once: with the pool, or because it has fewer replicas
	// Removable are the other nodes that Karpenter may remove or replace for the change, within
	// the budgets.
	Removable int
	// Elsewhere tells that it is nodes of other pools that replace those that are
	// rolled: the pool is condemned.
	Elsewhere bool
	// Upgrade is the old and the new version of Kubernetes of the rolled nodes:
	// v1.33.4+lke2 → v1.34.1+lke1; "" where it stays the same.
	Upgrade string
	// Pace is how the budgets spread a roll; nil where no node rolls.
	Pace *Pace
	// Holds keep rolled nodes from being replaced, most nodes first.
	Holds []Held
	// Expiring nodes come to the end of their expireAfter within a week, and go
	// without regard to budgets.
	Expiring int
}

// Hold is one thing that keeps a node from being replaced.
type Hold struct {
	Reason HoldReason `json:"reason"`
	Object string     `json:"object"` // namespace and name of what holds it; a sentence for NoRoom and HeldAsLoop
	// Workload is what has made the pod that holds it, such as Deployment shop/web; "" if it is no pod, or nothing has.
	Workload string `json:"-"`
}

// HoldReason is a class of holds.
type HoldReason string

// What may hold a node.
const (
	HeldByPDB          HoldReason = "pdb"            // a PodDisruptionBudget allows no eviction
	HeldByDoNotDisrupt HoldReason = "do-not-disrupt" // the annotation of a pod, or of the node
	NoRoom             HoldReason = "limits"         // the pool's limits leave no room for a replacement
	HeldAsLoop         HoldReason = "replacements"   // of a pool whose replacements did not end; a sentence
	NoOtherPlace       HoldReason = "no-other-place" // of a condemned pool: a pod fits no other pool and no other node
)

// Held is a hold and how many of the rolled nodes it is on.
type Held struct {
	Hold
	Nodes int
	On    []string `json:"-"` // names of the nodes; nil if they are not known
}

// SetImpact fills in, for each pool that changes, what becomes of its nodes, as
// Diff has done for the nodes that it knew. Which
// drift by the new objects and did not by the old ones is told by the
// comparison that Karpenter makes for each NodeClaim (karpenter v1.14.1,
// drift.go in pkg/controllers/nodeclaim/disruption), and the provider for its
// class.
func (p *Plan) SetImpact(base, head State) error {
	before, err := sideOf(base)
	if err != nil {
		return err
	}
	after, err := sideOf(head)
	if err != nil {
		return err
	}
	return p.setImpact(before, after)
}

func (p *Plan) setImpact(base, head side) error {
	changes := map[manifest.Key]bool{}
	for _, c := range p.Changes {
		changes[c.Key()] = true
	}
	changed := func(key manifest.Key) bool { return changes[key] }
	before := judgesOf(base, changed)
	kept := side{objects: head.objects, others: slices.Concat(base.objects, head.others)}
	after := judgesOf(kept, changed) // pools that are forgotten among them
	pools := byPool(head.Nodes)
	for i := range p.Changes {
		c := &p.Changes[i]
		key := c.Key()
		stays := c.Action == Forget && c.Effect != Roll && !c.Loosens
		if c.Kind != "NodePool" || c.Action == Create && before[key].pool == nil || stays {
			continue // without nodes, or with nodes that stay
		}
		c.Impact = &Impact{Known: head.Nodes != nil, Of: len(pools[c.Name])}
		asks, was := after[key], before[key]
		was.removing = false // of one that is declared again, the nodes are judged as if it had never been
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
			c.worsen(Roll, true) // the cluster has it already, otherwise
		}
		if c.Action == Create && was.pool != nil && asks.pool != nil && loosensAny(was.pool, asks.pool) {
			c.Loosens = true
			c.worsen(MayRemove, false)
		}
		if c.Effect != Roll {
			c.Impact.Pace = nil
		}
		if replicas, static := lookup(c.New, "spec.replicas").(int64); static && c.Effect == DeleteNodes {
			c.Impact.Deleted = max(0, c.Impact.Of-int(replicas))
		}
		if c.Loosens {
			c.Impact.Removable = max(0, removable(asks, was, pools[c.Name])-c.Impact.Deleted)
		}
	}
	return nil
}

// removable counts the nodes of a pool that match after a change that loosens, and that may be
// removed for it. A pool that consolidates nothing replaces only those that have drifted before, and those
// whose hosts have maintenance, which may be any.
func removable(after, before judge, nodes []Node) (n int) {
	for _, node := range nodes {
		if !after.replaces(before, node) &&
			(before.drifted(node) || after.pool == nil || consolidationOf(after.pool) > consolidatesNone ||
				after.leads[node.Class] > before.leads[node.Class]) {
			n++
		}
	}
	return n
}

// roll works out what replacing the nodes of a pool takes.
func (im *Impact) roll(after, before judge, nodes []Node, head State) error {
	var rolled []Node
	settled, leaving := 0, 0
	for _, n := range nodes {
		if after.replaces(before, n) {
			rolled = append(rolled, n)
		}
		if n.Initialized {
			settled++
		}
		if n.Initialized && n.Deleting {
			leaving++
		}
		if n.ExpireAfter > 0 && n.Created.Add(n.ExpireAfter).Before(head.Now.AddDate(0, 0, 7)) {
			im.Expiring++
		}
	}
	if im.Rolled, im.Elsewhere = len(rolled), after.removing; !im.Elsewhere {
		im.Upgrade = after.upgraded(rolled)
	}
	if after.pool != nil && !head.Now.IsZero() && (im.Rolled > 0 || !im.Known) {
		if settled == 0 {
			settled = len(nodes) // they will count when they are ready
		}
		spread, err := PaceOf(after.pool, settled, leaving, len(rolled), head.Now)
		if err != nil {
			return err
		}
		im.Pace = spread
	}
	im.Holds = held(rolled)
	if len(rolled) == 0 {
		return nil
	}
	if text := after.noRoom(nodes, head.Offers); text != "" {
		im.Holds = append(im.Holds, Held{Hold: Hold{Reason: NoRoom, Object: text}, Nodes: len(rolled)})
	}
	return nil
}

// held counts the holds of nodes.
func held(nodes []Node) []Held {
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

// noRoom says which limit of a pool leaves no room for a replacement of any plan
// type next to its nodes: Karpenter creates the replacement before the old node
// goes.
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
			return fmt.Sprintf("limits.%s = %s leaves no room for one more node next to the %d there are", name, limit.String(),
				len(nodes))
		}
	}
	return ""
}

// judge knows what the nodes of one pool must be like.
type judge struct {
	pool         *karpv1.NodePool // nil: there is none, or it is not known
	hash         func() string
	requirements scheduling.Requirements
	classes      map[string]string        // hashes by name
	versions     map[string]string        // of Kubernetes, that nodes are to have, by class
	leads        map[string]time.Duration // as maintenanceLead has them, by class
	removing     bool                     // it is to have no nodes at all
}

func judges(s side) map[manifest.Key]judge {
	return judgesOf(s, func(manifest.Key) bool { return true })
}

// judgesOf returns the judges of some pools.
func judgesOf(s side, some func(manifest.Key) bool) map[manifest.Key]judge {
	classes, versions, all := map[string]string{}, map[string]string{}, map[manifest.Key]judge{}
	leads := map[string]time.Duration{}
	for _, o := range s.objects {
		if o.class != nil {
			classes[o.Name()], versions[o.Name()] = o.hash(), ptr.Deref(o.class.Spec.LKEK8sVersion, "")
			leads[o.Name()] = maintenanceLead(o.class)
		}
	}
	for _, o := range slices.Concat(s.others, s.objects) { // what is declared counts
		if o.Kind() != "NodePool" || !some(o.Key()) {
			continue
		}
		j := judge{classes: classes, versions: versions, leads: leads, requirements: o.requirements(), pool: o.pool}
		if _, j.removing = ReadRemoval(o.Defaulted); j.removing && j.pool != nil {
			j.pool = j.pool.DeepCopy()
			if delete(j.pool.Spec.Template.Annotations, schemas.AnnotationRemoval); len(j.pool.Spec.Template.Annotations) == 0 {
				j.pool.Spec.Template.Annotations = nil // none has another hash than an empty map
			}
		}
		if j.pool != nil {
			j.hash = sync.OnceValue(j.pool.Hash)
		}
		all[o.Key()] = j
	}
	return all
}

// replaces reports whether a node is replaced that was not before. One whose version is not
// known, as this user may not list nodes, may have another than it is to have now.
func (j judge) replaces(before judge, n Node) bool {
	want := j.versions[n.Class]
	_, version := catalog.ParseVersion(want)
	unknown := version && want != before.versions[n.Class] && n.Version == ""
	return (j.drifted(n) || unknown || j.rehashes(before, n)) && !before.drifted(n)
}

// rehashes reports whether the hash of pool or class is another than before, where a node has a hash of another version.
// What that version says of the change is not known, and a controller of that version replaces the node by it.
func (j judge) rehashes(before judge, n Node) bool {
	other := func(key, version string) bool { return n.Annotations[key] != "" && n.Annotations[key] != version }
	if j.pool != nil && before.pool != nil && other(karpv1.NodePoolHashVersionAnnotationKey, karpv1.NodePoolHashVersion) &&
		j.hash() != before.hash() {
		return true
	}
	hash, known := j.classes[n.Class]
	return known && before.classes != nil && hash != before.classes[n.Class] && // a class that was not known, too
		other(linodev1alpha1.AnnotationHashVersion, linodev1alpha1.HashVersion)
}

// drifted reports whether a node is not what the pool asks for. Hashes of
// another version are not compared, as Karpenter and the provider compare none.
func (j judge) drifted(n Node) bool {
	if j.removing {
		return true
	}
	same := func(versionKey, version, hashKey, hash string) bool {
		return n.Annotations[versionKey] != version || n.Annotations[hashKey] == hash
	}
	if j.pool != nil && !same(karpv1.NodePoolHashVersionAnnotationKey, karpv1.NodePoolHashVersion, karpv1.NodePoolHashAnnotationKey,
		j.hash()) {
		return true
	}
	if hash, known := j.classes[n.Class]; known &&
		!same(linodev1alpha1.AnnotationHashVersion, linodev1alpha1.HashVersion, linodev1alpha1.AnnotationHash, hash) {
		return true
	}
	if catalog.OutdatedVersion(n.Version, j.versions[n.Class]) {
		return true // when the control plane has the version, and it is the pool's turn
	}
	return j.pool != nil && !n.Unlaunched && scheduling.NewLabelRequirements(n.Labels).Compatible(j.requirements) != nil
}
