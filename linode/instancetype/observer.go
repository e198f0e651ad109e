package instancetype

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// Observer records in a Set the resources that nodes report after joining. The price list has the size of the
// machine; firmware and kernel use a part of it that only the node knows.
type Observer struct {
	client client.Client
	types  *Set
	ours   func(node client.Object) bool
}

// NewObserver returns the controller for the Nodes that ours accepts.
// Those that exist when it starts are recorded first.
func NewObserver(c client.Client, types *Set, ours func(node client.Object) bool) *Observer {
	return &Observer{client: c, types: types, ours: ours}
}

// Register implements operatorpkg's Controller.
func (o *Observer) Register(_ context.Context, mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("node.observer").
		For(&corev1.Node{}).
		WithEventFilter(predicate.Funcs{
			CreateFunc: func(ev event.CreateEvent) bool { return o.complete(ev.Object) },
			UpdateFunc: func(ev event.UpdateEvent) bool { return !o.complete(ev.ObjectOld) && o.complete(ev.ObjectNew) },
			DeleteFunc: func(event.DeleteEvent) bool { return false },
		}).
		Complete(o)
}

// complete reports whether a Node is one of ours and reports all its resources: before it is initialized, devices
// may still be missing.
func (o *Observer) complete(node client.Object) bool {
	return o.ours(node) && node.GetLabels()[karpv1.NodeInitializedLabelKey] == "true"
}

// Reconcile records the resources of one Node.
func (o *Observer) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var node corev1.Node
	if err := o.client.Get(ctx, req.NamespacedName, &node); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !o.complete(&node) {
		return ctrl.Result{}, nil
	}
	plan, err := o.planOf(ctx, &node)
	if err != nil {
		return ctrl.Result{}, err
	}
	reports := resourcesOf(node.Status)
	if plan != "" && !o.types.Observe(plan, &node) {
		log.FromContext(ctx).Info("a node reports a size that its plan type cannot have; plans use the price "+
			"list", "node", node.Name,
			"plan", plan, "memory", reports.Capacity.MemoryBytes, "storage", reports.Capacity.EphemeralBytes)
	}
	return ctrl.Result{}, nil
}

// Observe records what a Node of a plan type reports, as Record does.
func (t *Set) Observe(plan string, node *corev1.Node) bool {
	return t.Record(plan, minorVersion(node.Status.NodeInfo.KubeletVersion), resourcesOf(node.Status))
}

// planOf returns the plan type of a Node's NodeClaim; "" if it has none. It ignores the labels of the Node, because
// its kubelet may have written them.
func (o *Observer) planOf(ctx context.Context, node *corev1.Node) (string, error) {
	var list karpv1.NodeClaimList
	err := o.client.List(ctx, &list, client.MatchingFields{"status.providerID": node.Spec.ProviderID})
	if err != nil {
		return "", fmt.Errorf("list the NodeClaims with provider id %s: %w", node.Spec.ProviderID, err)
	}
	for _, claim := range list.Items {
		if claim.Status.NodeName == node.Name {
			return claim.Labels[corev1.LabelInstanceTypeStable], nil
		}
	}
	return "", nil
}

// resourcesOf returns the resources that a node reports.
func resourcesOf(status corev1.NodeStatus) catalog.NodeResources {
	read := func(list corev1.ResourceList) catalog.Resources {
		gpus := list[ResourceGPU]
		return catalog.Resources{
			MilliCPU: list.Cpu().MilliValue(), MemoryBytes: list.Memory().Value(),
			EphemeralBytes: list.StorageEphemeral().Value(), Pods: list.Pods().Value(), GPUs: gpus.Value(),
		}
	}
	return catalog.NodeResources{Capacity: read(status.Capacity), Allocatable: read(status.Allocatable)}
}

// minorVersion returns the minor version of a Kubernetes version in the forms of LKE and kubelets: 1.33 for 1.33,
// v1.33.4 and v1.33.4+lke2.
func minorVersion(version string) string {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	second, _, _ := strings.Cut(rest, ".")
	return major + "." + second
}
