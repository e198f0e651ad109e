package lke

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// identify writes the provider id that the cloud controller should have written. Until
// then it asks for another try.
func (c *EarlyBinder) identify(ctx context.Context, node *corev1.Node) (ctrl.Result, error) {
	due := node.CreationTimestamp.Add(nodeclaim.ProviderIDWithin)
	if node.Spec.ProviderID != "" {
		return ctrl.Result{}, nil
	}
	if wait := time.Until(due); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	// The slot's instance as it is by now: LKE may have put another in its place.
	pools, err := c.pools.Pools(ctx, due)
	if err != nil {
		return ctrl.Result{}, err
	}
	_, slot, ours := inPools(pools, c.cluster, node.Name)
	if !ours || slot.InstanceID == 0 {
		return ctrl.Result{RequeueAfter: nodeclaim.ProviderIDWithin}, nil
	}
	named := node.DeepCopy()
	named.Spec.ProviderID = nodeclaim.LinodeID(slot.InstanceID)
	patch := client.MergeFromWithOptions(node, client.MergeFromWithOptimisticLock{})
	if err := c.client.Patch(ctx, named, patch); apierrors.IsConflict(err) || apierrors.IsInvalid(err) {
		return ctrl.Result{RequeueAfter: time.Second}, nil // the cloud controller was faster
	} else if err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(fmt.Errorf("write the provider id of node %s: %w", node.Name, err))
	}
	return ctrl.Result{}, nil
}
