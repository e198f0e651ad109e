package controller

import (
	"context"

	"k8s.io/utils/clock"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"

	"github.com/lkeplan/lkeplan/linode/maintenance"
)

// repair is Karpenter's method that replaces unhealthy nodes. It leaves a node alone while maintenance of its host
// explains its state.
type repair struct {
	disruption.Method
	clock clock.PassiveClock
}

// ShouldDisrupt implements disruption.Method.
func (r repair) ShouldDisrupt(ctx context.Context, c *disruption.Candidate) bool {
	return !maintenance.Of(c.NodeClaim).Explains(r.clock.Now()) && r.Method.ShouldDisrupt(ctx, c)
}
