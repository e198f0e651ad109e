// Package limits enforces the limits over several NodePools and those of each NodePool: Enforcer.Reserve chooses a
// plan type for a NodeClaim for which all limits have room. The package also stops NodePools that replace nodes
// endlessly.
//
// The arithmetic (Limit, Book) takes limits, claims and a wish, and returns either the place in the books or the
// limit that refuses; amounts are whole numbers, so that sums are exact. Enforcer and the controllers read and
// write objects around it. The package counts NodeClaims and does not depend on how machines are created.
package limits

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// Resources that every node has an amount of, by the names that limits use.
// Others, such as nvidia.com/gpu, are named as Kubernetes names them.
const (
	Nodes       = "nodes"
	CPU         = "cpu"          // thousandths of a CPU
	Memory      = "memory"       // bytes
	MonthlyCost = "monthly_cost" // millionths of a US dollar
)

// Amounts are amounts by resource. A missing resource means zero, or, in a limit, no cap.
type Amounts map[string]int64

// Limit is a cap on what the nodes of some pools use together.
type Limit struct {
	Name  string
	Pools []string // names of NodePools; nil means all of them
	Max   Amounts
	// Own marks the limits of a single NodePool. They work as in Karpenter: the resources that nodes report count,
	// not those of their plans, and a node that is being replaced makes room for its replacement.
	Own bool
}

// Covers reports whether a pool's nodes count.
func (l Limit) Covers(pool string) bool { return l.Pools == nil || slices.Contains(l.Pools, pool) }

// amounts returns what a node counts for.
func (l Limit) amounts(n Node) Amounts {
	switch {
	case !l.Covers(n.Pool), l.Own && n.Replaced:
		return nil
	case l.Own:
		return n.Reported
	}
	return n.Sold
}

// Node is a machine that exists, is on order, or is requested.
type Node struct {
	Pool     string
	Plan     string
	Sold     Amounts // the resources and the price of the plan
	Reported Amounts // the resources that a node of the plan reports
	Replaced bool    // it is being replaced, and Karpenter has planned without it
}

// Refusal is a limit that has no room for a wish.
type Refusal struct {
	Limit    Limit
	Resource string
	Used     int64
	Wanted   int64
}

// Tally is what the nodes use of each limit. It does not change.
type Tally struct {
	limits []Limit
	used   []Amounts
}

// Count adds up what the nodes use of each limit.
func Count(limits []Limit, nodes []Node) Tally {
	t := Tally{limits: limits, used: make([]Amounts, len(limits))}
	for i, l := range limits {
		t.used[i] = Amounts{}
		for _, n := range nodes {
			for resource, amount := range l.amounts(n) {
				t.used[i][resource] += amount
			}
		}
	}
	return t
}

// Refuses returns the first limit that has no room for the wish, with the first such resource by name.
func (t Tally) Refuses(wish Node) (Refusal, bool) {
	for refusal := range t.Refusals(wish) {
		return refusal, true
	}
	return Refusal{}, false
}

// Refusals returns all limits and resources without room for the wish, sorted by limit and by the name of the
// resource.
func (t Tally) Refusals(wish Node) iter.Seq[Refusal] {
	return func(yield func(Refusal) bool) {
		for i, l := range t.limits {
			amounts := l.amounts(wish)
			for _, resource := range slices.Sorted(maps.Keys(l.Max)) {
				used, wanted := t.used[i][resource], amounts[resource]
				if wanted > 0 && wanted > l.Max[resource]-used &&
					!yield(Refusal{Limit: l, Resource: resource, Used: used, Wanted: wanted}) {
					return
				}
			}
		}
	}
}

// Shared returns the tally without the limits of single NodePools.
func (t Tally) Shared() Tally {
	var shared Tally
	for i, l := range t.limits {
		if !l.Own {
			shared.limits, shared.used = append(shared.limits, l), append(shared.used, t.used[i])
		}
	}
	return shared
}

// Only returns the tally of the shared limit with a name; it is empty if there is none.
func (t Tally) Only(name string) Tally { return t.one(name, false) }

// Own returns the tally of a NodePool's own limits; it is empty if it has none.
func (t Tally) Own(pool string) Tally { return t.one(pool, true) }

func (t Tally) one(name string, own bool) Tally {
	for i, l := range t.limits {
		if l.Name == name && l.Own == own {
			return Tally{limits: t.limits[i : i+1], used: t.used[i : i+1]}
		}
	}
	return Tally{}
}

// Used returns what the nodes use of all limits of the tally together.
func (t Tally) Used() Amounts {
	sum := Amounts{}
	for _, used := range t.used {
		for resource, amount := range used {
			sum[resource] += amount
		}
	}
	return sum
}

// Room returns what is left of each capped resource; zero if more is used than the limit allows.
func Room(most, used Amounts) Amounts {
	room := Amounts{}
	for resource, m := range most {
		room[resource] = max(0, m-used[resource])
	}
	return room
}

// ByName sorts limits in the order in which refusals name them: shared ones first.
func ByName(limits []Limit) {
	slices.SortFunc(limits, func(a, b Limit) int {
		return cmp.Or(cmp.Compare(kindOf(a), kindOf(b)), cmp.Compare(a.Name, b.Name))
	})
}

func sharedLimit(cl *lkeplanv1alpha1.CapacityLimit) Limit {
	l := Limit{Name: cl.Name, Pools: cl.Spec.NodePools, Max: Amounts{}}
	if cl.Spec.Nodes != nil {
		l.Max[Nodes] = *cl.Spec.Nodes
	}
	if cl.Spec.CPU != nil {
		l.Max[CPU] = wholeAmount(corev1.ResourceCPU, *cl.Spec.CPU)
	}
	if cl.Spec.Memory != nil {
		l.Max[Memory] = wholeAmount(corev1.ResourceMemory, *cl.Spec.Memory)
	}
	if cl.Spec.MonthlyCost != nil {
		money, err := catalog.ParseMoney(*cl.Spec.MonthlyCost)
		if err != nil { // the CRD allows only digits, so there are too many to be a cap
			money = math.MaxInt64
		}
		l.Max[MonthlyCost] = int64(money)
	}
	return l
}

func ownLimit(pool *karpv1.NodePool) Limit {
	l := Limit{Name: pool.Name, Pools: []string{pool.Name}, Max: Amounts{}, Own: true}
	for name, quantity := range pool.Spec.Limits {
		l.Max[string(name)] = wholeAmount(name, quantity)
	}
	return l
}

// reportedAmounts returns the amounts that a node reports.
func reportedAmounts(list corev1.ResourceList) Amounts {
	amounts := Amounts{Nodes: 1}
	for name, quantity := range list {
		amounts[string(name)] = wholeAmount(name, quantity)
	}
	return amounts
}

// wholeAmount returns a quantity in whole units of its resource, rounded down: a limit
// must not grow by its fraction.
func wholeAmount(name corev1.ResourceName, q resource.Quantity) int64 {
	if name == corev1.ResourceCPU {
		if q.CmpInt64(math.MaxInt64/1000) >= 0 {
			return math.MaxInt64
		}
		return q.MilliValue()
	}
	if q.CmpInt64(math.MaxInt64) >= 0 {
		return math.MaxInt64
	}
	n := q.Value()
	if q.CmpInt64(n) < 0 {
		n--
	}
	return n
}

// inUnits formats an amount with its unit.
func inUnits(name string, n int64) string {
	switch name {
	case CPU:
		text := resource.NewMilliQuantity(n, resource.DecimalSI).String() + " CPUs"
		if n == 1000 {
			return strings.TrimSuffix(text, "s")
		}
		return text
	case Memory:
		return schemas.Bytes(n) + " of memory"
	case MonthlyCost:
		return catalog.Money(n).Text() + " a month"
	}
	if name == Nodes && n == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d %s", n, name)
}

// describeRefusal says in one sentence which limit refuses a plan type, what it allows and what is used.
func describeRefusal(r Refusal, plan string) string {
	most := r.Limit.Max[r.Resource]
	text := fmt.Sprintf("%s %s has no capacity for a node of %s: it allows %s",
		kindOf(r.Limit), r.Limit.Name, plan, inUnits(r.Resource, most))
	if r.Resource == Nodes {
		return text + fmt.Sprintf(" and has %d, including nodes that are being created", r.Used)
	}
	return text + fmt.Sprintf(" and uses %s; the node needs %s",
		inUnits(r.Resource, r.Used), inUnits(r.Resource, r.Wanted))
}

func kindOf(l Limit) string {
	if l.Own {
		return "NodePool"
	}
	return "CapacityLimit"
}
