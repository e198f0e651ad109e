package nodeclaim

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// extendAfter is how much of the time to register is over before it begins again.
const extendAfter = 5 * time.Minute

// Extend has Karpenter's time for a claim to register begin again, and reports whether it
// did: not where little of it is over, or the claim has registered. Karpenter deletes a
// claim whose Node has not registered for 15 minutes, which it counts from when the
// condition Registered was set last (karpenter v1.14.1,
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
		// Conditions are a list, which a merge patch replaces whole.
		err := c.Status().Patch(ctx, later, client.MergeFromWithOptions(nc, client.MergeFromWithOptimisticLock{}))
		if apierrors.IsConflict(err) {
			return false, nil // the next try is soon
		}
		return err == nil, err
	}
	return false, nil
}
