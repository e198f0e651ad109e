package plan

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Offer is a plan type for nodes in the region of a cluster.
type Offer struct {
	Name         string
	Requirements scheduling.Requirements // the labels of its nodes
	MilliCPU     int64
	MemoryBytes  int64
	Capacity     map[string]int64 // of other resources that pools limit
	Monthly      catalog.Money    // of one node
	Unknown      bool             // its price or its size is unknown
}

// Size returns how much of a limited resource a node uses. CPUs are in thousandths.
func (o Offer) Size(name string) int64 {
	switch name {
	case "cpu":
		return o.MilliCPU
	case "memory":
		return o.MemoryBytes
	case "nodes":
		return 1
	}
	return o.Capacity[name]
}

// Ceiling is a maximum monthly cost.
type Ceiling struct {
	Monthly   catalog.Money `json:"monthly"`
	Unlimited bool          `json:"unlimited,omitempty"` // there is no limit
	AtLeast   bool          `json:"at_least,omitempty"`  // Monthly lacks plan types whose price is unknown
}

// Known reports whether there is a maximum and it is known.
func (c Ceiling) Known() bool { return !c.Unlimited && !c.AtLeast }

func (c Ceiling) plus(other Ceiling) Ceiling {
	sum := c.Monthly + other.Monthly
	return Ceiling{
		Monthly: sum, Unlimited: c.Unlimited || other.Unlimited || sum < 0, AtLeast: c.AtLeast || other.AtLeast,
	}
}

// String writes the amount, rounded up to dollars, such as $1,152 or "at least $1,152"; unlimited; or unknown.
func (c Ceiling) String() string {
	amount := ((c.Monthly + catalog.Dollar - 1) / catalog.Dollar * catalog.Dollar).Text()
	switch {
	case c.Unlimited:
		return "unlimited"
	case c.AtLeast && c.Monthly == 0:
		return "unknown"
	case c.AtLeast:
		return "at least " + amount
	}
	return amount
}

// Cost is the range of the monthly cost of pools.
type Cost struct {
	Floor   catalog.Money `json:"floor"` // of the nodes that always exist: those of static pools
	Ceiling Ceiling       `json:"ceiling"`
	// By are the limits that bind: if all of them grow, the ceiling grows. They are cpu, memory and nodes of the
	// pool, and addresses of limits blocks.
	By []string `json:"limited_by,omitempty"`
	// Alone is the ceiling without limits blocks; nil if none is below it.
	Alone *Ceiling `json:"ceiling_uncapped,omitempty"`
	// FloorUnknown reports that the floor lacks nodes whose price is unknown.
	FloorUnknown bool `json:"floor_unknown,omitempty"`
	// Open are the addresses of the pools whose cost no limit bounds, for messages; only of a total.
	Open []string `json:"-"`
}

// Uncapped returns the ceiling without limits blocks.
func (c Cost) Uncapped() Ceiling {
	if c.Alone != nil {
		return *c.Alone
	}
	return c.Ceiling
}

// capTo lowers the ceiling to that of a limits block, if that is lower.
func (c *Cost) capTo(most Ceiling, by ...string) {
	if c.Ceiling.or(most) == c.Ceiling {
		return
	}
	alone := c.Uncapped()
	c.Ceiling, c.By, c.Alone = most, by, &alone
}

// capFloor lowers the floor to the ceiling: replicas beyond the limits are not created.
func (c *Cost) capFloor() {
	if c.Ceiling.Known() {
		c.Floor = min(c.Floor, c.Ceiling.Monthly)
	}
}

// Plus adds the cost of other pools.
func (c Cost) Plus(other Cost) Cost {
	floor := c.Floor + other.Floor
	if floor < 0 { // overflow
		floor = math.MaxInt64
	}
	sum := Cost{
		Floor: floor, FloorUnknown: c.FloorUnknown || other.FloorUnknown,
		Ceiling: c.Ceiling.plus(other.Ceiling), By: union(c.By, other.By),
	}
	if alone := c.Uncapped().plus(other.Uncapped()); alone != sum.Ceiling {
		sum.Alone = &alone
	}
	return sum
}

// costsOf computes the monthly cost of each pool among objects within the limits of the objects, and adds them up.
func costsOf(ctx context.Context, objects []object, offers []Offer, total *Cost) (map[manifest.Key]Cost, error) {
	each := map[manifest.Key]Cost{}
	limits, err := limitsOfSeveral(objects)
	if err != nil {
		return nil, err
	}
	var pools []pricedPool
	var alone Ceiling
	type offered struct {
		offers []Offer
		nodes  *mix
	}
	admitted := map[string]offered{} // by requirements, which many pools share
	for _, o := range objects {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if o.pool == nil {
			continue
		}
		text, err := json.Marshal(o.pool.Spec.Template.Spec.Requirements)
		if err != nil {
			return nil, fmt.Errorf("price %s: %w", o.Addr, err)
		}
		allowed, known := admitted[string(text)]
		if !known {
			allowed.offers = Admitted(offers, o.requirements())
			allowed.nodes = mixOf(allowed.offers)
			admitted[string(text)] = allowed
		}
		c, nodes := boundsOf(o.pool, allowed.offers, allowed.nodes), allowed.nodes
		for _, l := range limits {
			if l.covers(o.Name()) {
				c.capTo(l.bound([]pricedPool{{o.Name(), nodes, c}}), l.addr)
			}
		}
		c.capFloor()
		each[o.Key()] = c
		sum := total.Plus(c)
		total.Floor, total.FloorUnknown = sum.Floor, sum.FloorUnknown
		alone = alone.plus(c.Uncapped())
		if c.Ceiling.Unlimited {
			total.Open = append(total.Open, o.Addr.String())
		}
		pools = append(pools, pricedPool{o.Name(), nodes, c})
	}
	total.Ceiling, total.By = boundTogether(ctx, pools, limits)
	if total.Ceiling != alone {
		total.Alone = &alone
	}
	total.capFloor()
	return each, ctx.Err()
}

// boundsOf computes the cost of the nodes of a NodePool from the offers that it allows, which are also the mix nodes.
// The floor is that of a static pool with its cheapest plan type. A plan type with an unknown price may cost more
// than all others, and is assumed to cost no less.
func boundsOf(pool *karpv1.NodePool, allowed []Offer, nodes *mix) Cost {
	limits := map[string]resource.Quantity{}
	for name, limit := range pool.Spec.Limits {
		limits[string(name)] = limit
	}
	replicas, static := ptr.Deref(pool.Spec.Replicas, 0), pool.Spec.Replicas != nil
	if most, limited := limits["nodes"]; static && (!limited || most.CmpInt64(replicas) > 0) { // its number of nodes is fixed
		limits["nodes"] = *resource.NewQuantity(replicas, resource.DecimalSI)
	}
	var cost Cost
	cost.Ceiling, cost.By = nodes.most(limits)
	priced := slices.DeleteFunc(slices.Clone(allowed), func(o Offer) bool { return o.Unknown })
	cost.FloorUnknown = static && replicas > 0 && len(priced) == 0 && len(allowed) > 0
	if static && len(priced) > 0 {
		cheapest := slices.MinFunc(priced, func(a, b Offer) int { return cmp.Compare(a.Monthly, b.Monthly) })
		cost.Floor = catalog.Money(min(replicas, math.MaxInt64/int64(max(cheapest.Monthly, 1)))) * cheapest.Monthly
	}
	return cost
}

// NamedTypes returns the plan types that pools among objects require by name, sorted.
func NamedTypes(objects []config.Object) []string {
	names := map[string]bool{}
	for _, o := range objects {
		if o.Kind() != "NodePool" {
			continue
		}
		t, err := decodeObject(o)
		if err != nil || t.pool == nil {
			continue
		}
		for _, r := range t.pool.Spec.Template.Spec.Requirements {
			if r.Key != corev1.LabelInstanceTypeStable || r.Operator != corev1.NodeSelectorOpIn {
				continue
			}
			for _, name := range r.Values {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Admitted returns the offers that requirements allow.
func Admitted(offers []Offer, requirements scheduling.Requirements) []Offer {
	return slices.DeleteFunc(slices.Clone(offers), func(o Offer) bool { return o.Requirements.Intersects(requirements) != nil })
}
