package linode

import (
	"context"
	"slices"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/schemas/v1alpha1"
)

// indexUID is the field index by which NodeClaims are found by their UID.
const indexUID = "metadata.uid"

// NodeClaims are the NodeClaims of a cluster, as a Fleet needs them.
type NodeClaims struct {
	client client.Client
	events events.EventRecorder
}

// NewNodeClaims returns the NodeClaims behind a client that has the index that
// IndexNodeClaims adds.
func NewNodeClaims(c client.Client, recorder events.EventRecorder) *NodeClaims {
	return &NodeClaims{client: c, events: recorder}
}

// IndexNodeClaims adds the field index that NodeClaims relies on.
func IndexNodeClaims(ctx context.Context, indexer client.FieldIndexer) error {
	return indexer.IndexField(ctx, &karpv1.NodeClaim{}, indexUID, func(o client.Object) []string {
		return []string{string(o.GetUID())}
	})
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
		claim, ok := claimOf(nc)
		if !ok || !managed(nc) {
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
	var list v1alpha1.LinodeNodeClassList
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

func (n *NodeClaims) get(ctx context.Context, uid string) (*karpv1.NodeClaim, error) {
	var list karpv1.NodeClaimList
	if err := n.client.List(ctx, &list, client.MatchingFields{indexUID: uid}); err != nil {
		return nil, err
	}
	if len(list.Items) == 0 {
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: "karpenter.sh", Resource: "nodeclaims"}, uid)
	}
	return &list.Items[0], nil
}

// Bind writes the provider id of the machine. The write fails when the claim
// has changed since it was read: it may just be on its way out.
func (n *NodeClaims) Bind(ctx context.Context, uid string, instance int) error {
	nc, err := n.get(ctx, uid)
	if err != nil {
		return err
	}
	stored := nc.DeepCopy()
	nc.Status.ProviderID = linodeID(instance)
	return n.client.Status().Patch(ctx, nc, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{}))
}

// GiveUp deletes a claim and says why in an event.
func (n *NodeClaims) GiveUp(ctx context.Context, uid, reason string) error {
	nc, err := n.get(ctx, uid)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	n.events.Eventf(nc, nil, corev1.EventTypeWarning, "InsufficientCapacity", "Launch", "%s", reason)
	return client.IgnoreNotFound(n.client.Delete(ctx, nc, client.Preconditions{UID: &nc.UID}))
}

// Warn writes a warning event on a claim that is still there.
func (n *NodeClaims) Warn(ctx context.Context, uid, reason, message string) {
	if nc, err := n.get(ctx, uid); err == nil {
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
