package nodeclaim

import (
	"context"
	"fmt"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// RegisterAgain makes Karpenter register the Node of a claim again.
func RegisterAgain(ctx context.Context, c client.Client, claim *karpv1.NodeClaim) (ctrl.Result, error) {
	again := claim.DeepCopy()
	const reason, text = "NodeMadeAgain", "the Node was removed and joined again"
	conditions := again.StatusConditions()
	conditions.SetUnknownWithReason(karpv1.ConditionTypeInitialized, reason, text)
	conditions.SetUnknownWithReason(karpv1.ConditionTypeRegistered, reason, text)
	if err := PatchStatus(ctx, c, claim, again); err != nil {
		return AfterWrite(fmt.Errorf("register NodeClaim %s again: %w", claim.Name, err))
	}
	return ctrl.Result{RequeueAfter: ProviderIDWithin}, nil
}

// ProviderIDWithin is how long the cloud controller has to write a Node's provider id.
// Karpenter knows the Node by it, and takes the machine away after 15 minutes without.
// The cloud controller takes a Node with an id that another program wrote: this was tried with its code of August 2026.
const ProviderIDWithin = time.Minute

// extendAfter is how much of the time to register must be over before it restarts.
const extendAfter = 5 * time.Minute

// Extend restarts Karpenter's time for a claim to register, and reports whether it did: not if little of it
// is over or the claim has registered. Karpenter deletes a claim whose Node has not registered for 15
// minutes, which it counts from when the condition Registered was set last (karpenter v1.15.0,
// pkg/controllers/nodeclaim/lifecycle/liveness.go).
func Extend(ctx context.Context, c client.Client, nc *karpv1.NodeClaim) (extended bool, err error) {
	later := nc.DeepCopy()
	for k := range later.Status.Conditions {
		condition := &later.Status.Conditions[k]
		if condition.Type != karpv1.ConditionTypeRegistered || condition.Status != metav1.ConditionUnknown ||
			time.Since(condition.LastTransitionTime.Time) < extendAfter {
			continue
		}
		condition.LastTransitionTime = metav1.Now()
		err := PatchStatus(ctx, c, nc, later)
		if apierrors.IsConflict(err) {
			return false, nil // the next try is soon
		}
		return err == nil, err
	}
	return false, nil
}
