package linode

import (
	"context"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// Learner tells the InstanceTypes what nodes that have joined report of
// themselves. What a node of a plan really has is known from nodes alone; the
// price list says what the machine has, of which firmware and kernel take a
// share.
type Learner struct {
	client  client.Client
	types   *InstanceTypes
	cluster int
}

// NewLearner returns the controller for the Nodes of a cluster. Those that are
// there when the controller starts are learned from first.
func NewLearner(c client.Client, types *InstanceTypes, cluster int) *Learner {
	return &Learner{client: c, types: types, cluster: cluster}
}

// Register implements operatorpkg's Controller.
func (l *Learner) Register(_ context.Context, mgr ctrl.Manager) error {
	ready := func(o client.Object) bool { return l.telling(o) }
	return ctrl.NewControllerManagedBy(mgr).
		Named("node.learner").
		For(&corev1.Node{}).
		WithEventFilter(predicate.Funcs{
			CreateFunc: func(ev event.CreateEvent) bool { return ready(ev.Object) },
			UpdateFunc: func(ev event.UpdateEvent) bool { return !ready(ev.ObjectOld) && ready(ev.ObjectNew) },
			DeleteFunc: func(event.DeleteEvent) bool { return false },
		}).
		Complete(l)
}

// telling reports whether a Node is one of LKE's that is complete: before it is
// initialized, devices may still be missing.
func (l *Learner) telling(o client.Object) bool {
	_, _, ours := slotOf(l.cluster, o.GetName())
	return ours && o.GetLabels()[karpv1.NodeInitializedLabelKey] == "true"
}

// Reconcile learns from one Node.
func (l *Learner) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var node corev1.Node
	if err := l.client.Get(ctx, req.NamespacedName, &node); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if l.telling(&node) {
		version := minor(node.Status.NodeInfo.KubeletVersion)
		l.types.Learn(node.Labels[corev1.LabelInstanceTypeStable], version, resourcesOf(node.Status))
	}
	return ctrl.Result{}, nil
}

// resourcesOf reads what a node reports of itself.
func resourcesOf(status corev1.NodeStatus) catalog.NodeResources {
	read := func(list corev1.ResourceList) catalog.Resources {
		gpus := list[resourceGPU]
		return catalog.Resources{
			MilliCPU: list.Cpu().MilliValue(), MemoryBytes: list.Memory().Value(), EphemeralBytes: list.StorageEphemeral().Value(),
			Pods: list.Pods().Value(), GPUs: gpus.Value(),
		}
	}
	return catalog.NodeResources{Capacity: read(status.Capacity), Allocatable: read(status.Allocatable)}
}

// newer compares two minor versions.
func newer(a, b string) bool {
	number := func(v string) (n int) {
		_, second, _ := strings.Cut(v, ".")
		n, _ = strconv.Atoi(second)
		return n
	}
	return number(a) > number(b)
}

// minor is the minor version of Kubernetes in the ways in which LKE and kubelets
// write it: 1.33 of 1.33, v1.33.4 and v1.33.4+lke2.
func minor(version string) string {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	second, _, _ := strings.Cut(rest, ".")
	return major + "." + second
}
