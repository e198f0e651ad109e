package linode

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// TestAnswersOfLinodeReplaceNoNodes: Karpenter replaces the nodes of a plan type that it
// does not know, or that has no offering where the node is. Regardless of changes of
// prices, stock, limits, the price list or the NodePool, the plan type of each node
// stays.
func TestAnswersOfLinodeReplaceNoNodes(t *testing.T) {
	refused := nodePool()
	refused.Spec.Template.Labels["example.com/a-name-that-has-one-character-more-than-lke-takes-behind-a-prefix"] = "x"
	none := int64(0)
	tests := []struct {
		name  string
		plan  string
		pool  *karpv1.NodePool
		limit *lkeplanv1alpha1.CapacityLimit
		say   func(*Provider)
	}{
		{name: "nothing", pool: nodePool()},
		{name: "the plan is out of stock", pool: nodePool(),
			say: func(p *Provider) { p.chooser.Types.Block("g6-standard-4", time.Now().Add(time.Hour)) }},
		{name: "the region says that it is out of stock", pool: nodePool(), say: func(p *Provider) {
			rows := []catalog.Availability{{Region: "us-ord", Plan: "g6-standard-4", Available: false}}
			p.chooser.Types.SetStock(rows)
		}},
		{name: "the price list does not have it any more", plan: "g9-retired-4", pool: nodePool()},
		{name: "a limit has no room for it", pool: nodePool(), limit: capped("full", nodes(none))},
		{name: "LKE refuses the NodePool", pool: refused},
		{name: "the NodePool asks for another zone", pool: nodePool(in(corev1.LabelTopologyZone, "us-east"))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			nc := decided(1)
			nc.Labels[corev1.LabelTopologyZone], nc.Labels[karpv1.CapacityTypeLabelKey] = "us-ord", "on-demand"
			if tt.plan != "" {
				nc.Labels[corev1.LabelInstanceTypeStable] = tt.plan
			}
			p := provider(t, readyClass(), tt.pool, nc)
			if tt.limit != nil {
				p = provider(t, readyClass(), tt.pool, nc, tt.limit)
			}
			if tt.say != nil {
				tt.say(p)
			}
			for range 2 {
				types, err := p.GetInstanceTypes(t.Context(), tt.pool)
				if err != nil {
					t.Fatal(err)
				}
				if !offers(types, nc) {
					t.Errorf("Karpenter would replace nodes of %s", nodeclaim.PlanOf(nc))
				}
			}
		})
	}
}

// offers is what Karpenter asks (karpenter v1.15.0, instanceTypeNotFound).
func offers(types []*cloudprovider.InstanceType, nc *karpv1.NodeClaim) bool {
	for _, it := range types {
		if it.Name == nc.Labels[corev1.LabelInstanceTypeStable] {
			return it.Offerings.HasCompatible(scheduling.NewLabelRequirements(nc.Labels))
		}
	}
	return false
}

func embedded(t *testing.T) *catalog.Catalog {
	t.Helper()
	facts, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	return facts
}

// TestRetiredPlanIsUnavailable: what a price list does not have is known, and never
// chosen.
func TestRetiredPlanIsUnavailable(t *testing.T) {
	nc := decided(1)
	nc.Labels[corev1.LabelInstanceTypeStable] = "g9-retired-4"
	p := provider(t, readyClass(), nodePool(), nc)
	before, err := p.GetInstanceTypes(t.Context(), nodePool())
	if err != nil {
		t.Fatal(err)
	}
	if last := before[len(before)-1]; last.Name != "g9-retired-4" || len(last.Offerings.Available()) > 0 {
		t.Errorf("the type is %+v", last)
	}
	again, _ := p.GetInstanceTypes(t.Context(), nodePool())
	if again[len(again)-1] != before[len(before)-1] {
		t.Error("the type is another one each time, and Karpenter works it out again")
	}
	if len(p.chooser.Types.List()) != len(instancetype.New(embedded(t), "us-ord", catalog.Standard).List()) {
		t.Error("the shared list was changed")
	}
}
