package nodeclaim

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Collect returns an event handler that adds the requests of another one after a delay. A request that comes during
// the delay of an equal one does not add another: a controller that lists all NodeClaims of a NodePool would else list
// them for each event of a burst of nodes.
func Collect(delay time.Duration, events handler.EventHandler) handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, ev event.CreateEvent, q queue) { events.Create(ctx, ev, later{q, delay}) },
		UpdateFunc: func(ctx context.Context, ev event.UpdateEvent, q queue) { events.Update(ctx, ev, later{q, delay}) },
		DeleteFunc: func(ctx context.Context, ev event.DeleteEvent, q queue) { events.Delete(ctx, ev, later{q, delay}) },
	}
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

type later struct {
	queue
	delay time.Duration
}

// Add implements workqueue.TypedInterface.
func (l later) Add(request reconcile.Request) { l.AddAfter(request, l.delay) }
