package linode

import (
	"context"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/linode/linodetest"
	"github.com/lkeplan/lkeplan/linode/lke"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// TestNoNodeClaimPanics, of any shape: work for it fails, and that for others does not.
func TestNoNodeClaimPanics(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 300 {
		nc := linodetest.Garbage(rng, n)
		var stored []client.Object
		if nc.DeletionTimestamp == nil || len(nc.Finalizers) > 0 {
			stored = append(stored, nc.DeepCopy())
		}
		p := provider(t, append(stored, readyClass(), nodePool())...)
		machines := p.machines.(*lke.Machines)
		ctx := t.Context()
		node := &corev1.Node{}
		node.Name, node.Spec.ProviderID = nc.Status.NodeName, nc.Status.ProviderID
		for call, cause := range linodetest.Panics(map[string]func(){
			"Create":       func() { _, _ = p.chooser.Choose(ctx, nc) },
			"Replan":       func() { _, _ = p.chooser.Replan(ctx, nc) },
			"Get":          func() { _, _ = p.Get(ctx, nc.Status.ProviderID) },
			"Delete":       func() { _ = p.Delete(ctx, nc) },
			"IsDrifted":    func() { _, _ = p.IsDrifted(ctx, nc) },
			"List":         func() { _, _ = p.List(ctx) },
			"types":        func() { _, _ = p.GetInstanceTypes(ctx, nodePool()) },
			"drift":        func() { _, _ = machines.Drifted(ctx, nc, readyClass()) },
			"demand":       func() { lke.DemandOf(nc) },
			"trigger":      func() { nodeclaim.Waits(nc) },
			"what it is":   func() { nodeclaim.Decided(nc); nodeclaim.PlanOf(nc); nodeclaim.VersionOf(nc, "") },
			"made again":   func() { nodeclaim.MadeAgain(node, nc) },
			"its class":    func() { requestClass(context.Background(), nc) },
			"its counting": func() { _, _ = p.chooser.Limits.Show(ctx) },
		}) {
			t.Errorf("%s: %v with %+v", call, cause, nc)
		}
	}
}
