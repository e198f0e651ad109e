package maintenance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/awslabs/operatorpkg/reconciler"
	"github.com/awslabs/operatorpkg/singleton"
	"github.com/awslabs/operatorpkg/status"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	nodeutils "sigs.k8s.io/karpenter/pkg/utils/node"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// What a Node with upcoming maintenance has. The names are those of Linode's node-maintenance-controller, so that what
// reads them works with both. The taint and the labels are there only while the node is to be replaced.
const (
	Condition corev1.NodeConditionType = "UpcomingMaintenance"

	Taint            = "maintenance.linode.com/upcoming-maintenance"
	labelWindowStart = "maintenance.linode.com/window-start"
)

// Reasons of events, on NodeClaims, Nodes and LinodeNodeClasses.
const (
	ReasonScheduled = "LinodeMaintenanceScheduled" // Linode maintains the host of a node
	ReasonEmergency = "LinodeMaintenanceEmergency" // without the notice of its maintenance policy
	ReasonStarted   = "LinodeMaintenanceStarted"   // the machine may be off for a while
	ReasonWaits     = "WaitsForMaintenance"        // a machine that has not joined gets more time
	ReasonUnknown   = "LinodeMaintenanceUnknown"   // a class asks for it, and Linode does not answer
	ReasonForbidden = "LinodeMaintenanceForbidden" // a class asks for it, and Linode refuses the token
	reasonNone      = "NoMaintenance"
)

// Lister lists the maintenance of the account; api.Client does.
type Lister interface {
	Maintenance(ctx context.Context) ([]api.Maintenance, error)
}

// Options are what Controller works with.
type Options struct {
	Client client.Client
	API    Lister
	Events events.EventRecorder
	Log    *slog.Logger
	Every  time.Duration    // between two lists
	Now    func() time.Time // nil means time.Now
}

// Controller lists announced maintenance and writes what follows from it on NodeClaims and Nodes.
type Controller struct {
	Options
	listed  map[int]Window
	lacked  map[int]bool // of these, those that the last list lacked
	next    time.Time    // when the list is read again
	err     error        // of the last list
	metrics *metrics
}

// New returns the controller.
func New(o Options) *Controller {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Controller{Options: o, metrics: newMetrics()}
}

// Metrics are how many nodes have upcoming maintenance, and whether Linode lists it.
func (c *Controller) Metrics() []prometheus.Collector {
	return []prometheus.Collector{c.metrics.nodes, c.metrics.listed}
}

// Register implements operatorpkg's Controller.
func (c *Controller) Register(_ context.Context, mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named("node.maintenance").WatchesRawSource(singleton.Source()).
		Complete(singleton.AsReconciler(c))
}

// again is how soon claims are decided again while one of them has maintenance.
const again = 10 * time.Second

// Reconcile lists the maintenance, at most every ten minutes, and updates claims and Nodes. If the list fails, the last
// known maintenance stays.
func (c *Controller) Reconcile(ctx context.Context) (reconciler.Result, error) {
	classes, err := c.classes(ctx)
	if err != nil {
		return reconciler.Result{}, err
	}
	claims, err := c.claims(ctx)
	if err != nil {
		return reconciler.Result{}, err
	}
	if c.listed == nil { // this process has just started, and Linode may not answer
		c.listed = map[int]Window{}
		for _, nc := range claims {
			if w := Of(nc); w != nil {
				c.listed[nodeclaim.InstanceOf(nc.Status.ProviderID)] = *w
			}
		}
	}
	// The clock may have been set back.
	if now := c.Now(); !now.Before(c.next) || c.next.Sub(now) > c.Every {
		c.list(ctx, classes)
		c.next = now.Add(c.Every)
	}
	lead := func(nc *karpv1.NodeClaim) (time.Duration, bool) {
		d := classes[nc.Spec.NodeClassRef.Name]
		if d == nil || d.Spec.ReplaceBeforeMaintenance == nil {
			return 0, false
		}
		return d.Spec.ReplaceBeforeMaintenance.Duration, true
	}
	var errs []error
	wait, pools := c.next.Sub(c.Now()), map[string]float64{}
	for _, d := range Decide(c.Now(), claims, c.listed, lead, drifted) {
		if d.Window != nil {
			wait = min(wait, again)
			pools[d.Claim.Labels[karpv1.NodePoolLabelKey]]++
		}
		errs = append(errs, c.write(ctx, d), c.wait(ctx, d))
	}
	c.metrics.set(pools)
	return reconciler.Result{RequeueAfter: max(wait, time.Second)}, errors.Join(errs...)
}

// list reads the announced maintenance. A maintenance that one list lacks stays until the next: lists of this API may
// hide what they have shown.
func (c *Controller) list(ctx context.Context, classes map[string]*linodev1alpha1.LinodeNodeClass) {
	announced, err := c.API.Maintenance(ctx)
	c.metrics.answered(err)
	if err != nil {
		if c.err == nil {
			c.Log.Warn("Linode does not list the maintenance of hosts", "error", err)
		}
		c.err = err
		for _, class := range classes {
			if class.Spec.ReplaceBeforeMaintenance != nil {
				reason, text := unknown(err)
				text = nodeclaim.Shorten(text)
				if reason == ReasonForbidden {
					c.Events.Eventf(class, nil, corev1.EventTypeWarning, ReasonForbidden, "ListMaintenance", "%s", text)
				} else {
					c.Events.Eventf(class, nil, corev1.EventTypeWarning, ReasonUnknown, "ListMaintenance", "%s", text)
				}
			}
		}
		return
	}
	c.err = nil
	windows, lacked := Windows(announced, c.Now()), map[int]bool{}
	for instance, w := range windows {
		windows[instance] = w.seen(c.listed[instance], c.Now())
	}
	for instance, w := range c.listed {
		if _, ok := windows[instance]; !ok && !c.lacked[instance] {
			windows[instance], lacked[instance] = w, true
		}
	}
	c.listed, c.lacked = windows, lacked
}

// unknown is what is wrong and what to do if Linode does not list maintenance.
func unknown(err error) (reason, text string) {
	if api.ClassOf(err) == api.ClassAuth {
		return ReasonForbidden, "nodes are not replaced before maintenance of their hosts: " + err.Error() +
			"; use a valid token with the scope " + api.ScopeMaintenance + ", or remove replaceBeforeMaintenance"
	}
	return ReasonUnknown, "nodes may not be replaced before maintenance of their hosts: " + err.Error()
}

func (c *Controller) classes(ctx context.Context) (map[string]*linodev1alpha1.LinodeNodeClass, error) {
	var list linodev1alpha1.LinodeNodeClassList
	if err := c.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the node classes: %w", err)
	}
	classes := make(map[string]*linodev1alpha1.LinodeNodeClass, len(list.Items))
	for i := range list.Items {
		classes[list.Items[i].Name] = &list.Items[i]
	}
	return classes, nil
}

// claims are those with a machine, by name.
func (c *Controller) claims(ctx context.Context) ([]*karpv1.NodeClaim, error) {
	var list karpv1.NodeClaimList
	if err := c.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the NodeClaims: %w", err)
	}
	var claims []*karpv1.NodeClaim
	for i := range list.Items {
		if nc := &list.Items[i]; nodeclaim.Managed(nc) && nodeclaim.InstanceOf(nc.Status.ProviderID) != 0 {
			claims = append(claims, nc)
		}
	}
	slices.SortFunc(claims, func(a, b *karpv1.NodeClaim) int { return strings.Compare(a.Name, b.Name) })
	return claims, nil
}

// drifted reports whether Karpenter replaces a claim already, or deletes it.
func drifted(nc *karpv1.NodeClaim) bool {
	return !nc.DeletionTimestamp.IsZero() ||
		nc.StatusConditions(status.WithObservedOnly()).Get(karpv1.ConditionTypeDrifted).IsTrue()
}

// write updates a claim and its Node as decided.
func (c *Controller) write(ctx context.Context, d Decision) error {
	if !d.Claim.DeletionTimestamp.IsZero() {
		return nil
	}
	if err := c.annotate(ctx, d); err != nil {
		return err
	}
	if d.Claim.Status.NodeName == "" {
		return nil
	}
	var node corev1.Node
	if err := c.Client.Get(ctx, client.ObjectKey{Name: d.Claim.Status.NodeName}, &node); err != nil {
		return client.IgnoreNotFound(err)
	}
	if node.Spec.ProviderID != d.Claim.Status.ProviderID || !node.DeletionTimestamp.IsZero() {
		return nil
	}
	return errors.Join(c.taint(ctx, d, &node), c.condition(ctx, d, &node))
}

// wait gives a machine that has not joined more time while maintenance explains it. Otherwise Karpenter deletes it
// after 15 minutes.
func (c *Controller) wait(ctx context.Context, d Decision) error {
	if !d.Claim.DeletionTimestamp.IsZero() || !d.Window.Explains(c.Now()) {
		return nil
	}
	extended, err := nodeclaim.Extend(ctx, c.Client, d.Claim)
	if extended {
		c.Events.Eventf(d.Claim, nil, corev1.EventTypeNormal, ReasonWaits, "Launch",
			"the node has more time to join, because Linode maintains its host: %s", d.Window)
	}
	return client.IgnoreNotFound(err)
}

// annotate writes the annotations of a claim, and an event if its maintenance is new or another.
func (c *Controller) annotate(ctx context.Context, d Decision) error {
	changed, next := false, d.Claim.DeepCopy()
	for key, value := range d.annotations() {
		switch {
		case d.Claim.Annotations[key] == value:
			continue
		case value == "":
			delete(next.Annotations, key)
		default:
			metav1.SetMetaDataAnnotation(&next.ObjectMeta, key, value)
		}
		changed = true
	}
	if !changed {
		return nil
	}
	if err := c.Client.Patch(ctx, next, client.MergeFrom(d.Claim)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("write the maintenance on NodeClaim %s: %w", d.Claim.Name, err))
	}
	if d.Window == nil || d.Claim.Annotations[Annotation] == next.Annotations[Annotation] {
		return nil
	}
	const text = "Linode has scheduled maintenance of the host of this node: %s"
	switch {
	case d.Window.Emergency:
		c.Events.Eventf(d.Claim, nil, corev1.EventTypeWarning, ReasonEmergency, "ListMaintenance", text, d.Window)
	case d.Window.Started:
		c.Events.Eventf(d.Claim, nil, corev1.EventTypeNormal, ReasonStarted, "ListMaintenance", text, d.Window)
	default:
		c.Events.Eventf(d.Claim, nil, corev1.EventTypeNormal, ReasonScheduled, "ListMaintenance", text, d.Window)
	}
	return nil
}

// taint keeps new pods off a Node that is to be replaced.
func (c *Controller) taint(ctx context.Context, d Decision, node *corev1.Node) error {
	next := node.DeepCopy()
	ours := func(t corev1.Taint) bool { return t.Key == Taint }
	switch has := slices.ContainsFunc(node.Spec.Taints, ours); {
	case d.Due && !has:
		next.Spec.Taints = append(next.Spec.Taints,
			corev1.Taint{Key: Taint, Value: "true", Effect: corev1.TaintEffectNoSchedule})
	case has && !d.Due:
		next.Spec.Taints = slices.DeleteFunc(next.Spec.Taints, ours)
	}
	delete(next.Labels, Taint)
	delete(next.Labels, labelWindowStart)
	if d.Due {
		metav1.SetMetaDataLabel(&next.ObjectMeta, Taint, "true")
		metav1.SetMetaDataLabel(&next.ObjectMeta, labelWindowStart,
			strings.ReplaceAll(d.Window.Start.UTC().Format(time.RFC3339), ":", "-"))
	}
	if maps.Equal(next.Labels, node.Labels) && len(next.Spec.Taints) == len(node.Spec.Taints) {
		return nil
	}
	// Taints are a list, which a merge patch replaces whole.
	err := c.Client.Patch(ctx, next, client.MergeFromWithOptions(node, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsConflict(err) {
		return nil // the next look is soon
	}
	return client.IgnoreNotFound(err)
}

// condition writes the condition of a Node.
func (c *Controller) condition(ctx context.Context, d Decision, node *corev1.Node) error {
	wanted := corev1.NodeCondition{Type: Condition, Status: corev1.ConditionFalse, Reason: reasonNone,
		Message: "Linode has announced no maintenance of the host"}
	if d.Window != nil {
		wanted.Status, wanted.Reason = corev1.ConditionTrue, ReasonScheduled
		wanted.Message = "Linode has scheduled maintenance of the host: " + d.Window.String()
	}
	has := nodeutils.GetCondition(node, Condition)
	if has.Status == wanted.Status && has.Message == wanted.Message || has.Type == "" && d.Window == nil {
		return nil
	}
	wanted.LastTransitionTime, wanted.LastHeartbeatTime = metav1.NewTime(c.Now()), metav1.NewTime(c.Now())
	next := node.DeepCopy()
	next.Status.Conditions = append(slices.DeleteFunc(next.Status.Conditions,
		func(n corev1.NodeCondition) bool { return n.Type == Condition }), wanted)
	return client.IgnoreNotFound(c.Client.Status().Patch(ctx, next, client.StrategicMergeFrom(node)))
}
