package linode

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
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/lkeplan/lkeplan/linode/lkeapi"
)

// EarlyBind marks Nodes when they join, before anything can land on them.
//
// LKE gives no way to have a kubelet register with taints. But the name of a
// Node is known from its slot, and a Node joins with the cloud provider's
// uninitialized taint on it. In that time EarlyBind puts on
// karpenter.sh/unregistered and, once the claim is known, the claim's taints,
// start-up taints and labels, and tells the core not to add the taints again:
// an agent that took its start-up taint away would otherwise find it back.
//
// How long the window really is on LKE was never measured (research/linode.md
// 7.4); where it is missed, pods may land before the Node has its labels and
// taints, and nothing else goes wrong.
type EarlyBind struct {
	client client.Client
	fleet  *Fleet
}

// NewEarlyBind returns the controller for the Nodes of the Fleet's cluster. The
// client must have the index of NodeClaims by status.providerID.
func NewEarlyBind(c client.Client, fleet *Fleet) *EarlyBind {
	return &EarlyBind{client: c, fleet: fleet}
}

// Register implements operatorpkg's Controller.
func (e *EarlyBind) Register(_ context.Context, mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("node.earlybind").
		For(&corev1.Node{}).
		WithEventFilter(predicate.Funcs{
			CreateFunc:  func(ev event.CreateEvent) bool { return e.joining(ev.Object) },
			UpdateFunc:  func(ev event.UpdateEvent) bool { return e.joining(ev.ObjectNew) },
			DeleteFunc:  func(event.DeleteEvent) bool { return false },
			GenericFunc: func(event.GenericEvent) bool { return false },
		}).
		WithOptions(controller.Options{MaxConcurrentReconciles: 32}).
		Complete(e)
}

// joining reports whether a Node may be one of ours that the core has not taken
// over yet.
func (e *EarlyBind) joining(o client.Object) bool {
	_, _, ok := slotOf(e.fleet.cluster.ID, o.GetName())
	return ok && o.GetLabels()[karpv1.NodeRegisteredLabelKey] != "true" && o.GetDeletionTimestamp().IsZero()
}

// Reconcile marks one Node.
func (e *EarlyBind) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var node corev1.Node
	if err := e.client.Get(ctx, req.NamespacedName, &node); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !e.joining(&node) {
		return ctrl.Result{}, nil
	}
	pool, slot, ours, err := e.find(ctx, &node)
	if err != nil || !ours {
		return ctrl.Result{}, err
	}
	claim, err := e.claim(ctx, slot)
	if err != nil {
		return ctrl.Result{}, err
	}
	stored := node.DeepCopy()
	mark(&node, pool, claim)
	if err := e.write(ctx, stored, &node); apierrors.IsConflict(err) || apierrors.IsInvalid(err) {
		// The change that was first is an event, which leads here. Until the
		// cache has it, any other try is in vain too.
		return ctrl.Result{RequeueAfter: time.Second}, nil
	} else if err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(fmt.Errorf("mark node %s: %w", node.Name, err))
	}
	if claim == nil {
		// The claim shows when the Fleet has bound it, which no Node tells.
		return ctrl.Result{RequeueAfter: time.Second}, nil
	}
	return ctrl.Result{}, nil
}

// write stores a mark. While a Node joins, everybody writes to it: so what the
// mark adds is added to whatever the Node has by then.
func (e *EarlyBind) write(ctx context.Context, stored, marked *corev1.Node) error {
	if equality.Semantic.DeepEqual(stored, marked) {
		return nil
	}
	if len(stored.Labels) == 0 || len(stored.Spec.Taints) == 0 {
		// There is nothing to add to. A merge patch replaces lists whole: without
		// the lock a taint that somebody adds meanwhile would be lost.
		return e.client.Patch(ctx, marked, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{}))
	}
	patch, err := additions(stored, marked)
	if err != nil {
		return err
	}
	return e.client.Patch(ctx, marked, patch)
}

// additions is the patch that adds what a mark adds. It is refused where the
// core has registered the Node meanwhile, or where the mark was made before and
// the cache does not show it yet: taints that somebody has taken away since must
// not come back.
func additions(stored, marked *corev1.Node) (client.Patch, error) {
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	var all []operation
	label := func(key string) string { return "/metadata/labels/" + strings.ReplaceAll(key, "/", "~1") }
	for _, key := range []string{karpv1.NodeRegisteredLabelKey, karpv1.NodeDoNotSyncTaintsLabelKey} {
		test := operation{"test", label(key), nil}
		if value, there := stored.Labels[key]; there {
			test.Value = value
		}
		all = append(all, test)
	}
	for _, taint := range marked.Spec.Taints {
		if !slices.ContainsFunc(stored.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) }) {
			all = append(all, operation{"add", "/spec/taints/-", taint})
		}
	}
	for key, value := range marked.Labels {
		if stored.Labels[key] != value {
			all = append(all, operation{"add", label(key), value})
		}
	}
	raw, err := json.Marshal(all)
	return client.RawPatch(types.JSONPatchType, raw), err
}

// find returns the pool and, where LKE lists it, the slot of a Node, and
// whether the pool is ours. A Node that joins from a pool that was made a
// moment ago is looked up anew.
func (e *EarlyBind) find(ctx context.Context, node *corev1.Node) (lkeapi.Pool, lkeapi.Slot, bool, error) {
	poolID, slotID, _ := slotOf(e.fleet.cluster.ID, node.Name)
	pools, err := e.fleet.Pools(ctx, time.Time{})
	if err == nil && !hasPool(pools, poolID) {
		pools, err = e.fleet.Pools(ctx, node.CreationTimestamp.Time)
	}
	if err != nil {
		return lkeapi.Pool{}, lkeapi.Slot{}, false, err
	}
	for _, p := range pools {
		if p.ID != poolID || groupOf(p) == "" {
			continue
		}
		for _, s := range p.Slots {
			if s.ID == slotID {
				return p, s, true, nil
			}
		}
		return p, lkeapi.Slot{}, true, nil
	}
	return lkeapi.Pool{}, lkeapi.Slot{}, false, nil
}

func hasPool(pools []lkeapi.Pool, id int) bool {
	for _, p := range pools {
		if p.ID == id {
			return true
		}
	}
	return false
}

// claim returns the NodeClaim that has the slot's instance; nil while there is
// none.
func (e *EarlyBind) claim(ctx context.Context, slot lkeapi.Slot) (*karpv1.NodeClaim, error) {
	if slot.InstanceID == 0 {
		return nil, nil
	}
	var list karpv1.NodeClaimList
	err := e.client.List(ctx, &list, client.MatchingFields{"status.providerID": linodeID(slot.InstanceID)})
	if err != nil || len(list.Items) == 0 {
		return nil, err
	}
	return &list.Items[0], nil
}

// mark puts on a joining Node what it must not be without.
func mark(node *corev1.Node, pool lkeapi.Pool, claim *karpv1.NodeClaim) {
	taints := scheduling.Taints(node.Spec.Taints).Merge(scheduling.Taints{karpv1.UnregisteredNoExecuteTaint})
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	if claim == nil {
		maps.Copy(node.Labels, pool.Labels)
		node.Spec.Taints = taints
		return
	}
	if node.Labels[karpv1.NodeDoNotSyncTaintsLabelKey] != "true" {
		taints = taints.Merge(claim.Spec.Taints).Merge(claim.Spec.StartupTaints)
	}
	node.Spec.Taints = taints
	maps.Copy(node.Labels, claim.Labels)
	node.Labels[karpv1.NodeDoNotSyncTaintsLabelKey] = "true"
}
