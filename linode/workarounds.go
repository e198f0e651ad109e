package linode

import (
	"context"
	"time"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
)

// slowly holds an error back after which the core deletes a NodeClaim, until
// the claim is some time old. Karpenter v1.14.1 does not expect claims to go
// while it still makes others of the same batch, which takes it milliseconds:
// its state may keep one that is gone for ever, so that it plans nothing more
// (kubernetes-sigs/karpenter#3176, see also seedSweeper in engine), and with
// static NodePools it ends with a nil dereference (ReleaseNodeCount in
// pkg/controllers/state/statenodepool.go). v1.14.3 mends both.
func slowly(ctx context.Context, nc *karpv1.NodeClaim, err error) error {
	if !cloudprovider.IsInsufficientCapacityError(err) && !cloudprovider.IsNodeClassNotReadyError(err) {
		return err
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Until(nc.CreationTimestamp.Add(settled))):
	}
	return err
}

// settled is how old a NodeClaim is when the core is done with its batch for
// sure. Creation times are in whole seconds.
const settled = 2 * time.Second
