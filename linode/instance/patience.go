package instance

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// Karpenter deletes a claim whose Node has not registered for 15 minutes, which it counts from
// when the condition Registered was set last. A create that waits for the rate limit, and no
// other, has that time begin again.

// Queued has the time of claims that wait for the rate limit begin again.
func (i cluster) Queued(ctx context.Context, uids []string) error {
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
func (i *Machines) renew(ctx context.Context, nc *karpv1.NodeClaim) error {
	extended, err := nodeclaim.Extend(ctx, i.cfg.Client, nc)
	if err != nil {
		return fmt.Errorf("give NodeClaim %s more time: %w", nc.Name, err)
	}
	if extended {
		i.cfg.Events.Eventf(nc, nil, corev1.EventTypeNormal, "QueuedAtLinode", "Launch",
			"it waits for its turn: Linode makes 20 Linodes in 15 seconds")
	}
	return nil
}
