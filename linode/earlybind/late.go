package earlybind

import (
	"context"
	"fmt"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// MadeAgain reports whether a Node is younger than the registration of its claim:
// somebody removed the Node that Karpenter had registered, and the kubelet made it
// again. Karpenter registers each claim once, so that nothing would ever complete the
// new Node.
func MadeAgain(node *corev1.Node, claim *karpv1.NodeClaim) bool {
	registered := claim.StatusConditions(status.WithObservedOnly()).Get(karpv1.ConditionTypeRegistered)
	return registered.IsTrue() && node.Labels[karpv1.NodeRegisteredLabelKey] != "true" &&
		node.CreationTimestamp.After(registered.LastTransitionTime.Time)
}

// RegisterAgain has Karpenter register the Node of a claim once more.
func RegisterAgain(ctx context.Context, c client.Client, claim *karpv1.NodeClaim) (ctrl.Result, error) {
	again := claim.DeepCopy()
	const reason, text = "NodeMadeAgain", "the Node was removed and has joined again"
	conditions := again.StatusConditions()
	conditions.SetUnknownWithReason(karpv1.ConditionTypeInitialized, reason, text)
	conditions.SetUnknownWithReason(karpv1.ConditionTypeRegistered, reason, text)
	// Conditions are a list, which a merge patch replaces whole.
	patch := client.MergeFromWithOptions(claim, client.MergeFromWithOptimisticLock{})
	if err := c.Status().Patch(ctx, again, patch); apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: time.Second}, nil
	} else if err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(fmt.Errorf("register NodeClaim %s again: %w", claim.Name, err))
	}
	return ctrl.Result{RequeueAfter: identifyAfter}, nil
}

// identifyAfter is how long the cloud controller has to write a Node's provider id.
// Karpenter knows the Node by it, and takes the machine away after 15 minutes without.
// Unverified: that the cloud controller takes a Node with an id that somebody else wrote.
const identifyAfter = time.Minute

// identify writes the provider id that the cloud controller should have written. Until
// then it asks for another try.
func (c *Controller) identify(ctx context.Context, node *corev1.Node) (ctrl.Result, error) {
	due := node.CreationTimestamp.Add(identifyAfter)
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
		return ctrl.Result{RequeueAfter: identifyAfter}, nil
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
