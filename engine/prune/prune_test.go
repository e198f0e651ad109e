package prune_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/engine/prune"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

func annotated(value any) map[string]any {
	return map[string]any{"metadata": map[string]any{"annotations": map[string]any{prune.Annotation: value}}}
}

func TestTheStageFollowsFromThePoolAndItsNodes(t *testing.T) {
	condemned, fresh := annotated("2026-11-22T08:00:00Z 20"), map[string]any{}
	for _, tt := range []struct {
		name  string
		pool  map[string]any
		nodes int
		want  prune.Stage
	}{
		{"with nodes", fresh, 3, prune.Condemn},
		{"without nodes", fresh, 0, prune.AtOnce},
		{"condemned, with nodes", condemned, 3, prune.Draining},
		{"condemned, without nodes", condemned, 0, prune.Drained},
		{"condemned, and its text altered", annotated("soon"), 3, prune.Draining},
		{"condemned, and its text is none", annotated(int64(7)), 3, prune.Draining},
	} {
		if got := prune.Next(tt.pool, tt.nodes); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestASentenceIsReadAsItWasWritten(t *testing.T) {
	want := prune.Sentence{Since: time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC), Nodes: 20}
	for _, limit := range []string{"", "30"} {
		want.Limit = limit
		if got, condemned := prune.Read(annotated(want.String())); got != want || !condemned {
			t.Errorf("%v, %v", got, condemned)
		}
	}
	for _, text := range []any{"", "20", "yesterday 20", "2026-11-22T08:00:00Z", "2026-11-22T08:00:00Z many", nil} {
		if got, condemned := prune.Read(annotated(text)); got != (prune.Sentence{}) || !condemned {
			t.Errorf("%v: %v, %v", text, got, condemned)
		}
	}
}

// TestStaticPoolsGiveUpAsManyAsTheirBudgetsLet: Karpenter deletes the nodes above the
// number of replicas at once, so that the number falls step by step.
func TestStaticPoolsGiveUpAsManyAsTheirBudgetsLet(t *testing.T) {
	seven := int64(7)
	stays, leaves := prune.Node{Settled: true}, prune.Node{Settled: true, Leaving: true}
	for _, tt := range []struct {
		name  string
		nodes []prune.Node
		want  int64
	}{
		{"at the beginning", []prune.Node{stays, stays, stays, stays, stays, stays, stays}, 4},
		{"while some leave", []prune.Node{leaves, leaves, stays, stays, stays, stays, stays}, 4},
		{"while as many leave as may", []prune.Node{leaves, leaves, leaves, stays, stays}, 2},
		{"at the end", []prune.Node{stays, stays}, 0},
		{"never more than before", []prune.Node{stays, stays, stays, stays, stays, stays, stays, stays, stays, stays, stays, stays}, 7},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := prune.Condemned(pool(nil, &seven), tt.nodes, time.Now())
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
	stays := prune.Node{Settled: true}
	for name, limits := range map[string]map[string]any{
		"without limits": nil, "with a limit of nodes": {"nodes": "30", "cpu": "100"}, "with another limit": {"cpu": "100"},
	} {
		before := pool(limits, nil)
		condemned, err := prune.Condemned(before, []prune.Node{stays}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		// Condemned again, as it is in each reconciliation.
		if condemned, err = prune.Condemned(condemned, []prune.Node{stays}, time.Now()); err != nil {
			t.Fatal(err)
		}
		got := prune.Released(condemned)
		manifest.Map(before, "metadata")["uid"] = "" // of what is live
		if diff := cmp.Diff(before, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
