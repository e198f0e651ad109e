package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
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
	"github.com/lkeplan/lkeplan/engine/nodeplan"
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
	Nodes     []*corev1.Node // that Karpenter has created
	// Limits are the CapacityLimits that lkeplan has applied. LimitsOfOthers belong to other tools.
	Limits         []*lkeplanv1alpha1.CapacityLimit
	LimitsOfOthers []OwnedLimit
}

// OwnedLimit is a CapacityLimit that another tool manages.
type OwnedLimit struct{ Name, Owner string }

// ReadHoldings lists what lkeplan has in a cluster. A kind that the cluster does not know has no
// objects.
func ReadHoldings(ctx context.Context, from cluster.Lister) (h Holdings, err error) {
	ours := func(ref *karpv1.NodeClassReference) bool { return ref != nil && ref.Group == linodev1alpha1.Group }
	var errs [6]error
	h.NodePlans, errs[0] = held[lkeplanv1alpha1.NodePlan](ctx, from, lkeplanv1alpha1.GroupVersion.String(), "NodePlan", nil)
	h.Pools, errs[1] = held(ctx, from, "karpenter.sh/v1", "NodePool",
		func(p *karpv1.NodePool) bool { return ours(p.Spec.Template.Spec.NodeClassRef) })
	h.Claims, errs[2] = held(ctx, from, "karpenter.sh/v1", "NodeClaim",
		func(c *karpv1.NodeClaim) bool { return ours(c.Spec.NodeClassRef) })
	h.Classes, errs[3] = held[linodev1alpha1.LinodeNodeClass](ctx, from, linodev1alpha1.Group+"/v1", "LinodeNodeClass", nil)
	h.Nodes, errs[4] = held(ctx, from, "v1", "Node",
		func(n *corev1.Node) bool { return poolOf(n) != "" || len(releasedFrom(n)) > 0 })
	errs[5] = h.readLimits(ctx, from)
	return h, cmp.Or(errs[:]...)
}

// readLimits lists CapacityLimits. Those with another owner belong to it: it would apply them again.
func (h *Holdings) readLimits(ctx context.Context, from cluster.Lister) error {
	found, err := from.List(ctx, lkeplanv1alpha1.GroupVersion.String(), "CapacityLimit")
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		return err
	}
	for _, obj := range found {
		if owners := kube.Owners(obj); len(owners) > 0 || !kube.Applied(obj) {
			h.LimitsOfOthers = append(h.LimitsOfOthers, OwnedLimit{manifest.Name(obj), nodeplan.Maker(obj)})
			continue
		}
		limit, err := manifest.As[lkeplanv1alpha1.CapacityLimit](obj)
		if err != nil {
			return err
		}
		h.Limits = append(h.Limits, limit)
	}
	return nil
}

// held are the objects of a kind that belong to lkeplan.
func held[T any](ctx context.Context, from cluster.Lister, apiVersion, kind string, ours func(*T) bool) ([]*T, error) {
	found, err := cluster.List[T](ctx, from, apiVersion, kind)
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil, nil
	}
	return slices.DeleteFunc(found, func(obj *T) bool { return ours != nil && !ours(obj) }), err
}

// all are the objects, Nodes first: a NodeClaim that is being deleted is removed with its last finalizer.
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

// finalizers are those that only lkeplan removes, when it has done what they wait for.
var finalizers = []string{karpv1.TerminationFinalizer, "karpenter.k8s.linode/termination", "lkeplan.dev/finalizer"}

// releasedFrom are the finalizers of an object that only lkeplan removes.
func releasedFrom(obj metav1.Object) []string {
	return slices.DeleteFunc(slices.Clone(obj.GetFinalizers()), func(f string) bool { return !slices.Contains(finalizers, f) })
}

// Release returns the change with which an object, and what it owns, can be deleted
// without lkeplan; nil if there is none. For a Node it includes the reference to its
// NodeClaim, with which it would be deleted, and the taints that Karpenter adds before it
// replaces a node.
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

// release removes from an object what only lkeplan removes. Others can write to it at
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
			return nil // it was deleted
		}
		if _, isNode := obj.(*corev1.Node); isNode && readErr == nil {
			obj, readErr = manifest.As[corev1.Node](live)
		} else if readErr == nil {
			obj, readErr = manifest.As[metav1.PartialObjectMetadata](live)
		}
		if readErr != nil {
			return errors.Join(err, readErr)
		}
	}
	return fmt.Errorf("release an object that others keep changing: %w", err)
}

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

// ErrNoLease means that it is unknown whether a controller runs.
var ErrNoLease = errors.New("no controller has or had a Lease")

// Stopped returns an error with what to stop if a process of lkeplan runs or is about
// to: it would undo what UninstallAndKeep does. A controller without leader election
// cannot be detected: the error is ErrNoLease if nothing else is known.
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
	return fmt.Errorf("the controller %s, and would undo the change; stop it first: kubectl -n %s scale "+
		"deployment --replicas=0 --selector=app.kubernetes.io/part-of=lkeplan", what, namespace)
}

// UninstallByDrain lets the running controller drain and delete all nodes, and deletes what creates
// nodes, and the CapacityLimits of lkeplan. It returns when nothing is left. If ctx ends first, the
// controller continues, and so does another call.
//
// NodePlans are suspended before pools are deleted, because they would create them again. A pool
// that is still created again is an error: another tool applies it.
func UninstallByDrain(ctx context.Context, in UninstallCluster, report func(Step)) error {
	h, err := ReadHoldings(ctx, in)
	if err != nil {
		return err
	}
	for _, np := range h.NodePlans {
		if err := in.Merge(ctx, reference(np), map[string]any{"spec": map[string]any{"suspend": true}}, uninstaller); err != nil {
			return err
		}
		report(stepOf(np, "suspended"))
	}
	for _, pool := range h.Pools {
		if err := in.Delete(ctx, reference(pool)); err != nil {
			return err
		}
		report(stepOf(pool, "deleted; its nodes are draining"))
	}
	if err := gone(ctx, in, h.Pools, report); err != nil {
		return err
	}
	for _, obj := range slices.Concat(asObjects(h.NodePlans), asObjects(h.Classes), asObjects(h.Limits)) {
		if err := in.Delete(ctx, reference(obj)); err != nil {
			return err
		}
		// Nothing is left that its finalizer could wait for: no process has to remove it.
		live, err := in.Get(ctx, reference(obj))
		if err != nil {
			return err
		}
		if live != nil {
			left, err := manifest.As[metav1.PartialObjectMetadata](live)
			if err != nil {
				return err
			}
			if err := release(ctx, in, left); err != nil {
				return err
			}
		}
		report(stepOf(obj, "deleted"))
	}
	return nil
}

func stepOf(obj client.Object, what string) Step {
	return Step{obj.GetObjectKind().GroupVersionKind().Kind, keyOf(obj), what}
}

// pollNodes is how often the remaining nodes are counted.
const pollNodes = 2 * time.Second

// gone deletes all NodeClaims, and returns when they and their Nodes are deleted. It reports
// how many nodes are left.
func gone(ctx context.Context, in UninstallCluster, pools []*karpv1.NodePool, report func(Step)) error {
	reported := map[string]int{}
	ticker := time.NewTicker(pollNodes)
	defer ticker.Stop()
	for {
		left, err := going(ctx, in, pools)
		if kube.IsNoResponse(err) {
			left = reported // and counted again
		} else if err != nil {
			return err
		}
		for _, pool := range slices.Sorted(maps.Keys(left)) {
			if left[pool] != reported[pool] {
				report(Step{"NodePool", pool, "nodes left: " + strconv.Itoa(left[pool])})
			}
		}
		for _, pool := range slices.Sorted(maps.Keys(reported)) {
			if left[pool] == 0 {
				report(Step{"NodePool", pool, "its nodes are deleted"})
			}
		}
		reported = left
		if len(left) == 0 && err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return unfinished(left, context.Cause(ctx))
		}
	}
}

// going deletes all NodeClaims, and counts the nodes that are left.
func going(ctx context.Context, in UninstallCluster, pools []*karpv1.NodePool) (left map[string]int, err error) {
	h, err := ReadHoldings(ctx, in)
	if err != nil {
		return nil, err
	}
	for _, pool := range h.Pools {
		if !slices.ContainsFunc(pools, func(o *karpv1.NodePool) bool { return o.UID == pool.UID }) {
			return nil, fmt.Errorf("NodePool %s was created again: stop the tool that applies it, such as Flux or Argo CD, and run "+
				"this again", pool.Name)
		}
	}
	for _, claim := range h.Claims {
		if claim.DeletionTimestamp.IsZero() {
			if err := in.Delete(ctx, reference(claim)); err != nil {
				return nil, err
			}
		}
	}
	return remaining(h), nil
}

// remaining counts nodes by pool: those with a NodeClaim, and those without one that have a
// finalizer of Karpenter.
func remaining(h Holdings) map[string]int {
	left, counted := map[string]int{}, map[string]bool{}
	for _, claim := range h.Claims {
		left[poolOf(claim)]++
		counted[claim.Status.NodeName] = true
	}
	for _, n := range h.Nodes {
		if !counted[n.Name] && len(releasedFrom(n)) > 0 {
			left[poolOf(n)]++
		}
	}
	return left
}

// ErrUnfinished means that the time ended before all nodes were deleted.
var ErrUnfinished = errors.New("nodes are left; the controller continues to drain them")

func unfinished(left map[string]int, cause error) error {
	errs := []error{ErrUnfinished}
	for _, pool := range slices.Sorted(maps.Keys(left)) {
		errs = append(errs, fmt.Errorf("NodePool %s: nodes left: %d", pool, left[pool]))
	}
	if errors.Is(cause, context.Canceled) {
		cause = errors.New("interrupted")
	}
	return errors.Join(append(errs, cause)...)
}

// UninstallAndKeep removes from all objects and Nodes what only lkeplan removes, so that each can
// be deleted, and none is deleted with another. No object is deleted: a controller that is
// started again continues. None may run in the meantime: if one undoes the change within
// a few seconds, the error is ErrPutBack.
func UninstallAndKeep(ctx context.Context, in UninstallCluster, report func(Step)) error {
	h, err := ReadHoldings(ctx, in)
	if err != nil {
		return err
	}
	for _, obj := range h.all() {
		if Release(obj) == nil {
			continue
		}
		if err := release(ctx, in, obj); err != nil {
			return err
		}
		what := "released"
		if !obj.GetDeletionTimestamp().IsZero() {
			what = "released and deleted: its deletion was pending"
		}
		report(stepOf(obj, what))
	}
	return staysOff(ctx, in)
}

// ErrPutBack means that a controller runs.
var ErrPutBack = errors.New("a controller runs, and has undone the change: stop it, and run this again; " +
	"deleting the CRDs now would delete nodes")

// A controller sees immediately that a finalizer is missing, and needs a few seconds if its
// requests are rate limited.
const (
	putBackWithin = 8 * time.Second
	pollPutBack   = time.Second
)

// staysOff watches whether a controller that cannot be detected otherwise undoes the change.
func staysOff(ctx context.Context, in UninstallCluster) error {
	watching, cancel := context.WithTimeout(ctx, putBackWithin)
	defer cancel()
	ticker := time.NewTicker(pollPutBack)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-watching.Done():
			return ctx.Err()
		}
		h, err := ReadHoldings(ctx, in)
		if err != nil {
			return err
		}
		for _, obj := range h.all() {
			if names := releasedFrom(obj); len(names) > 0 {
				s := stepOf(obj, "")
				return fmt.Errorf("%s %s has %s again: %w", s.Kind, s.Name, strings.Join(names, ", "), ErrPutBack)
			}
		}
	}
}

// Machine is a Linode that is billed.
type Machine struct {
	Node     string `json:"node,omitempty"` // "" if it has not joined
	Claim    string `json:"claim,omitempty"`
	Linode   string `json:"linode,omitempty"` // its ID; "" if it is only requested
	LKEPool  string `json:"lkePool,omitempty"`
	PlanType string `json:"planType"`
	Pool     string `json:"pool,omitempty"`

	Monthly catalog.Money `json:"monthly,omitempty"` // US dollars; 0 if the price is unknown
}

// Bill lists the Linodes that lkeplan has created, and their monthly cost.
func Bill(h Holdings, prices *catalog.Catalog) (machines []Machine, total catalog.Money) {
	joined := map[string]int{}
	add := func(obj metav1.Object, m Machine) {
		m.PlanType, m.Pool = obj.GetLabels()[corev1.LabelInstanceTypeStable], poolOf(obj)
		if price, ok := prices.Price(m.PlanType, obj.GetLabels()[corev1.LabelTopologyRegion]); ok {
			m.Monthly = price.PerMonth()
			total += m.Monthly
		}
		machines = append(machines, m)
	}
	for _, n := range h.Nodes {
		joined[n.Spec.ProviderID] = len(machines)
		add(n, Machine{Node: n.Name, Linode: strings.TrimPrefix(n.Spec.ProviderID, "linode://"), LKEPool: n.Labels[poolLabel]})
	}
	for _, claim := range h.Claims {
		id := claim.Status.ProviderID
		if at, ok := joined[id]; ok && id != "" {
			machines[at].Claim = claim.Name
			continue
		}
		m := Machine{Claim: claim.Name}
		if number, made := strings.CutPrefix(id, "linode://"); made {
			m.Linode = number
		}
		add(claim, m)
	}
	slices.SortStableFunc(machines, func(a, b Machine) int {
		return cmp.Or(cmp.Compare(a.Pool, b.Pool), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Claim, b.Claim))
	})
	return machines, total
}

// OtherNodes are nodes that lkeplan does not manage, and their monthly cost.
type OtherNodes struct {
	Nodes    int
	LKEPools int // that have these nodes
	Monthly  catalog.Money
	Unpriced int // nodes whose price is unknown
}

// NodesOfOthers counts the nodes of a cluster that lkeplan does not manage. An LKE pool without a node is not counted.
func NodesOfOthers(nodes []*corev1.Node, h Holdings, prices *catalog.Catalog) (o OtherNodes) {
	ours, pools := map[string]bool{}, map[string]bool{}
	for _, n := range h.Nodes {
		ours[n.Name] = true
	}
	for _, claim := range h.Claims {
		ours[claim.Status.NodeName] = true
	}
	for _, n := range nodes {
		if ours[n.Name] {
			continue
		}
		o.Nodes++
		if id := n.Labels[poolLabel]; id != "" {
			pools[id] = true
		}
		price, ok := prices.Price(n.Labels[corev1.LabelInstanceTypeStable], n.Labels[corev1.LabelTopologyRegion])
		if !ok {
			o.Unpriced++
			continue
		}
		o.Monthly += price.PerMonth()
	}
	o.LKEPools = len(pools)
	return o
}
