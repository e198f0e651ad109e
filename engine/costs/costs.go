// Package costs splits the cost of nodes among those whose pods run on them: the namespaces, or the values of a label.
// "status", "simulate" and "diff --simulate" show the result, so that a team knows what it pays.
//
// A pod has a part of the price of its node: the largest part of the CPU, the memory or another resource of the node
// that it requests. What remains of the price is for room that no pod requests, and for DaemonSets. It is split among
// the other pods of the node in the same ratio, so that the shares add up to the price.
package costs

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// By is what costs are split by. The zero value is the namespace.
type By struct {
	Label string // the key of a label of pods; "" for their namespace
}

// ParseBy reads "namespace" or "label:KEY".
func ParseBy(text string) (By, error) {
	key, isLabel := strings.CutPrefix(text, "label:")
	switch {
	case text == "namespace":
		return By{}, nil
	case isLabel && len(validation.IsQualifiedName(key)) == 0:
		return By{Label: key}, nil
	}
	return By{}, fmt.Errorf("cannot split costs by %q; write namespace, or label:KEY with the key of a label of pods", text)
}

// String returns what ParseBy reads.
func (b By) String() string {
	if b.Label == "" {
		return "namespace"
	}
	return "label:" + b.Label
}

// Heading returns the name of a column of shares.
func (b By) Heading() string { return cmp.Or(b.Label, "namespace") }

// The names of shares without a namespace or value. Neither can have parentheses.
const (
	NoPods  = "(nodes without pods)"
	NoLabel = "(without the label)"
	Buffers = "(buffers)"
)

// Of returns the name of the share to which a pod belongs.
func (b By) Of(pod *corev1.Pod) string {
	if b.Label == "" {
		return pod.Namespace
	}
	return cmp.Or(pod.Labels[b.Label], NoLabel)
}

// Node is a node with its pods, without those of DaemonSets and static pods.
type Node struct {
	Monthly     catalog.Money // what it costs in a month
	Allocatable corev1.ResourceList
	Pods        []Pod
}

// Pod is a pod and the share to which it belongs.
type Pod struct {
	Share    string
	Requests corev1.ResourceList
}

// Share is the cost of a namespace, or of a value of a label. Amounts are whole cents.
type Share struct {
	Name    string        `json:"name"`
	Pods    int           `json:"pods"`
	Monthly catalog.Money `json:"monthly"`
	// Idle is the part of Monthly that is not for requests of its pods: for room that no pod requests, and DaemonSets.
	Idle catalog.Money `json:"idle"`
}

// Breakdown is the cost of nodes, split.
type Breakdown struct {
	By     string  `json:"by"` // as in --cost-by
	Shares []Share `json:"shares"`
}

// Split splits the cost of nodes.
func (b By) Split(nodes []Node) *Breakdown { return &Breakdown{By: b.String(), Shares: split(nodes)} }

// Table returns the shares as rows of text, with the names of the columns first. Before is an earlier state; nil for
// none.
func (b Breakdown) Table(before *Breakdown) [][]string {
	by, _ := ParseBy(b.By)
	rows := [][]string{{by.Heading(), "pods", "monthly", "idle"}}
	was := b
	if before != nil {
		was = *before
	}
	names := []string{}
	for _, s := range slices.Concat(b.Shares, was.Shares) {
		if !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	cell := func(before, after string) string {
		if before == after {
			return after
		}
		return before + " -> " + after
	}
	for _, name := range names {
		old, now := was.Of(name), b.Of(name)
		rows = append(rows, []string{name, cell(fmt.Sprint(old.Pods), fmt.Sprint(now.Pods)),
			cell(old.Monthly.Text(), now.Monthly.Text()), cell(old.Idle.Text(), now.Idle.Text())})
	}
	return rows
}

// Of returns a share; an empty one if there is none with that name.
func (b Breakdown) Of(name string) Share {
	i := slices.IndexFunc(b.Shares, func(s Share) bool { return s.Name == name })
	if i < 0 {
		return Share{Name: name}
	}
	return b.Shares[i]
}

// Legend explains the columns of a table.
const Legend = "A pod pays for the largest part of its node's CPU, memory or another resource that it requests. " +
	"Idle is its part of the room that no pod requests, and of what DaemonSets request."

// split returns the shares of the nodes, the most expensive first. They add up to the cost of all nodes, to the cent.
func split(nodes []Node) []Share {
	of := map[string]*Share{}
	share := func(name string) *Share {
		if of[name] == nil {
			of[name] = &Share{Name: name}
		}
		return of[name]
	}
	var total catalog.Money
	for _, n := range nodes {
		total += n.Monthly
		if len(n.Pods) == 0 {
			none := share(NoPods)
			none.Monthly, none.Idle = none.Monthly+n.Monthly, none.Idle+n.Monthly
			continue
		}
		for i, paid := range n.split() {
			s := share(n.Pods[i].Share)
			s.Pods++
			s.Monthly += paid.all
			s.Idle += paid.all - paid.requested
		}
	}
	shares := []Share{}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		shares = append(shares, *of[name])
	}
	roundToCents(shares, total)
	slices.SortStableFunc(shares, func(a, b Share) int { return cmp.Compare(b.Monthly, a.Monthly) })
	return shares
}

// paid is what a pod pays for its node; requested is the part for its requests.
type paid struct{ all, requested catalog.Money }

// split returns what each pod pays. The amounts add up to the price of the node.
func (n Node) split() []paid {
	parts, sum := make([]float64, len(n.Pods)), 0.0
	for i, pod := range n.Pods {
		parts[i] = n.part(pod.Requests)
		sum += parts[i]
	}
	all, left := make([]paid, len(n.Pods)), n.Monthly
	for i, part := range parts {
		ratio := 1 / float64(len(n.Pods)) // no pod requests anything
		if sum > 0 {
			ratio = part / sum
		}
		all[i].all = min(catalog.Money(float64(n.Monthly)*ratio), left)
		all[i].requested = catalog.Money(float64(n.Monthly) * part / max(sum, 1))
		left -= all[i].all
	}
	all[0].all += left // less than a millionth of a dollar for each pod
	return all
}

// part returns the largest part of a resource of the node that a pod requests.
func (n Node) part(requests corev1.ResourceList) (most float64) {
	for name, q := range requests {
		if has, there := n.Allocatable[name]; there && has.Sign() > 0 && q.Sign() > 0 {
			most = max(most, q.AsApproximateFloat64()/has.AsApproximateFloat64())
		}
	}
	return most
}

// roundToCents rounds shares so that they add up to the total, rounded to a cent: those that lose most by rounding down
// get a cent more.
func roundToCents(shares []Share, total catalog.Money) {
	const cent = catalog.Dollar / 100
	left := (total + cent/2) / cent
	byLoss := make([]*Share, len(shares))
	lost := map[*Share]catalog.Money{}
	for i := range shares {
		s := &shares[i]
		byLoss[i], lost[s] = s, s.Monthly%cent
		left -= s.Monthly / cent
	}
	slices.SortStableFunc(byLoss, func(a, b *Share) int { return cmp.Compare(lost[b], lost[a]) })
	for i, s := range byLoss {
		requested := (s.Monthly - s.Idle + cent/2) / cent * cent
		s.Monthly -= lost[s]
		if i < int(left) {
			s.Monthly += cent
		}
		s.Idle = max(s.Monthly-requested, 0)
	}
}
