package plan

import (
	"math"
	"math/bits"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// A rate is an offer as a price for so much of a resource.
type rate struct {
	monthly catalog.Money
	size    int64
	atLeast bool // the rate of a plan is not known
}

// above reports whether as much costs more at a than at b.
func (a rate) above(b rate) bool {
	high, low := bits.Mul64(uint64(a.monthly), uint64(b.size))
	otherHigh, otherLow := bits.Mul64(uint64(b.monthly), uint64(a.size))
	return high > otherHigh || high == otherHigh && low > otherLow
}

// rates are the highest rates of several offers, by resource.
type rates map[string]rate

func ratesOf(offers []Offer) rates {
	highest := rates{}
	for _, o := range offers {
		for _, name := range []string{"nodes", "cpu", "memory"} {
			if o.Unknown {
				highest.add(rates{name: {size: 1, atLeast: true}})
			} else if size := o.Size(name); size > 0 {
				highest.add(rates{name: {monthly: o.Monthly, size: size}})
			}
		}
	}
	return highest
}

func (all rates) add(more rates) {
	for name, r := range more {
		had, ok := all[name]
		atLeast := had.atLeast || r.atLeast
		if ok && !r.above(had) {
			r = had
		}
		r.atLeast = atLeast
		all[name] = r
	}
}

// fill is what an amount of a resource costs in a month at the highest rate. An amount that is
// too large to be counted limits nothing.
func (all rates) fill(name string, amount resource.Quantity) Ceiling {
	r, ok := all[name]
	if !ok || amount.Sign() <= 0 {
		return Ceiling{}
	}
	unit := int64(1)
	if name == "cpu" {
		unit = 1000
	}
	if amount.CmpInt64(math.MaxInt64/unit) > 0 { // its Value would wrap
		return Ceiling{Unlimited: true}
	}
	total := amount.Value()
	if name == "cpu" {
		total = amount.MilliValue()
	}
	high, low := bits.Mul64(uint64(r.monthly), uint64(total))
	if high >= uint64(r.size) {
		return Ceiling{Unlimited: true}
	}
	cost, _ := bits.Div64(high, low, uint64(r.size))
	return Ceiling{Monthly: catalog.Money(cost), Unlimited: cost > math.MaxInt64, AtLeast: r.atLeast}
}
