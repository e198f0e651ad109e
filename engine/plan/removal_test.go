package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

func withMark(value any) map[string]any {
	return map[string]any{"metadata": map[string]any{"annotations": map[string]any{schemas.AnnotationRemoval: value}}}
}

func TestTheStageFollowsFromThePoolAndItsNodes(t *testing.T) {
	draining, fresh := withMark("2026-11-22T08:00:00Z 20"), map[string]any{}
	for _, tt := range []struct {
		name  string
		pool  map[string]any
		nodes int
		want  RemovalStage
	}{
		{"with nodes", fresh, 3, StartRemoval},
		{"without nodes", fresh, 0, RemoveAtOnce},
		{"draining, with nodes", draining, 3, Draining},
		{"draining, without nodes", draining, 0, Drained},
		{"draining, and its text altered", withMark("soon"), 3, Draining},
		{"draining, and its text is not a string", withMark(int64(7)), 3, Draining},
	} {
		if got := NextRemoval(tt.pool, tt.nodes); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestASentenceIsReadAsItWasWritten(t *testing.T) {
	want := Removal{Since: time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC), Nodes: 20}
	for _, limit := range []string{"", "30"} {
		want.Limit = limit
		if got, draining := ReadRemoval(withMark(want.String())); got != want || !draining {
			t.Errorf("%v, %v", got, draining)
		}
	}
	for _, text := range []any{"", "20", "yesterday 20", "2026-11-22T08:00:00Z", "2026-11-22T08:00:00Z many", nil} {
		if got, draining := ReadRemoval(withMark(text)); got != (Removal{}) || !draining {
			t.Errorf("%v: %v, %v", text, got, draining)
		}
	}
}

// TestStaticPoolsDrainAsTheirBudgetsAllow: Karpenter deletes the nodes above the
// number of replicas at once, so that the number falls step by step.
func TestStaticPoolsDrainAsTheirBudgetsAllow(t *testing.T) {
	seven := int64(7)
	stays, leaves := Node{Initialized: true}, Node{Initialized: true, Deleting: true}
	for _, tt := range []struct {
		name  string
		nodes []Node
		want  int64
	}{
		{"at the beginning", []Node{stays, stays, stays, stays, stays, stays, stays}, 4},
		{"while some leave", []Node{leaves, leaves, stays, stays, stays, stays, stays}, 4},
		{"while as many leave as may", []Node{leaves, leaves, leaves, stays, stays}, 2},
		{"at the end", []Node{stays, stays}, 0},
		{"never more than before", []Node{stays, stays, stays, stays, stays, stays, stays, stays, stays, stays, stays, stays}, 7},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := MarkRemoval(pool(nil, &seven), tt.nodes, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if n, _ := manifest.Lookup(got, "spec", "replicas"); n != tt.want {
				t.Errorf("%v replicas, want %d", n, tt.want)
			}
			if limits, limited := manifest.Lookup(got, "spec", "limits"); limited {
				t.Errorf("limits %v, which Karpenter refuses there", limits)
			}
		})
	}
}

// TestAReleasedPoolIsAsItWasBefore: the same template, so that its nodes match, and the
// same limits.
func TestAReleasedPoolIsAsItWasBefore(t *testing.T) {
	stays := Node{Initialized: true}
	for name, limits := range map[string]map[string]any{
		"without limits": nil, "with a limit of nodes": {"nodes": "30", "cpu": "100"}, "with another limit": {"cpu": "100"},
	} {
		before := pool(limits, nil)
		draining, err := MarkRemoval(before, []Node{stays}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		// MarkRemoval again, as it is in each reconciliation.
		if draining, err = MarkRemoval(draining, []Node{stays}, time.Now()); err != nil {
			t.Fatal(err)
		}
		got := ReleaseRemoval(draining)
		manifest.Map(before, "metadata")["uid"] = "" // of what is live
		if diff := cmp.Diff(before, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
