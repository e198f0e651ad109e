package token

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// Controller revokes tokens: the token of a claim when its Node has registered or when the claim is deleted, and
// all unused tokens at the start and every ten minutes.
type Controller struct {
	tokens *Tokens
	reader client.Reader
}

// NewController returns the controller. reader must not use a cache.
func NewController(tokens *Tokens, reader client.Reader) *Controller {
	return &Controller{tokens, reader}
}

const (
	sweepEvery = 10 * time.Minute
	sweepAgain = time.Minute // after a failed sweep
)

// Register implements operatorpkg's Controller.
func (c *Controller) Register(_ context.Context, mgr ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(mgr).Named("nodeclaim.token").
		Watches(&karpv1.NodeClaim{}, revocationEvents()).
		Complete(c)
	if err != nil {
		return err
	}
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		// From here on, each registration causes an event that the controller receives.
		if _, err := mgr.GetCache().GetInformer(ctx, &karpv1.NodeClaim{}); err != nil {
			return fmt.Errorf("watch NodeClaims: %w", err)
		}
		c.run(ctx)
		return nil
	}))
}

// revocationEvents requests the revocation of the token of a claim, by the claim's UID, because a deleted claim leaves
// nothing else, and a new claim may have its name. Claims that exist when the controller starts are left to the
// sweep, which needs only one list for all of them.
func revocationEvents() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	revoke := func(o client.Object, q queue) {
		q.Add(reconcile.Request{NamespacedName: client.ObjectKey{Name: string(o.GetUID())}})
	}
	return handler.Funcs{
		UpdateFunc: func(_ context.Context, ev event.UpdateEvent, q queue) {
			was, isWas := ev.ObjectOld.(*karpv1.NodeClaim)
			is, isIs := ev.ObjectNew.(*karpv1.NodeClaim)
			switch {
			case !isWas || !isIs:
			case was.UID != is.UID: // deleted and created again without an event between
				revoke(was, q)
			case nodeclaim.Managed(is) && Spent(is) && !Spent(was):
				revoke(is, q)
			}
		},
		DeleteFunc: func(_ context.Context, ev event.DeleteEvent, q queue) {
			if claim, ok := ev.Object.(*karpv1.NodeClaim); ok && nodeclaim.Managed(claim) {
				revoke(claim, q)
			}
		},
	}
}

// Reconcile revokes the token of the claim whose UID is the name of the request.
func (c *Controller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return ctrl.Result{}, c.tokens.Revoke(ctx, req.Name)
}

// run sweeps until ctx ends.
func (c *Controller) run(ctx context.Context) {
	for ctx.Err() == nil {
		next := sweepEvery
		deleted, err := c.tokens.Sweep(ctx, c.living)
		if err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "bootstrap tokens that are left over may be there still")
			next = sweepAgain
		}
		if len(deleted) > 0 {
			log.FromContext(ctx).Info("deleted bootstrap tokens that no NodeClaim needs", "secrets", deleted)
		}
		select {
		case <-ctx.Done():
		case <-time.After(next):
		}
	}
}

// living returns the UIDs of the claims that may still need their token.
func (c *Controller) living(ctx context.Context) (map[string]bool, error) {
	var list karpv1.NodeClaimList
	if err := c.reader.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("list NodeClaims: %w", err)
	}
	alive := map[string]bool{}
	for i := range list.Items {
		if !Spent(&list.Items[i]) {
			alive[string(list.Items[i].UID)] = true
		}
	}
	return alive, nil
}
