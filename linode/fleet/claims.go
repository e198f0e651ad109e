package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// NodeClaims are the NodeClaims of a cluster, as a Fleet needs them.
type NodeClaims struct {
	client client.Client
	events events.EventRecorder
	replan Replan
}

// Replan chooses another plan type for a claim whose own has no capacity. It
// stores nothing. The error is one of class InsufficientCapacity or
// NodeClassNotReady where there is no other.
type Replan func(context.Context, *karpv1.NodeClaim) (*karpv1.NodeClaim, error)

// NewNodeClaims returns the NodeClaims behind a client that has the index that
// nodeclaim.Index adds. Claims are replanned before they are given up.
func NewNodeClaims(c client.Client, recorder events.EventRecorder, replan Replan) *NodeClaims {
	return &NodeClaims{client: c, events: recorder, replan: replan}
}

// List implements the Fleet's view of the demand. It reads the client's cache.
func (n *NodeClaims) List(ctx context.Context) ([]capacity.Claim, error) {
	var list karpv1.NodeClaimList
	if err := n.client.List(ctx, &list); err != nil {
		return nil, err
	}
	tags, err := n.tags(ctx)
	if err != nil {
		return nil, err
	}
	var claims []capacity.Claim
	for i := range list.Items {
		nc := &list.Items[i]
		claim, ok := nodeclaim.Read(nc)
		if !ok || !nodeclaim.Managed(nc) {
			continue
		}
		if now, there := tags[nc.Spec.NodeClassRef.Name]; there {
			claim.Group.Tags = now
		}
		claims = append(claims, claim)
	}
	return claims, nil
}

// tags returns the tags of each class as they are now: LKE changes those of
// pools in place, so that claims do not have to be made anew for them.
func (n *NodeClaims) tags(ctx context.Context) (map[string][]string, error) {
	var list linodev1alpha1.LinodeNodeClassList
	if err := n.client.List(ctx, &list); err != nil {
		return nil, err
	}
	tags := make(map[string][]string, len(list.Items))
	for _, class := range list.Items {
		if ready := class.StatusConditions().Get(status.ConditionReady); ready.IsTrue() {
			tags[class.Name] = slices.Sorted(slices.Values(class.Spec.Tags))
		}
	}
	return tags, nil
}

// Bind writes the provider id of the machine. The write fails where the claim
// waits no more, or for another machine. Other changes of it do not matter: the
// core makes many while a node starts.
func (n *NodeClaims) Bind(ctx context.Context, b capacity.Bind) error {
	nc, err := nodeclaim.ByUID(ctx, n.client, b.UID)
	if err != nil {
		return err
	}
	if claim, ok := nodeclaim.Read(nc); !ok || claim.Group.Key() != b.Key {
		return fmt.Errorf("NodeClaim %s is to have another machine now", nc.Name)
	}
	patch, err := json.Marshal([]map[string]string{
		{"op": "test", "path": "/metadata/uid", "value": b.UID},
		{"op": "test", "path": "/metadata/annotations/" + strings.ReplaceAll(nodeclaim.AnnotationGroup, "/", "~1"), "value": nc.Annotations[nodeclaim.AnnotationGroup]},
		{"op": "test", "path": "/status/providerID", "value": nodeclaim.PendingID(b.UID)},
		{"op": "replace", "path": "/status/providerID", "value": nodeclaim.LinodeID(b.Instance)},
	})
	if err != nil {
		return err
	}
	err = n.client.Status().Patch(ctx, nc, client.RawPatch(types.JSONPatchType, patch))
	if apierrors.IsInvalid(err) { // one of the tests did not hold
		return fmt.Errorf("NodeClaim %s waits no more, or for another machine: %w", nc.Name, err)
	}
	return err
}

// GiveUp has a claim whose plan cannot be had wait for another one that it
// allows; where there is none it is deleted, so that the core plans its pods
// anew. An event says why.
func (n *NodeClaims) GiveUp(ctx context.Context, uid, reason string) error {
	nc, err := nodeclaim.ByUID(ctx, n.client, uid)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	if nodeclaim.InstanceOf(nc.Status.ProviderID) != 0 || !nc.DeletionTimestamp.IsZero() {
		return nil // it got its machine after all, or goes anyway
	}
	if plan, err := n.another(ctx, nc); err == nil {
		n.events.Eventf(nc, nil, corev1.EventTypeNormal, "PlanReplaced", "Launch", "%s; %s takes its place", reason, plan)
		return nil
	} else if !cloudprovider.IsInsufficientCapacityError(err) && !cloudprovider.IsNodeClassNotReadyError(err) {
		reason = fmt.Sprintf("%s; no other plan was chosen: %v", reason, err)
	}
	n.events.Eventf(nc, nil, corev1.EventTypeWarning, "InsufficientCapacity", "Launch", "%s", reason)
	return client.IgnoreNotFound(n.client.Delete(ctx, nc, client.Preconditions{UID: &nc.UID}))
}

// another chooses another plan for a claim, and stores it. Labels and the group
// go first: they say what to ask LKE for. What the core plans by comes second;
// lost in between, it is wrong until the Node tells.
func (n *NodeClaims) another(ctx context.Context, nc *karpv1.NodeClaim) (plan string, err error) {
	chosen, err := n.replan(ctx, nc)
	if err != nil {
		return "", err
	}
	next := nc.DeepCopy()
	next.Labels = chosen.Labels
	maps.Copy(next.Annotations, chosen.Annotations)
	if err := n.client.Patch(ctx, next, client.MergeFromWithOptions(nc, client.MergeFromWithOptimisticLock{})); err != nil {
		return "", err
	}
	stored := next.DeepCopy()
	next.Status.Capacity, next.Status.Allocatable = chosen.Status.Capacity, chosen.Status.Allocatable
	return nodeclaim.PlanOf(next), n.client.Status().Patch(ctx, next, client.MergeFrom(stored))
}

// Warn writes a warning event on a claim that is still there.
func (n *NodeClaims) Warn(ctx context.Context, uid, reason, message string) {
	if nc, err := nodeclaim.ByUID(ctx, n.client, uid); err == nil {
		n.events.Eventf(nc, nil, corev1.EventTypeWarning, reason, "Launch", "%s", message)
	}
}

// Tell writes a warning event on a NodePool that is still there.
func (n *NodeClaims) Tell(ctx context.Context, nodePool, reason, message string) {
	var pool karpv1.NodePool
	if err := n.client.Get(ctx, client.ObjectKey{Name: nodePool}, &pool); err == nil {
		n.events.Eventf(&pool, nil, corev1.EventTypeWarning, reason, "Reconcile", "%s", message)
	}
}
