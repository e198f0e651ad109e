// Package plan says what a change of configuration does: which objects change
// in which fields, and what becomes of the nodes.
//
// It is pure: objects go in, a Plan comes out, and renderers write it down.
// What rolls nodes is asked of Karpenter's and the provider's own hashes, never
// of a table. The package reads no files, no Git and no cluster.
package plan

import (
	"cmp"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config"
)

// Object is one object of a revision: as written, and as the API server would
// store it.
type Object struct {
	config.Resource
	Defaulted map[string]any
	Conflicts []Conflict // of applying it, where a cluster was asked
}

// id is what an object is in the cluster, whatever its address.
type id struct{ kind, name string }

func (o Object) id() id { return id{o.Kind(), o.Name()} }

// State is one revision: its objects, and what nodes can be made of where they
// are applied.
type State struct {
	Objects []Object
	Offers  []Offer
	Nodes   []Node // nil where no cluster was asked
}

// Plan is what going from a base to a head does.
type Plan struct {
	Changes []Change // sorted by address; objects that stay as they are only where they moved
	// Before and After are the most that all pools together can cost.
	Before, After Ceiling
}

// Change is what happens to one object.
type Change struct {
	Addr     string // in the head; in the base where the object is deleted
	Previous string // the address in the base where that was another
	Block    string // the block type: pool, node_class
	Kind     string
	Name     string
	Source   hcl.Range // of the block
	Action   Action
	Fields   []Field // sorted by path
	Effect   Effect  // the gravest of the fields'
	Partial  bool    // of a Roll: only nodes that do not match any more
	// Because names what rolls the pool without a change of its own: its class.
	Because []string
	// Before and After are the most that a pool can cost; nil where there is no
	// pool.
	Before, After *Ceiling
	// Count is how many nodes are replaced; nil where no cluster was asked.
	Count *Count
	// Conflicts are fields that somebody else has set to another value. An apply
	// would be refused.
	Conflicts []Conflict
}

// Conflict is a field of an object that is in the way of an apply.
type Conflict struct {
	Path  string // such as spec.weight
	Owner string // the field manager
}

// Action is what is done to an object.
type Action string

// What may be done to an object.
const (
	Create Action = "create"
	Update Action = "update"
	Delete Action = "delete"
	Keep   Action = "no-op"
)

// Effect is what a change means for nodes that are there.
type Effect string

// The effects, from harmless to grave.
const (
	None        Effect = "none"         // nothing that anybody acts on
	InPlace     Effect = "in_place"     // takes effect at once; every node stays
	Roll        Effect = "roll"         // nodes are replaced, within the budgets
	DeleteNodes Effect = "delete_nodes" // nodes go at once, past all budgets
)

var gravity = map[Effect]int{None: 0, InPlace: 1, Roll: 2, DeleteNodes: 3}

// Field is one changed field.
type Field struct {
	Path    string // such as spec.template.spec.requirements[kubernetes.io/arch]
	Before  any    // nil where there was none; JSON-shaped
	After   any    // nil where there is none
	Effect  Effect
	Partial bool      // of a Roll: only nodes that do not match any more
	Source  hcl.Range // in the head; empty where the field is gone
}

// Summary counts what a plan does.
type Summary struct {
	Create, Update, Delete, Move int
	// Rolled and Deleted are the pools whose nodes roll, or go at once, by
	// address.
	Rolled, Deleted []string
}

// Empty reports whether the plan changes nothing.
func (p Plan) Empty() bool { return len(p.Changes) == 0 }

// Summary counts the changes.
func (p Plan) Summary() Summary {
	var s Summary
	for _, c := range p.Changes {
		switch c.Action {
		case Create:
			s.Create++
		case Update:
			s.Update++
		case Delete:
			s.Delete++
		}
		if c.Previous != "" {
			s.Move++
		}
		switch {
		case c.Kind != "NodePool":
		case c.Effect == Roll:
			s.Rolled = append(s.Rolled, c.Addr)
		case c.Effect == DeleteNodes:
			s.Deleted = append(s.Deleted, c.Addr)
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
		return cmp.Or(cmp.Compare(a.Addr, b.Addr), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
}
