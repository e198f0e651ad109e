package nodeclaim

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	nodeutils "sigs.k8s.io/karpenter/pkg/utils/node"
)

// AnnotationOrphaned, on a Node whose NodeClaim is gone, says what happens to it. With OrphanDelete it is drained
// and its machine is deleted. If more than a few Nodes lose their claims at once, the cluster may have been
// restored without its NodeClaims: they get OrphanKeep, and stay until the annotation is changed.
const (
	AnnotationOrphaned = "lkeplan.dev/orphaned"
	OrphanDelete       = "delete"
	OrphanKeep         = "keep"
)

// Nodes are the registered Nodes of a cluster's machines.
type Nodes struct{ client client.Client }

// NewNodes returns the Nodes of a client.
func NewNodes(c client.Client) *Nodes { return &Nodes{client: c} }

// Node is a Node that Karpenter has registered: pods may run on it.
type Node struct {
	Name         string
	NodePool     string
	Ready        bool // its kubelet reports; the control plane sets it to false 40 s after the last report
	Leaving      bool // it is being deleted, and drained
	MayBeDeleted bool // it has OrphanDelete: it may be deleted although no claim owns it
	Kept         bool // it has OrphanKeep
}

// List returns the Nodes that Karpenter has registered, by their instance. It reads the
// client's cache.
func (n *Nodes) List(ctx context.Context) (map[int]Node, error) {
	var list corev1.NodeList
	registered := client.MatchingLabels{karpv1.NodeRegisteredLabelKey: "true"}
	err := n.client.List(ctx, &list, client.UnsafeDisableDeepCopy, registered)
	if err != nil {
		return nil, fmt.Errorf("list the Nodes: %w", err)
	}
	nodes := make(map[int]Node, len(list.Items))
	for i := range list.Items {
		node := &list.Items[i]
		if instance := InstanceOf(node.Spec.ProviderID); instance != 0 {
			nodes[instance] = Node{
				Name: node.Name, NodePool: node.Labels[karpv1.NodePoolLabelKey],
				Ready:        nodeutils.GetCondition(node, corev1.NodeReady).Status == corev1.ConditionTrue,
				Leaving:      !node.DeletionTimestamp.IsZero(),
				MayBeDeleted: node.Annotations[AnnotationOrphaned] == OrphanDelete,
				Kept:         node.Annotations[AnnotationOrphaned] == OrphanKeep,
			}
		}
	}
	return nodes, nil
}

// Drain deletes a Node. Karpenter's finalizer keeps it until it is drained.
func (n *Nodes) Drain(ctx context.Context, name string) error {
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	return client.IgnoreNotFound(n.client.Delete(ctx, &node))
}

// Keep writes OrphanKeep, unless the annotation exists.
func (n *Nodes) Keep(ctx context.Context, name string) error {
	var node corev1.Node
	if err := n.client.Get(ctx, client.ObjectKey{Name: name}, &node); err != nil {
		return client.IgnoreNotFound(err)
	}
	if node.Annotations[AnnotationOrphaned] != "" {
		return nil
	}
	kept := node.DeepCopy()
	metav1.SetMetaDataAnnotation(&kept.ObjectMeta, AnnotationOrphaned, OrphanKeep)
	return client.IgnoreNotFound(n.client.Patch(ctx, kept, IfUnchanged(&node)))
}
