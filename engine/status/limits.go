package status

import (
	"slices"
	"strings"

	conditions "github.com/awslabs/operatorpkg/status"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lkeplan/lkeplan/linode/catalog"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// Limit is a CapacityLimit.
type Limit struct {
	Name    string   `json:"name"`
	Pools   []string `json:"pools,omitempty"` // left out: all of them
	Amounts []Amount `json:"amounts"`
	Says    []Remark `json:"says"`
}

// Amount is how much of something may be used, as it is written.
type Amount struct {
	Resource string `json:"resource"`
	Used     string `json:"used"`
	Most     string `json:"most"`
	Left     string `json:"left"`
	full     bool
}

func amountOf(name string, used, most resource.Quantity) Amount {
	left := most.DeepCopy()
	left.Sub(used)
	if left.Sign() < 0 {
		left.Set(0)
	}
	return Amount{
		Resource: name, Used: used.String(), Most: most.String(), Left: left.String(), full: left.IsZero(),
	}
}

// limits are the CapacityLimits, by name.
func (w *world) limits() []Limit {
	limits := []Limit{}
	for _, cl := range w.Lists.Limits {
		l := Limit{Name: cl.Name, Pools: cl.Spec.NodePools, Amounts: sharedAmounts(cl), Says: []Remark{}}
		if c := meta.FindStatusCondition(cl.Status.Conditions, lkeplanv1alpha1.ConditionReached); c != nil &&
			meta.IsStatusConditionTrue(cl.Status.Conditions, lkeplanv1alpha1.ConditionReached) {
			l.Says = append(l.Says, remark(Full, c.Message, c.LastTransitionTime))
		}
		if c := meta.FindStatusCondition(cl.Status.Conditions, lkeplanv1alpha1.ConditionReady); c != nil &&
			meta.IsStatusConditionFalse(cl.Status.Conditions, lkeplanv1alpha1.ConditionReady) {
			l.Says = append(l.Says, remark(NotReady, c.Message, c.LastTransitionTime))
		}
		limits = append(limits, l)
	}
	slices.SortFunc(limits, func(a, b Limit) int { return strings.Compare(a.Name, b.Name) })
	return limits
}

// sharedAmounts are those that a CapacityLimit bounds. What is used its controller
// counts.
func sharedAmounts(cl *lkeplanv1alpha1.CapacityLimit) []Amount {
	amounts, used := []Amount{}, cl.Status.Used
	if most := cl.Spec.Nodes; most != nil {
		amounts = append(amounts, amountOf("nodes", whole(used.Nodes), whole(most)))
	}
	if most := cl.Spec.CPU; most != nil {
		amounts = append(amounts, amountOf("cpu", quantity(used.CPU), *most))
	}
	if most := cl.Spec.Memory; most != nil {
		amounts = append(amounts, amountOf("memory", quantity(used.Memory), *most))
	}
	if most := cl.Spec.MonthlyCost; most != nil {
		has, bound := dollars(used.MonthlyCost), dollars(most)
		left := max(0, bound-has)
		amounts = append(amounts, Amount{
			Resource: "monthly_cost", Used: "$" + has.String(), Most: "$" + bound.String(), Left: "$" + left.String(),
			full: left == 0,
		})
	}
	return amounts
}

func whole(n *int64) resource.Quantity {
	if n == nil {
		return resource.Quantity{}
	}
	return *resource.NewQuantity(*n, resource.DecimalSI)
}

func quantity(q *resource.Quantity) resource.Quantity {
	if q == nil {
		return resource.Quantity{}
	}
	return *q
}

// dollars reads an amount that the API server has validated.
func dollars(text *string) catalog.Money {
	if text == nil {
		return 0
	}
	amount, err := catalog.ParseMoney(*text)
	if err != nil {
		return 0
	}
	return amount
}

// Class is a LinodeNodeClass that something is to be said of.
type Class struct {
	Name  string   `json:"name"`
	Pools int      `json:"pools"` // that use it
	Says  []Remark `json:"says"`
}

// classes are those that something is to be said of, by name.
func (w *world) classes() []Class {
	classes := []Class{}
	for _, class := range w.Lists.Classes {
		c := Class{Name: class.Name, Says: classRemarks(class)}
		for _, p := range w.Lists.Pools {
			if classOf(p) == class.Name {
				c.Pools++
			}
		}
		if len(c.Says) > 0 {
			classes = append(classes, c)
		}
	}
	slices.SortFunc(classes, func(a, b Class) int { return strings.Compare(a.Name, b.Name) })
	return classes
}

func classRemarks(class *linodev1alpha1.LinodeNodeClass) (says []Remark) {
	set := class.StatusConditions(conditions.WithObservedOnly())
	for _, c := range []struct {
		kind string
		what What
	}{
		{linodev1alpha1.ConditionValidationSucceeded, NotReady},
		{linodev1alpha1.ConditionLinodeAnswers, Linode},
		{linodev1alpha1.ConditionVersionCurrent, Version},
	} {
		if found := set.Get(c.kind); found.IsFalse() {
			says = append(says, remark(c.what, found.Message, found.LastTransitionTime))
		}
	}
	return says
}
