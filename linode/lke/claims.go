package lke

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/maintenance"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// NodeClaims implements Claims with the NodeClaims in Kubernetes.
type NodeClaims struct {
	nodeclaim.Writer
	live   client.Reader // nil after the first list
	replan Replan
}

// Replan chooses another plan type for a claim whose own has no capacity. It stores nothing. If there is no other,
// the error is of class InsufficientCapacity or NodeClassNotReady.
type Replan func(context.Context, *karpv1.NodeClaim) (*karpv1.NodeClaim, error)

// NewNodeClaims returns the NodeClaims of a client, which needs the index that nodeclaim.Index adds, and
// Karpenter's index by status.providerID. live reads from the API server, without a cache. replan is tried before a
// claim is deleted for lack of capacity.
func NewNodeClaims(c client.Client, live client.Reader, recorder events.EventRecorder, replan Replan) *NodeClaims {
	return &NodeClaims{Writer: nodeclaim.Writer{Client: c, Events: recorder}, live: live, replan: replan}
}

// List implements Claims. It reads the client's cache, except for the first time: the cache of a new leader may
// show claims as waiting that the previous leader has served, and their machines would seem to be free.
func (n *NodeClaims) List(ctx context.Context) ([]capacity.Claim, error) {
	var from client.Reader = n.Client
	if n.live != nil {
		from = n.live
	}
	var list karpv1.NodeClaimList
	if err := from.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("list the NodeClaims: %w", err)
	}
	tags, err := nodeclaim.ClassTags(ctx, n.Client)
	if err != nil {
		return nil, err
	}
	pools, err := n.pools(ctx)
	if err != nil {
		return nil, err
	}
	var all []capacity.Claim
	for i := range list.Items {
		nc := &list.Items[i]
		claim, ok := DemandOf(nc)
		if !ok || !nodeclaim.Managed(nc) {
			continue
		}
		if current, ok := tags[nc.Spec.NodeClassRef.Name]; ok {
			claim.Group.Tags = slices.Sorted(slices.Values(current))
		}
		claim.Maintained = maintenance.Of(nc).Explains(time.Now())
		claim.Group.InPlace = inPlaceLabels(nc, pools[claim.Group.NodePool], claim.Group.Labels)
		all = append(all, claim)
	}
	n.live = nil
	return all, nil
}

// pools returns the NodePools by name. They must not be changed.
func (n *NodeClaims) pools(ctx context.Context) (map[string]*karpv1.NodePool, error) {
	var list karpv1.NodePoolList
	if err := n.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the NodePools: %w", err)
	}
	pools := make(map[string]*karpv1.NodePool, len(list.Items))
	for i := range list.Items {
		pools[list.Items[i].Name] = &list.Items[i]
	}
	return pools, nil
}

// Bind implements Claims.
func (n *NodeClaims) Bind(ctx context.Context, b capacity.Bind) error {
	nc, err := nodeclaim.ByUID(ctx, n.Client, b.UID)
	if err != nil {
		return err
	}
	if claim, ok := DemandOf(nc); !ok || claim.Group.Key() != b.Key {
		return fmt.Errorf("NodeClaim %s waits for another machine now", nc.Name)
	}
	return n.Writer.Bind(ctx, nc, b.Instance, nodeclaim.AnnotationGroup)
}

// ReplanOrDelete implements Claims. It gives a claim another plan type that the claim allows. If there is none, it
// deletes the claim, so that Karpenter schedules its pods again. An event has the reason.
func (n *NodeClaims) ReplanOrDelete(ctx context.Context, uid, reason string) error {
	nc, err := nodeclaim.ByUID(ctx, n.Client, uid)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	if nodeclaim.InstanceOf(nc.Status.ProviderID) != 0 || !nc.DeletionTimestamp.IsZero() {
		return nil // it has a machine now, or is being deleted
	}
	if plan, err := n.another(ctx, nc); err == nil {
		n.Events.Eventf(nc, nil, corev1.EventTypeNormal, "PlanReplaced", "Launch", "%s; %s replaces it", reason, plan)
		return nil
	} else if apierrors.IsConflict(err) {
		return err // another client has changed the claim: it may have another plan type when this is retried
	} else if !cloudprovider.IsInsufficientCapacityError(err) && !cloudprovider.IsNodeClassNotReadyError(err) {
		reason = fmt.Sprintf("%s; no other plan was chosen: %v", reason, err)
	}
	return n.Writer.DeleteUnserved(ctx, nc, reason)
}

// Extend implements Claims.
func (n *NodeClaims) Extend(ctx context.Context, uid string) error {
	nc, err := nodeclaim.ByUID(ctx, n.Client, uid)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	extended, err := nodeclaim.Extend(ctx, n.Client, nc)
	if extended {
		n.Events.Eventf(nc, nil, corev1.EventTypeNormal, "WaitsForLKE", "Launch",
			"LKE has accepted the order and does not list the machine yet; on LKE Enterprise that can take 20 minutes")
	}
	return client.IgnoreNotFound(err)
}

// another chooses another plan type for a claim, and stores it. It writes labels and group first, because the
// request to LKE depends on them, and the resources for Karpenter second. If the second write fails, the resources
// are wrong until the Node reports its own.
func (n *NodeClaims) another(ctx context.Context, nc *karpv1.NodeClaim) (plan string, err error) {
	chosen, err := n.replan(ctx, nc)
	if err != nil {
		return "", err
	}
	next := nc.DeepCopy()
	next.Labels = chosen.Labels
	maps.Copy(next.Annotations, chosen.Annotations)
	if err := n.Client.Patch(ctx, next, nodeclaim.IfUnchanged(nc)); err != nil {
		return "", err
	}
	stored := next.DeepCopy()
	next.Status.Capacity, next.Status.Allocatable = chosen.Status.Capacity, chosen.Status.Allocatable
	return nodeclaim.PlanOf(next), n.Client.Status().Patch(ctx, next, client.MergeFrom(stored))
}

// DemandOf converts a NodeClaim to demand for capacity. It returns false if Create has not answered yet, because
// such a claim requests nothing.
func DemandOf(nc *karpv1.NodeClaim) (claim capacity.Claim, decided bool) {
	id := nc.Status.ProviderID
	claim = capacity.Claim{
		UID:      string(nc.UID),
		Name:     nc.Name,
		Instance: nodeclaim.InstanceOf(id),
		Created:  nc.CreationTimestamp.Time,
		Leaving:  !nc.DeletionTimestamp.IsZero(),

		Registered: nc.StatusConditions(status.WithObservedOnly()).Get(karpv1.ConditionTypeRegistered).IsTrue(),
	}
	if claim.Instance == 0 && !nodeclaim.IsPending(id) {
		return capacity.Claim{}, false
	}
	group, err := capacity.DecodeGroup(nc.Annotations[nodeclaim.AnnotationGroup])
	if err != nil && claim.Instance == 0 && !claim.Leaving {
		return capacity.Claim{}, false
	}
	// A claim without a readable group, such as one that another provider made,
	// still owns its machine and can leave.
	claim.Group = group
	return claim, true
}

// NodeName returns the name of the node, and of the Linode, in a slot. The format was recorded on nodes of real LKE
// clusters.
func NodeName(cluster int, slot string) string { return fmt.Sprintf("lke%d-%s", cluster, slot) }

// nodesOf adds to Nodes the slots in their names.
func nodesOf(registered map[int]nodeclaim.Node) map[int]capacity.Node {
	nodes := make(map[int]capacity.Node, len(registered))
	for instance, n := range registered {
		_, slot, _ := strings.Cut(n.Name, "-")
		nodes[instance] = capacity.Node{
			Name: n.Name, NodePool: n.NodePool, Slot: slot, Ready: n.Ready, Leaving: n.Leaving, MayBeDeleted: n.MayBeDeleted,
			Kept: n.Kept,
		}
	}
	return nodes
}

// SlotOf returns the inverse of NodeName. It returns false for a name that no slot of the cluster can have.
func SlotOf(cluster int, node string) (pool int, slot string, ok bool) {
	slot, ok = strings.CutPrefix(node, fmt.Sprintf("lke%d-", cluster))
	if !ok {
		return 0, "", false
	}
	digits, _, found := strings.Cut(slot, "-")
	pool, err := strconv.Atoi(digits)
	return pool, slot, found && err == nil
}

// IsNode reports whether a Node with that name can belong to the cluster.
func IsNode(cluster int, node string) bool {
	_, _, ok := SlotOf(cluster, node)
	return ok
}
