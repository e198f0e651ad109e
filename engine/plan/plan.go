// Package plan computes the effect of a configuration change: which fields of which objects change, which nodes are
// replaced or removed, when budgets (pace.go) and change windows (window.go) allow that, how a pool is removed
// without a gap in capacity (removal.go), the monthly cost of pools (price.go), and what an approval allows.
//
// It is pure: it turns objects into a Plan, which other packages write as text. Karpenter's and the provider's own
// hashes decide which changes roll nodes, never a table. The package reads no files, no Git and no cluster.
package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/linode/catalog"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// State is one revision: its objects, and the offers where they are applied.
type State struct {
	Objects []config.Object
	// Pools and Classes are live objects in place of Objects, for Rolls and Outdated.
	Pools   []*karpv1.NodePool
	Classes []*linodev1alpha1.LinodeNodeClass
	// PruneNow deletes pools that are in this state and not in the next one immediately, with their nodes.
	PruneNow bool
	// Conflicts are fields that other owners have set to another value, by object; nil if no cluster was read.
	Conflicts map[manifest.Key][]Conflict
	Removed   []config.Removal // what happens to objects that are no longer declared
	Imports   []config.Import  // existing objects that are taken over
	Offers    []Offer
	// Price is the monthly price of a plan type, even if it is no longer offered; nil: that of the offers.
	Price func(planType string) (monthly catalog.Money, known bool)
	// Others are the pools of the cluster that no state declares, and, in a base, the node classes that it does not
	// declare. Pools of which only the nodes are known have no spec.
	Others []config.Object
	// Whole reports that the state is a cluster, so that no class exists that it does not have.
	Whole bool
	// Unheld returns a pool of this state without the temporary fields that hold its nodes back while a wave proves a
	// revision; nil if there are none.
	Unheld func(pool map[string]any) map[string]any
	// Released returns the last form of an object of this state that lkeplan stops managing; nil if the object stays
	// as it is.
	Released func(object map[string]any) map[string]any
	Nodes    []Node    // nil if no cluster was read
	Moves    Moves     // of the nodes, after the change; of a head
	Now      time.Time // when budgets and expiry are evaluated; zero: they are not

	decoded *decoded // set by Decode
}

// Plan is the effect of changing a base to a head.
type Plan struct {
	Base     Revision  `json:"base,omitzero"`
	Head     Revision  `json:"head,omitzero"`
	Rules    Revision  `json:"rules,omitzero"`     // revision of the guards and policies, if it is not the base
	Now      time.Time `json:"now,omitzero"`       // when budgets and expiry were evaluated; zero: they were not
	Changes  []Change  `json:"changes"`            // sorted by address; unchanged objects only if they moved
	Drift    []Drift   `json:"drift,omitempty"`    // changes by others to live objects; sorted by address and path
	Verdicts []Verdict `json:"verdicts,omitempty"` // of guards and policies; sorted by guard and address
	// Before and After are the range of the monthly cost of all pools. Current is the cost of the live nodes; nil if no
	// cluster was read, or a price is unknown.
	Before  Cost           `json:"cost_before"`
	After   Cost           `json:"cost_after"`
	Current *catalog.Money `json:"cost_current,omitempty"`
	Counted bool           `json:"counted,omitempty"` // whether a cluster was read
	Nodes   int            `json:"nodes,omitempty"`   // in the cluster; 0 if none was read
	// Incomplete reports that a directory has no plan, so that its nodes and costs, and the sums, are unknown.
	Incomplete bool `json:"incomplete,omitempty"`
	// Repriced reports that the change alters the price catalogue, so that all costs are at the higher of two prices.
	Repriced bool `json:"catalog_changes,omitempty"`
	// Waves reports that nodes are replaced in waves, which hold only nodes that differ from their pool, and not
	// those that Karpenter moves because other capacity is cheaper or has room.
	Waves bool `json:"waves,omitempty"`
	// Joining are the NodeClaims without a machine because of which it is not known yet which nodes Karpenter moves.
	Joining []string `json:"-"`
	// Catalog names the price catalogue; "" for the built-in one.
	Catalog string `json:"catalog,omitempty"`
	// Rolling are the pools whose nodes do not match the live objects yet, by name; none if no cluster was read.
	Rolling []Rolling `json:"rolling,omitempty"`
	// Workloads are what happens to pods; nil if none were simulated.
	Workloads *Workloads `json:"workloads,omitempty"`
	// Notes describe what could not be read, and so is missing.
	Notes []string `json:"notes,omitempty"`
}

// Revision names one side of a comparison.
type Revision struct {
	Kind  string    `json:"kind" doc:"git, dir, live, snapshot or plan."`
	Ref   string    `json:"ref,omitempty" doc:"A commit, a path, or a context and its server."`
	Why   string    `json:"why,omitempty" doc:"Why this revision was chosen: the branch that it is the merge base with, and where the name of that branch comes from."`
	Taken time.Time `json:"taken,omitzero" doc:"When the cluster was read, for a snapshot."`
}

// IsZero reports whether the revision is unknown.
func (r Revision) IsZero() bool { return r.Kind == "" }

// String names the revision for use in a sentence: commit 1f2c3d4.
func (r Revision) String() string {
	switch r.Kind {
	case "git":
		if r.Ref == "" {
			return "nothing"
		}
		return "commit " + r.Ref
	case "live":
		if r.Ref != "" {
			return "the cluster of " + r.Ref
		}
		return "the cluster"
	case "snapshot":
		return "the cluster as of " + text.Time(r.Taken)
	case "plan":
		return "the plan " + r.Ref
	}
	return r.Ref
}

// Change is what happens to one object.
type Change struct {
	Addr       string     `json:"address"`                    // in the head; in the base if the object is deleted
	Previous   string     `json:"previous_address,omitempty"` // the address in the base if that differs
	Block      string     `json:"type"`                       // the block type: pool, node_class
	APIVersion string     `json:"apiVersion,omitempty"`
	Kind       string     `json:"kind"`
	Namespace  string     `json:"namespace,omitempty"` // "" for most kinds
	Name       string     `json:"name"`
	UID        string     `json:"uid,omitempty"`   // of the object in the cluster; "" if there is none, or no cluster was read
	Source     diag.Range `json:"source,omitzero"` // of the block
	Action     Action     `json:"action"`
	// Old and New are the stored object without the fields that the API server and controllers add; nil if there is
	// none.
	Old     map[string]any `json:"before,omitempty"`
	New     map[string]any `json:"after,omitempty"`
	Fields  []Field        `json:"fields,omitempty"`  // sorted by path
	Effect  Effect         `json:"effect"`            // the most disruptive of the fields'
	Partial bool           `json:"partial,omitempty"` // of a Roll: only nodes that do not match any more
	// Loosens reports that Karpenter may remove or replace further nodes: of the pool, or of unknown pools.
	Loosens bool `json:"loosens,omitempty"`
	// Sooner reports that nodes may go sooner, or more at a time, so that all nodes of the pool count even if it is
	// known which ones Karpenter moves.
	Sooner bool `json:"sooner,omitempty"`
	// Relabels reports that labels or annotations of the nodes of the pool change in place.
	Relabels bool `json:"relabels,omitempty"`
	// Prune is the stage of the removal of a pool, or that it is canceled; RemoveAtOnce for other changes.
	Prune RemovalStage `json:"prune,omitempty"`
	// Outside reports that no state declares the pool: it does not change, and its nodes are replaced because of their
	// class. Its address is kind and name.
	Outside bool `json:"outside,omitempty"`
	// Released is the last state of a forgotten pool; nil if it does not change.
	Released map[string]any `json:"released,omitempty"`
	// Because names other objects whose changes roll the pool, or may remove its nodes: its class, an overlay, a
	// buffer, a limits block, a pool that adds or loses capacity.
	Because []string `json:"because,omitempty"`
	// Attracts says of a change that adds capacity to a pool for which other pools it may attract pods, and for which
	// not, and why. Of a change that takes capacity from a pool, it says the pods of which other pools Karpenter may
	// move. None if it is known which nodes Karpenter moves.
	Attracts []string `json:"attracts,omitempty"`
	// Successor is the address of a new pool with the same template as this deleted one. A moved block would keep the pool.
	Successor string `json:"successor,omitempty"`
	// Before and After are the range of the monthly cost of a pool; nil if there is no
	// pool. Current is the cost of its nodes; nil if no cluster was read, or the price of one is
	// not known.
	Before  *Cost          `json:"cost_before,omitempty"`
	After   *Cost          `json:"cost_after,omitempty"`
	Current *catalog.Money `json:"cost_current,omitempty"`
	// Impact is what happens to a pool's nodes; nil for other kinds.
	Impact *Impact `json:"impact,omitempty"`
	// Conflicts are fields that other owners have set to another value, because of which an apply is refused.
	Conflicts []Conflict `json:"conflicts,omitempty"`
}

// Key returns the key of the changed object.
func (c Change) Key() manifest.Key {
	return manifest.Key{Kind: c.Kind, Namespace: c.Namespace, Name: c.Name}
}

// SwitchesStatic reports that a NodePool becomes static or dynamic, which Karpenter's CRD refuses.
func (c Change) SwitchesStatic() bool {
	replicas := func(obj map[string]any) bool {
		_, static := manifest.Lookup(obj, "spec", "replicas")
		return static
	}
	return c.Kind == "NodePool" && c.Action == Update && replicas(c.Old) != replicas(c.New)
}

// Drift is a field of a live object that another owner than lkeplan has set, or a newer version of the control plane.
type Drift struct {
	Addr      string   `json:"address"`
	Kind      string   `json:"kind"`
	Namespace string   `json:"namespace,omitempty"`
	Name      string   `json:"name"`
	Path      string   `json:"path"`
	Applied   any      `json:"applied"`          // the value in the base; nil if it has none
	Live      any      `json:"live"`             // JSON-shaped; nil if it was removed
	Owners    []string `json:"owners,omitempty"` // field managers, sorted
	// Kept reports that an apply does not change the field, because the head does not set it. Otherwise the apply is
	// refused.
	Kept bool `json:"kept,omitempty"`
	// Whole is the path of the map around the field if that is owned, and reverted, as a whole; "" for other fields.
	Whole string `json:"whole,omitempty"`
	// Detail describes the consequences in sentences; may be "".
	Detail string `json:"detail,omitempty"`
}

// Key returns the key of the drifted object.
func (d Drift) Key() manifest.Key {
	return manifest.Key{Kind: d.Kind, Namespace: d.Namespace, Name: d.Name}
}

// Verdict is the result of evaluating a guard or a policy.
type Verdict struct {
	Guard      string     `json:"id" doc:"Such as max_deleted_pools, or policy.NAME."`
	Addr       string     `json:"address,omitempty" doc:"The address that the verdict is about; absent for the whole plan."`
	Status     Status     `json:"status" doc:"blocked: the plan is refused. allowed: it would be blocked, and a permission allows it. unknown: not checked, because it counts nodes and no cluster was read. waiting: the plan has to wait until a time."`
	Limit      string     `json:"limit,omitempty" doc:"The limit of the guard."`
	Actual     string     `json:"actual,omitempty" doc:"The actual value of the plan."`
	Detail     string     `json:"detail,omitempty"` // a sentence
	Until      time.Time  `json:"until,omitzero" doc:"When a waiting plan can be applied; absent if never."`
	Permission string     `json:"permission,omitempty" doc:"The value of --allow that lifts the guard."`
	Source     diag.Range `json:"source,omitzero"`           // unknown in the controller
	Default    bool       `json:"default,omitempty" doc:"-"` // the guard applies because the directory has no guards block
	// Periods are the freeze, or the windows, of the guard.
	Periods []config.Period `json:"-"`
}

// refuses reports whether the verdict keeps a plan from being applied now.
func (v Verdict) refuses() bool { return v.Status == Blocked || v.Status == Waiting }

// Status is the outcome of a guard.
type Status string

// The outcomes. Blocked refuses the plan, and Waiting delays it.
const (
	Passed  Status = "passed"
	Blocked Status = "blocked"
	Waiting Status = "waiting"
	Allowed Status = "allowed" // it would be blocked, and a permission lifts it
	Unknown Status = "unknown" // it counts nodes, and no cluster was read
	Changed Status = "changed" // guards, policies or the cluster change, as Detail describes
)

// Action is what is done to an object.
type Action string

// The actions.
const (
	Create Action = "create"
	Update Action = "update"
	Delete Action = "delete"
	Keep   Action = "no-op"
	Forget Action = "forget" // it stays, and is no longer managed
)

// Effect is what a change does to existing nodes.
type Effect string

// The effects, from harmless to disruptive.
const (
	None    Effect = "none"     // no controller acts on it
	InPlace Effect = "in_place" // takes effect immediately; every node stays
	// MayRemove lets Karpenter remove or replace nodes that match, within the budgets: sooner
	// than before, more at a time, or for other reasons.
	MayRemove   Effect = "may_remove_nodes"
	Roll        Effect = "roll"         // nodes are replaced, in their pool or elsewhere, within the budgets
	DeleteNodes Effect = "delete_nodes" // nodes are deleted immediately, regardless of budgets
)

var gravity = map[Effect]int{None: 0, InPlace: 1, MayRemove: 2, Roll: 3, DeleteNodes: 4}

// Field is one changed field.
type Field struct {
	Path    string     `json:"path" doc:"Such as spec.limits.cpu. An element of a list is named by its key: spec.template.spec.requirements[kubernetes.io/arch]."`
	Before  any        `json:"before" doc:"Null if there was no value."` // JSON-shaped
	After   any        `json:"after" doc:"Null if there is no value."`
	Effect  Effect     `json:"effect" doc:"roll: nodes are replaced, within the disruption budgets. may_remove_nodes: Karpenter may remove or replace matching nodes within the disruption budgets, sooner than before, more at a time, or for other reasons. in_place: the change takes effect immediately and every node stays. delete_nodes: nodes are deleted immediately, regardless of budgets. none: no controller acts on the field."`
	Partial bool       `json:"partial,omitempty" doc:"For the effect roll: only nodes that no longer match are replaced."`
	Source  diag.Range `json:"source,omitzero"` // in the head; zero if the field is removed
	Owners  []string   `json:"owners,omitempty" doc:"The field managers of the live field."`
}

// Summary counts the effects of a plan.
type Summary struct {
	Create         int          `json:"add"`
	Update         int          `json:"change"`
	Delete         int          `json:"destroy"`
	Move           int          `json:"move"`
	Forget         int          `json:"forget" doc:"Objects that stay unchanged and are no longer managed."`
	NodesRolled    Count        `json:"nodes_rolled" doc:"Null if such pools exist and no cluster was read."`
	NodesDeleted   Count        `json:"nodes_deleted" doc:"Null if such pools exist and no cluster was read."`
	NodesDrained   Count        `json:"nodes_drained" doc:"Nodes of draining pools; null if such pools exist and no cluster was read."`
	NodesRemovable Count        `json:"nodes_removable" doc:"Other nodes that Karpenter may remove or replace because of the change; null if such pools exist and no cluster was read."`
	Rolled         List[string] `json:"pools_rolled" doc:"The addresses of pools whose nodes are replaced."`
	Deleted        List[string] `json:"pools_deleted" doc:"The addresses of pools whose nodes are deleted immediately."`
	Condemned      List[string] `json:"pools_condemned" doc:"The addresses of pools that drain their nodes and are then deleted."`
	Removable      List[string] `json:"pools_removable" doc:"The addresses of pools whose nodes Karpenter may remove because of the change. If the pools are unknown, the address of the node class, overlay or buffer."`
	Conflicts      int          `json:"conflicts" doc:"Number of fields that others have set to other values. An apply is refused."`
	Refused        bool         `json:"refused" doc:"Whether a guard or policy blocks the plan."`
	Unseen         []string     `json:"-"` // those of Removable whose pools are unknown
	Exact          bool         `json:"-"` // NodesRemovable are those that Karpenter moves, not the most that it may

	idle []string // those of Rolled that have no node to replace
}

// Replaced are the addresses of pools of which a node is replaced, or may be.
func (s Summary) Replaced() []string {
	return slices.DeleteFunc(slices.Clone(s.Rolled), func(addr string) bool { return slices.Contains(s.idle, addr) })
}

// A Count is a number of nodes. It is unknown if there are pools to count nodes of and no cluster was read.
type Count struct {
	Nodes int
	Known bool
}

// String returns the number; "" if unknown.
func (c Count) String() string {
	if !c.Known {
		return ""
	}
	return fmt.Sprint(c.Nodes)
}

// MarshalJSON writes the number; null if unknown.
func (c Count) MarshalJSON() ([]byte, error) { return []byte(cmp.Or(c.String(), "null")), nil }

// Some reports whether the number is, or may be, more than zero.
func (c Count) Some() bool { return !c.Known || c.Nodes > 0 }

// Plus returns the sum; unknown if one of them is.
func (c Count) Plus(other Count) Count { return Count{c.Nodes + other.Nodes, c.Known && other.Known} }

// Empty reports whether the plan changes nothing.
func (p Plan) Empty() bool { return len(p.Changes) == 0 }

// ByKey indexes the changes by their objects.
func (p Plan) ByKey() map[manifest.Key]Change {
	m := make(map[manifest.Key]Change, len(p.Changes))
	for _, c := range p.Changes {
		m[c.Key()] = c
	}
	return m
}

// Refused reports whether a guard or policy blocks the plan.
func (p Plan) Refused() bool {
	return slices.ContainsFunc(p.Verdicts, func(v Verdict) bool { return v.Status == Blocked })
}

// Waits reports whether the plan must wait, and until when; the zero time if it has to wait forever.
func (p Plan) Waits() (until time.Time, waits bool) {
	for _, v := range p.Verdicts {
		if v.Status == Waiting {
			return v.Until, true
		}
	}
	return until, false
}

// rolls reports whether nodes of a pool are replaced, even if others are deleted because it has fewer replicas.
func (c Change) rolls() bool {
	ofField := func(f Field) bool { return f.Effect == Roll }
	switch {
	case c.Action == Delete:
		return false
	case c.Effect == DeleteNodes && (len(c.Because) > 0 || slices.ContainsFunc(c.Fields, ofField)):
		return true
	}
	return c.Effect == Roll || c.Impact != nil && c.Impact.Rolled > 0
}

// Summary counts the changes.
func (p Plan) Summary() Summary {
	none := Count{Known: !p.Incomplete}
	s := Summary{
		NodesRolled: none, NodesDeleted: none, NodesDrained: none, NodesRemovable: none, Exact: true, Refused: p.Refused(),
	}
	for _, c := range p.Changes {
		switch c.Action {
		case Create:
			s.Create++
		case Update:
			s.Update++
		case Delete:
			s.Delete++
		case Forget:
			s.Forget++
		}
		if c.Previous != "" {
			s.Move++
		}
		s.Conflicts += len(c.Conflicts)
		var im Impact // unknown
		if c.Impact != nil {
			im = *c.Impact
		}
		of := func(nodes int) Count { return Count{nodes, im.Known} }
		switch {
		case c.Kind != "NodePool":
		case c.Prune == StartRemoval:
			s.Condemned = append(s.Condemned, c.Addr)
			s.NodesDrained = s.NodesDrained.Plus(of(im.Rolled))
		default:
			if c.rolls() {
				s.Rolled = append(s.Rolled, c.Addr)
				s.NodesRolled = s.NodesRolled.Plus(of(im.Rolled))
				if im.Known && im.Rolled == 0 {
					s.idle = append(s.idle, c.Addr)
				}
			}
			if c.Effect == DeleteNodes {
				s.Deleted = append(s.Deleted, c.Addr)
				s.NodesDeleted = s.NodesDeleted.Plus(of(im.Deleted))
			}
		}
		if c.Loosens {
			s.Removable = append(s.Removable, c.Addr)
			if c.Kind != "NodePool" {
				s.Unseen = append(s.Unseen, c.Addr)
			}
			s.NodesRemovable = s.NodesRemovable.Plus(of(im.Removable))
			s.Exact = s.Exact && im.Exact()
		}
	}
	return s
}

// worsen sets the effect if it is more disruptive.
func (c *Change) worsen(e Effect, partial bool) {
	switch {
	case gravity[e] > gravity[c.Effect]:
		c.Effect, c.Partial = e, partial
	case e == c.Effect && e == Roll:
		c.Partial = c.Partial && partial
	}
}

func sortChanges(changes []Change) {
	slices.SortFunc(changes, func(a, b Change) int {
		if a.Outside != b.Outside {
			if a.Outside {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(a.Addr, b.Addr), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
}
