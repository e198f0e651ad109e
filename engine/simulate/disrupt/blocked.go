package disrupt

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"
)

// Blocked is why nodes stay. It is a recorder of Karpenter's events, which say so.
type Blocked struct {
	Nodes map[string]string // what was last said of each
	Pools map[string]bool   // whose budgets let none go, with the reason for which
}

// Publish implements events.Recorder.
func (h Blocked) Publish(all ...events.Event) {
	for _, e := range all {
		switch o := e.InvolvedObject.(type) {
		case *corev1.Node:
			if e.Reason == events.Unconsolidatable || e.Reason == events.DisruptionBlocked {
				h.Nodes[o.Name] = e.Message
			}
		case *karpv1.NodePool:
			if e.Reason == events.DisruptionBlocked {
				h.Pools[o.Name+" "+reasonOf(e.Message)] = true
			}
		}
	}
}

// reasonOf is the reason of disruption that a message names.
func reasonOf(message string) string {
	if _, rest, ok := strings.Cut(message, "disruption reason "); ok {
		reason, _, _ := strings.Cut(rest, " ")
		return reason
	}
	return ""
}

// messages are Karpenter's messages (v1.14.1, package disruption), and what they mean.
var messages = []struct {
	said  *regexp.Regexp
	means string // with the groups of the message
}{
	{regexp.MustCompile(`^Can't replace with a cheaper node`), "neither the others nor a cheaper one have room for its pods"},
	{regexp.MustCompile(`^Can't remove without creating (\d+) candidates`), "its pods would need $1 new nodes, and Karpenter " +
		"makes no more than one"},
	{regexp.MustCompile(`has consolidation disabled$`), "consolidate_after of its pool is Never"},
	{regexp.MustCompile(`has consolidation policy WhenEmpty`), "policy of its pool is WhenEmpty, and it has pods"},
	{regexp.MustCompile(`^Pod has "karpenter.sh/do-not-disrupt" annotation.*=([^)]*)`),
		`karpenter.sh/do-not-disrupt on $1 keeps it`},
	{regexp.MustCompile(`^Disruption is blocked through the "karpenter.sh/do-not-disrupt" annotation`),
		`karpenter.sh/do-not-disrupt on the node itself keeps it`},
	{regexp.MustCompile(`^Pdb prevents pod evictions.*=\[?([^)\]]*)`), "PodDisruptionBudget $1 allows no eviction"},
	{regexp.MustCompile(`^Eviction does not support multiple PDBs.*=\[?([^)\]]*)`),
		"PodDisruptionBudgets $1 are for the same pod, which cannot be evicted"},
	{regexp.MustCompile(`^Not all pods would schedule`), "without it not all of its pods would have a node"},
	{regexp.MustCompile(`^Filtering by price: (.*)`), "no cheaper node does: $1"},
}

// Why says why a node stays that would go for a reason, where nothing goes. Named says what people call an object
// that Karpenter calls default/pod-1.
func (h Blocked) Why(
	node string, pool *karpv1.NodePool, reason karpv1.DisruptionReason, named func(string) string,
) string {
	message, said := h.Nodes[node]
	closed := h.Pools[pool.Name+" "+string(reason)]
	switch {
	case closed && reason == karpv1.DisruptionReasonDrifted:
		return "the budgets of its pool let no node go"
	case said:
		return explain(message, named)
	case closed:
		return "the budgets of its pool let no node go"
	case pool.Spec.Disruption.ConsolidationPolicy.IsBalanced():
		return "policy of its pool is Balanced, and too little would be saved for the pods that would move"
	}
	return "Karpenter lets it be, and does not say why"
}

func explain(message string, named func(string) string) string {
	for _, w := range messages {
		found := w.said.FindStringSubmatch(message)
		if found == nil {
			continue
		}
		text := w.means
		for i, group := range found[1:] {
			group = named(strings.Trim(group, `"{} `))
			if strings.Contains(text, "Budgets $") {
				group = strings.Join(strings.Fields(group), " and ")
			}
			text = strings.ReplaceAll(text, fmt.Sprintf("$%d", i+1), group)
		}
		return text
	}
	return strings.TrimSuffix(message, ".")
}
