package linode

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	podutils "sigs.k8s.io/karpenter/pkg/utils/pod"

	"github.com/lkeplan/lkeplan/linode/instancetype"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// Pods is the controller that tells pending pods which NodePool they wait for in
// vain. Karpenter leaves out NodePools that are not ready, and with them their
// names.
type Pods struct {
	client client.Client
	events events.EventRecorder
	told   map[types.UID]time.Time // pods with such an event, and since when
}

// NewPods returns the controller.
func NewPods(c client.Client, recorder events.EventRecorder) *Pods {
	return &Pods{client: c, events: recorder}
}

// How often pending pods are listed while a NodePool is not ready, and how often an
// event is repeated on a pod.
const (
	podsEvery = 10 * time.Second
	tellEvery = 2 * time.Minute
	settling  = 2 * time.Second // how long changes of NodePools are collected
)

// Register implements operatorpkg's Controller. Any change of a NodePool reconciles
// all pods, a moment later: a thousand that are new change five thousand times.
func (p *Pods) Register(_ context.Context, mgr ctrl.Manager) error {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	later := func(q queue) { q.AddAfter(reconcile.Request{}, settling) }
	return ctrl.NewControllerManagedBy(mgr).Named("pod.notready").Watches(&karpv1.NodePool{}, handler.Funcs{
		CreateFunc: func(_ context.Context, _ event.CreateEvent, q queue) { later(q) },
		UpdateFunc: func(_ context.Context, _ event.UpdateEvent, q queue) { later(q) },
		DeleteFunc: func(_ context.Context, _ event.DeleteEvent, q queue) { later(q) },
	}).Complete(p)
}

// Reconcile tells all pods that wait for NodePools which are not ready.
func (p *Pods) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	var list karpv1.NodePoolList
	if err := p.client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, fmt.Errorf("list the NodePools: %w", err)
	}
	var ready, unready []*karpv1.NodePool
	for i := range list.Items {
		pool := &list.Items[i]
		switch ref := pool.Spec.Template.Spec.NodeClassRef; {
		case !pool.DeletionTimestamp.IsZero(), ref == nil, ref.Group != linodev1alpha1.Group:
		case pool.StatusConditions(status.WithObservedOnly()).IsTrue(status.ConditionReady):
			ready = append(ready, pool)
		default:
			unready = append(unready, pool)
		}
	}
	if len(unready) == 0 {
		p.told = nil
		return ctrl.Result{}, nil
	}
	// New pods cause no event of a NodePool.
	return ctrl.Result{RequeueAfter: podsEvery}, p.tell(ctx, ready, unready)
}

// tell writes an event on each pending pod that no ready NodePool is for.
func (p *Pods) tell(ctx context.Context, ready, unready []*karpv1.NodePool) error {
	var pods corev1.PodList
	if err := p.client.List(ctx, &pods, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list the pods: %w", err)
	}
	now, told := time.Now(), map[types.UID]time.Time{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if !podutils.IsProvisionable(pod) {
			continue
		}
		if at, ok := p.told[pod.UID]; ok && now.Sub(at) < tellEvery {
			told[pod.UID] = at
		} else if pool := inVain(pod, ready, unready); pool != nil {
			p.events.Eventf(pod, pool, corev1.EventTypeWarning, "NodePoolNotReady", "Provision",
				"NodePool %s is not ready, and no other is for this pod: %s", pool.Name, p.whyNot(ctx, pool))
			told[pod.UID] = now
		}
	}
	p.told = told
	return nil
}

// inVain returns the first NodePool that is not ready and that the pod could use; nil
// where a ready one is for the pod.
func inVain(pod *corev1.Pod, ready, unready []*karpv1.NodePool) *karpv1.NodePool {
	for _, pool := range ready {
		if _, ok := instancetype.ForPod(pool, pod); ok {
			return nil
		}
	}
	for _, pool := range unready {
		if _, ok := instancetype.ForPod(pool, pod); ok {
			return pool
		}
	}
	return nil
}

// whyNot is why a NodePool is not ready, short enough for an event.
func (p *Pods) whyNot(ctx context.Context, pool *karpv1.NodePool) string {
	class := &linodev1alpha1.LinodeNodeClass{}
	key := client.ObjectKey{Name: pool.Spec.Template.Spec.NodeClassRef.Name}
	if err := p.client.Get(ctx, key, class); err != nil { // what the pool says of it has to do
		class = nil
	}
	const most = 800
	text := NotReady(pool, class)
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " ..."
	}
	if text == "" {
		return "it has not been checked yet"
	}
	return text
}

// NotReady is what the conditions of a NodePool say that is not ready; of its class in the
// words of the class, where that is given. It is "" where they say nothing.
func NotReady(pool *karpv1.NodePool, class *linodev1alpha1.LinodeNodeClass) string {
	var texts []string
	conditions := pool.StatusConditions(status.WithObservedOnly())
	if c := conditions.Get(karpv1.ConditionTypeValidationSucceeded); c.IsFalse() {
		texts = append(texts, c.Message)
	}
	if c := conditions.Get(karpv1.ConditionTypeNodeClassReady); c.IsFalse() {
		text := c.Message
		if class != nil { // its condition Ready only names the one that is false
			own := class.StatusConditions(status.WithObservedOnly()).Get(linodev1alpha1.ConditionValidationSucceeded)
			if own.IsFalse() {
				text = own.Message
			}
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, " ")
}
