package disrupt

import (
	"cmp"
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"

	"github.com/lkeplan/lkeplan/linode/age"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// oldestFirst is Karpenter's method for drifted nodes. Of the nodes that are replaced only because of their age, it tries the
// oldest first, after all nodes that differ from their pool. Karpenter orders nodes by the time at which they were found to
// drift, which is the same for all nodes that are already due when refresh_after is set, and those of a static pool not at all.
type oldestFirst struct{ disruption.Method }

// ComputeCommands implements disruption.Method. Karpenter reads the order of candidates from their conditions (karpenter
// v1.15.0, Drift.ComputeCommands), so that for the time of the call, nodes that are due by age have other conditions.
func (o oldestFirst) ComputeCommands(ctx context.Context, budgets map[string]int, candidates ...*disruption.Candidate,
) ([]disruption.Command, error) {
	afterAll := time.Date(2200, time.January, 1, 0, 0, 0, 0, time.UTC) // later than any condition
	candidates = slices.Clone(candidates)
	slices.SortFunc(candidates, func(a, b *disruption.Candidate) int {
		x, y := a.NodeClaim, b.NodeClaim
		return cmp.Or(boolCompare(nodeclaim.DriftedByAge(x), nodeclaim.DriftedByAge(y)),
			age.Compare(x.CreationTimestamp.Time, x.Name, y.CreationTimestamp.Time, y.Name))
	})
	for i, c := range candidates {
		stored := c.NodeClaim
		if !nodeclaim.DriftedByAge(stored) {
			continue
		}
		defer func() { c.NodeClaim = stored }()
		c.NodeClaim = stored.DeepCopy()
		for j := range c.NodeClaim.Status.Conditions {
			if found := &c.NodeClaim.Status.Conditions[j]; found.Type == karpv1.ConditionTypeDrifted {
				found.LastTransitionTime = metav1.NewTime(afterAll.Add(time.Duration(i) * time.Second))
			}
		}
	}
	return o.Method.ComputeCommands(ctx, budgets, candidates...)
}

// boolCompare orders false before true.
func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
