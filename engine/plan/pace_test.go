package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/schedule"
)

// written is a pace in a few words.
func written(p *Pace) string {
	var b strings.Builder
	fmt.Fprintf(&b, "now %d, wave %d, %d waves", p.Now, p.Wave, p.Waves)
	if !p.Next.IsZero() {
		fmt.Fprintf(&b, ", next %s", p.Next.Format("Mon 15:04"))
	}
	if p.Never {
		b.WriteString(", never")
	}
	if len(p.Closed) > 0 {
		fmt.Fprintf(&b, ", by %s", strings.Join(p.Closed, " and "))
	}
	return b.String()
}

// fridayNoon is a Friday morning.
var fridayNoon = time.Date(2026, time.November, 20, 7, 0, 0, 0, time.UTC)

// poolWith is a pool with budgets.
func poolWith(t *testing.T, budgets ...any) *karpv1.NodePool {
	t.Helper()
	var pool karpv1.NodePool
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{
		"spec": map[string]any{"disruption": map[string]any{"consolidateAfter": "0s", "budgets": budgets}},
	}, &pool); err != nil {
		t.Fatal(err)
	}
	return &pool
}

func TestPace(t *testing.T) {
	type budget = map[string]any
	office := budget{"nodes": "0", "schedule": "0 6 * * mon-fri", "duration": "12h"}
	tests := []struct {
		name                   string
		budgets                []any
		nodes, leaving, rolled int
		want                   string
	}{
		{"no budget lets all go", nil, 8, 0, 8, "now 8, wave 8, 1 waves"},
		{"a share rounds up", []any{budget{"nodes": "10%"}}, 14, 0, 14, "now 2, wave 2, 7 waves"},
		{"nodes that are leaving already count", []any{budget{"nodes": "2"}}, 14, 1, 13, "now 1, wave 2, 7 waves"},
		{"more are leaving than may", []any{budget{"nodes": "2"}}, 14, 5, 9, "now 0, wave 2, 5 waves"},
		{"office hours", []any{budget{"nodes": "3"}, office}, 9, 0, 9,
			"now 0, wave 3, 3 waves, next Fri 18:00, by 0 at \"0 6 * * mon-fri\" for 12h"},
		{"windows that leave an hour", []any{budget{"nodes": "0", "schedule": "0 4 * * *", "duration": "23h"}}, 4, 0, 4,
			"now 0, wave 4, 1 waves, next Sat 03:00, by 0 at \"0 4 * * *\" for 23h"},
		{"never", []any{budget{"nodes": "0"}}, 4, 0, 4, "now 0, wave 0, 0 waves, never, by 0"},
		{"never, by windows that meet", []any{budget{"nodes": "0%", "schedule": "@daily", "duration": "24h"}}, 4, 0, 4,
			"now 0, wave 0, 0 waves, never, by 0% at \"@daily\" for 24h"},
		{"once a year", []any{budget{"nodes": "0", "schedule": "0 0 1 1 *", "duration": "8750h"}}, 4, 0, 4,
			"now 0, wave 4, 1 waves, next Thu 14:00, by 0 at \"0 0 1 1 *\" for 8750h"},
		{"another reason", []any{budget{"nodes": "0", "reasons": []any{"Empty"}}}, 4, 0, 4, "now 4, wave 4, 1 waves"},
		{"not counted", []any{budget{"nodes": "10%"}, office}, 0, 0, 0,
			"now 0, wave 0, 0 waves, next Fri 18:00, by 0 at \"0 6 * * mon-fri\" for 12h"},
		{"every other minute", []any{budget{"nodes": "0", "schedule": "*/2 * * * *", "duration": "1m"}}, 4, 0, 4,
			"now 0, wave 4, 1 waves, next Fri 07:01, by 0 at \"*/2 * * * *\" for 1m"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pace, err := PaceOf(poolWith(t, tt.budgets...), tt.nodes, tt.leaving, tt.rolled, fridayNoon)
			if err != nil {
				t.Fatal(err)
			}
			if got := written(pace); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestWindowsCoverTheWeek: one after the other, and as many nodes as Karpenter
// says at any moment in them.
func TestWindowsCoverTheWeek(t *testing.T) {
	pool := poolWith(t, map[string]any{"nodes": "3"},
		map[string]any{"nodes": "0", "schedule": "0 6 * * mon-fri", "duration": "12h"},
		map[string]any{"nodes": "50%", "schedule": "30 */7 * * *", "duration": "10m"})
	pace, err := PaceOf(pool, 5, 0, 5, fridayNoon)
	if err != nil {
		t.Fatal(err)
	}
	at := fridayNoon
	for _, w := range pace.Windows {
		if !w.From.Equal(at) {
			t.Errorf("a window begins at %s, want %s", w.From, at)
		}
		for at = w.From; at.Before(w.Until); at = at.Add(time.Minute) {
			n, err := pool.GetAllowedDisruptionsByReason(schedule.ClockAt(at), 5, karpv1.DisruptionReasonDrifted)
			if err != nil || n != w.Nodes {
				t.Fatalf("at %s: %d nodes in the window, Karpenter says %d, %v", at, w.Nodes, n, err)
			}
		}
	}
	if diff := cmp.Diff(fridayNoon.Add(week), at); diff != "" {
		t.Errorf("the windows end early (-want +got):\n%s", diff)
	}
}
