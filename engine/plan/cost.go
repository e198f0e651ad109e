package plan

import (
	"fmt"
	"math/big"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// Offer is a plan that nodes can be made of, in the region of a cluster.
type Offer struct {
	Requirements scheduling.Requirements // what the labels of such a node are
	MilliCPU     int64
	MemoryBytes  int64
	Monthly      catalog.Money // of a node that stays for a month
}

// Ceiling is the most that something can cost in a month.
type Ceiling struct {
	Monthly   catalog.Money
	Unlimited bool // nothing limits it
}

func (c Ceiling) plus(other Ceiling) Ceiling {
	return Ceiling{Monthly: c.Monthly + other.Monthly, Unlimited: c.Unlimited || other.Unlimited}
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

// ceilingOf returns the most that the nodes of a NodePool cost: each limit,
// filled with the plan that costs most for what the limit counts, bounds it. It
// is not reached where the limits fit no such mix. What Karpenter makes beyond
// a limit within one pass is not in it.
func ceilingOf(pool map[string]any, offers []Offer) (Ceiling, error) {
	requirements, err := requirementsOf(pool)
	if err != nil {
		return Ceiling{}, err
	}
	var allowed []Offer
	for _, o := range offers {
		if o.Requirements.Intersects(requirements) == nil {
			allowed = append(allowed, o)
		}
	}
	least := Ceiling{Unlimited: true}
	for name, limit := range limitsOf(pool) {
		bound := Ceiling{Monthly: dearest(allowed, name, limit)}
		if counts(name) && (least.Unlimited || bound.Monthly < least.Monthly) {
			least = bound
		}
	}
	return least, nil
}

func counts(name string) bool { return name == "cpu" || name == "memory" || name == "nodes" }

// limitsOf returns the limits of a pool; of a static pool, whose number of
// nodes is fixed, that number.
func limitsOf(pool map[string]any) map[string]resource.Quantity {
	limits := map[string]resource.Quantity{}
	written, _ := lookup(pool, "spec.limits").(map[string]any)
	for name, raw := range written {
		if q, err := resource.ParseQuantity(fmt.Sprint(raw)); err == nil {
			limits[name] = q
		}
	}
	if replicas := lookup(pool, "spec.replicas"); replicas != nil {
		if q, err := resource.ParseQuantity(fmt.Sprint(replicas)); err == nil {
			limits["nodes"] = q
		}
	}
	return limits
}

// dearest fills a limit with the offer that costs most for it.
func dearest(offers []Offer, name string, limit resource.Quantity) catalog.Money {
	most := new(big.Rat)
	for _, o := range offers {
		size := map[string]int64{"cpu": o.MilliCPU, "memory": o.MemoryBytes, "nodes": 1}[name]
		if size <= 0 {
			continue
		}
		total := limit.Value()
		if name == "cpu" {
			total = limit.MilliValue()
		}
		cost := new(big.Rat).Mul(big.NewRat(int64(o.Monthly), size), big.NewRat(total, 1))
		if cost.Cmp(most) > 0 {
			most = cost
		}
	}
	whole := new(big.Int).Div(most.Num(), most.Denom())
	return catalog.Money(whole.Int64())
}

// cost adds up what all pools can cost, before and after, and notes it on the
// changes.
func (p *Plan) cost(base, head State) error {
	before, err := base.ceilings(&p.Before)
	if err != nil {
		return err
	}
	after, err := head.ceilings(&p.After)
	if err != nil {
		return err
	}
	for i := range p.Changes {
		c := &p.Changes[i]
		key := id{c.Kind, c.Name}
		if old, ok := before[key]; ok {
			c.Before = &old
		}
		if now, ok := after[key]; ok {
			c.After = &now
		}
	}
	return nil
}

func (s State) ceilings(total *Ceiling) (map[id]Ceiling, error) {
	each := map[id]Ceiling{}
	for _, o := range s.Objects {
		if o.Kind() != "NodePool" {
			continue
		}
		c, err := ceilingOf(o.Defaulted, s.Offers)
		if err != nil {
			return nil, fmt.Errorf("price %s: %w", o.Addr, err)
		}
		each[o.id()] = c
		*total = total.plus(c)
	}
	return each, nil
}
