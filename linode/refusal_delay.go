package linode

import (
	"context"
	"time"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
)

// delayRefusal delays an error that makes Karpenter delete a NodeClaim, until the claim is two seconds old. If a
// claim is deleted while Karpenter still creates others of the same batch, which takes milliseconds, Karpenter's
// state keeps the deleted claim, and plans nothing for any NodePool until its garbage collection 15 seconds later
// (kubernetes-sigs/karpenter#3176; karpenter v1.15.0, pkg/controllers/state/nodeclaimgc).
func delayRefusal(ctx context.Context, nc *karpv1.NodeClaim, err error) error {
	if !cloudprovider.IsInsufficientCapacityError(err) && !cloudprovider.IsNodeClassNotReadyError(err) {
		return err
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Until(nc.CreationTimestamp.Add(batchAge))):
	}
	return err
}

// batchAge is the age of a NodeClaim at which Karpenter has certainly created the rest of its batch. Creation times
// are in whole seconds.
const batchAge = 2 * time.Second
