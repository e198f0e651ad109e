package gitops

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/engine/plan"
	reports "github.com/lkeplan/lkeplan/engine/report"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// removalStatuses returns the pools that drain when a plan is applied: those that are draining already, and those
// that start to drain.
func removalStatuses(p plan.Plan) (pools []lkeplanv1alpha1.PoolStatus) {
	for _, r := range p.Rolling {
		if r.Condemned != nil {
			pools = append(pools, rollingStatus(r, p.Now))
		}
	}
	for _, c := range p.Changes {
		if c.Prune == plan.StartRemoval && c.Impact != nil {
			pools = append(pools, rollingStatus(plan.Rolling{
				Addr: c.Addr, Pool: c.Name, Of: c.Impact.Of, Outdated: c.Impact.Of, Pace: c.Impact.Pace, Holds: c.Impact.Holds,
				Condemned: &plan.Removal{Since: p.Now, Nodes: c.Impact.Of},
			}, p.Now))
		}
	}
	return pools
}

func rollingStatus(r plan.Rolling, now time.Time) lkeplanv1alpha1.PoolStatus {
	state, holds := reports.Progress(r)
	s := lkeplanv1alpha1.PoolStatus{Name: r.Pool, Nodes: r.Of, Outdated: r.Of}
	c := &lkeplanv1alpha1.CondemnedStatus{
		Since: metav1.NewTime(r.Condemned.Since.UTC().Truncate(time.Second)), Nodes: max(r.Condemned.Nodes, r.Of),
		Message: strings.Join(append([]string{state}, holds...), "; "),
	}
	if c.Since.IsZero() { // the annotation of the pool was edited and has no valid time
		c.Since = metav1.NewTime(now.UTC().Truncate(time.Second))
	}
	if r.Pace != nil {
		s.NextWindow, c.SoonestEnd = statusTime(r.Pace.Next), statusTime(r.Pace.Soonest(r.Of))
	}
	s.Condemned = c
	return s
}

func statusTime(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &metav1.Time{Time: t.UTC().Truncate(time.Second)}
}

// progressLines describes the progress of draining pools, one line each.
func progressLines(pools []lkeplanv1alpha1.PoolStatus) (lines []string) {
	for _, p := range pools {
		if p.Condemned != nil {
			lines = append(lines, fmt.Sprintf("NodePool %s is %s.", p.Name, p.Condemned.Message))
		}
	}
	return lines
}

// furtherAlong reports whether the progress of draining pools is worth an event: a pool has
// started or finished, or another quarter of its nodes has gone.
func furtherAlong(before, after []lkeplanv1alpha1.PoolStatus) bool {
	was, is := remainingQuarters(before), remainingQuarters(after)
	if len(was) != len(is) {
		return true
	}
	for name, n := range is {
		if m, known := was[name]; !known || m != n {
			return true
		}
	}
	return false
}

// remainingQuarters returns how many quarters of the nodes of draining pools are left, by name.
func remainingQuarters(pools []lkeplanv1alpha1.PoolStatus) map[string]int {
	left := map[string]int{}
	for _, p := range pools {
		if p.Condemned != nil {
			left[p.Name] = (4*p.Nodes + p.Condemned.Nodes - 1) / max(p.Condemned.Nodes, 1)
		}
	}
	return left
}

// correctionsText lists the manual edits that were reverted, with a line for each.
func correctionsText(p plan.Plan, ours map[manifest.Key]bool) string {
	var lines []string
	for _, d := range p.Drift {
		if !d.Kept && ours[d.Key()] {
			did := fmt.Sprintf("set to %v", d.Live)
			if d.Live == nil {
				did = "removed"
			}
			lines = append(lines, fmt.Sprintf("%s: %s was %s by %s, and is reverted",
				d.Key(), d.Path, did, strings.Join(d.Owners, ", ")))
		}
	}
	return strings.Join(lines, "\n")
}
