// Package plan says what a change of configuration does: which objects change
// in which fields, which nodes are replaced or removed, when the budgets let
// them be (pace.go), in which change windows (window.go), how a pool is removed
// without a gap in capacity (removal.go), what pools can cost in a month
// (price.go), and what an approval lets pass.
//
// It is pure: objects go in, a Plan comes out, and renderers write it down.
// What rolls nodes is asked of Karpenter's and the provider's own hashes, never
// of a table. The package reads no files, no Git and no cluster.
package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// State is one revision: its objects, and what nodes can be made of where they
// are applied.
type State struct {
	Objects []config.Object
	// PruneNow has pools that are in this state, and no longer in the next one, go at
	// once, with their nodes.
	PruneNow bool
	// Conflicts are fields that somebody else has set to another value, by object;
	// nil where no cluster was asked.
	Conflicts map[manifest.Key][]Conflict
	Removed   []config.Removal // what becomes of objects that are no longer declared
	Imports   []config.Import  // objects that are there, and are taken over
	Offers    []Offer
	// Price is what a node of a plan type costs in a month, also of one that is not offered any
	// more; nil: that of the offers.
	Price func(planType string) (monthly catalog.Money, known bool)
	// Others are the pools of the cluster that no state declares; those of which only nodes
	// are known have no spec.
	Others []config.Object
	// Unheld returns a pool of this state without what holds its nodes back while a revision
	// proves itself, which is no setting of the pool; nil: nothing does.
	Unheld func(pool map[string]any) map[string]any
	Nodes  []Node    // nil where no cluster was asked
	Now    time.Time // when budgets and expiry are judged; zero: they are not
}

// Plan is what going from a base to a head does.
type Plan struct {
	Base, Head Revision
	Rules      Revision  // whose guards and policies judge, where it is not the base
	Now        time.Time // when budgets and expiry were judged; zero: they were not
	Changes    []Change  // sorted by address; objects that stay as they are only where they moved
	Drift      []Drift   // what others did to live objects; sorted by address and path
	Verdicts   []Verdict // what guards and policies say; sorted by guard and address
	// Before and After bound what all pools together cost in a month. Current is
	// what the live nodes cost; nil where no cluster was asked, or the price of one is not known.
	Before, After Cost
	Current       *catalog.Money
	Counted       bool // whether a cluster was asked
	Nodes         int  // in the cluster; 0 where none was asked
	// Incomplete tells that a directory has no plan: nothing is known of its nodes and costs, nor
	// of their sums.
	Incomplete bool `json:",omitempty"`
	// Repriced is what the change does to the prices of the catalogue; none if they stay. Of several directories, each
	// has its own.
	Repriced []Repricing `json:",omitempty"`
	// Catalog is the catalogue that prices are from, as it stands in a sentence; "" for the built-in one.
	Catalog string `json:",omitempty"`
	// Rolling are the pools whose nodes are not what the live objects ask for yet,
	// by name; none where no cluster was asked.
	Rolling []Rolling
	// Workloads are what becomes of pods; nil where none were simulated.
	Workloads *Workloads `json:",omitempty"`
	// Notes say what could not be read, and so is missing.
	Notes []string
	// Migrations say how to rename pools, and make them static or dynamic, without
	// their nodes going at once; sorted by From.
	Migrations []Migration
}

// Revision names one side of a comparison.
type Revision struct {
	Kind  string    // git, dir, live, snapshot or plan
	Ref   string    // such as a commit, a path, a file's name, or a context and its server
	Why   string    // why it is this one, as it follows the name; "" where somebody has named it
	Taken time.Time // of a snapshot: when the cluster was read
}

// String names the revision as it stands in a sentence: commit 1f2c3d4.
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
		return fmt.Sprintf("the cluster as it was on %s", r.Taken.UTC().Format("2006-01-02 15:04 UTC"))
	case "plan":
		return "the plan " + r.Ref
	}
	return r.Ref
}

// Change is what happens to one object.
type Change struct {
	Addr       string // in the head; in the base where the object is deleted
	Previous   string // the address in the base where that was another
	Block      string // the block type: pool, node_class
	APIVersion string
	Kind       string
	Namespace  string // "" for most kinds
	Name       string
	UID        string    // of the object in the cluster; "" where there is none, or no cluster was asked
	Source     hcl.Range // of the block
	Action     Action
	// Old and New are the object as it is stored, without what the API server and
	// controllers add; nil where there is none.
	Old, New map[string]any
	Fields   []Field // sorted by path
	Effect   Effect  // the gravest of the fields'
	Partial  bool    // of a Roll: only nodes that do not match any more
	// Loosens tells that Karpenter may remove or replace nodes that Effect leaves as well: of
	// the pool, or of pools that are not known.
	Loosens bool
	// Prune is how a pool goes, or that it stays after all; AtOnce for what does neither.
	Prune RemovalStage
	// Outside tells that no state declares the pool: it stays as it is, and its nodes are
	// replaced because of their class. Its address is kind and name.
	Outside bool
	// Released is a pool that is forgotten as it is to be left; nil where it stays as it is.
	Released map[string]any
	// Because names what rolls the pool, or may remove its nodes, without a change of its own:
	// its class, an overlay, a buffer, the weight of another pool.
	Because []string
	// Before and After bound what a pool costs in a month; nil where there is no
	// pool. Current is what its nodes cost; nil where no cluster was asked, or the price of one is
	// not known.
	Before, After *Cost
	Current       *catalog.Money
	// Impact is what becomes of a pool's nodes; nil for other kinds.
	Impact *Impact
	// Conflicts are fields that somebody else has set to another value. An apply
	// would be refused.
	Conflicts []Conflict
}

// Key says which object it happens to.
func (c Change) Key() manifest.Key {
	return manifest.Key{Kind: c.Kind, Namespace: c.Namespace, Name: c.Name}
}

// Drift is a field of a live object that others than lkeplan have set, or a version
// of the control plane that its nodes have not followed.
type Drift struct {
	Addr, Kind, Namespace, Name string
	Path                        string
	Applied                     any      // what the base says; nil where it says nothing
	Live                        any      // JSON-shaped
	Owners                      []string // field managers, sorted
	// Kept tells that an apply leaves the field as it is, because the head says
	// nothing of it. Otherwise the apply is refused.
	Kept bool
	// Detail says what follows from it, in sentences; "" where Kept says it all.
	Detail string
}

// Key says which object has drifted.
func (d Drift) Key() manifest.Key {
	return manifest.Key{Kind: d.Kind, Namespace: d.Namespace, Name: d.Name}
}

// Verdict is what a guard or a policy says of a plan.
type Verdict struct {
	Guard  string // such as max_deleted_pools, or policy.NAME
	Addr   string // of the object it is about; "" for the whole plan
	Status Status
	Limit  string // what is allowed, as written; "" where it is no amount
	Actual string // what the plan does
	Detail string // a sentence
	// Permission lets pass what is Blocked: GUARD:ADDRESS.
	Permission string
	Until      time.Time // of Waiting: when it lets the plan pass by itself; zero: never
	Source     hcl.Range
}

// refuses reports whether a plan is not applied now because of it.
func (v Verdict) refuses() bool { return v.Status == Blocked || v.Status == Waiting }

// Status is the outcome of a guard.
type Status string

// The outcomes. Blocked refuses the plan, and Waiting has it wait for its time.
const (
	Passed  Status = "passed"
	Blocked Status = "blocked"
	Waiting Status = "waiting"
	Allowed Status = "allowed" // it would be blocked, and somebody has said that it may be
	Unknown Status = "unknown" // it counts nodes, and no cluster was asked
	Changed Status = "changed" // what judges is changed itself: Detail says how
)

// Action is what is done to an object.
type Action string

// What may be done to an object.
const (
	Create Action = "create"
	Update Action = "update"
	Delete Action = "delete"
	Keep   Action = "no-op"
	Forget Action = "forget" // it stays as it is, and is no longer managed
)

// Effect is what a change means for nodes that are there.
type Effect string

// The effects, from harmless to grave.
const (
	None    Effect = "none"     // nothing that anybody acts on
	InPlace Effect = "in_place" // takes effect at once; every node stays
	// MayRemove lets Karpenter remove or replace nodes that match, within the budgets: sooner
	// than before, more at a time, or for other reasons.
	MayRemove   Effect = "may_remove_nodes"
	Roll        Effect = "roll"         // nodes are replaced, in their pool or elsewhere, within the budgets
	DeleteNodes Effect = "delete_nodes" // nodes go at once, past all budgets
)

var gravity = map[Effect]int{None: 0, InPlace: 1, MayRemove: 2, Roll: 3, DeleteNodes: 4}

// Field is one changed field.
type Field struct {
	Path    string // such as spec.template.spec.requirements[kubernetes.io/arch]
	Before  any    // nil where there was none; JSON-shaped
	After   any    // nil where there is none
	Effect  Effect
	Partial bool      // of a Roll: only nodes that do not match any more
	Source  hcl.Range // in the head; empty where the field is gone
	Owners  []string  // field managers of the live field, sorted; none where no cluster was asked
}

// Summary counts what a plan does.
type Summary struct {
	Create, Update, Delete, Move, Forget int
	NodesRolled, NodesDeleted            Count
	NodesDrained                         Count // that condemned pools give up
	NodesRemovable                       Count // others that Karpenter may remove or replace
	Conflicts                            int   // fields for which an apply is refused
	// Rolled, Deleted and Condemned are the pools whose nodes roll, go at once, or go
	// before the pool does, by address. Of those of Removable nodes may be removed; an
	// overlay or a buffer is among them if it is not known of which pools.
	Rolled, Deleted, Condemned, Removable []string
}

// A Count is a number of nodes. It is not known if there are pools to count nodes of and no
// cluster was asked.
type Count struct {
	Nodes int
	Known bool
}

// String is the number; "" if it is not known.
func (c Count) String() string {
	if !c.Known {
		return ""
	}
	return fmt.Sprint(c.Nodes)
}

// Number is the number; nil if it is not known.
func (c Count) Number() *int {
	if !c.Known {
		return nil
	}
	return &c.Nodes
}

// Plus is the sum, which is known if both are.
func (c Count) Plus(other Count) Count { return Count{c.Nodes + other.Nodes, c.Known && other.Known} }

// Empty reports whether the plan changes nothing.
func (p Plan) Empty() bool { return len(p.Changes) == 0 }

// ByKey are the changes by their objects.
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

// Waits reports whether the plan has to wait for its time, and until when; the zero time
// where that does not come.
func (p Plan) Waits() (until time.Time, waits bool) {
	for _, v := range p.Verdicts {
		if v.Status == Waiting {
			return v.Until, true
		}
	}
	return until, false
}

// rolls reports whether nodes of a pool are replaced, also if others are deleted because it has
// fewer replicas.
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
	s := Summary{NodesRolled: none, NodesDeleted: none, NodesDrained: none, NodesRemovable: none}
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
		var im Impact // nothing is known
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
			}
			if c.Effect == DeleteNodes {
				s.Deleted = append(s.Deleted, c.Addr)
				s.NodesDeleted = s.NodesDeleted.Plus(of(im.Deleted))
			}
		}
		if c.Loosens {
			s.Removable = append(s.Removable, c.Addr)
			s.NodesRemovable = s.NodesRemovable.Plus(of(im.Removable))
		}
	}
	return s
}

// worsen takes over the effect of a part.
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
			return map[bool]int{true: 1, false: -1}[a.Outside]
		}
		return cmp.Or(cmp.Compare(a.Addr, b.Addr), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
}
