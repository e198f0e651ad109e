package limits

import (
	"context"
	"fmt"
	"slices"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// ConditionLimitReached on a NodePool is true while the limits in its spec have no room for any node that it could
// have. The message has the limit, and the value that would allow another node. Otherwise the condition is absent.
// Refusals of a CapacityLimit are a condition of the CapacityLimit.
const ConditionLimitReached = "LimitReached"

// hasLimits reports whether a NodePool has its own limits. A NodePool with a limit of no nodes does not count,
// because it is not meant to create any.
func hasLimits(pool karpv1.NodePool) bool {
	nodes, capped := pool.Spec.Limits[Nodes]
	return len(pool.Spec.Limits) > 0 && !(capped && nodes.IsZero())
}

// limitedOrReached reports whether a NodePool has its own limits, or a condition about them.
func limitedOrReached(pool karpv1.NodePool) bool { return hasLimits(pool) || limitReached(&pool) }

// limitReached reports whether the condition of a NodePool says that it has reached its limit.
func limitReached(pool *karpv1.NodePool) bool {
	return pool.StatusConditions(status.WithObservedOnly()).Get(ConditionLimitReached) != nil
}

// poolChanges are the changes of a NodePool that may change what limits have room for, or
// what it says of that: Karpenter writes conditions too, and may drop one that its cache does
// not show.
var poolChanges = predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.Funcs{
	UpdateFunc: func(ev event.UpdateEvent) bool {
		was, okWas := ev.ObjectOld.(*karpv1.NodePool)
		is, okIs := ev.ObjectNew.(*karpv1.NodePool)
		return okWas && okIs && limitReached(was) && !limitReached(is)
	},
})

// ownLimits writes on each NodePool whether it has reached the limits in its spec, and reports whether the
// limits of any NodePool refuse it the cheapest node.
func (c *Controller) ownLimits(
	ctx context.Context, tally Tally, pools []karpv1.NodePool,
) (bind bool, err error) {
	for i := range pools {
		pool := &pools[i]
		if !limitedOrReached(*pool) || !pool.DeletionTimestamp.IsZero() {
			continue
		}
		var full string
		if hasLimits(*pool) {
			fit := instancetype.Candidates(c.enforcer.types.List(), instancetype.RequirementsOf(pool), nil)
			own := tally.Own(pool.Name)
			full, _ = c.enforcer.Refused(own, pool.Name, fit)
			bind = bind || slices.ContainsFunc(fit, func(it *cloudprovider.InstanceType) bool {
				_, refused := own.Refuses(c.enforcer.wish(pool.Name, it))
				return refused
			})
		}
		if err := c.sayReached(ctx, pool, full); err != nil {
			return bind, err
		}
	}
	return bind, nil
}

// sayReached sets the condition of a NodePool to the reason why its limits have no room, or removes it if the
// reason is "".
func (c *Controller) sayReached(ctx context.Context, stored *karpv1.NodePool, full string) error {
	due := c.announces(stored.UID, full != "")
	if full == "" && !limitReached(stored) {
		return nil
	}
	pool := stored.DeepCopy()
	if due {
		c.events.Eventf(pool, nil, corev1.EventTypeWarning, ReasonReached, "Provision", "%s", full)
	}
	conditions := pool.StatusConditions(status.WithObservedOnly())
	if full == "" {
		_ = conditions.Clear(ConditionLimitReached) // an error is only possible for parts of Ready
	} else {
		conditions.SetTrueWithReason(ConditionLimitReached, "NoRoom", full)
	}
	if err := nodeclaim.PatchStatus(ctx, c.client, stored, pool); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write the status of NodePool %s: %w", pool.Name, err)
	}
	return nil
}

// notifyPools writes an event on each NodePool for which a CapacityLimit has no room, and on the CapacityLimit.
func (c *Controller) notifyPools(cl *lkeplanv1alpha1.CapacityLimit, refused refused, pools []karpv1.NodePool) {
	for i := range pools {
		if message := refused.full[pools[i].Name]; message != "" {
			const warning = corev1.EventTypeWarning
			c.events.Eventf(cl, &pools[i], warning, lkeplanv1alpha1.ConditionReached, "Limit", "%s", message)
			c.events.Eventf(&pools[i], cl, warning, ReasonReached, "Provision", "%s", message)
		}
	}
}
