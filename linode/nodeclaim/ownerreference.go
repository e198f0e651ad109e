package nodeclaim

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/karpenter/pkg/apis"
)

// OwnerReferenceRemover removes the reference to its NodeClaim from each Node of the cluster.
//
// Karpenter writes the reference when it registers a Node, and never reads it. But Kubernetes does: if the
// NodeClaims are gone, as after a restore without them, its garbage collector deletes all their Nodes at once, and
// Karpenter drains them. Without the reference, each mode decides what happens to such Nodes.
type OwnerReferenceRemover struct {
	client client.Client
	ours   func(name string) bool
}

// NewOwnerReferenceRemover returns the controller for the Nodes whose names ours accepts.
func NewOwnerReferenceRemover(c client.Client, ours func(name string) bool) *OwnerReferenceRemover {
	return &OwnerReferenceRemover{client: c, ours: ours}
}

// Register implements operatorpkg's Controller.
func (d *OwnerReferenceRemover) Register(_ context.Context, mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("node.disowner").
		For(&corev1.Node{}).
		WithEventFilter(predicate.NewPredicateFuncs(func(o client.Object) bool {
			return d.ours(o.GetName()) && slices.ContainsFunc(o.GetOwnerReferences(), ofClaim)
		})).
		Complete(d)
}

// Reconcile removes the reference from one Node.
func (d *OwnerReferenceRemover) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var node corev1.Node
	if err := d.client.Get(ctx, req.NamespacedName, &node); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	without := node.DeepCopy()
	without.OwnerReferences = slices.DeleteFunc(without.OwnerReferences, ofClaim)
	if len(without.OwnerReferences) == len(node.OwnerReferences) {
		return ctrl.Result{}, nil
	}
	if err := d.client.Patch(ctx, without, IfUnchanged(&node)); err != nil {
		return AfterWrite(fmt.Errorf("remove the owner reference of node %s: %w", node.Name, err))
	}
	return ctrl.Result{}, nil
}

func ofClaim(ref metav1.OwnerReference) bool {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && gv.Group == apis.Group && ref.Kind == "NodeClaim"
}
