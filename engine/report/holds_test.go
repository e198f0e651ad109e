package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/engine/plan"
)

// TestPodsOfAWorkloadHoldNodesInOneLine, for each reason, and each node counts once.
func TestPodsOfAWorkloadHoldNodesInOneLine(t *testing.T) {
	of := func(reason plan.HoldReason, object, workload string, on ...string) plan.Held {
		return plan.Held{Hold: plan.Hold{Reason: reason, Object: object, Workload: workload}, Nodes: len(on), On: on}
	}
	const spread = "Deployment shop/spread"
	got := plan.Impact{Known: true, Holds: []plan.Held{
		of(plan.HeldByDoNotDisrupt, "pod shop/spread-1", spread, "a"), of(plan.HeldByDoNotDisrupt, "pod shop/spread-2", spread, "a"),
		of(plan.HeldByDoNotDisrupt, "pod shop/spread-3", spread, "b"), of(plan.HeldByDoNotDisrupt, "pod shop/alone", "", "b"),
		of(plan.NoOtherPlace, "pod shop/spread-1", spread, "a"), of(plan.NoOtherPlace, "pod shop/spread-2", spread, "b"),
		of(plan.NoOtherPlace, "pod shop/one-1", "Deployment shop/one", "b"), of(plan.HeldByPDB, "shop/spread", "", "a", "b"),
	}}.Obstacles(plainText)
	want := []string{
		"2 nodes blocked by karpenter.sh/do-not-disrupt on 3 pods of Deployment shop/spread",
		"1 node blocked by karpenter.sh/do-not-disrupt on pod shop/alone",
		"2 nodes blocked by 2 pods of Deployment shop/spread, which fit on no other pool or node",
		"1 node blocked by the pod shop/one-1, which fits on no other pool or node",
		"2 nodes blocked by the PodDisruptionBudget shop/spread, which allows no eviction",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestADeletedPoolWithoutNodesDeletesNone: the report does not mention deleted nodes.
func TestADeletedPoolWithoutNodesDeletesNone(t *testing.T) {
	c := plan.Change{Action: plan.Delete, Kind: "NodePool", Effect: plan.DeleteNodes, Impact: &plan.Impact{Known: true}}
	if got := plainText.headline(c) + "; " + plainText.consequence(c.Impact); got != "deleted; the pool has no nodes" {
		t.Error(got)
	}
	s := plan.Summary{Deleted: []string{"pool.data"}, NodesDeleted: plan.Count{Known: true}}
	if got := plainText.nodes(s, false); got != "none replaced or deleted" {
		t.Error(got)
	}
	if s.NodesDeleted.Known = false; plainText.nodes(s, false) != "deleted with pool.data" {
		t.Error("uncounted nodes are missing")
	}
}

// TestPoolsWithoutNodesReplaceNone: neither the summary nor the headline mentions replaced or drained nodes of such
// pools.
func TestPoolsWithoutNodesReplaceNone(t *testing.T) {
	roll := plan.Change{Action: plan.Update, Kind: "NodePool", Addr: "pool.web", Effect: plan.Roll, Impact: &plan.Impact{Known: true}}
	drain := roll
	drain.Action, drain.Addr, drain.Prune = plan.Delete, "pool.old", plan.StartRemoval
	r := Report{Plan: plan.Plan{Changes: []plan.Change{roll, drain}}}
	if got := plainText.nodes(r.Summary(), false); got != "none replaced or deleted" {
		t.Error(got)
	}
	busy := roll
	busy.Addr, busy.Impact = "pool.busy", &plan.Impact{Known: true, Of: 2, Rolled: 1}
	both := Report{Plan: plan.Plan{Changes: []plan.Change{roll, busy}}}
	if got := plainText.nodes(both.Summary(), false) + "; " + headline(both); got != "1 replaced in pool.busy; replaces 1 node of 1 pool" {
		t.Error(got)
	}
	if got := headline(r); got != "no nodes are replaced or deleted" {
		t.Error(got)
	}
	r.Changes[0].Impact, r.Changes[1].Impact = &plan.Impact{}, &plan.Impact{}
	if got := plainText.nodes(r.Summary(), false); got != "drained from pool.old; replaced in pool.web" {
		t.Error(got)
	}
}
