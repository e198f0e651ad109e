package linode

import (
	"context"
	"fmt"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// The time until a class is checked again: the objects at Linode that it refers to change without an event. If
// something is missing, it is checked sooner.
const (
	classEvery   = 10 * time.Minute
	missingEvery = time.Minute
)

// NodeClass is the controller of LinodeNodeClasses: it reports whether machines can be created from a class
// and whether Linode answers, writes the hash that detects drift, and keeps a class until no NodeClaim uses
// it.
type NodeClass struct {
	client client.Client
	Linode
	events events.EventRecorder
}

// Linode has the parts of Linode that a NodeClass needs.
type Linode struct {
	Cluster  api.Cluster // its ID is 0 if it is not an LKE cluster
	Mode     string      // the value of AnnotationMode on the classes
	Rules    Rules
	Standing *api.Standing
	Plans    Plans // nil means that no plan is closed to the account
}

// Plans knows the plans that are closed to the account; instancetype.Set implements it.
type Plans interface {
	Closed() map[string]time.Time
	Closing() <-chan struct{}
}

// Rules are the rules of a mode for classes; packages lke and instance implement them.
type Rules interface {
	// Problem says why no machine can be created from a class, as far as known; "" if one can.
	Problem(ctx context.Context, class *linodev1alpha1.LinodeNodeClass) string
	// UpdateStatus writes into the status of a class what else its machines depend on.
	UpdateStatus(ctx context.Context, class *linodev1alpha1.LinodeNodeClass) error
	// Drifted reports whether a claim is known to be made from another class than this, by the fields that are part
	// of its Hash.
	Drifted(nc *karpv1.NodeClaim, class *linodev1alpha1.LinodeNodeClass) bool
	// Changes triggers a reconciliation of all classes; nil means never.
	Changes() <-chan event.GenericEvent
}

// NewNodeClass returns the controller for the classes of a cluster.
func NewNodeClass(c client.Client, l Linode, recorder events.EventRecorder) *NodeClass {
	return &NodeClass{client: c, Linode: l, events: recorder}
}

// Register implements operatorpkg's Controller.
func (n *NodeClass) Register(_ context.Context, mgr ctrl.Manager) error {
	var closing <-chan struct{}
	if n.Plans != nil {
		closing = n.Plans.Closing()
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named("nodeclass").
		For(&linodev1alpha1.LinodeNodeClass{}).
		Watches(&karpv1.NodeClaim{}, nodeclaim.Collect(gather, handler.EnqueueRequestsFromMapFunc(requestClass)),
			builder.WithPredicates(comeAndGone())).
		WatchesRawSource(onEither(n.Standing.Changed(), closing, n.allClasses))
	if changes := n.Rules.Changes(); changes != nil {
		b = b.WatchesRawSource(source.Channel(changes, handler.EnqueueRequestsFromMapFunc(n.allClasses)))
	}
	return b.Complete(n)
}

// comeAndGone passes NodeClaims whose Node has joined, because its version counts, and deleted ones, because the
// last one releases its class.
func comeAndGone() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(ev event.UpdateEvent) bool {
			was, okWas := ev.ObjectOld.(*karpv1.NodeClaim)
			is, okIs := ev.ObjectNew.(*karpv1.NodeClaim)
			return okWas && okIs && was.Status.NodeName != is.Status.NodeName
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// allClasses requests the reconciliation of all classes.
func (n *NodeClass) allClasses(ctx context.Context, _ client.Object) (all []reconcile.Request) {
	var classes linodev1alpha1.LinodeNodeClassList
	if err := n.client.List(ctx, &classes); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "could not list the node classes after a change at Linode")
	}
	for i := range classes.Items {
		all = append(all, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&classes.Items[i])})
	}
	return all
}

// requestClass requests the reconciliation of the class of a NodeClaim.
func requestClass(_ context.Context, o client.Object) []reconcile.Request {
	if nc, ok := o.(*karpv1.NodeClaim); ok && nodeclaim.Managed(nc) {
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: nc.Spec.NodeClassRef.Name}}}
	}
	return nil
}

// Reconcile updates one class.
func (n *NodeClass) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var class linodev1alpha1.LinodeNodeClass
	if err := n.client.Get(ctx, req.NamespacedName, &class); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !class.DeletionTimestamp.IsZero() {
		return n.finalize(ctx, &class)
	}
	if err := n.stamp(ctx, &class); err != nil {
		return nodeclaim.AfterWrite(err)
	}
	if err := n.validate(ctx, &class); err != nil {
		return nodeclaim.AfterWrite(err)
	}
	return ctrl.Result{RequeueAfter: n.recheckAfter(&class)}, nil
}

// recheckAfter returns when to check a class again without an event; zero means never.
func (n *NodeClass) recheckAfter(class *linodev1alpha1.LinodeNodeClass) time.Duration {
	switch {
	case !class.StatusConditions().Get(status.ConditionReady).IsTrue(), n.Standing.Problem() != api.Problem{},
		class.StatusConditions(status.WithObservedOnly()).Get(linodev1alpha1.ConditionPlanClosed).IsTrue():
		return missingEvery
	case class.Spec.NamesNothing():
		return 0
	}
	return classEvery
}

// stamp writes the finalizer, the hash, the cluster and its region. If the hash function has changed, it writes the
// new hash on the claims first, so that they do not drift.
func (n *NodeClass) stamp(ctx context.Context, class *linodev1alpha1.LinodeNodeClass) error {
	stored := class.DeepCopy()
	if v := class.Annotations[linodev1alpha1.AnnotationHashVersion]; v != "" && v != linodev1alpha1.HashVersion {
		if err := n.restamp(ctx, class); err != nil {
			return err
		}
	}
	controllerutil.AddFinalizer(class, linodev1alpha1.Finalizer)
	if n.Mode != "" { // before the hash, which depends on it
		metav1.SetMetaDataAnnotation(&class.ObjectMeta, linodev1alpha1.AnnotationMode, n.Mode)
	}
	stampWith(&class.ObjectMeta, class.Hash())
	metav1.SetMetaDataAnnotation(&class.ObjectMeta, linodev1alpha1.AnnotationCluster,
		fmt.Sprintf("%d/%s", n.Cluster.ID, n.Cluster.Label))
	metav1.SetMetaDataAnnotation(&class.ObjectMeta, linodev1alpha1.AnnotationRegion, n.Cluster.Region)
	if equality.Semantic.DeepEqual(stored, class) {
		return nil
	}
	return n.client.Patch(ctx, class, nodeclaim.IfUnchanged(stored))
}

func (n *NodeClass) restamp(ctx context.Context, class *linodev1alpha1.LinodeNodeClass) error {
	claims, err := nodeclaim.OfClass(ctx, n.client, class.Name)
	if err != nil {
		return err
	}
	for i := range claims {
		nc := &claims[i]
		if nc.Annotations[linodev1alpha1.AnnotationHashVersion] == linodev1alpha1.HashVersion {
			continue
		}
		stored := nc.DeepCopy()
		hash := class.Hash()
		if n.Rules.Drifted(nc, class) {
			hash = "drifted"
		}
		stampWith(&nc.ObjectMeta, hash)
		if err := n.client.Patch(ctx, nc, client.MergeFrom(stored)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("stamp NodeClaim %s: %w", nc.Name, err)
		}
	}
	return nil
}

func stampWith(meta *metav1.ObjectMeta, hash string) {
	metav1.SetMetaDataAnnotation(meta, linodev1alpha1.AnnotationHash, hash)
	metav1.SetMetaDataAnnotation(meta, linodev1alpha1.AnnotationHashVersion, linodev1alpha1.HashVersion)
}

// finalize removes the finalizer if no NodeClaim uses the class any more.
func (n *NodeClass) finalize(ctx context.Context, class *linodev1alpha1.LinodeNodeClass) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(class, linodev1alpha1.Finalizer) {
		return ctrl.Result{}, nil
	}
	claims, err := nodeclaim.OfClass(ctx, n.client, class.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	if len(claims) > 0 {
		n.events.Eventf(class, nil, corev1.EventTypeNormal, "WaitingOnNodeClaimTermination", "Delete",
			"waiting for NodeClaims that use this class to end: %d", len(claims))
		return ctrl.Result{RequeueAfter: 10 * time.Second}, nil
	}
	stored := class.DeepCopy()
	controllerutil.RemoveFinalizer(class, linodev1alpha1.Finalizer)
	return nodeclaim.AfterWrite(n.client.Patch(ctx, class, nodeclaim.IfUnchanged(stored)))
}

// validate sets the conditions.
func (n *NodeClass) validate(ctx context.Context, class *linodev1alpha1.LinodeNodeClass) error {
	stored := class.DeepCopy()
	problem := n.Rules.Problem(ctx, class)
	if is := class.Annotations[linodev1alpha1.AnnotationMode]; problem == "" && is != n.Mode {
		problem = fmt.Sprintf("annotation %s is %q, and this controller does not create machines of such classes: check "+
			"its --mode, and mode in the cluster block", linodev1alpha1.AnnotationMode, is)
	}
	conditions := class.StatusConditions()
	if problem == "" {
		conditions.SetTrue(linodev1alpha1.ConditionValidationSucceeded)
	} else if conditions.SetFalse(linodev1alpha1.ConditionValidationSucceeded, "Invalid", problem) {
		n.events.Eventf(class, nil, corev1.EventTypeWarning, "Invalid", "Validate", "%s", problem)
	}
	if err := n.Rules.UpdateStatus(ctx, class); err != nil {
		return err
	}
	n.setLinodeAnswers(class, conditions)
	n.setPlanClosed(class, conditions)
	return nodeclaim.PatchStatus(ctx, n.client, stored, class)
}

var _ status.Object = (*linodev1alpha1.LinodeNodeClass)(nil)
