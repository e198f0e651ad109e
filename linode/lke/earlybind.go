package lke

// Nodes are prepared when they join, before a pod can land on them: they get the taints and labels with which
// Karpenter wants a kubelet to register. This file sends no requests that change LKE and binds no machine; it finds
// the claim that owns the machine of a Node.

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/scheduling"
	nodeutils "sigs.k8s.io/karpenter/pkg/utils/node"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/inplace"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// EarlyBinder adds taints and labels to Nodes that join.
//
// LKE has no way to make a kubelet register with taints. But the name of a Node is
// known from its slot, and a Node joins with the cloud provider's uninitialized
// taint. While it has that taint, the controller adds karpenter.sh/unregistered
// and, once the claim is known, the claim's taints, startup taints and labels. A
// label keeps Karpenter from adding the taints again: otherwise a startup taint
// that an agent has removed would come back.
//
// Unverified: that a Node on LKE joins with the uninitialized taint and keeps it for
// long enough, and that LKE leaves a foreign taint alone. If it loses one too early, pods
// may land before the Node has its labels and taints; nothing else goes wrong.
type EarlyBinder struct {
	client  client.Client
	cluster int
	pools   poolLister
}

// poolLister lists the node pools of the cluster as LKE showed them at a time or later; Syncer implements it.
type poolLister interface {
	Pools(ctx context.Context, notBefore time.Time) ([]api.Pool, error)
}

// NewEarlyBinder returns the controller for the Nodes of an LKE cluster. The client
// must have the index of NodeClaims by status.providerID.
func NewEarlyBinder(c client.Client, cluster int, pools poolLister) *EarlyBinder {
	return &EarlyBinder{client: c, cluster: cluster, pools: pools}
}

// Register implements operatorpkg's Controller.
func (c *EarlyBinder) Register(_ context.Context, mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("node.earlybind").
		For(&corev1.Node{}).
		WithEventFilter(predicate.NewPredicateFuncs(c.joining)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 32}).
		Complete(c)
}

// joining reports whether a Node may be one of ours that Karpenter has not
// registered yet.
func (c *EarlyBinder) joining(o client.Object) bool {
	return IsNode(c.cluster, o.GetName()) && o.GetLabels()[karpv1.NodeRegisteredLabelKey] != "true" &&
		o.GetDeletionTimestamp().IsZero()
}

// Reconcile prepares one Node.
func (c *EarlyBinder) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var node corev1.Node
	if err := c.client.Get(ctx, req.NamespacedName, &node); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !c.joining(&node) {
		return ctrl.Result{}, nil
	}
	pool, slot, listed, err := c.find(ctx, &node)
	switch {
	case err != nil:
		return ctrl.Result{}, err
	case !listed: // a list may lack a pool; a later list has the pool of the Node
		return ctrl.Result{RequeueAfter: unlistedAgain}, nil
	case GroupOf(pool) == "":
		return ctrl.Result{}, nil
	}
	claim, err := c.claim(ctx, slot)
	if err != nil {
		return ctrl.Result{}, err
	}
	if claim != nil {
		// The claim may not have the current values of labels that change in place yet.
		var pool karpv1.NodePool
		if err := c.client.Get(ctx, client.ObjectKey{Name: claim.Labels[karpv1.NodePoolLabelKey]}, &pool); err == nil {
			claim = claim.DeepCopy()
			claim.Labels = inplace.TemplateOf(&pool).Current(claim)
		} else if !apierrors.IsNotFound(err) {
			return ctrl.Result{}, err
		}
	}
	stored := node.DeepCopy()
	prepareNode(&node, pool, claim)
	if err := c.write(ctx, stored, &node); apierrors.IsConflict(err) || apierrors.IsInvalid(err) {
		// Another client has changed the Node, which causes another event. Until the cache shows that change, each
		// retry would fail as well.
		return ctrl.Result{RequeueAfter: time.Second}, nil
	} else if err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(fmt.Errorf("prepare node %s: %w", node.Name, err))
	}
	if claim == nil {
		// Binding its machine to a claim causes no event of the Node.
		return ctrl.Result{RequeueAfter: time.Second}, nil
	}
	if nodeclaim.MadeAgain(&node, claim) {
		return nodeclaim.RegisterAgain(ctx, c.client, claim)
	}
	return c.identify(ctx, &node)
}

// write stores what was added to a Node. Many clients write to a Node while it joins, so the taints and labels are
// added to its current ones.
func (c *EarlyBinder) write(ctx context.Context, stored, prepared *corev1.Node) error {
	if equality.Semantic.DeepEqual(stored, prepared) {
		return nil
	}
	if len(stored.Labels) == 0 || len(stored.Spec.Taints) == 0 {
		return c.client.Patch(ctx, prepared, nodeclaim.IfUnchanged(stored)) // there is no list to append to
	}
	patch, err := taintsPatch(stored, prepared)
	if err != nil {
		return err
	}
	return c.client.Patch(ctx, prepared, patch)
}

// taintsPatch returns the patch that adds the taints and labels. The API server rejects it if Karpenter has
// registered the Node, or if they were added before and the cache does not show it yet: a taint that was removed
// since then must not come back.
func taintsPatch(stored, prepared *corev1.Node) (client.Patch, error) {
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	var all []operation
	label := func(key string) string { return "/metadata/labels/" + strings.ReplaceAll(key, "/", "~1") }
	for _, key := range []string{karpv1.NodeRegisteredLabelKey, karpv1.NodeDoNotSyncTaintsLabelKey} {
		test := operation{"test", label(key), nil}
		if value, ok := stored.Labels[key]; ok {
			test.Value = value
		}
		all = append(all, test)
	}
	for _, taint := range prepared.Spec.Taints {
		has := func(t corev1.Taint) bool { return t.MatchTaint(&taint) }
		if !slices.ContainsFunc(stored.Spec.Taints, has) {
			all = append(all, operation{"add", "/spec/taints/-", taint})
		}
	}
	for key, value := range prepared.Labels {
		if stored.Labels[key] != value {
			all = append(all, operation{"add", label(key), value})
		}
	}
	raw, err := json.Marshal(all)
	return client.RawPatch(types.JSONPatchType, raw), err
}

// unlistedAgain is the time after which a Node is checked again if LKE does not list its pool.
const unlistedAgain = 5 * time.Second

// find returns the pool of a Node, its slot if LKE lists it, and whether LKE lists the pool. If the pool is not in
// the last list, it requests another one.
func (c *EarlyBinder) find(ctx context.Context, node *corev1.Node) (api.Pool, api.Slot, bool, error) {
	poolID, _, _ := SlotOf(c.cluster, node.Name)
	pools, err := c.pools.Pools(ctx, time.Time{})
	known := func(p api.Pool) bool { return p.ID == poolID }
	if err == nil && !slices.ContainsFunc(pools, known) {
		pools, err = c.pools.Pools(ctx, node.CreationTimestamp.Time)
	}
	if err != nil {
		return api.Pool{}, api.Slot{}, false, err
	}
	pool, slot, listed := inPools(pools, c.cluster, node.Name)
	return pool, slot, listed, nil
}

// The taint of a Node that the cloud controller has not seen yet.
const uninitialized = "node.cloudprovider.kubernetes.io/uninitialized"

// mayHavePods reports whether pods may run on a Node: it has been ready for a moment, and has neither the taint
// with which it joined nor the one that this controller adds.
func mayHavePods(node *corev1.Node) bool {
	tainted := slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == uninitialized || t.Key == karpv1.UnregisteredTaintKey
	})
	ready := nodeutils.GetCondition(node, corev1.NodeReady)
	return !tainted && ready.Status == corev1.ConditionTrue && time.Since(ready.LastTransitionTime.Time) > 5*time.Second
}

// inPools returns the pool of a Node and its slot, and whether the pool is listed. LKE
// may not list the slot yet.
func inPools(pools []api.Pool, cluster int, node string) (api.Pool, api.Slot, bool) {
	poolID, slotID, _ := SlotOf(cluster, node)
	for _, p := range pools {
		if p.ID != poolID {
			continue
		}
		for _, s := range p.Linodes {
			if s.ID == slotID {
				return p, s, true
			}
		}
		return p, api.Slot{}, true
	}
	return api.Pool{}, api.Slot{}, false
}

// claim returns the NodeClaim that has the slot's instance; nil while there is
// none.
func (c *EarlyBinder) claim(ctx context.Context, slot api.Slot) (*karpv1.NodeClaim, error) {
	if slot.InstanceID == 0 {
		return nil, nil
	}
	var list karpv1.NodeClaimList
	err := c.client.List(ctx, &list, client.MatchingFields{"status.providerID": nodeclaim.LinodeID(slot.InstanceID)})
	if err != nil || len(list.Items) == 0 {
		return nil, err
	}
	return &list.Items[0], nil
}

// prepareNode adds to a joining Node the taints and labels that it must have before a pod lands on it. A Node that was
// recreated, or that pods could already use, may have pods, and gets no taint that would evict them.
func prepareNode(node *corev1.Node, pool api.Pool, claim *karpv1.NodeClaim) {
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	taints := scheduling.Taints(node.Spec.Taints)
	switch {
	case claim == nil:
		maps.Copy(node.Labels, pool.Labels)
		if !mayHavePods(node) {
			node.Spec.Taints = taints.Merge(scheduling.Taints{karpv1.UnregisteredNoExecuteTaint})
		}
		return
	case nodeclaim.MadeAgain(node, claim), mayHavePods(node):
		taints = taints.Merge(claim.Spec.Taints)
	case node.Labels[karpv1.NodeDoNotSyncTaintsLabelKey] != "true":
		taints = taints.Merge(scheduling.Taints{karpv1.UnregisteredNoExecuteTaint}).
			Merge(claim.Spec.Taints).Merge(claim.Spec.StartupTaints)
	default:
		taints = taints.Merge(scheduling.Taints{karpv1.UnregisteredNoExecuteTaint})
	}
	node.Spec.Taints = taints
	maps.Copy(node.Labels, claim.Labels)
	node.Labels[karpv1.NodeDoNotSyncTaintsLabelKey] = "true"
}

// identify writes the provider id that the cloud controller has failed to write in time. Until that time it asks
// for another try.
func (c *EarlyBinder) identify(ctx context.Context, node *corev1.Node) (ctrl.Result, error) {
	due := node.CreationTimestamp.Add(nodeclaim.ProviderIDWithin)
	if node.Spec.ProviderID != "" {
		return ctrl.Result{}, nil
	}
	if wait := time.Until(due); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	// Read the slot's instance again, because LKE may have replaced it.
	pools, err := c.pools.Pools(ctx, due)
	if err != nil {
		return ctrl.Result{}, err
	}
	_, slot, ours := inPools(pools, c.cluster, node.Name)
	if !ours || slot.InstanceID == 0 {
		return ctrl.Result{RequeueAfter: nodeclaim.ProviderIDWithin}, nil
	}
	named := node.DeepCopy()
	named.Spec.ProviderID = nodeclaim.LinodeID(slot.InstanceID)
	if err := c.client.Patch(ctx, named, nodeclaim.IfUnchanged(node)); apierrors.IsConflict(err) || apierrors.IsInvalid(err) {
		return ctrl.Result{RequeueAfter: time.Second}, nil // the cloud controller was faster
	} else if err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(fmt.Errorf("write the provider id of node %s: %w", node.Name, err))
	}
	return ctrl.Result{}, nil
}
