package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/object"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// UninstallCluster is the cluster to leave; kube.Cluster is one.
type UninstallCluster interface {
	cluster.Lister
	Get(ctx context.Context, like map[string]any) (map[string]any, error)
	Merge(ctx context.Context, obj, change map[string]any, manager string) error
	Delete(ctx context.Context, obj map[string]any) error
}

// uninstaller owns the fields that are changed here.
const uninstaller = "lkeplan-uninstall"

// Holdings are what lkeplan has in a cluster.
type Holdings struct {
	NodePlans []*lkeplanv1alpha1.NodePlan
	Pools     []*karpv1.NodePool
	Claims    []*karpv1.NodeClaim
	Classes   []*linodev1alpha1.LinodeNodeClass
	Nodes     []*corev1.Node // that Karpenter has made
}

// ReadHoldings lists what lkeplan has in a cluster. A kind that the cluster does not know has no
// objects.
func ReadHoldings(ctx context.Context, from cluster.Lister) (h Holdings, err error) {
	ours := func(ref *karpv1.NodeClassReference) bool { return ref != nil && ref.Group == linodev1alpha1.Group }
	var errs [5]error
	h.NodePlans, errs[0] = held[lkeplanv1alpha1.NodePlan](ctx, from, lkeplanv1alpha1.GroupVersion.String(), "NodePlan", nil)
	h.Pools, errs[1] = held(ctx, from, "karpenter.sh/v1", "NodePool",
		func(p *karpv1.NodePool) bool { return ours(p.Spec.Template.Spec.NodeClassRef) })
	h.Claims, errs[2] = held(ctx, from, "karpenter.sh/v1", "NodeClaim",
		func(c *karpv1.NodeClaim) bool { return ours(c.Spec.NodeClassRef) })
	h.Classes, errs[3] = held[linodev1alpha1.LinodeNodeClass](ctx, from, linodev1alpha1.Group+"/v1", "LinodeNodeClass", nil)
	h.Nodes, errs[4] = held(ctx, from, "v1", "Node",
		func(n *corev1.Node) bool { return poolOf(n) != "" || len(releasedFrom(n)) > 0 })
	return h, cmp.Or(errs[:]...)
}

// held are the objects of a kind that are lkeplan's.
func held[T any](ctx context.Context, from cluster.Lister, apiVersion, kind string, ours func(*T) bool) ([]*T, error) {
	found, err := cluster.List[T](ctx, from, apiVersion, kind)
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil, nil
	}
	return slices.DeleteFunc(found, func(obj *T) bool { return ours != nil && !ours(obj) }), err
}

// all are the objects, Nodes first: a NodeClaim that is being deleted goes with its last finalizer.
func (h Holdings) all() []client.Object {
	return slices.Concat(asObjects(h.Nodes), asObjects(h.Claims), asObjects(h.Pools), asObjects(h.Classes), asObjects(h.NodePlans))
}

func asObjects[T client.Object](list []T) (all []client.Object) {
	for _, obj := range list {
		all = append(all, obj)
	}
	return all
}

func poolOf(obj metav1.Object) string { return obj.GetLabels()[karpv1.NodePoolLabelKey] }

// finalizers are those that only lkeplan takes off, when it has done what they wait for.
var finalizers = []string{karpv1.TerminationFinalizer, "karpenter.k8s.linode/termination", "lkeplan.dev/finalizer"}

// releasedFrom are the finalizers of an object that only lkeplan takes off.
func releasedFrom(obj metav1.Object) []string {
	return slices.DeleteFunc(slices.Clone(obj.GetFinalizers()), func(f string) bool { return !slices.Contains(finalizers, f) })
}

// Release returns what to change of an object so that it, and what it owns, can go
// without lkeplan; nil if there is nothing. Of a Node that is the reference to its
// NodeClaim, with which it would be deleted, and what keeps pods from it while Karpenter
// is about to replace it.
func Release(obj client.Object) map[string]any {
	metadata := map[string]any{}
	if len(releasedFrom(obj)) > 0 {
		metadata["finalizers"] = slices.DeleteFunc(slices.Clone(obj.GetFinalizers()),
			func(f string) bool { return slices.Contains(finalizers, f) })
	}
	change := map[string]any{"metadata": metadata}
	if node, ok := obj.(*corev1.Node); ok {
		owners := slices.DeleteFunc(slices.Clone(node.OwnerReferences), func(o metav1.OwnerReference) bool {
			return o.Kind == "NodeClaim" && strings.HasPrefix(o.APIVersion, "karpenter.sh/")
		})
		if len(owners) < len(node.OwnerReferences) {
			metadata["ownerReferences"] = owners
		}
		taints := slices.DeleteFunc(slices.Clone(node.Spec.Taints), func(t corev1.Taint) bool {
			return t.Key == karpv1.DisruptedTaintKey || t.Key == karpv1.UnregisteredTaintKey
		})
		if len(taints) < len(node.Spec.Taints) {
			change["spec"] = map[string]any{"taints": taints}
		}
	}
	if len(metadata) == 0 && change["spec"] == nil {
		return nil
	}
	// The lists are replaced whole, so they must not have changed meanwhile.
	metadata["resourceVersion"] = obj.GetResourceVersion()
	return change
}

// release takes off an object what only lkeplan takes off. Others may write to it at
// the same time.
func release(ctx context.Context, in UninstallCluster, obj client.Object) error {
	const attempts = 5
	var err error
	ref := reference(obj)
	for range attempts {
		change := Release(obj)
		if change == nil {
			return nil
		}
		if err = in.Merge(ctx, ref, change, uninstaller); err == nil {
			return nil
		}
		live, readErr := in.Get(ctx, ref)
		if readErr == nil && live == nil {
			return nil // it is gone
		}
		if _, isNode := obj.(*corev1.Node); isNode && readErr == nil {
			obj, readErr = object.As[corev1.Node](live)
		} else if readErr == nil {
			obj, readErr = object.As[metav1.PartialObjectMetadata](live)
		}
		if readErr != nil {
			return errors.Join(err, readErr)
		}
	}
	return fmt.Errorf("release an object that others keep changing: %w", err)
}

// reference is an object without its fields.
func reference(obj client.Object) map[string]any {
	apiVersion, kind := obj.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
	return map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{
		"namespace": obj.GetNamespace(), "name": obj.GetName(), "uid": string(obj.GetUID()),
	}}
}

// keyOf is the name of an object with its namespace, if it has one.
func keyOf(obj metav1.Object) string {
	return strings.TrimPrefix(obj.GetNamespace()+"/"+obj.GetName(), "/")
}

// colon is a message for the end of a sentence.
func colon(message string) string {
	if message == "" {
		return ""
	}
	return ": " + message
}

// ErrNoLease tells that nothing shows whether a controller runs.
var ErrNoLease = errors.New("no controller has, or had, a Lease")

// Stopped returns an error that says what to stop, where a process of lkeplan runs, or is
// about to: it would put back what UninstallAndKeep takes off. Only those who started a controller that
// elects no leader know whether it has ended; it is ErrNoLease if nothing else says it.
func Stopped(ctx context.Context, in cluster.Lister, running []cluster.Controller) error {
	for _, c := range running {
		if c.Works() {
			return runs(c.String(), c.Namespace)
		}
	}
	deployments, err := cluster.List[appsv1.Deployment](ctx, in, "apps/v1", "Deployment")
	if err != nil {
		return err
	}
	for _, d := range deployments {
		replicas := ptr.Deref(d.Spec.Replicas, 1) // the API server's default
		if d.Labels["app.kubernetes.io/part-of"] == "lkeplan" && replicas > 0 {
			return runs(fmt.Sprintf("is not stopped (Deployment %s, replicas: %d)", keyOf(d), replicas), d.Namespace)
		}
	}
	if !slices.ContainsFunc(running, cluster.Controller.MakesNodes) {
		return ErrNoLease
	}
	return nil
}

func runs(what, namespace string) error {
	return fmt.Errorf("the controller %s, and would put back what is taken off; stop it first: kubectl -n %s scale "+
		"deployment --replicas=0 --selector=app.kubernetes.io/part-of=lkeplan", what, namespace)
}
