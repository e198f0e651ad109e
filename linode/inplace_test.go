package linode

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/nodeclaim/disruption"

	"github.com/lkeplan/lkeplan/schemas"
)

// TestKarpenterSeesNoDriftForLabelsInPlace: Karpenter's own controller judges a claim whose stamp differs from that of its
// NodePool.
func TestKarpenterSeesNoDriftForLabelsInPlace(t *testing.T) {
	const team, tier = "example.com/team", "example.com/tier"
	for name, tt := range map[string]struct {
		list    string
		change  func(*karpv1.NodePool)
		version string // of the claim's hash
		drifted bool
	}{
		"nothing changes":    {team, func(*karpv1.NodePool) {}, karpv1.NodePoolHashVersion, false},
		"a label in place":   {team, func(p *karpv1.NodePool) { p.Spec.Template.Labels[team] = "b" }, karpv1.NodePoolHashVersion, false},
		"a label":            {"", func(p *karpv1.NodePool) { p.Spec.Template.Labels[team] = "b" }, karpv1.NodePoolHashVersion, true},
		"another label":      {team, func(p *karpv1.NodePool) { p.Spec.Template.Labels[tier] = "2" }, karpv1.NodePoolHashVersion, true},
		"another version":    {team, func(p *karpv1.NodePool) { p.Spec.Template.Labels[tier] = "2" }, "v2", false},
		"no list, no change": {"", func(*karpv1.NodePool) {}, karpv1.NodePoolHashVersion, false},
	} {
		t.Run(name, func(t *testing.T) {
			pool := nodePool()
			pool.Spec.Template.Labels = map[string]string{team: "a", tier: "1"}
			if tt.list != "" {
				pool.Annotations = map[string]string{schemas.AnnotationInPlace: tt.list}
			}
			nc := decided(1)
			nc.Labels[team], nc.Labels[tier] = "a", "1"
			nc.Annotations[karpv1.NodePoolHashAnnotationKey] = pool.Hash()
			nc.Annotations[karpv1.NodePoolHashVersionAnnotationKey] = tt.version
			nc.StatusConditions().SetTrue(karpv1.ConditionTypeLaunched)
			tt.change(pool)
			if pool.Annotations == nil {
				pool.Annotations = map[string]string{}
			}
			pool.Annotations[karpv1.NodePoolHashAnnotationKey] = pool.Hash() // Karpenter's hash controller was the faster one
			pool.Annotations[karpv1.NodePoolHashVersionAnnotationKey] = karpv1.NodePoolHashVersion
			p := provider(t, readyClass(), pool, nc)
			clk := clocktesting.NewFakeClock(time.Now())
			c := disruption.NewController(clk, WithoutStamps(p.chooser.Client), p)
			var stored karpv1.NodeClaim
			if err := p.chooser.Client.Get(t.Context(), client.ObjectKeyFromObject(nc), &stored); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Reconcile(t.Context(), &stored); err != nil {
				t.Fatal(err)
			}
			found := stored.StatusConditions().Get(karpv1.ConditionTypeDrifted)
			if found.IsTrue() != tt.drifted {
				t.Errorf("drifted: %v", found)
			}
			if tt.drifted && found.Reason != string(disruption.NodePoolDrifted) {
				t.Errorf("reason %s", found.Reason)
			}
		})
	}
}
