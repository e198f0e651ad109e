package plan

import (
	"math/big"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas"
)

// The resources that limits count, in the order of shares: all that a catalogue knows of plan types.
var counted = [...]string{"nodes", "cpu", "memory", schemas.Pods, schemas.EphemeralStorage, schemas.GPU, schemas.VPU}

// A share is how much of each counted resource a dollar buys with an offer. CPUs are in thousandths.
type share []*big.Rat

// A mix is the shares of the offers for nodes. Offers that use more of each resource for the same money are left out:
// limits allow less money for them.
type mix struct {
	shares  []share
	least   share // of each resource, among the shares; nil if there are none
	unknown bool  // an offer has no price, and may cost more than all others
}

func mixOf(offers []Offer) *mix {
	var m mix
	for _, o := range offers {
		switch {
		case o.Unknown:
			m.unknown = true
		case o.Monthly > 0:
			s := make(share, len(counted))
			for i, name := range counted {
				s[i] = big.NewRat(o.Size(name), int64(o.Monthly))
			}
			m.add(s)
		}
	}
	if len(m.shares) > 0 {
		m.least = slices.Clone(m.shares[0])
	}
	for _, s := range m.shares {
		for i := range s {
			m.least[i] = smallerRat(m.least[i], s[i])
		}
	}
	return &m
}

func (m *mix) add(more ...share) {
	for _, s := range more {
		if !slices.ContainsFunc(m.shares, func(had share) bool { return had.within(s) }) {
			m.shares = append(slices.DeleteFunc(m.shares, s.within), s)
		}
	}
}

// within reports whether a share uses no more of any resource than another.
func (s share) within(other share) bool {
	for i := range s {
		if s[i].Cmp(other[i]) > 0 {
			return false
		}
	}
	return true
}

// most returns the maximum monthly cost of nodes of the mix within limits on nodes, cpu and memory, and the limits
// that bind: the lowest maximum within one of them, or within two. Within two limits, the dearest mix has at most
// two offers. Fractions of nodes count, so it is an upper bound.
func (m mix) most(limits map[string]resource.Quantity) (most Ceiling, by []string) {
	var limited []int // resources
	var amounts [len(counted)]*big.Rat
	for i, name := range counted {
		limit, ok := limits[name]
		if !ok {
			continue
		}
		if limit.Sign() <= 0 {
			if slices.ContainsFunc(m.shares, func(s share) bool { return s[i].Sign() == 0 }) {
				continue // it has plan types without that device
			}
			return Ceiling{}, []string{name}
		}
		limited, amounts[i] = append(limited, i), inShares(name, limit)
	}
	most = Ceiling{Unlimited: true}
	if len(limited) > 0 && len(m.shares) == 0 {
		return Ceiling{AtLeast: m.unknown}, nil
	}
	for _, a := range limited {
		if c := ceilingOf(m.within(a, a, amounts[a], amounts[a])); !c.Unlimited && (most.Unlimited || c.Monthly < most.Monthly) {
			most, by = c, []string{counted[a]}
		}
	}
	for i, a := range limited {
		for _, b := range limited[i+1:] {
			if c := ceilingOf(m.within(a, b, amounts[a], amounts[b])); !c.Unlimited && (most.Unlimited || c.Monthly < most.Monthly) {
				most, by = c, []string{counted[a], counted[b]}
			}
		}
	}
	most.AtLeast = m.unknown && !most.Unlimited
	return most, by
}

// within returns the maximum cost within limits on two resources, which may be the same; nil if it has no bound. It
// tries each offer and each pair of offers that uses up both limits, first with floating point numbers.
func (m mix) within(a, b int, limitA, limitB *big.Rat) *big.Rat {
	number := func(r *big.Rat) float64 { f, _ := r.Float64(); return f }
	most, first, second := -1.0, 0, 0
	la, lb := number(limitA), number(limitB)
	as, bs := make([]float64, len(m.shares)), make([]float64, len(m.shares))
	for i, s := range m.shares {
		as[i], bs[i] = number(s[a]), number(s[b])
		if s[a].Sign() == 0 && s[b].Sign() == 0 {
			return nil
		}
		if sum := min(la/as[i], lb/bs[i]); sum > most {
			most, first, second = sum, i, i
		}
		for j := range i {
			d := as[i]*bs[j] - as[j]*bs[i]
			x, y := (la*bs[j]-lb*as[j])/d, (lb*as[i]-la*bs[i])/d
			if d != 0 && x > 0 && y > 0 && x+y > most {
				most, first, second = x+y, i, j
			}
		}
	}
	s, t := m.shares[first], m.shares[second]
	if first == second {
		return smallerRat(limitQuotient(limitA, s[a]), limitQuotient(limitB, s[b]))
	}
	mul := func(x, y *big.Rat) *big.Rat { return new(big.Rat).Mul(x, y) }
	sub := func(x, y *big.Rat) *big.Rat { return new(big.Rat).Sub(x, y) }
	sum := new(big.Rat).Add(mul(limitA, sub(t[b], s[b])), mul(limitB, sub(s[a], t[a])))
	return sum.Quo(sum, sub(mul(s[a], t[b]), mul(t[a], s[b])))
}

// limitQuotient is nil, without a bound, if nothing of a resource is used.
func limitQuotient(limit, used *big.Rat) *big.Rat {
	if used.Sign() == 0 {
		return nil
	}
	return new(big.Rat).Quo(limit, used)
}

func smallerRat(a, b *big.Rat) *big.Rat {
	if a == nil || b != nil && b.Cmp(a) < 0 {
		return b
	}
	return a
}

// inShares returns a limit in the unit of shares.
func inShares(name string, limit resource.Quantity) *big.Rat {
	dec := limit.AsDec()
	amount := new(big.Rat).SetInt(dec.UnscaledBig())
	scale := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(dec.Scale(), -dec.Scale()))), nil))
	if dec.Scale() < 0 {
		amount.Mul(amount, scale)
	} else {
		amount.Quo(amount, scale)
	}
	if name == "cpu" {
		amount.Mul(amount, big.NewRat(1000, 1))
	}
	return amount
}

// ceilingOf returns the ceiling of an amount; nil stands for unlimited.
func ceilingOf(sum *big.Rat) Ceiling {
	if sum == nil {
		return Ceiling{Unlimited: true}
	}
	whole := new(big.Int).Quo(sum.Num(), sum.Denom())
	if !whole.IsInt64() {
		return Ceiling{Unlimited: true}
	}
	return Ceiling{Monthly: catalog.Money(whole.Int64())}
}

// union returns the sorted union of two lists of names.
func union(a, b []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
}
