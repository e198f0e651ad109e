package loop

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Collect returns an event handler that requests what of returns for an object, after a delay. A request that
// comes during the delay of an equal one does not add another: a controller that lists all NodeClaims of a NodePool
// would else list them for each event of a burst of nodes.
func Collect(delay time.Duration, of handler.MapFunc) handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	add := func(ctx context.Context, q queue, objects ...client.Object) {
		for _, o := range objects {
			for _, request := range of(ctx, o) {
				q.AddAfter(request, delay)
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, ev event.CreateEvent, q queue) { add(ctx, q, ev.Object) },
		UpdateFunc: func(ctx context.Context, ev event.UpdateEvent, q queue) { add(ctx, q, ev.ObjectOld, ev.ObjectNew) },
		DeleteFunc: func(ctx context.Context, ev event.DeleteEvent, q queue) { add(ctx, q, ev.Object) },
	}
}
