package controller

import (
	"context"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	"sigs.k8s.io/karpenter/pkg/controllers/state"

	"github.com/lkeplan/lkeplan/linode/linodetest"
)

// TestPoolWithFailingReplacementsDoesNotDelayOthers plays Karpenter's loop on two pools. Nodes of the first drifted first, and
// their replacements fail immediately.
func TestPoolWithFailingReplacementsDoesNotDelayOthers(t *testing.T) {
	node := func(pool, uid string) *disruption.Candidate {
		nc, np := linodetest.NodeClaim(uid), &karpv1.NodePool{}
		nc.UID, np.Name = types.UID(uid), pool
		return &disruption.Candidate{StateNode: &state.StateNode{NodeClaim: nc}, NodePool: np}
	}
	clk := clocktesting.NewFakeClock(worldStart)
	d := newDelayed(first{}, clk, brake{&stops{}, &stops{}, clk})
	candidates := []*disruption.Candidate{node("bad", "1"), node("bad", "2"), node("good", "3"), node("good", "4")}
	tries, rolled := 0, time.Duration(0)
	for clk.Since(worldStart) < 30*time.Minute {
		commands, err := d.ComputeCommands(t.Context(), nil, candidates...)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range commands {
			if c.Candidates[0].NodePool.Name == "bad" {
				tries++
				continue
			}
			candidates = slices.DeleteFunc(candidates, func(one *disruption.Candidate) bool { return one == c.Candidates[0] })
			rolled = clk.Since(worldStart)
		}
		clk.Step(time.Second)
	}
	if len(candidates) != 2 || rolled > 10*time.Second {
		t.Errorf("%d nodes are left, and the last was replaced after %s", len(candidates), rolled)
	}
	if tries < 9 || tries > 12 {
		t.Errorf("Karpenter tried to replace nodes of the failing pool %d times in half an hour", tries)
	}
}

// first is a method that wants the first candidate.
type first struct{ disruption.Method }

func (first) ComputeCommands(_ context.Context, _ map[string]int, candidates ...*disruption.Candidate) ([]disruption.Command, error) {
	if len(candidates) == 0 {
		return nil, nil
	}
	return []disruption.Command{{Candidates: candidates[:1]}}, nil
}

// TestDelayedMethodGetsTotals: Karpenter scores moves of pools with the policy Balanced by them.
func TestDelayedMethodGetsTotals(t *testing.T) {
	inner := &scoring{}
	newDelayed(inner, clocktesting.NewFakeClock(worldStart), brake{}).SetNodePoolTotals(map[string]disruption.NodePoolTotals{"web": {}})
	if len(inner.totals) != 1 {
		t.Errorf("the method got %v", inner.totals)
	}
}

type scoring struct {
	disruption.Method
	totals map[string]disruption.NodePoolTotals
}

func (s *scoring) SetNodePoolTotals(totals map[string]disruption.NodePoolTotals) { s.totals = totals }
