package linode

import (
	"context"
	"time"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// slowly holds back the refusal of a static NodePool's claim. Karpenter v1.14.1
// ends with a nil dereference where the last claim of a static NodePool goes
// while others are being made (ReleaseNodeCount in
// pkg/controllers/state/statenodepool.go, mended in v1.14.3); they are made
// within milliseconds of one another.
func (p *Provider) slowly(ctx context.Context, pool *karpv1.NodePool, refusal error) error {
	if pool != nil && pool.Spec.Replicas != nil {
		select {
		case <-ctx.Done():
		case <-time.After(staticRefusal):
		}
	}
	return refusal
}

// staticRefusal is how long the refusal of a static NodePool's claim takes.
const staticRefusal = 2 * time.Second
