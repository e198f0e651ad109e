package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Offer is a plan that nodes can be made of, in the region of a cluster.
type Offer struct {
	Name         string
	Requirements scheduling.Requirements // what the labels of such a node are
	MilliCPU     int64
	MemoryBytes  int64
	Monthly      catalog.Money // of a node that stays for a month
}

// size is how much of a limited resource a node of the plan takes up; CPUs are
// thousandths.
func (o Offer) size(name string) int64 {
	switch name {
	case "cpu":
		return o.MilliCPU
	case "memory":
		return o.MemoryBytes
	case "nodes":
		return 1
	}
	return 0
}

// Ceiling is the most that something can cost in a month.
type Ceiling struct {
	Monthly   catalog.Money
	Unlimited bool // nothing limits it
}

func (c Ceiling) plus(other Ceiling) Ceiling {
	sum := c.Monthly + other.Monthly
	return Ceiling{Monthly: sum, Unlimited: c.Unlimited || other.Unlimited || sum < 0}
}

// String writes the amount: $1,152, or that there is none.
func (c Ceiling) String() string {
	if c.Unlimited {
		return "unlimited"
	}
	return "$" + grouped(c.Monthly)
}

// grouped writes dollars, rounded up, with a comma at each thousand.
func grouped(m catalog.Money) string {
	digits := strconv.FormatInt(int64((m+catalog.Dollar-1)/catalog.Dollar), 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Cost bounds what pools cost in a month.
type Cost struct {
	Floor   catalog.Money // of the nodes that are always there: those of static pools
	Ceiling Ceiling
}

// Plus adds the bounds of other pools.
func (c Cost) Plus(other Cost) Cost {
	return Cost{Floor: c.Floor + other.Floor, Ceiling: c.Ceiling.plus(other.Ceiling)}
}

// boundsOf tells what the nodes of a NodePool cost at least and at most, of the
// offers that it allows. For the ceiling, each limit
// is filled with the plan that costs most for what the limit counts. It is not
// reached where the limits fit no such mix. The floor is that of a static pool
// with its cheapest plan.
func boundsOf(pool map[string]any, allowed []Offer) Cost {
	cost := Cost{Ceiling: Ceiling{Unlimited: true}}
	highest := ratesOf(allowed)
	for name, limit := range limitsOf(pool) {
		bound := Ceiling{Monthly: highest.fill(name, limit)}
		if counts(name) && (cost.Ceiling.Unlimited || bound.Monthly < cost.Ceiling.Monthly) {
			cost.Ceiling = bound
		}
	}
	if replicas, static := lookup(pool, "spec.replicas").(int64); static && len(allowed) > 0 {
		cheapest := slices.MinFunc(allowed, func(a, b Offer) int { return cmp.Compare(a.Monthly, b.Monthly) })
		cost.Floor = cheapest.Monthly * catalog.Money(replicas)
	}
	return cost
}

// admitted are the offers that requirements allow.
func admitted(offers []Offer, requirements scheduling.Requirements) []Offer {
	return slices.DeleteFunc(slices.Clone(offers), func(o Offer) bool { return o.Requirements.Intersects(requirements) != nil })
}

func counts(name string) bool { return Offer{MilliCPU: 1, MemoryBytes: 1}.size(name) > 0 }

// limitsOf returns the limits of a pool; of a static pool, whose number of
// nodes is fixed, that number.
func limitsOf(pool map[string]any) map[string]resource.Quantity {
	written := map[string]any{}
	maps.Copy(written, manifest.Map(pool, "spec", "limits"))
	if replicas := lookup(pool, "spec.replicas"); replicas != nil {
		written["nodes"] = replicas
	}
	limits := map[string]resource.Quantity{}
	for name, raw := range written {
		if q, err := resource.ParseQuantity(fmt.Sprint(raw)); err == nil {
			limits[name] = q
		}
	}
	return limits
}

// cost adds up what all pools can cost, before and after, and what their nodes
// cost now, and notes it on the changes.
func (p *Plan) cost(base, head State) error {
	before, err := base.costs(&p.Before)
	if err != nil {
		return err
	}
	after, err := head.costs(&p.After)
	if err != nil {
		return err
	}
	current := head.spent()
	p.Nodes = len(head.Nodes)
	if head.Nodes != nil {
		var all catalog.Money
		for _, m := range current {
			all += m
		}
		p.Current = &all
	}
	for i := range p.Changes {
		c := &p.Changes[i]
		key := c.Key()
		if old, ok := before[key]; ok {
			c.Before = &old
		}
		if now, ok := after[key]; ok {
			c.After = &now
		}
		if c.Action == Forget { // its nodes stay and cost what they did
			c.After = c.Before
		}
		if now := current[c.Name]; c.Kind == "NodePool" && head.Nodes != nil {
			c.Current = &now
		}
	}
	return nil
}

// spent is what the nodes of each pool cost in a month, by the pool's name.
// Nodes of plans that are not offered any more are not in it.
func (s State) spent() map[string]catalog.Money {
	prices := make(map[string]catalog.Money, len(s.Offers))
	for _, o := range s.Offers {
		prices[o.Name] = o.Monthly
	}
	spent := map[string]catalog.Money{}
	for _, n := range s.Nodes {
		spent[n.Pool] += prices[n.Labels[corev1.LabelInstanceTypeStable]]
	}
	return spent
}

func (s State) costs(total *Cost) (map[manifest.Key]Cost, error) {
	each := map[manifest.Key]Cost{}
	limits, err := s.limitsBlocks()
	if err != nil {
		return nil, err
	}
	var pools []pricedPool
	for _, o := range s.Objects {
		if o.Kind() != "NodePool" {
			continue
		}
		requirements, err := requirementsOf(o.Defaulted)
		if err != nil {
			return nil, fmt.Errorf("price %s: %w", o.Addr, err)
		}
		allowed := admitted(s.Offers, requirements)
		c, highest := boundsOf(o.Defaulted, allowed), ratesOf(allowed)
		for _, l := range limits {
			if l.covers(o.Name()) {
				c.Ceiling = c.Ceiling.or(l.bound(highest))
			}
		}
		each[o.Key()] = c
		total.Floor += c.Floor
		pools = append(pools, pricedPool{o.Name(), highest, c.Ceiling})
	}
	total.Ceiling = together(pools, limits)
	return each, nil
}
