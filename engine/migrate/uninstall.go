package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/catalog"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// UninstallCluster is the cluster from which lkeplan is removed; kube.Cluster is one.
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
	Limits    []*lkeplanv1alpha1.CapacityLimit
	Nodes     []*corev1.Node // all nodes of the cluster
}

// ReadHoldings lists what lkeplan has in a cluster. A kind that the cluster does not know has no
// objects.
func ReadHoldings(ctx context.Context, from cluster.Lister) (h Holdings, err error) {
	var errs [6]error
	h.NodePlans, errs[0] = list[lkeplanv1alpha1.NodePlan](ctx, from, lkeplanv1alpha1.GroupVersion.String(), "NodePlan")
	h.Pools, errs[1] = list[karpv1.NodePool](ctx, from, "karpenter.sh/v1", "NodePool")
	h.Claims, errs[2] = list[karpv1.NodeClaim](ctx, from, "karpenter.sh/v1", "NodeClaim")
	h.Classes, errs[3] = list[linodev1alpha1.LinodeNodeClass](ctx, from, linodev1alpha1.Group+"/v1", "LinodeNodeClass")
	h.Limits, errs[4] = list[lkeplanv1alpha1.CapacityLimit](ctx, from, lkeplanv1alpha1.GroupVersion.String(), "CapacityLimit")
	h.Nodes, errs[5] = list[corev1.Node](ctx, from, "v1", "Node")
	others := func(ref *karpv1.NodeClassReference) bool { return ref == nil || ref.Group != linodev1alpha1.Group }
	h.Pools = slices.DeleteFunc(h.Pools, func(p *karpv1.NodePool) bool { return others(p.Spec.Template.Spec.NodeClassRef) })
	h.Claims = slices.DeleteFunc(h.Claims, func(c *karpv1.NodeClaim) bool { return others(c.Spec.NodeClassRef) })
	return h, cmp.Or(errs[:]...)
}

func list[T any](ctx context.Context, from cluster.Lister, apiVersion, kind string) ([]*T, error) {
	found, err := cluster.List[T](ctx, from, apiVersion, kind)
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil, nil
	}
	return found, err
}

// all are the objects with finalizers of lkeplan, Nodes first: a NodeClaim that is being deleted is removed with its last
// finalizer.
func (h Holdings) all() []client.Object {
	ours := slices.DeleteFunc(slices.Clone(h.Nodes), func(n *corev1.Node) bool {
		return n.Labels[karpv1.NodePoolLabelKey] == "" && !held(n)
	})
	return slices.Concat(asObjects(ours), asObjects(h.Claims), asObjects(h.Pools), asObjects(h.Classes), asObjects(h.NodePlans))
}

func asObjects[T client.Object](of []T) (all []client.Object) {
	for _, obj := range of {
		all = append(all, obj)
	}
	return all
}

func reference(obj client.Object) map[string]any {
	apiVersion, kind := obj.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
	return map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{
		"namespace": obj.GetNamespace(), "name": obj.GetName(), "uid": string(obj.GetUID()),
	}}
}

// finalizers are those that only lkeplan removes, when it has done what they wait for.
var finalizers = []string{karpv1.TerminationFinalizer, "karpenter.k8s.linode/termination", "lkeplan.dev/finalizer"}

// held reports whether an object has a finalizer that only lkeplan removes.
func held(obj metav1.Object) bool {
	return slices.ContainsFunc(obj.GetFinalizers(), func(f string) bool { return slices.Contains(finalizers, f) })
}

// Release returns the change with which an object, and what it owns, can be deleted
// without lkeplan; nil if there is none. For a Node it includes the reference to its
// NodeClaim, with which it would be deleted, and the taints that Karpenter adds before it
// replaces a node.
func Release(live map[string]any) (map[string]any, error) {
	obj, err := manifest.As[metav1.PartialObjectMetadata](live)
	if err != nil {
		return nil, err
	}
	metadata := map[string]any{}
	rest := slices.DeleteFunc(slices.Clone(obj.Finalizers), func(f string) bool { return slices.Contains(finalizers, f) })
	if len(rest) < len(obj.Finalizers) {
		metadata["finalizers"] = rest
	}
	change := map[string]any{"metadata": metadata}
	if manifest.Kind(live) == "Node" {
		owners := slices.DeleteFunc(slices.Clone(obj.OwnerReferences), func(o metav1.OwnerReference) bool {
			return o.Kind == "NodeClaim" && strings.HasPrefix(o.APIVersion, "karpenter.sh/")
		})
		if len(owners) < len(obj.OwnerReferences) {
			metadata["ownerReferences"] = owners
		}
		node, err := manifest.As[corev1.Node](live)
		if err != nil {
			return nil, err
		}
		taints := slices.DeleteFunc(slices.Clone(node.Spec.Taints), func(t corev1.Taint) bool {
			return t.Key == karpv1.DisruptedTaintKey || t.Key == karpv1.UnregisteredTaintKey
		})
		if len(taints) < len(node.Spec.Taints) {
			change["spec"] = map[string]any{"taints": taints}
		}
	}
	if len(metadata) == 0 && change["spec"] == nil {
		return nil, nil
	}
	// The lists are replaced whole, so they must not have changed meanwhile.
	metadata["resourceVersion"] = obj.ResourceVersion
	return change, nil
}

// release removes from an object what only lkeplan removes, and reports whether there was
// something. Others can write to it at the same time.
func release(ctx context.Context, in UninstallCluster, ref map[string]any) (changed bool, err error) {
	const attempts = 5
	for range attempts {
		live, readErr := in.Get(ctx, ref)
		if readErr != nil || live == nil { // nil: it was deleted
			return false, readErr
		}
		change, readErr := Release(live)
		if readErr != nil || change == nil {
			return false, readErr
		}
		if err = in.Merge(ctx, ref, change, uninstaller); err == nil {
			return true, nil
		}
	}
	return false, fmt.Errorf("release an object that others keep changing: %w", err)
}

// Stopped returns an error with what to stop if a process of lkeplan runs or is about
// to: it would undo what UninstallAndKeep does.
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
			return runs(fmt.Sprintf("is not stopped (Deployment %s/%s, replicas: %d)", d.Namespace, d.Name, replicas), d.Namespace)
		}
	}
	return nil
}

func runs(what, namespace string) error {
	return fmt.Errorf("the controller %s, and would undo the change; stop it first: kubectl -n %s scale "+
		"deployment --replicas=0 --selector=app.kubernetes.io/part-of=lkeplan", what, namespace)
}

// UninstallByDrain deletes the pools, lets the running controller drain and delete their nodes, and then deletes the
// other objects of lkeplan. If ctx ends first, the controller continues, and so does another call.
//
// NodePlans are suspended before pools are deleted, because they would create them again. A pool
// that is still created again is an error: another tool applies it. If no node is deleted for some time, blocking says why.
func UninstallByDrain(ctx context.Context, in UninstallCluster, blocking Blocking, report func(string)) error {
	h, err := ReadHoldings(ctx, in)
	if err != nil {
		return err
	}
	for _, np := range h.NodePlans {
		ref := reference(np)
		if err := in.Merge(ctx, ref, map[string]any{"spec": map[string]any{"suspend": true}}, uninstaller); err != nil {
			return err
		}
		report(manifest.KeyOf(ref).String() + " is suspended")
	}
	for _, pool := range h.Pools {
		ref := reference(pool)
		if err := in.Delete(ctx, ref); err != nil {
			return err
		}
		report(manifest.KeyOf(ref).String() + " is deleted; its nodes are draining")
	}
	if err := drained(ctx, in, h.Pools, blocking, report); err != nil {
		return err
	}
	for _, obj := range slices.Concat(asObjects(h.NodePlans), asObjects(h.Classes), asObjects(h.Limits)) {
		ref := reference(obj)
		if err := in.Delete(ctx, ref); err != nil {
			return err
		}
		// Nothing is left that its finalizer could wait for: no process has to remove it.
		if _, err := release(ctx, in, ref); err != nil {
			return err
		}
		report(manifest.KeyOf(ref).String() + " is deleted")
	}
	return nil
}

// pollNodes is how often the remaining nodes are counted.
const pollNodes = 2 * time.Second

// ErrUnfinished means that the time ended before all nodes were deleted.
var ErrUnfinished = errors.New("the controller continues to drain the nodes that are left")

// Blocking names what keeps the nodes of a cluster from draining; "" if nothing is known to.
type Blocking func(ctx context.Context, in cluster.Lister) string

// reportHolds is after how long without a deleted node it is reported what blocks the nodes. It takes a list of all pods.
const reportHolds = 20 * time.Second

// drained deletes all NodeClaims, and returns when they and their Nodes are deleted. It reports
// how many nodes are left, and what blocks them.
func drained(ctx context.Context, in UninstallCluster, pools []*karpv1.NodePool, blocking Blocking, report func(string)) error {
	reported, since, blocked := -1, time.Now(), ""
	ticker := time.NewTicker(pollNodes)
	defer ticker.Stop()
	for {
		left, err := draining(ctx, in, pools)
		switch {
		case ctx.Err() != nil || kube.IsNoResponse(err): // counted again, if there is time
		case err != nil:
			return err
		case left == 0:
			return nil
		case left != reported:
			report(fmt.Sprintf("nodes left: %d", left))
			reported, since = left, time.Now()
		case time.Since(since) >= reportHolds:
			since = time.Now()
			if text := blocking(ctx, in); text != "" && text != blocked {
				report(fmt.Sprintf("nodes left: %d; %s", left, text))
				blocked = text
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), ErrUnfinished)
		}
	}
}

// draining deletes all NodeClaims, and counts the nodes that are left: those with a NodeClaim, and those without one
// that have a finalizer of Karpenter.
func draining(ctx context.Context, in UninstallCluster, pools []*karpv1.NodePool) (left int, err error) {
	h, err := ReadHoldings(ctx, in)
	if err != nil {
		return 0, err
	}
	for _, pool := range h.Pools {
		if !slices.ContainsFunc(pools, func(o *karpv1.NodePool) bool { return o.UID == pool.UID }) {
			return 0, fmt.Errorf("NodePool %s was created again: stop the tool that applies it, such as Flux or Argo CD, and run "+
				"this again", pool.Name)
		}
	}
	counted := map[string]bool{}
	for _, claim := range h.Claims {
		counted[claim.Status.NodeName] = true
		if claim.DeletionTimestamp.IsZero() {
			if err := in.Delete(ctx, reference(claim)); err != nil {
				return 0, err
			}
		}
	}
	left = len(h.Claims)
	for _, n := range h.Nodes {
		if !counted[n.Name] && held(n) {
			left++
		}
	}
	return left, nil
}

// UninstallAndKeep removes from all objects and Nodes what only lkeplan removes, so that each can
// be deleted, and none is deleted with another. No object is deleted: a controller that is
// started again continues. None may run in the meantime, which Stopped checks.
func UninstallAndKeep(ctx context.Context, in UninstallCluster, report func(string)) error {
	h, err := ReadHoldings(ctx, in)
	if err != nil {
		return err
	}
	for _, obj := range h.all() {
		ref := reference(obj)
		changed, err := release(ctx, in, ref)
		if err != nil {
			return err
		}
		if changed {
			report(manifest.KeyOf(ref).String() + " is released")
		}
	}
	return nil
}

// watchReleased is how long objects are watched after their release: a controller repairs its objects within seconds.
const watchReleased = 15 * time.Second

// StayReleased watches released objects, and returns an error if a controller, which may have no Lease, has undone the
// release of one.
func StayReleased(ctx context.Context, in cluster.Lister) error {
	ticker := time.NewTicker(pollNodes)
	defer ticker.Stop()
	for until := time.Now().Add(watchReleased); time.Now().Before(until); {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		h, err := ReadHoldings(ctx, in)
		if err != nil {
			return err
		}
		for _, obj := range h.all() {
			if held(obj) {
				return fmt.Errorf("%s has a finalizer of lkeplan again: a controller still runs, although it has no Lease; deleting the "+
					"CRDs now would delete nodes; stop the controller first, and run this again", manifest.KeyOf(reference(obj)))
			}
		}
	}
	return nil
}

// Bill is how many machines of a cluster are billed, and their monthly price. Unpriced are those whose price is unknown,
// which the price does not include.
type Bill struct {
	Machines, Unpriced int
	Monthly            catalog.Money
}

// BillOf counts the machines of all Nodes, and of NodeClaims whose node has not joined.
func BillOf(h Holdings, prices *catalog.Catalog) (b Bill) {
	joined := map[string]bool{}
	add := func(labels map[string]string) {
		b.Machines++
		if price, ok := prices.Price(labels[corev1.LabelInstanceTypeStable], labels[corev1.LabelTopologyRegion]); ok && price.Known() {
			b.Monthly += price.PerMonth()
		} else {
			b.Unpriced++
		}
	}
	for _, n := range h.Nodes {
		joined[n.Spec.ProviderID] = true
		add(n.Labels)
	}
	for _, claim := range h.Claims {
		if id := claim.Status.ProviderID; id == "" || !joined[id] {
			add(claim.Labels)
		}
	}
	return b
}

// String says what is still billed.
func (b Bill) String() string {
	text := fmt.Sprintf("Machines that are left, and that Linode bills: %d", b.Machines)
	switch {
	case b.Machines == 0:
		return "No machines are left"
	case b.Unpriced == b.Machines:
		return text + ", at an unknown price"
	case b.Unpriced > 0:
		return text + fmt.Sprintf(", at least %s a month: the price of %d is unknown", b.Monthly.Text(), b.Unpriced)
	}
	return text + fmt.Sprintf(", %s a month", b.Monthly.Text())
}
