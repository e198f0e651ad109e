package controller

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	k8sevents "k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/events"

	"github.com/lkeplan/lkeplan/engine/stop"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// brake knows whether disruption is stopped. Four places ask it, and each asks right before it starts something:
//
//   - delayed, for the methods with which Karpenter finds what to disrupt
//   - startingClient, for commands that Karpenter has started and whose replacements are ready now
//   - staticPools, for NodePools that have more nodes than replicas
//   - evictingClient, for the pods of draining nodes
//
// Expired nodes, NodeClaims without a machine, and Nodes and NodePools that a user deletes are not voluntary disruption
// in Karpenter either.
type brake struct {
	cached, live client.Reader
	clock        clock.PassiveClock
}

// state is the state in the cache.
func (b brake) state(ctx context.Context) stop.State { return stop.Read(ctx, b.cached, b.clock.Now()) }

// stopped returns an error if disruption is stopped. It asks the API server, because a cache can be behind without a
// limit if its watch fails.
func (b brake) stopped(ctx context.Context) error {
	s := b.state(ctx)
	if !s.Stopped() {
		s = stop.Read(ctx, b.live, b.clock.Now())
	}
	if s.Stopped() {
		return fmt.Errorf("disruption is %s", s)
	}
	return nil
}

// startingClient is the client of Karpenter's queue, which deletes the nodes of a command when their replacements are
// ready. While disruption is stopped, the nodes wait; if they have waited as long as Karpenter waits for replacements, it
// gives the command up, and removes the taint of the nodes. A node that is repaired gets the end of its drain before, by
// a patch.
type startingClient struct {
	client.Client
	brake brake
}

// Delete implements client.Client.
func (c startingClient) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	if _, claim := o.(*karpv1.NodeClaim); claim {
		if err := c.brake.stopped(ctx); err != nil {
			return err
		}
	}
	return c.Client.Delete(ctx, o, opts...)
}

// Patch implements client.Client.
func (c startingClient) Patch(ctx context.Context, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if _, claim := o.(*karpv1.NodeClaim); claim {
		if err := c.brake.stopped(ctx); err != nil {
			return err
		}
	}
	return c.Client.Patch(ctx, o, patch, opts...)
}

// evictingClient refuses evictions while drains are held, as the API server does for a PodDisruptionBudget. Karpenter
// tries again, after ten seconds at most. It deletes pods without an eviction at the end of the terminationGracePeriod of
// their node.
type evictingClient struct {
	client.Client
	brake brake
}

// SubResource implements client.Client.
func (c evictingClient) SubResource(name string) client.SubResourceClient {
	return evictions{c.Client.SubResource(name), c.brake}
}

type evictions struct {
	client.SubResourceClient
	brake brake
}

// Create implements client.SubResourceClient.
func (e evictions) Create(ctx context.Context, o, sub client.Object, opts ...client.SubResourceCreateOption) error {
	if _, evicts := sub.(*policyv1.Eviction); evicts {
		if s := e.brake.state(ctx); s.Holds() {
			return apierrors.NewTooManyRequests("evictions are "+s.String(), 0)
		}
	}
	return e.SubResourceClient.Create(ctx, o, sub, opts...)
}

// holdRecorder corrects what Karpenter reports about a held drain: it knows only PodDisruptionBudgets as the cause.
type holdRecorder struct {
	events.Recorder
	brake brake
}

// Publish implements events.Recorder.
func (r holdRecorder) Publish(all ...events.Event) {
	for i := range all {
		if all[i].Reason != events.FailedDraining {
			continue
		}
		if s := r.brake.state(context.Background()); s.Holds() {
			all[i].Message = "its pods are not evicted: drains are " + s.String()
		}
	}
	r.Recorder.Publish(all...)
}

// stopReporter reports the start and the end of each DisruptionStop, as an event on it and in the log.
type stopReporter struct {
	client client.Reader
	events k8sevents.EventRecorder
	log    *slog.Logger
	clock  clock.PassiveClock
	active map[types.UID]bool // those whose start was reported; Reconcile runs in one goroutine
}

// The reasons of events on DisruptionStops.
const (
	reasonStopped = "DisruptionStopped"
	reasonResumed = "DisruptionResumed"
)

// Register implements operatorpkg's Controller.
func (r *stopReporter) Register(_ context.Context, mgr manager.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named("disruptionstop").For(&lkeplanv1alpha1.DisruptionStop{}).Complete(r)
}

// Reconcile reports the start of a DisruptionStop, and its end if this process knows of its start.
func (r *stopReporter) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var s lkeplanv1alpha1.DisruptionStop
	if err := r.client.Get(ctx, req.NamespacedName, &s); err != nil {
		if apierrors.IsNotFound(err) {
			r.log.Info("a DisruptionStop was deleted", "name", req.Name, "disruption", r.others(ctx))
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	left := s.Until().Sub(r.clock.Now())
	switch known := r.active[s.UID]; {
	case left > 0 && !known:
		r.active[s.UID] = true
		r.log.Warn("disruption is stopped", "name", s.Name, "until", s.Until(), "by", s.Spec.By, "reason", s.Spec.Reason)
		r.events.Eventf(&s, nil, corev1.EventTypeWarning, reasonStopped, "Disrupt", "disruption is %s", stop.Describe(&s))
	case left <= 0 && known:
		delete(r.active, s.UID)
		r.log.Info("a DisruptionStop has ended", "name", s.Name, "disruption", r.others(ctx))
		r.events.Eventf(&s, nil, corev1.EventTypeNormal, reasonResumed, "Disrupt", "the stop has ended; disruption is %s", r.others(ctx))
	}
	return ctrl.Result{RequeueAfter: max(left, 0)}, nil
}

// others says whether disruption is still stopped.
func (r *stopReporter) others(ctx context.Context) string {
	if s := stop.Read(ctx, r.client, r.clock.Now()); s.Stopped() {
		return s.String()
	}
	return "allowed"
}

// metrics returns the metrics about stops, which are computed when they are read.
func (b brake) metrics() []prometheus.Collector {
	return []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "lkeplan_disruption_stopped",
			Help: "1 while no voluntary disruption of nodes starts, because of a DisruptionStop; 0 otherwise.",
		}, func() float64 {
			if b.state(context.Background()).Stopped() {
				return 1
			}
			return 0
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "lkeplan_disruption_stopped_until_timestamp_seconds",
			Help: "When the last active DisruptionStop ends, in seconds since 1970; 0 if there is none.",
		}, func() float64 {
			if until := b.state(context.Background()).Until(); !until.IsZero() {
				return float64(until.UnixMilli()) / 1000
			}
			return 0
		}),
	}
}
