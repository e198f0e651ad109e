package plan

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// TestMostIsBestMixWithinLimits: of drawn offers and limits, the most is what no mix of whole nodes goes beyond, what
// some mix of parts of nodes comes to within two limits, and no more than what any two limits allow. A limit is said to
// bind if more of it allows more.
func TestMostIsBestMixWithinLimits(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(20261126, 1))
	for range 300 {
		offers := make([]Offer, 1+random.IntN(4))
		for i := range offers {
			offers[i] = Offer{MilliCPU: 1000 * (1 + random.Int64N(8)), MemoryBytes: (1 + random.Int64N(16)) << 30,
				Monthly: catalog.Money(1+random.Int64N(100)) * catalog.Dollar}
		}
		limits := map[string]resource.Quantity{}
		for name, text := range map[string]string{
			"nodes": fmt.Sprint(1 + random.IntN(6)), "cpu": fmt.Sprint(1 + random.IntN(30)), "memory": fmt.Sprintf("%dGi", 1+random.IntN(60)),
		} {
			if random.IntN(3) > 0 || len(limits) == 0 && name == "memory" {
				limits[name] = resource.MustParse(text)
			}
		}
		got, by := mixOf(offers).most(limits)
		if len(limits) == 0 {
			if !got.Unlimited {
				t.Errorf("without limits: %v", got)
			}
			continue
		}
		if whole := wholeNodes(offers, limits, 0); whole > got.Monthly {
			t.Fatalf("%v within %v cost %d, and the most is %d", offers, limits, whole, got.Monthly)
		}
		parts := vertices(offers, limits)
		if parts > float64(got.Monthly)+2+parts*1e-9 || len(limits) < 3 && parts < float64(got.Monthly)-2-parts*1e-9 {
			t.Fatalf("%v within %v: %d, want %f", offers, limits, got.Monthly, parts)
		}
		if len(limits) == 3 {
			of := map[string]resource.Quantity{"cpu": limits["cpu"], "memory": limits["memory"]}
			if two := vertices(offers, of); float64(got.Monthly) > two+2+two*1e-9 {
				t.Fatalf("%v within %v: %d, and without the limit of nodes %f", offers, limits, got.Monthly, two)
			}
		}
		for name, limit := range limits {
			alone, _ := mixOf(offers).most(map[string]resource.Quantity{name: limit})
			if alone.Monthly < got.Monthly {
				t.Fatalf("%v within %v: %d, and with %s alone %d", offers, limits, got.Monthly, name, alone.Monthly)
			}
			more := limit.DeepCopy()
			more.Add(limit)
			changed := map[string]resource.Quantity{}
			for other := range limits {
				changed[other] = limits[other]
			}
			changed[name] = more
			raised, _ := mixOf(offers).most(changed)
			if raised != got && !slices.Contains(by, name) {
				t.Fatalf("%v within %v: more %s costs %d instead of %d, and it is not said to bind: %v", offers, limits, name,
					raised.Monthly, got.Monthly, by)
			}
		}
	}
}

// wholeNodes is the most that whole nodes cost, tried one after the other.
func wholeNodes(offers []Offer, limits map[string]resource.Quantity, first int) (most catalog.Money) {
	for i, o := range offers[first:] {
		left, fits := map[string]resource.Quantity{}, true
		for name, limit := range limits {
			rest := limit.DeepCopy()
			size := resource.NewQuantity(o.Size(name), resource.DecimalSI)
			if name == "cpu" {
				size = resource.NewMilliQuantity(o.Size(name), resource.DecimalSI)
			}
			rest.Sub(*size)
			fits = fits && rest.Sign() >= 0
			left[name] = rest
		}
		if fits {
			most = max(most, o.Monthly+wholeNodes(offers, left, first+i))
		}
	}
	return most
}

// vertices is the most of a linear program by trying each choice of as many offers as limits bind.
func vertices(offers []Offer, limits map[string]resource.Quantity) (most float64) {
	var names []string
	for _, name := range counted {
		if _, ok := limits[name]; ok {
			names = append(names, name)
		}
	}
	size := func(o Offer, name string) float64 { return float64(o.Size(name)) }
	amount := func(name string) float64 { f, _ := inShares(name, limits[name]).Float64(); return f }
	for rows := 1; rows < 1<<len(names); rows++ {
		for columns := 1; columns < 1<<len(offers); columns++ {
			var a [][]float64
			var b []float64
			var chosen []Offer
			for i, o := range offers {
				if columns&(1<<i) != 0 {
					chosen = append(chosen, o)
				}
			}
			for i, name := range names {
				if rows&(1<<i) != 0 {
					row := make([]float64, len(chosen))
					for j, o := range chosen {
						row[j] = size(o, name) / amount(name)
					}
					a, b = append(a, row), append(b, 1)
				}
			}
			x, ok := solve(a, b)
			if len(a) != len(chosen) || !ok {
				continue
			}
			var sum float64
			for j, o := range chosen {
				ok = ok && x[j] >= -1e-9
				sum += x[j] * float64(o.Monthly)
			}
			for _, name := range names {
				var used float64
				for j, o := range chosen {
					used += x[j] * size(o, name) / amount(name)
				}
				ok = ok && used <= 1+1e-9
			}
			if ok {
				most = max(most, sum)
			}
		}
	}
	return most
}

// solve solves as many equations as there are unknowns, by Cramer's rule.
func solve(a [][]float64, b []float64) ([]float64, bool) {
	n := len(a)
	if n == 0 || n != len(a[0]) {
		return nil, false
	}
	whole := determinant(a)
	if math.Abs(whole) < 1e-12 {
		return nil, false
	}
	x := make([]float64, n)
	for j := range x {
		with := make([][]float64, n)
		for i := range a {
			with[i] = append([]float64(nil), a[i]...)
			with[i][j] = b[i]
		}
		x[j] = determinant(with) / whole
	}
	return x, true
}

func determinant(a [][]float64) float64 {
	switch len(a) {
	case 1:
		return a[0][0]
	case 2:
		return a[0][0]*a[1][1] - a[0][1]*a[1][0]
	}
	return a[0][0]*(a[1][1]*a[2][2]-a[1][2]*a[2][1]) - a[0][1]*(a[1][0]*a[2][2]-a[1][2]*a[2][0]) +
		a[0][2]*(a[1][0]*a[2][1]-a[1][1]*a[2][0])
}

// TestSharedLimitGoesToDearestFirst: pools that share CPUs cost most if the one that costs most for a CPU is full,
// and the others have the rest.
func TestSharedLimitGoesToDearestFirst(t *testing.T) {
	t.Parallel()
	of := func(name string, cpu int64, dollars catalog.Money, most Ceiling) pricedPool {
		return pricedPool{name, mixOf([]Offer{{MilliCPU: cpu * 1000, MemoryBytes: 1 << 30, Monthly: dollars * catalog.Dollar}}), Cost{Ceiling: most}}
	}
	gpu, web := of("gpu", 24, 1500, Ceiling{Monthly: 1500 * catalog.Dollar}), of("web", 4, 96, Ceiling{Unlimited: true})
	for _, tt := range []struct {
		pools []pricedPool
		cpus  int64
		want  string
	}{
		{[]pricedPool{gpu, web}, 100, "$3,324"}, // 1500 + 76 × 24
		{[]pricedPool{web, gpu}, 24, "$1,500"},
		{[]pricedPool{web, gpu}, 12, "$750"},
		{[]pricedPool{gpu}, 100, "$1,500"},
		{nil, 100, "$0"},
	} {
		if got := fillCheapest(tt.pools, 1, big.NewRat(tt.cpus*1000, 1)); got.String() != tt.want {
			t.Errorf("%d CPUs: %s, want %s", tt.cpus, got, tt.want)
		}
	}
}
