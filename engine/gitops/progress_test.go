package gitops

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/engine/plan"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

func TestDrainingPoolsAreInStatus(t *testing.T) {
	now := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	evening := now.Add(10 * time.Hour)
	closed := &plan.Pace{
		Next: evening, Wave: 2, Waves: 6, Closed: []string{`0 at "0 6 * * *" for 12h`},
		Windows: []plan.Window{{From: now, Until: evening}, {From: evening, Until: now.AddDate(0, 0, 7), Nodes: 2}},
	}
	held := []plan.Held{{Hold: plan.Hold{Reason: plan.HeldByPDB, Object: "shop/cart"}, Nodes: 3}}
	p := plan.Plan{
		Now: now,
		Rolling: []plan.Rolling{
			{Pool: "web", Of: 5, Outdated: 2},
			{Pool: "old", Of: 12, Outdated: 12, Pace: closed, Holds: held, Condemned: &plan.Removal{Since: now.Add(-time.Hour), Nodes: 20, Soonest: evening.Add(18 * time.Minute)}},
			{Pool: "edited", Of: 3, Outdated: 3, Condemned: &plan.Removal{}},
		},
		Changes: []plan.Change{
			{Name: "batch", Action: plan.Delete, Prune: plan.StartRemoval, Impact: &plan.Impact{Known: true, Of: 4, Rolled: 4, Elsewhere: true}},
			{Name: "gone", Action: plan.Delete, Prune: plan.Drained, Impact: &plan.Impact{Known: true}},
		},
	}
	at := func(t time.Time) *metav1.Time { return &metav1.Time{Time: t} }
	want := []lkeplanv1alpha1.PoolStatus{
		{Name: "old", Nodes: 12, Outdated: 12, NextWindow: at(evening), Condemned: &lkeplanv1alpha1.CondemnedStatus{
			Since: *at(now.Add(-time.Hour)), Nodes: 20, SoonestEnd: at(evening.Add(18 * time.Minute)),
			Message: "draining: 12 of 20 nodes are left; the pool is deleted after the last one; " +
				`the budget 0 at "0 6 * * *" for 12h allows no disruption before Sun 22 Nov 18:00 UTC; ` +
				"3 nodes blocked by the PodDisruptionBudget shop/cart, which allows no eviction",
		}},
		{Name: "edited", Nodes: 3, Outdated: 3, Condemned: &lkeplanv1alpha1.CondemnedStatus{
			Since: *at(now), Nodes: 3, Message: "draining: 3 of 3 nodes are left; the pool is deleted after the last one",
		}},
		{Name: "batch", Nodes: 4, Outdated: 4, Condemned: &lkeplanv1alpha1.CondemnedStatus{
			Since: *at(now), Nodes: 4, Message: "draining: 4 of 4 nodes are left; the pool is deleted after the last one",
		}},
	}
	got := removalStatuses(p)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pools (-want +got):\n%s", diff)
	}
	if lines := progressLines(got); len(lines) != 3 || !strings.HasPrefix(lines[0], "NodePool old is draining: 12 of 20 nodes are left") {
		t.Errorf("%q", lines)
	}
}

// TestEventForEachQuarterDrained: events do not report every node of a large pool.
func TestEventForEachQuarterDrained(t *testing.T) {
	left := func(n int) []lkeplanv1alpha1.PoolStatus {
		return []lkeplanv1alpha1.PoolStatus{{Name: "web", Nodes: 7},
			{Name: "old", Nodes: n, Condemned: &lkeplanv1alpha1.CondemnedStatus{Nodes: 100}}}
	}
	for _, tt := range []struct {
		name          string
		before, after []lkeplanv1alpha1.PoolStatus
		want          bool
	}{
		{"the beginning", left(100)[:1], left(100), true},
		{"a node", left(100), left(99), false},
		{"a quarter", left(76), left(75), true},
		{"less than a quarter", left(75), left(60), false},
		{"the last but one", left(2), left(1), false},
		{"another pool", left(80), []lkeplanv1alpha1.PoolStatus{{Name: "batch", Nodes: 80, Condemned: &lkeplanv1alpha1.CondemnedStatus{Nodes: 100}}}, true},
	} {
		if got := furtherAlong(tt.before, tt.after); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestCorrectionsAreReported for our own objects, also for those that have a
// namespace, and not for fields that stay as they are.
func TestCorrectionsAreReported(t *testing.T) {
	web := manifest.Key{Kind: "NodePool", Name: "web"}
	buffer := manifest.Key{Kind: "CapacityBuffer", Namespace: "team", Name: "spare"}
	foreign := manifest.Key{Kind: "CapacityBuffer", Namespace: "other", Name: "spare"}
	ours := map[manifest.Key]bool{web: true, buffer: true}
	for _, tt := range []struct {
		object manifest.Key
		kept   bool
		want   string
	}{
		{web, false, "NodePool web: spec.replicas was set to 9 by kubectl-edit, and is reverted"},
		{buffer, false, "CapacityBuffer team/spare: spec.replicas was set to 9 by kubectl-edit, and is reverted"},
		{foreign, false, ""},
		{web, true, ""},
	} {
		drift := plan.Drift{
			Kind: tt.object.Kind, Namespace: tt.object.Namespace, Name: tt.object.Name,
			Path: "spec.replicas", Live: 9, Owners: []string{"kubectl-edit"}, Kept: tt.kept,
		}
		if got := correctionsText(plan.Plan{Drift: []plan.Drift{drift}}, ours); got != tt.want {
			t.Errorf("corrections of %s: %q, want %q", tt.object, got, tt.want)
		}
	}
}
