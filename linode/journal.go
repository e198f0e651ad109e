package linode

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/awslabs/operatorpkg/status"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// Journal is the controller that notes on each class which of its nodes went last, and why:
// events tell of the last hour only, and NodeClaims are gone with their nodes.
//
// It keeps nothing of its own for longer than a few seconds. A NodeClaim that is being
// deleted when the controller starts is noted then.
type Journal struct {
	client client.Client
	plans  *instancetype.Set

	mu  sync.Mutex
	new map[string]map[string]linodev1alpha1.GoneNode // by class and NodeClaim: not written yet
}

// NewJournal returns the controller. The plan types tell prices.
func NewJournal(c client.Client, plans *instancetype.Set) *Journal {
	return &Journal{client: c, plans: plans, new: map[string]map[string]linodev1alpha1.GoneNode{}}
}

// journalEvery is how often the journal of a class is written at most.
const journalEvery = 5 * time.Second

// Register implements operatorpkg's Controller.
func (j *Journal) Register(_ context.Context, mgr ctrl.Manager) error {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	note := func(o client.Object, q queue) {
		if class := j.note(o); class != "" {
			q.AddAfter(reconcile.Request{NamespacedName: client.ObjectKey{Name: class}}, journalEvery)
		}
	}
	return ctrl.NewControllerManagedBy(mgr).Named("nodeclass.journal").Watches(&karpv1.NodeClaim{}, handler.Funcs{
		CreateFunc: func(_ context.Context, ev event.CreateEvent, q queue) { note(ev.Object, q) },
		UpdateFunc: func(_ context.Context, ev event.UpdateEvent, q queue) {
			if ev.ObjectOld.GetDeletionTimestamp().IsZero() {
				note(ev.ObjectNew, q)
			}
		},
		DeleteFunc: func(_ context.Context, ev event.DeleteEvent, q queue) { note(ev.Object, q) },
	}).Complete(j)
}

// note takes note of a NodeClaim that goes and has had a machine. It returns the class whose
// journal is to be written; "" for none.
func (j *Journal) note(o client.Object) (class string) {
	nc, ok := o.(*karpv1.NodeClaim)
	if !ok || nc.DeletionTimestamp.IsZero() || !nodeclaim.Managed(nc) || nodeclaim.InstanceOf(nc.Status.ProviderID) == 0 {
		return ""
	}
	class = nc.Spec.NodeClassRef.Name
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.new[class] == nil {
		j.new[class] = map[string]linodev1alpha1.GoneNode{}
	}
	j.new[class][nc.Name] = j.gone(nc)
	return class
}

// Reconcile writes the journal of one class.
func (j *Journal) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	j.mu.Lock()
	fresh := maps.Clone(j.new[req.Name])
	j.mu.Unlock()
	if len(fresh) == 0 {
		return ctrl.Result{}, nil
	}
	var class linodev1alpha1.LinodeNodeClass
	err := j.client.Get(ctx, req.NamespacedName, &class)
	if err == nil {
		stored := class.DeepCopy()
		class.Status.Gone = merge(class.Status.Gone, fresh)
		if !equality.Semantic.DeepEqual(stored.Status.Gone, class.Status.Gone) {
			// A list is replaced whole by a merge patch, hence the lock.
			err = j.client.Status().Patch(ctx, &class, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{}))
		}
	}
	if client.IgnoreNotFound(err) != nil {
		return afterWrite(err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	maps.DeleteFunc(j.new[req.Name], func(name string, g linodev1alpha1.GoneNode) bool { return g == fresh[name] })
	return ctrl.Result{}, nil
}

// merge adds nodes to a journal, and leaves out the oldest where there are too many.
func merge(journal []linodev1alpha1.GoneNode, fresh map[string]linodev1alpha1.GoneNode) []linodev1alpha1.GoneNode {
	journal = slices.DeleteFunc(slices.Clone(journal), func(g linodev1alpha1.GoneNode) bool {
		_, again := fresh[g.NodeClaim]
		return again
	})
	journal = slices.AppendSeq(journal, maps.Values(fresh))
	slices.SortFunc(journal, func(a, b linodev1alpha1.GoneNode) int {
		return cmp.Or(b.Time.Compare(a.Time.Time), strings.Compare(a.NodeClaim, b.NodeClaim))
	})
	return journal[:min(len(journal), linodev1alpha1.MostGone)]
}

// gone is the entry of a NodeClaim that goes.
func (j *Journal) gone(nc *karpv1.NodeClaim) linodev1alpha1.GoneNode {
	plan := nodeclaim.PlanOf(nc)
	g := linodev1alpha1.GoneNode{
		Time: metav1.Time{Time: nc.DeletionTimestamp.Time}, Created: nc.CreationTimestamp, NodeClaim: nc.Name,
		Node: nc.Status.NodeName, NodePool: nc.Labels[karpv1.NodePoolLabelKey], PlanType: plan,
		HourlyPrice: fmt.Sprint(j.plans.Price(plan).Hourly),
	}
	conditions := nc.StatusConditions(status.WithObservedOnly())
	switch c := conditions.Get(karpv1.ConditionTypeDisruptionReason); {
	case c.IsTrue():
		g.Reason = c.Reason
	case nc.Spec.ExpireAfter.Duration != nil &&
		!nc.DeletionTimestamp.Time.Before(nc.CreationTimestamp.Add(*nc.Spec.ExpireAfter.Duration)):
		g.Reason = "Expired"
	default:
		g.Reason = "Deleted"
	}
	if c := conditions.Get(karpv1.ConditionTypeDrifted); c.IsTrue() && g.Reason == string(karpv1.DisruptionReasonDrifted) {
		g.Message = c.Reason
	}
	return g
}
