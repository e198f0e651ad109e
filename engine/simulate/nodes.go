package simulate

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	reqs "sigs.k8s.io/karpenter/pkg/scheduling"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// simNode is a node that was made.
type simNode struct {
	claim  *karpv1.NodeClaim
	node   string // "" before it has joined
	static bool
}

func (m *simNode) pool() string { return m.claim.Labels[karpv1.NodePoolLabelKey] }
func (m *simNode) plan() string { return nodeclaim.PlanOf(m.claim) }
func (m *simNode) ref() NodeRef { return NodeRef{Name: m.node, Pool: m.pool(), Plan: m.plan()} }

// Shortfall is a static pool that gets fewer nodes than it wants.
type Shortfall struct {
	Pool   string `json:"pool"`
	Wanted int64  `json:"wanted"`
	Made   int64  `json:"made"`
	Text   string `json:"text"`
}

// maxStatic bounds the nodes of a static pool; LKE lets a whole cluster have 500.
const maxStatic = 1000

// makeStatic makes the nodes of static pools, which do not depend on pods. Has is
// how many nodes pools have already.
func (w *cluster) makeStatic(ctx context.Context, has map[string]int64) error {
	ctx = settings(ctx)
	for _, pool := range w.static {
		wanted := *pool.Spec.Replicas
		if wanted > maxStatic {
			return fmt.Errorf("pool %s has %d nodes, more than the %d that can be simulated", pool.Name, wanted, maxStatic)
		}
		for i := has[pool.Name]; i < wanted; i++ {
			_, why, err := w.makeNode(ctx, claimOf(pool), true)
			if err != nil {
				return err
			}
			if why != "" {
				w.shortfalls = append(w.shortfalls, Shortfall{Pool: pool.Name, Wanted: wanted, Made: i, Text: why})
				break
			}
		}
	}
	return nil
}

// claimOf is a NodeClaim of a static pool.
func claimOf(pool *karpv1.NodePool) *karpv1.NodeClaim {
	return scheduling.NewNodeClaimTemplate(pool).ToNodeClaim()
}

// makeNode makes the node of a NodeClaim, of the plan type that the controller would
// choose. The text is why it would choose none.
func (w *cluster) makeNode(ctx context.Context, nc *karpv1.NodeClaim, static bool) (name, why string, err error) {
	name = fmt.Sprintf("%s-%05d", nc.Labels[karpv1.NodePoolLabelKey], w.named+1)
	nc.GenerateName, nc.Name, nc.UID = "", name, types.UID(name)
	chosen, err := w.chooser.Choose(ctx, nc)
	switch {
	case cloudprovider.IsInsufficientCapacityError(err), cloudprovider.IsNodeClassNotReadyError(err):
		return "", sentence(err), nil
	case err != nil:
		return "", "", fmt.Errorf("choose a plan type for a node of NodePool %s: %w",
			nc.Labels[karpv1.NodePoolLabelKey], err)
	}
	w.named++
	stamps := maps.Clone(nc.Annotations) // with the hash of the pool
	maps.Copy(stamps, chosen.Annotations)
	chosen.Annotations = stamps
	w.made = append(w.made, &simNode{claim: chosen, node: name, static: static})
	w.store.Claims = append(w.store.Claims, chosen)
	w.store.Nodes[name] = nodeOf(chosen)
	w.store.Nodes[name].Status.NodeInfo = w.kubelet(chosen)
	w.attachable(w.store.Nodes[name])
	return name, "", nil
}

// attachable notes how many volumes a node can attach, by its plan type.
func (w *cluster) attachable(node *corev1.Node) {
	if plan, known := w.types.Plan(node.Labels[corev1.LabelInstanceTypeStable]); known {
		w.store.Attachable[node.Name] = plan.Volumes()
	}
}

// nodeOf is the Node of a claim, once it has joined.
func nodeOf(nc *karpv1.NodeClaim) *corev1.Node {
	labels := maps.Clone(nc.Labels)
	labels[corev1.LabelHostname] = nc.Name
	labels[karpv1.NodeRegisteredLabelKey], labels[karpv1.NodeInitializedLabelKey] = "true", "true"
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: nc.Name, Labels: labels},
		Spec:       corev1.NodeSpec{ProviderID: nc.Status.ProviderID, Taints: nc.Spec.Taints},
		Status:     corev1.NodeStatus{Capacity: nc.Status.Capacity, Allocatable: nc.Status.Allocatable},
	}
}

// requested is what the pods of a node ask for, with those of DaemonSets.
func (w *cluster) requested(node *corev1.Node) corev1.ResourceList {
	pods := w.store.Bound[node.Name]
	labels := reqs.NewLabelRequirements(node.Labels)
	for _, daemon := range w.daemons {
		if reqs.Taints(node.Spec.Taints).ToleratesPod(daemon) == nil && selectsNode(daemon, labels) {
			pods = append(pods[:len(pods):len(pods)], daemon)
		}
	}
	return resources.RequestsForPods(pods...)
}
