package inspect

import (
	"slices"
	"strings"
	"time"

	conditions "github.com/awslabs/operatorpkg/status"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/lkeplan/lkeplan/engine/nodeplan"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// LimitStatus is a CapacityLimit.
type LimitStatus struct {
	Name    string   `json:"name"`
	Pools   []string `json:"pools,omitempty"` // empty: all of them
	Amounts []Amount `json:"amounts"`
	Says    []Remark `json:"says"`
}

// Amount is the limit of a resource and its use, as text.
type Amount struct {
	Resource string `json:"resource"`
	Used     string `json:"used"`
	Most     string `json:"most"`
	Left     string `json:"left"`
	full     bool
}

// amountText writes an amount for users, who do not count bytes.
func amountText(name, amount string) string {
	q, err := resource.ParseQuantity(amount)
	if err != nil || name != string(corev1.ResourceMemory) && name != string(corev1.ResourceEphemeralStorage) {
		return amount
	}
	return schemas.Bytes(q.Value())
}

// used, most and left are for people.
func (a Amount) used() string { return amountText(a.Resource, a.Used) }
func (a Amount) most() string { return amountText(a.Resource, a.Most) }
func (a Amount) left() string { return amountText(a.Resource, a.Left) }

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

// ownLimits returns the limits of a NodePool, by name. The used amount is that of its nodes without those that are
// being deleted, as Karpenter counts, whether Karpenter runs or not.
func (w *reader) ownLimits(pool *karpv1.NodePool) []Amount {
	amounts := []Amount{}
	if len(pool.Spec.Limits) == 0 {
		return amounts
	}
	used := corev1.ResourceList{}
	for _, nc := range w.Claims {
		if nc.Labels[karpv1.NodePoolLabelKey] == pool.Name && nc.DeletionTimestamp.IsZero() {
			used = resources.MergeInto(used, nc.Status.Capacity)
			used = resources.MergeInto(used, corev1.ResourceList{resources.Node: resource.MustParse("1")})
		}
	}
	for name, most := range pool.Spec.Limits {
		amounts = append(amounts, amountOf(string(name), used[name], most))
	}
	slices.SortFunc(amounts, func(a, b Amount) int { return strings.Compare(a.Resource, b.Resource) })
	return amounts
}

func (w *reader) limits() []LimitStatus {
	limits := []LimitStatus{}
	for _, cl := range w.Snapshot.Limits {
		l := LimitStatus{Name: cl.Name, Pools: cl.Spec.NodePools, Amounts: sharedAmounts(cl), Says: []Remark{}}
		reached := meta.FindStatusCondition(cl.Status.Conditions, lkeplanv1alpha1.ConditionReached)
		if reached != nil && reached.Status == metav1.ConditionTrue {
			l.Says = append(l.Says, newRemark(RemarkFull, reached.Message, reached.LastTransitionTime))
		}
		ready := meta.FindStatusCondition(cl.Status.Conditions, lkeplanv1alpha1.ConditionReady)
		if ready != nil && ready.Status == metav1.ConditionFalse {
			l.Says = append(l.Says, newRemark(RemarkNotReady, ready.Message, ready.LastTransitionTime))
		}
		limits = append(limits, l)
	}
	return limits
}

// sharedAmounts returns the amounts that a CapacityLimit bounds. Its controller counts what is
// used.
func sharedAmounts(cl *lkeplanv1alpha1.CapacityLimit) []Amount {
	amounts, used := []Amount{}, cl.Status.Used
	if most := cl.Spec.Nodes; most != nil {
		amounts = append(amounts, amountOf("nodes", wholeQuantity(ptr.Deref(used.Nodes, 0)), wholeQuantity(*most)))
	}
	if most := cl.Spec.CPU; most != nil {
		amounts = append(amounts, amountOf("cpu", ptr.Deref(used.CPU, resource.Quantity{}), *most))
	}
	if most := cl.Spec.Memory; most != nil {
		amounts = append(amounts, amountOf("memory", ptr.Deref(used.Memory, resource.Quantity{}), *most))
	}
	if most := cl.Spec.MonthlyCost; most != nil {
		has, _ := catalog.ParseMoney(ptr.Deref(used.MonthlyCost, "0")) // the API server has validated both
		bound, _ := catalog.ParseMoney(*most)
		left := max(0, bound-has)
		amounts = append(amounts, Amount{
			Resource: "monthly_cost", Used: has.Text(), Most: bound.Text(), Left: left.Text(),
			full: left == 0,
		})
	}
	return amounts
}

func wholeQuantity(n int64) resource.Quantity { return *resource.NewQuantity(n, resource.DecimalSI) }

// ClassStatus is a LinodeNodeClass with something to report.
type ClassStatus struct {
	Name  string   `json:"name"`
	Pools int      `json:"pools"` // that use it
	Says  []Remark `json:"says"`
}

// classes returns those with something to report, by name.
func (w *reader) classes() []ClassStatus {
	classes := []ClassStatus{}
	for _, class := range w.Snapshot.Classes {
		c := ClassStatus{Name: class.Name, Says: append(classRemarks(class),
			w.rolls.drift[manifest.Key{Kind: "LinodeNodeClass", Name: class.Name}]...)}
		for _, p := range w.Snapshot.Pools {
			if classOf(p) == class.Name {
				c.Pools++
			}
		}
		if len(c.Says) > 0 {
			classes = append(classes, c)
		}
	}
	return classes
}

func classRemarks(class *linodev1alpha1.LinodeNodeClass) (says []Remark) {
	set := class.StatusConditions(conditions.WithObservedOnly())
	for _, c := range []struct {
		kind string
		what RemarkKind
	}{
		{linodev1alpha1.ConditionValidationSucceeded, RemarkNotReady},
		{linodev1alpha1.ConditionLinodeAnswers, RemarkLinode},
		{linodev1alpha1.ConditionVersionCurrent, RemarkVersion},
	} {
		if found := set.Get(c.kind); found.IsFalse() {
			says = append(says, newRemark(c.what, found.Message, found.LastTransitionTime))
		}
	}
	if found := set.Get(linodev1alpha1.ConditionPlanClosed); found.IsTrue() {
		says = append(says, newRemark(RemarkStock, found.Message, found.LastTransitionTime))
	}
	return says
}

// NodePlanStatus is what a NodePlan has applied, and what it waits for.
type NodePlanStatus struct {
	Namespace  string     `json:"namespace"`
	Name       string     `json:"name"`
	State      string     `json:"state"`
	Applied    string     `json:"applied,omitempty"`  // revision
	Tried      string     `json:"tried,omitempty"`    // revision, if it differs
	Since      *time.Time `json:"since,omitempty"`    // when it got into its state
	Outdated   *int       `json:"outdated,omitempty"` // nodes; empty while that is unknown
	NextWindow *time.Time `json:"next_window,omitempty"`
	Message    string     `json:"message,omitempty"` // if it is not ready
	pools      []string
}

func (w *reader) nodePlans() []NodePlanStatus {
	plans := []NodePlanStatus{}
	for _, np := range w.Plans {
		n := nodePlanOf(np)
		if n.Outdated != nil { // its status may lag
			n.Outdated = new(int)
			for _, name := range n.pools {
				r := w.rolls.pools[name]
				if *n.Outdated += r.Outdated; r.Condemned != nil {
					*n.Outdated += r.Of - r.Outdated
				}
			}
		}
		plans = append(plans, n)
	}
	return plans
}

func nodePlanOf(np *lkeplanv1alpha1.NodePlan) NodePlanStatus {
	s := np.Status
	n := NodePlanStatus{
		Namespace: np.Namespace, Name: np.Name, State: nodeplan.State(np), Applied: s.LastAppliedRevision,
		Outdated:   s.Outdated,
		NextWindow: timeOrNil(ptr.Deref(s.NextWindow, metav1.Time{}).Time),
	}
	if s.LastAttemptedRevision != s.LastAppliedRevision {
		n.Tried = s.LastAttemptedRevision
	}
	if ready := meta.FindStatusCondition(s.Conditions, fluxmeta.ReadyCondition); ready != nil {
		n.Since = timeOrNil(ready.LastTransitionTime.Time)
	}
	if n.State != nodeplan.Ready {
		n.Message = nodeplan.Message(np)
	}
	for _, p := range s.Pools {
		n.pools = append(n.pools, p.Name)
	}
	return n
}
