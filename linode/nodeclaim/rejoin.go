package nodeclaim

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
)

// MadeAgain reports whether a Node is younger than the registration of its claim:
// the Node was removed that Karpenter had registered, and the kubelet made it
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
	return ctrl.Result{RequeueAfter: ProviderIDWithin}, nil
}

// ProviderIDWithin is how long the cloud controller has to write a Node's provider id.
// Karpenter knows the Node by it, and takes the machine away after 15 minutes without.
// Unverified: that the cloud controller takes a Node with an id that another program wrote.
const ProviderIDWithin = time.Minute
