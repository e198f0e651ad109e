package plan

import (
	"math/big"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// The resources that limits count, in the order of shares.
var counted = [...]string{"nodes", "cpu", "memory"}

// A share is how much of each counted resource a dollar buys with an offer. CPUs are in thousandths.
type share []*big.Rat

// A mix is the shares of the offers for nodes. Offers that use more of each resource for the same money are left out: limits
// allow less money for them.
type mix struct {
	shares  []share
	unknown bool // an offer has no price, and may cost more than all others
}

func mixOf(offers []Offer) (m mix) {
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
	return m
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

// most is the maximum monthly cost of nodes of the mix within limits on nodes, cpu and memory, and the limits that bind. It
// is the maximum of a linear program. Fractions of nodes count, so it is an upper bound.
func (m mix) most(limits map[string]resource.Quantity) (most Ceiling, by []string) {
	var names []string
	var amounts []*big.Rat
	for _, name := range counted {
		limit, ok := limits[name]
		if !ok {
			continue
		}
		if limit.Sign() <= 0 {
			return Ceiling{}, []string{name}
		}
		names, amounts = append(names, name), append(amounts, inShares(name, limit))
	}
	if len(names) == 0 {
		return Ceiling{Unlimited: true}, nil
	}
	var limited mix // the limited resources
	for _, s := range m.shares {
		var column share
		for j, name := range counted {
			if slices.Contains(names, name) {
				column = append(column, s[j])
			}
		}
		limited.add(column)
	}
	sum, binding := maximize(limited.shares, amounts)
	most = ceilingOf(sum)
	most.AtLeast = m.unknown && !most.Unlimited
	if most.Unlimited { // more than an amount can hold
		return most, nil
	}
	for i, name := range names {
		if binding[i] {
			by = append(by, name)
		}
	}
	return most, by
}

// inShares is a limit in the unit of shares.
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

// maximize returns the largest sum of non-negative amounts of columns such that each row, weighted with the amounts, is
// within its positive limit. It also returns the limits that bind: if all of them grow, the sum grows. It returns nil if the
// sum has no bound.
//
// It is the simplex method on fractions with Bland's rule, so that it terminates and is exact.
func maximize(columns []share, limits []*big.Rat) (sum *big.Rat, binding []bool) {
	rows, width := len(limits), len(columns)+len(limits)
	// A row has the coefficients of the columns, then those of the slack of each limit, then the amount of its basic column.
	// The last row is the objective.
	table := make([][]*big.Rat, rows+1)
	basic := make([]int, rows)
	for r := range table {
		table[r] = make([]*big.Rat, width+1)
		for c := range table[r] {
			switch {
			case r == rows && c < len(columns):
				table[r][c] = big.NewRat(-1, 1)
			case r < rows && c < len(columns):
				table[r][c] = new(big.Rat).Set(columns[c][r])
			case r < rows && c == len(columns)+r:
				table[r][c] = big.NewRat(1, 1)
			case r < rows && c == width:
				table[r][c] = new(big.Rat).Set(limits[r])
			default:
				table[r][c] = new(big.Rat)
			}
		}
		if r < rows {
			basic[r] = len(columns) + r
		}
	}
	for {
		enters := slices.IndexFunc(table[rows][:width], func(v *big.Rat) bool { return v.Sign() < 0 })
		if enters < 0 {
			break
		}
		leaves, least := -1, new(big.Rat)
		for r := range rows {
			if table[r][enters].Sign() <= 0 {
				continue
			}
			ratio := new(big.Rat).Quo(table[r][width], table[r][enters])
			order := ratio.Cmp(least)
			if leaves < 0 || order < 0 || order == 0 && basic[r] < basic[leaves] {
				leaves, least = r, ratio
			}
		}
		if leaves < 0 {
			return nil, make([]bool, rows)
		}
		pivot(table, leaves, enters)
		basic[leaves] = enters
	}
	for r := range rows {
		binding = append(binding, table[rows][len(columns)+r].Sign() > 0)
	}
	return table[rows][width], binding
}

// pivot makes a column the basic column of a row.
func pivot(table [][]*big.Rat, row, column int) {
	by := new(big.Rat).Inv(table[row][column])
	for _, v := range table[row] {
		v.Mul(v, by)
	}
	for r := range table {
		factor := new(big.Rat).Set(table[r][column])
		if r == row || factor.Sign() == 0 {
			continue
		}
		for c, v := range table[r] {
			v.Sub(v, new(big.Rat).Mul(factor, table[row][c]))
		}
	}
}

// both is the sorted union of two lists of names.
func both(a, b []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
}
