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
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// Taint keeps new pods off a node that will be replaced. Linode's node-maintenance-controller uses the same taint.
const Taint = "maintenance.linode.com/upcoming-maintenance"

// ReasonUnknown is the reason of an event on a LinodeNodeClass that asks for maintenance, which Linode does not list.
const ReasonUnknown = "LinodeMaintenanceUnknown"

// Lister lists the maintenance of the account; api.Client implements it.
type Lister interface {
	Maintenance(ctx context.Context) ([]api.Maintenance, error)
}

// Controller lists announced maintenance and writes what follows from it on NodeClaims and Nodes.
type Controller struct {
	Client client.Client
	API    Lister
	Events events.EventRecorder
	Log    *slog.Logger
	Every  time.Duration    // between two lists
	Now    func() time.Time // of the clock

	next time.Time // when the list is read again
}

// Register implements operatorpkg's Controller.
func (c *Controller) Register(_ context.Context, mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named("node.maintenance").WatchesRawSource(singleton.Source()).
		Complete(singleton.AsReconciler(c))
}

// again is the time between two decisions while a claim has maintenance.
const again = 10 * time.Second

// Reconcile lists the maintenance, at most every ten minutes, and updates claims and Nodes. Between two lists, and if
// the list fails, the maintenance is that of the claims' annotations.
func (c *Controller) Reconcile(ctx context.Context) (reconciler.Result, error) {
	classes, err := c.classes(ctx)
	if err != nil {
		return reconciler.Result{}, err
	}
	claims, err := c.claims(ctx)
	if err != nil {
		return reconciler.Result{}, err
	}
	windows := map[int]Window{}
	for _, nc := range claims {
		if w := Of(nc); w != nil && !w.over(c.Now()) {
			windows[nodeclaim.InstanceOf(nc.Status.ProviderID)] = *w
		}
	}
	if now := c.Now(); !now.Before(c.next) {
		announced, err := c.API.Maintenance(ctx)
		if err == nil {
			windows = Windows(announced, now)
		} else {
			c.unknown(classes, err)
		}
		c.next = now.Add(c.Every)
	}
	lead := func(nc *karpv1.NodeClaim) (before time.Duration) {
		if class := classes[nc.Spec.NodeClassRef.Name]; class != nil && class.Spec.ReplaceBeforeMaintenance != nil {
			before = class.Spec.ReplaceBeforeMaintenance.Duration
		}
		return before
	}
	var errs []error
	wait := c.next.Sub(c.Now())
	for _, d := range Decide(c.Now(), claims, windows, lead, isDrifted) {
		if d.Window != nil {
			wait = min(wait, again)
		}
		errs = append(errs, c.write(ctx, d))
	}
	return reconciler.Result{RequeueAfter: max(wait, time.Second)}, errors.Join(errs...)
}

// unknown reports that Linode does not list maintenance, on the classes that ask for it.
func (c *Controller) unknown(classes map[string]*linodev1alpha1.LinodeNodeClass, err error) {
	c.Log.Warn("Linode does not list the maintenance of hosts", "error", err)
	text := "nodes may not be replaced before maintenance of their hosts: " + err.Error()
	if api.ClassOf(err) == api.ClassAuth {
		text += "; use a valid token with the scope " + api.ScopeMaintenance + ", or remove replaceBeforeMaintenance"
	}
	for _, class := range classes {
		if class.Spec.ReplaceBeforeMaintenance != nil {
			c.Events.Eventf(class, nil, corev1.EventTypeWarning, ReasonUnknown, "ListMaintenance", "%s", nodeclaim.Shorten(text))
		}
	}
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

// claims returns those with a machine, by name.
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

// isDrifted reports whether Karpenter replaces a claim already, or deletes it.
func isDrifted(nc *karpv1.NodeClaim) bool {
	return !nc.DeletionTimestamp.IsZero() ||
		nc.StatusConditions(status.WithObservedOnly()).Get(karpv1.ConditionTypeDrifted).IsTrue()
}

// write updates a claim and its Node as decided.
func (c *Controller) write(ctx context.Context, d Decision) error {
	if !d.Claim.DeletionTimestamp.IsZero() {
		return nil
	}
	if err := c.annotate(ctx, d); err != nil || d.Claim.Status.NodeName == "" {
		return err
	}
	var node corev1.Node
	if err := c.Client.Get(ctx, client.ObjectKey{Name: d.Claim.Status.NodeName}, &node); err != nil {
		return client.IgnoreNotFound(err)
	}
	if node.Spec.ProviderID != d.Claim.Status.ProviderID || !node.DeletionTimestamp.IsZero() {
		return nil
	}
	return c.taint(ctx, d, &node)
}

// annotate writes the annotations of a claim.
func (c *Controller) annotate(ctx context.Context, d Decision) error {
	next := d.Claim.DeepCopy()
	for key, value := range d.annotations() {
		delete(next.Annotations, key)
		if value != "" {
			metav1.SetMetaDataAnnotation(&next.ObjectMeta, key, value)
		}
	}
	if maps.Equal(next.Annotations, d.Claim.Annotations) {
		return nil
	}
	return client.IgnoreNotFound(c.Client.Patch(ctx, next, client.MergeFrom(d.Claim)))
}

// taint keeps new pods off a Node that is to be replaced.
func (c *Controller) taint(ctx context.Context, d Decision, node *corev1.Node) error {
	ours := func(t corev1.Taint) bool { return t.Key == Taint }
	if d.Due == slices.ContainsFunc(node.Spec.Taints, ours) {
		return nil
	}
	next := node.DeepCopy()
	next.Spec.Taints = slices.DeleteFunc(next.Spec.Taints, ours)
	if d.Due {
		next.Spec.Taints = append(next.Spec.Taints, corev1.Taint{Key: Taint, Value: "true", Effect: corev1.TaintEffectNoSchedule})
	}
	// Taints are a list, which a merge patch replaces whole.
	err := c.Client.Patch(ctx, next, client.MergeFromWithOptions(node, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsConflict(err) {
		return nil // the next check is soon
	}
	return client.IgnoreNotFound(err)
}
