package inspect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	nodeutils "sigs.k8s.io/karpenter/pkg/utils/node"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/timing"
)

// closed are the budgets of a pool that do not let a node go now for a reason: those that
// let none go, with the time until which, and those whose nodes go already.
func (w *explainer) closed(pool *karpv1.NodePool, nc *karpv1.NodeClaim, reason karpv1.DisruptionReason) (texts []string) {
	nodes, going := w.counted(pool, nc)
	for _, b := range pool.Spec.Disruption.Budgets {
		if len(b.Reasons) > 0 && !slices.Contains(b.Reasons, reason) {
			continue
		}
		n, err := b.GetAllowedDisruptions(timing.ClockAt(w.Now), nodes)
		switch {
		case err != nil || n <= 0:
			texts = append(texts, fmt.Sprintf("the budget %q of pool %s lets none of its %s go%s", b.Nodes, pool.Name,
				diag.Counted(nodes, "node"), w.window(b, nodes)))
		case n <= len(going):
			texts = append(texts, fmt.Sprintf("the budget %q of pool %s lets %s go at a time, and %s", b.Nodes,
				pool.Name, diag.Counted(n, "node"), goes(going)))
		}
	}
	return texts
}

// kindsCounted are the nodes of a pool that budgets count, and the names of those among the others
// that count against them: they go, or are not ready.
func (w *explainer) counted(pool *karpv1.NodePool, but *karpv1.NodeClaim) (nodes int, going []string) {
	for _, nc := range w.Claims {
		if nc.Labels[karpv1.NodePoolLabelKey] != pool.Name || nc.Status.NodeName == "" {
			continue
		}
		nodes++
		_, marked := isTrue(nc, karpv1.ConditionTypeDisruptionReason)
		if nc != but && (marked || !nc.DeletionTimestamp.IsZero() || !w.ready(nc.Status.NodeName)) {
			going = append(going, nc.Status.NodeName)
		}
	}
	return nodes, going
}

// ready reports whether a Node is ready, as far as it is known.
func (w *explainer) ready(name string) bool {
	for _, n := range w.Snapshot.Nodes {
		if c := nodeutils.GetCondition(n, corev1.NodeReady); n.Name == name && c.Status != "" {
			return c.Status == corev1.ConditionTrue
		}
	}
	return true
}

func goes(nodes []string) string {
	if len(nodes) == 1 {
		return "node " + nodes[0] + " goes or is not ready"
	}
	return fmt.Sprintf("%d nodes go or are not ready", len(nodes))
}

// window says when a budget with a schedule applies, and until when it does so now.
func (w *explainer) window(b karpv1.Budget, nodes int) string {
	if b.Schedule == nil || b.Duration == nil {
		return ""
	}
	text := fmt.Sprintf(" at %q for %s", *b.Schedule, timing.WriteDuration(b.Duration.Duration))
	if end := w.opens(b, nodes); !end.IsZero() {
		layout := "15:04 UTC"
		if end.Sub(w.Now) >= 24*time.Hour {
			layout = "Mon 2 January, 15:04 UTC"
		}
		text += ", now until " + strings.TrimSpace(end.UTC().Format(layout))
	}
	return text
}

// opens is when a budget that lets no node go next lets one go; the zero time where that is
// never, or not within a year.
func (w *explainer) opens(b karpv1.Budget, nodes int) time.Time {
	schedule, err := timing.ParseSchedule(*b.Schedule)
	if err != nil {
		return time.Time{}
	}
	lasts := b.Duration.Duration
	at := w.Now.UTC()
	for range timing.MostTurns {
		next := schedule.Next(at.Add(-lasts)).Add(lasts) // where the window ends that began last
		if !next.After(at) || next.After(w.Now.AddDate(1, 0, 0)) {
			return time.Time{}
		}
		if n, err := b.GetAllowedDisruptions(timing.ClockAt(next), nodes); err == nil && n > 0 {
			return next
		}
		at = next
	}
	return time.Time{}
}
