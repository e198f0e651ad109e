package instances

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// Karpenter deletes a claim whose Node has not registered for 15 minutes, which it counts from
// when the condition Registered was set last. A create that waits for the rate limit, and no
// other, has that time begin again.

// patience is after how long it begins again.
const patience = 5 * time.Minute

// beat has the time of claims that wait for the rate limit begin again.
func (i *Instances) beat(ctx context.Context, uids []string) error {
	for _, uid := range uids {
		nc, err := nodeclaim.ByUID(ctx, i.cfg.Client, uid)
		if err == nil {
			err = i.renew(ctx, nc)
		}
		if client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// renew has Karpenter's time for a claim to register begin again.
func (i *Instances) renew(ctx context.Context, nc *karpv1.NodeClaim) error {
	later := nc.DeepCopy()
	for k := range later.Status.Conditions {
		c := &later.Status.Conditions[k]
		if c.Type != karpv1.ConditionTypeRegistered || c.Status != metav1.ConditionUnknown ||
			time.Since(c.LastTransitionTime.Time) < patience {
			continue
		}
		c.LastTransitionTime = metav1.Now()
		// Conditions are a list, which a merge patch replaces whole.
		patch := client.MergeFromWithOptions(nc, client.MergeFromWithOptimisticLock{})
		if err := i.cfg.Client.Status().Patch(ctx, later, patch); err != nil && !apierrors.IsConflict(err) {
			return fmt.Errorf("give NodeClaim %s more time: %w", nc.Name, err)
		}
		i.cfg.Events.Eventf(nc, nil, corev1.EventTypeNormal, "QueuedAtLinode", "Launch",
			"it waits for its turn: Linode makes 20 Linodes in 15 seconds")
		return nil
	}
	return nil
}
