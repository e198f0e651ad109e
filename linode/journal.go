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
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
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

// Journal is the controller that records on each class which of its nodes were removed last, and why: events
// cover only the last hour, and NodeClaims are deleted with their nodes. It keeps no other state for longer
// than a few seconds. A NodeClaim that is being deleted when the controller starts is noted then.
type Journal struct {
	client   client.Client
	plans    *instancetype.Set
	machines Machines

	mu    sync.Mutex
	new   map[string]map[string]departure // by class and NodeClaim: not written yet
	nodes map[string]leaving              // by name: those that go
}

// A departure is the record of a NodeClaim that is being deleted.
type departure struct {
	linodev1alpha1.GoneNode
	version string // of the NodeClaim as its deletion began; "" where that was not seen
}

// leaving is a Node that goes: in which version of it its deletion began, and when that was
// seen.
type leaving struct {
	version string
	at      time.Time
}

// NewJournal returns the controller. The plan types tell prices, and what Linode listed last
// whether a machine was there when its NodeClaim was deleted.
func NewJournal(c client.Client, plans *instancetype.Set, shown Machines) *Journal {
	return &Journal{
		client: c, plans: plans, machines: shown,
		new: map[string]map[string]departure{}, nodes: map[string]leaving{},
	}
}

const (
	// journalEvery is how often the journal of a class is written at most.
	journalEvery = 5 * time.Second
	// rememberNodes is for how long a Node that goes is remembered. Karpenter deletes its
	// NodeClaim, or has deleted it, within seconds.
	rememberNodes = 10 * time.Minute
)

// Register implements operatorpkg's Controller.
func (j *Journal) Register(_ context.Context, mgr ctrl.Manager) error {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	note := func(ctx context.Context, o client.Object, q queue, began bool) {
		if class := j.note(ctx, o, began); class != "" {
			q.AddAfter(reconcile.Request{NamespacedName: client.ObjectKey{Name: class}}, journalEvery)
		}
	}
	return ctrl.NewControllerManagedBy(mgr).Named("nodeclass.journal").Watches(&karpv1.NodeClaim{}, handler.Funcs{
		CreateFunc: func(ctx context.Context, ev event.CreateEvent, q queue) { note(ctx, ev.Object, q, false) },
		UpdateFunc: func(ctx context.Context, ev event.UpdateEvent, q queue) {
			if ev.ObjectOld.GetDeletionTimestamp().IsZero() {
				note(ctx, ev.ObjectNew, q, true)
			}
		},
		DeleteFunc: func(ctx context.Context, ev event.DeleteEvent, q queue) { note(ctx, ev.Object, q, false) },
	}).Watches(&corev1.Node{}, handler.Funcs{
		CreateFunc: func(_ context.Context, ev event.CreateEvent, _ queue) { j.sees(ev.Object) },
		UpdateFunc: func(_ context.Context, ev event.UpdateEvent, _ queue) { j.sees(ev.ObjectNew) },
	}).Complete(j)
}

// sees remembers in which version of a Node its deletion began. One that stays is another
// than the one that went under its name: a slot that is recycled keeps it.
func (j *Journal) sees(node client.Object) {
	now := time.Now()
	j.mu.Lock()
	defer j.mu.Unlock()
	maps.DeleteFunc(j.nodes, func(_ string, n leaving) bool { return now.Sub(n.at) > rememberNodes })
	_, known := j.nodes[node.GetName()]
	switch goes := !node.GetDeletionTimestamp().IsZero(); {
	case !goes:
		delete(j.nodes, node.GetName())
	case !known:
		j.nodes[node.GetName()] = leaving{node.GetResourceVersion(), now}
	}
}

// note takes note of a NodeClaim that goes and has had a machine, and whether that has begun
// just now. It returns the class whose journal is to be written; "" for none. The first note
// of a NodeClaim stays: pools and machines are others by the time at which it is gone.
func (j *Journal) note(ctx context.Context, o client.Object, began bool) (class string) {
	nc, ok := o.(*karpv1.NodeClaim)
	if !ok || nc.DeletionTimestamp.IsZero() || !nodeclaim.Managed(nc) || nodeclaim.InstanceOf(nc.Status.ProviderID) == 0 {
		return ""
	}
	d := departure{GoneNode: j.gone(ctx, nc, began)}
	if began {
		d.version = nc.ResourceVersion
	}
	class = nc.Spec.NodeClassRef.Name
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.new[class] == nil {
		j.new[class] = map[string]departure{}
	}
	if _, noted := j.new[class][nc.Name]; !noted {
		j.new[class][nc.Name] = d
	}
	return class
}

// Reconcile writes the journal of one class.
func (j *Journal) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	taken, fresh := j.fresh(req.Name)
	if len(fresh) == 0 {
		return ctrl.Result{}, nil
	}
	var class linodev1alpha1.LinodeNodeClass
	err := j.client.Get(ctx, req.NamespacedName, &class)
	if err == nil {
		stored := class.DeepCopy()
		class.Status.Gone = merge(class.Status.Gone, fresh)
		err = nodeclaim.PatchStatus(ctx, j.client, stored, &class)
	}
	if client.IgnoreNotFound(err) != nil {
		return nodeclaim.AfterWrite(err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	maps.DeleteFunc(j.new[req.Name], func(name string, d departure) bool { return d == taken[name] })
	return ctrl.Result{}, nil
}

// fresh are the notes of a class, and the entries that they come to. By the time at which
// they are written it is known which of its Nodes went before their NodeClaims.
func (j *Journal) fresh(class string) (taken map[string]departure, entries map[string]linodev1alpha1.GoneNode) {
	j.mu.Lock()
	defer j.mu.Unlock()
	taken, entries = maps.Clone(j.new[class]), map[string]linodev1alpha1.GoneNode{}
	for name, d := range taken {
		entries[name] = d.entry(j.nodes[d.Node])
	}
	return taken, entries
}

// entry is what a note comes to: a NodeClaim of which no more is known than that it was
// deleted has lost its Node, if the deletion of that began before.
func (d departure) entry(node leaving) linodev1alpha1.GoneNode {
	if d.Reason != deleted || d.version == "" || node.version == "" {
		return d.GoneNode
	}
	if order, err := resourceversion.CompareResourceVersion(node.version, d.version); err == nil && order < 0 {
		d.Reason, d.Message = lost, linodev1alpha1.LostNode
	}
	return d.GoneNode
}

// merge adds nodes to a journal that are not in it, and leaves out the oldest where there are
// too many.
func merge(journal []linodev1alpha1.GoneNode, fresh map[string]linodev1alpha1.GoneNode) []linodev1alpha1.GoneNode {
	fresh, journal = maps.Clone(fresh), slices.Clone(journal)
	for _, g := range journal {
		delete(fresh, g.NodeClaim)
	}
	journal = slices.AppendSeq(journal, maps.Values(fresh))
	slices.SortFunc(journal, func(a, b linodev1alpha1.GoneNode) int {
		return cmp.Or(b.Time.Compare(a.Time.Time), strings.Compare(a.NodeClaim, b.NodeClaim))
	})
	return journal[:min(len(journal), linodev1alpha1.MostGone)]
}

// Reasons for the deletion of a NodeClaim that Karpenter does not have.
const (
	deleted     = "Deleted"
	lost        = "Lost"
	neverJoined = "NeverJoined"
)

// joinTimeout is how long Karpenter waits for a Node to register (karpenter v1.14.1,
// registrationTimeout in pkg/controllers/nodeclaim/lifecycle/liveness.go).
const joinTimeout = 15 * time.Minute

// gone is the entry of a NodeClaim that is being deleted. It checks whether its machine is listed only if the
// deletion has just begun: later the machine is gone in any case.
func (j *Journal) gone(ctx context.Context, nc *karpv1.NodeClaim, began bool) linodev1alpha1.GoneNode {
	plan := nodeclaim.PlanOf(nc)
	g := linodev1alpha1.GoneNode{
		Time: metav1.Time{Time: nc.DeletionTimestamp.Time}, Created: nc.CreationTimestamp, NodeClaim: nc.Name,
		Node: nc.Status.NodeName, NodePool: nc.Labels[karpv1.NodePoolLabelKey], PlanType: plan,
	}
	if price := j.plans.Price(plan); price.Known() {
		g.HourlyPrice = fmt.Sprint(price.Hourly)
	}
	conditions := nc.StatusConditions(status.WithObservedOnly())
	switch c := conditions.Get(karpv1.ConditionTypeDisruptionReason); {
	case c.IsTrue():
		g.Reason = c.Reason
	case nc.Spec.ExpireAfter.Duration != nil &&
		!nc.DeletionTimestamp.Time.Before(nc.CreationTimestamp.Add(*nc.Spec.ExpireAfter.Duration)):
		g.Reason = "Expired"
	case neverRegistered(conditions.Get(karpv1.ConditionTypeRegistered), nc.DeletionTimestamp.Time):
		g.Reason = neverJoined
	default:
		g.Reason = deleted
		if began && j.machines.Missing(nodeclaim.InstanceOf(nc.Status.ProviderID)) {
			g.Reason, g.Message = lost, linodev1alpha1.LostMachine
		}
	}
	if c := conditions.Get(karpv1.ConditionTypeDrifted); c.IsTrue() && g.Reason == string(karpv1.DisruptionReasonDrifted) {
		g.Message = c.Reason
		g.NodePlan, g.Revision = j.rolledBy(ctx, nc, c.Reason)
	}
	return g
}

// neverRegistered reports whether Karpenter deleted a NodeClaim because its Node did not register in time.
func neverRegistered(registered *status.Condition, deleted time.Time) bool {
	return registered != nil && registered.IsUnknown() && deleted.Sub(registered.LastTransitionTime.Time) >= joinTimeout
}

// rolledBy is the revision for which a NodeClaim is replaced, as far as it is known.
func (j *Journal) rolledBy(ctx context.Context, nc *karpv1.NodeClaim, drift string) (nodePlan, revision string) {
	var pool karpv1.NodePool
	var class linodev1alpha1.LinodeNodeClass
	if j.client.Get(ctx, client.ObjectKey{Name: nc.Labels[karpv1.NodePoolLabelKey]}, &pool) != nil ||
		j.client.Get(ctx, client.ObjectKey{Name: nc.Spec.NodeClassRef.Name}, &class) != nil {
		return "", ""
	}
	by, _ := RolledBy(drift, &pool, &class)
	return by.NodePlan, by.Name
}
