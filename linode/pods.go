package linode

import (
	"context"
	"fmt"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/utils/nodepool"
	podutils "sigs.k8s.io/karpenter/pkg/utils/pod"

	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// Pods is the controller that writes events on pending pods about causes that Karpenter does not report:
// NodePools that are not ready, plan types that are out of stock and what is tried next, full placement
// groups, and a Linode API that does not answer.
type Pods struct {
	client client.Client
	plans  *instancetype.Set
	full   Full
	events events.EventRecorder
	last   map[types.UID]lastEvent
}

// Full says why a NodePool cannot get another node of its class; "" if it can.
type Full func(ctx context.Context, class *linodev1alpha1.LinodeNodeClass, pool *karpv1.NodePool) (string, error)

// lastEvent is the last event about a pod.
type lastEvent struct {
	reason string
	at     time.Time
}

// NewPods returns the controller. Full may be nil.
func NewPods(c client.Client, plans *instancetype.Set, full Full, recorder events.EventRecorder) *Pods {
	return &Pods{client: c, plans: plans, full: full, events: recorder}
}

// How often pending pods are listed while there is something to report, and how often an
// event is repeated on a pod.
const (
	podsEvery = 10 * time.Second
	warnEvery = 2 * time.Minute
	gather    = 2 * time.Second // how long events are collected
)

// Register implements operatorpkg's Controller. Any change of a NodePool or a class reconciles all pods, after a
// short delay: a thousand new objects change five thousand times.
func (p *Pods) Register(_ context.Context, mgr ctrl.Manager) error {
	all := nodeclaim.Collect(gather, handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{}}
	}))
	return ctrl.NewControllerManagedBy(mgr).Named("pod.notready").Watches(&karpv1.NodePool{}, all).
		Watches(&linodev1alpha1.LinodeNodeClass{}, all).Complete(p)
}

// Reconcile writes events on all pods that wait because of an obstacle.
func (p *Pods) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	found, err := p.findObstacles(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	if found.nothing() {
		p.last = nil
		return ctrl.Result{}, nil
	}
	// New pods do not cause an event of a NodePool, so the pods are listed again.
	return ctrl.Result{RequeueAfter: podsEvery}, p.warn(ctx, found)
}

// findObstacles finds the obstacles.
func (p *Pods) findObstacles(ctx context.Context) (found obstacles, err error) {
	var pools karpv1.NodePoolList
	if err := p.client.List(ctx, &pools, client.UnsafeDisableDeepCopy); err != nil {
		return found, fmt.Errorf("list the NodePools: %w", err)
	}
	var classes linodev1alpha1.LinodeNodeClassList
	if err := p.client.List(ctx, &classes, client.UnsafeDisableDeepCopy); err != nil {
		return found, fmt.Errorf("list the node classes: %w", err)
	}
	found.types, found.blocked, found.region = p.plans.List(), p.plans.Blocked(), p.plans.Region()
	found.classes = map[string]*linodev1alpha1.LinodeNodeClass{}
	for i := range classes.Items {
		found.classes[classes.Items[i].Name] = &classes.Items[i]
	}
	for i := range pools.Items {
		pool := &pools.Items[i]
		switch ref := pool.Spec.Template.Spec.NodeClassRef; {
		case !pool.DeletionTimestamp.IsZero(), ref == nil, ref.Group != linodev1alpha1.Group:
		case pool.StatusConditions(status.WithObservedOnly()).IsTrue(status.ConditionReady):
			found.ready = append(found.ready, pool)
		default:
			found.unready = append(found.unready, pool)
		}
	}
	nodepool.OrderByWeight(found.ready)
	found.full, err = p.fullNodePools(ctx, found)
	return found, err
}

// fullNodePools returns the ready NodePools without capacity, with the reasons.
func (p *Pods) fullNodePools(ctx context.Context, found obstacles) (map[string]string, error) {
	full := map[string]string{}
	for _, pool := range found.ready {
		class := found.classes[pool.Spec.Template.Spec.NodeClassRef.Name]
		if p.full == nil || class == nil {
			continue
		}
		why, err := p.full(ctx, class, pool)
		if err != nil {
			return nil, err
		}
		if why != "" {
			full[pool.Name] = why
		}
	}
	return full, nil
}

// warn writes an event on each pending pod that has an obstacle.
func (p *Pods) warn(ctx context.Context, found obstacles) error {
	var pods corev1.PodList
	if err := p.client.List(ctx, &pods, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list the pods: %w", err)
	}
	now, next := time.Now(), map[types.UID]lastEvent{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if !podutils.IsProvisionable(pod) {
			continue
		}
		o := found.obstacleOf(pod)
		last, before := p.last[pod.UID]
		switch {
		case before && now.Sub(last.at) < warnEvery && (o.reason == last.reason || o.reason == ""):
			next[pod.UID] = last
		case o.reason != "":
			p.events.Eventf(pod, o.pool, corev1.EventTypeWarning, o.reason, "Provision", "%s", o.text)
			next[pod.UID] = lastEvent{o.reason, now}
		}
	}
	p.last = next
	return nil
}
