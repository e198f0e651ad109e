package limits

import (
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/catalog"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// sharedLimit reads a CapacityLimit.
func sharedLimit(cl *lkeplanv1alpha1.CapacityLimit) Limit {
	l := Limit{Name: cl.Name, Pools: cl.Spec.NodePools, Max: Amounts{}}
	if cl.Spec.Nodes != nil {
		l.Max[Nodes] = *cl.Spec.Nodes
	}
	if cl.Spec.CPU != nil {
		l.Max[CPU] = amount(corev1.ResourceCPU, *cl.Spec.CPU)
	}
	if cl.Spec.Memory != nil {
		l.Max[Memory] = amount(corev1.ResourceMemory, *cl.Spec.Memory)
	}
	if cl.Spec.MonthlyCost != nil {
		money, err := catalog.ParseMoney(*cl.Spec.MonthlyCost)
		if err != nil { // the CRD admits digits only: there are too many of them to be a cap
			money = math.MaxInt64
		}
		l.Max[MonthlyCost] = int64(money)
	}
	return l
}

// ownLimit reads the limits of a NodePool.
func ownLimit(pool *karpv1.NodePool) Limit {
	l := Limit{Name: pool.Name, Pools: []string{pool.Name}, Max: Amounts{}, Own: true}
	for name, quantity := range pool.Spec.Limits {
		l.Max[string(name)] = amount(name, quantity)
	}
	return l
}

// reported is what a node reports of itself.
func reported(list corev1.ResourceList) Amounts {
	amounts := Amounts{Nodes: 1}
	for name, quantity := range list {
		amounts[string(name)] = amount(name, quantity)
	}
	return amounts
}

// amount is a quantity in whole units of its resource, rounded down: a limit
// must not grow by its fraction.
func amount(name corev1.ResourceName, q resource.Quantity) int64 {
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

// inUnits writes an amount as people write it.
func inUnits(name string, n int64) string {
	switch name {
	case CPU:
		return resource.NewMilliQuantity(n, resource.DecimalSI).String() + " CPUs"
	case Memory:
		return resource.NewQuantity(n, resource.BinarySI).String() + " of memory"
	case MonthlyCost:
		return "$" + catalog.Money(n).String() + " a month"
	}
	return fmt.Sprintf("%d %s", n, name)
}

// describe says in one sentence which limit refuses a plan type, and how much is
// missing.
func describe(r Refusal, plan string) string {
	most := r.Limit.Max[r.Resource]
	text := fmt.Sprintf("%s %s has no room for a node of %s: it allows %s",
		kindOf(r.Limit), r.Limit.Name, plan, inUnits(r.Resource, most))
	if r.Resource == Nodes {
		return text + fmt.Sprintf(", and %d are there or on order", r.Used)
	}
	return text + fmt.Sprintf(", %s are used, and the node has %s",
		inUnits(r.Resource, r.Used), inUnits(r.Resource, r.Wanted))
}

// kindOf is the kind of the object that sets a limit.
func kindOf(l Limit) string {
	if l.Own {
		return "NodePool"
	}
	return "CapacityLimit"
}
