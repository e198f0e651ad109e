package rollout_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/during"
	"github.com/lkeplan/lkeplan/engine/rollout"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// TestSwitchKeepsTheBudgetOfAWave: during a rollout, no value by the clock lets more nodes be replaced.
func TestSwitchKeepsTheBudgetOfAWave(t *testing.T) {
	budget := func(nodes string) []any { return []any{map[string]any{"nodes": nodes}} }
	pool, err := manifest.WithDuring(map[string]any{
		"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": map[string]any{"name": "web"},
		"spec": map[string]any{"disruption": map[string]any{"consolidateAfter": "1h", "budgets": budget("1")}},
	}, &manifest.During{
		Base: map[string]any{"spec.disruption.budgets": budget("1")},
		Windows: []manifest.DuringWindow{{Name: "night", Schedule: "0 20 * * *", Duration: "10h",
			Set: map[string]any{"spec.disruption.budgets": budget("100%")}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	limited, err := rollout.Limited(config.Object{Manifest: pool, Defaulted: pool}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, hour := range []int{12, 21} {
		now := time.Date(2026, 11, 23, hour, 0, 0, 0, time.UTC)
		effective, s, err := during.At(limited.Manifest, now)
		if err != nil {
			t.Fatal(err)
		}
		budgets, _ := manifest.Field(effective, "spec.disruption.budgets")
		list, _ := budgets.([]any)
		if len(list) != 2 || list[1].(map[string]any)["nodes"] != "0" {
			t.Errorf("during %v, the budgets are %v", s.Active, budgets)
		}
	}
	if diff := cmp.Diff(pool, rollout.Released(runtime.DeepCopyJSON(limited.Manifest))); diff != "" {
		t.Errorf("after the rollout, the pool differs:\n%s", diff)
	}
}
