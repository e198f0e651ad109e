package disrupt

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/status"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"

	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// TestOldestNodesGoFirst: after the nodes that differ from their pool. Karpenter reads the order of the others from their
// conditions, which are as before after that.
func TestOldestNodesGoFirst(t *testing.T) {
	var all []*disruption.Candidate
	for _, n := range []struct {
		name          string
		created, seen time.Duration
		reason        string
	}{
		{"young", 3 * time.Hour, 0, string(nodeclaim.AgeDrifted)}, {"old", time.Hour, 9 * time.Hour, string(nodeclaim.AgeDrifted)},
		{"twin-b", 2 * time.Hour, 0, string(nodeclaim.AgeDrifted)}, {"twin-a", 2 * time.Hour, time.Hour, string(nodeclaim.AgeDrifted)},
		{"changed", 9 * time.Hour, 10 * time.Hour, "NodePoolDrifted"},
	} {
		c := candidate(n.name, "", 0)
		c.NodeClaim.CreationTimestamp = metav1.NewTime(noon.Add(n.created))
		c.NodeClaim.StatusConditions().SetTrueWithReason(karpv1.ConditionTypeDrifted, n.reason, n.reason)
		c.NodeClaim.Status.Conditions[slices.IndexFunc(c.NodeClaim.Status.Conditions, isDrifted)].LastTransitionTime = metav1.NewTime(noon.Add(n.seen))
		all = append(all, c)
	}
	before := make([]*karpv1.NodeClaim, len(all))
	for i, c := range all {
		before[i] = c.NodeClaim.DeepCopy()
	}
	for name, m := range map[string]disruption.Method{"as given": recorded{}, "by their conditions": recorded{byCondition: true}} {
		got, err := oldestFirst{m}.ComputeCommands(t.Context(), nil, all...)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, command := range got {
			names = append(names, command.Candidates[0].NodeClaim.Name)
		}
		if diff := cmp.Diff([]string{"changed", "old", "twin-a", "twin-b", "young"}, names); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for i, c := range all {
		if diff := cmp.Diff(before[i], c.NodeClaim); diff != "" {
			t.Errorf("the NodeClaim has changed (-want +got):\n%s", diff)
		}
	}
}

func isDrifted(c status.Condition) bool { return c.Type == karpv1.ConditionTypeDrifted }

// recorded returns a command for each candidate, in the order of StaticDrift or of Drift.
type recorded struct {
	disruption.Method
	byCondition bool
}

func (r recorded) ComputeCommands(_ context.Context, _ map[string]int, all ...*disruption.Candidate) (commands []disruption.Command, _ error) {
	since := func(c *disruption.Candidate) time.Time {
		return c.NodeClaim.StatusConditions().Get(karpv1.ConditionTypeDrifted).LastTransitionTime.Time
	}
	if r.byCondition {
		slices.Reverse(all)
		slices.SortFunc(all, func(a, b *disruption.Candidate) int { return since(a).Compare(since(b)) })
	}
	for _, c := range all {
		commands = append(commands, disruption.Command{Candidates: []*disruption.Candidate{c}})
	}
	return commands, nil
}
