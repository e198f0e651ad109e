package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

const (
	// conflicts is how often a write is repeated on a newer Node, because others write to it as well.
	conflicts = 8
	// stale is how long to wait until an old Node of the same name is gone.
	stale = time.Second
)

// owns reports whether the Node belongs to this machine, and not to an earlier one in the slot. A Node without a
// provider id counts as this machine's.
func (m *machine) owns(node *corev1.Node) bool {
	id := node.Status.NodeInfo.SystemUUID
	return id == "" || id == m.machineID
}

// reconcile takes one machine through all steps that are due, each with a separate write as in reality. It returns
// when the next step is due; zero means never.
func (n *nodes) reconcile(ctx context.Context, m *machine, sync bool, now time.Time) (again time.Time, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("node %s: %w", m.Label, err)
		}
	}()
	var node *corev1.Node
	switch {
	case !m.registered.IsZero():
		node, err = n.lister.Get(m.Label)
		if apierrors.IsNotFound(err) {
			return time.Time{}, nil // it was deleted
		}
	case !m.Gone.IsZero() || m.Down:
		return time.Time{}, nil
	case m.joins.After(now):
		return m.joins, nil
	default:
		node, err = n.join(ctx, m)
		again = now.Add(stale) // an older Node of the same name may still exist
	}
	if err != nil || node == nil || !m.owns(node) {
		return again, err
	}
	return time.Time{}, n.imposePool(ctx, m, node, sync)
}

// join registers the machine's Node, and returns the existing Node with its name.
func (n *nodes) join(ctx context.Context, m *machine) (*corev1.Node, error) {
	node, err := n.objects().Create(ctx, m.bare(metav1.Now()), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) { // an older Node, or the answer was lost
		node, err = getNode(ctx, n.objects(), m.Label)
	}
	if err != nil {
		return nil, fmt.Errorf("register: %w", err)
	}
	if node != nil && m.owns(node) {
		n.sim.noteRegistered(m.ID, time.Now())
		n.log.Info("node joined", "node", m.Label, "instance", m.ID, "plan", m.Type)
	}
	return node, nil
}

// imposePool enrols a new node, and restores the pool's labels and taints on a node whose pool has changed or when
// the time has come.
func (n *nodes) imposePool(ctx context.Context, m *machine, node *corev1.Node, sync bool) error {
	wanted, before := desired{m.labels, m.taints}, n.imposed[m.ID]
	if !sync && m.enrolled(node) && maps.Equal(before.labels, wanted.labels) && slices.Equal(before.taints, wanted.taints) {
		return nil
	}
	_, err := updateNode(ctx, n.objects(), node, func(node *corev1.Node) {
		m.enrol(node)
		wanted.impose(*before, node)
		if m.breaks("taints") {
			node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool {
				return !isReserved(t.Key) && !slices.ContainsFunc(m.taints, func(own Taint) bool { return own.same(t) })
			})
		}
	})
	if err != nil {
		return fmt.Errorf("put the pool's labels and taints on it: %w", err)
	}
	*before = wanted
	return nil
}

// updateNode changes a Node, and repeats it on the newest one after a conflict. It returns nil if the Node is gone,
// and does not write if nothing would change.
func updateNode(
	ctx context.Context, client typedcorev1.NodeInterface, node *corev1.Node, change func(*corev1.Node),
) (*corev1.Node, error) {
	for try := 0; node != nil; try++ {
		next := node.DeepCopy()
		change(next)
		if equality.Semantic.DeepEqual(node, next) {
			return node, nil
		}
		written, err := client.Update(ctx, next, metav1.UpdateOptions{})
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		if !apierrors.IsConflict(err) || try == conflicts {
			return written, err
		}
		if node, err = getNode(ctx, client, node.Name); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// getNode returns the Node with that name, or nil.
func getNode(ctx context.Context, client typedcorev1.NodeInterface, name string) (*corev1.Node, error) {
	node, err := client.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get it: %w", err)
	}
	return node, nil
}

const (
	poolIDLabel    = "lke.linode.com/pool-id"
	hostLabel      = "node.k8s.linode.com/host-uuid"
	csiRegionLabel = "topology.linode.com/region"

	smallEnterpriseMiB = 8192

	// taintUninitialized is the taint that a kubelet adds if a cloud controller completes its Node.
	taintUninitialized = "node.cloudprovider.kubernetes.io/uninitialized"
)

// bare returns the Node as a kubelet of LKE registers it: without labels of the pool and a providerID, and tainted
// until the cloud controller has seen it and it is ready. The labels are those of recorded nodes. The first taint
// is inferred from kubelets with an external cloud provider; the second is added by any API server.
func (m *machine) bare(now metav1.Time) *corev1.Node {
	reported := m.Plan.Reported()
	if m.tier == catalog.Enterprise && m.Plan.MemoryMiB <= smallEnterpriseMiB {
		rest := int64(m.Plan.MemoryMiB) << 20 * int64(100-m.memoryKept) / 100
		if m.breaks("memory-enterprise") {
			rest /= 2
		}
		reported.Allocatable.MemoryBytes = min(reported.Allocatable.MemoryBytes, rest)
	}
	if m.breaks("memory") {
		reported.Capacity.MemoryBytes = reported.Capacity.MemoryBytes * 9 / 10
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:   m.Label,
			Labels: nodeLabels(m.Label),
			Annotations: map[string]string{
				"volumes.kubernetes.io/controller-managed-attach-detach": "true",
				// KWOK simulates the rest of the kubelet: readiness, heartbeats and pods.
				"kwok.x-k8s.io/node": "fake",
			},
		},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{
			{Key: taintUninitialized, Value: "true", Effect: corev1.TaintEffectNoSchedule},
			{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule},
		}},
		Status: corev1.NodeStatus{
			Capacity:    resourceList(reported.Capacity),
			Allocatable: resourceList(reported.Allocatable),
			Conditions:  nodeConditions(now),
			Addresses:   nodeAddresses(m.Label, m.PrivateIP),
			NodeInfo:    nodeInfo(m.machineID, m.version),
		},
	}
	if m.breaks("uninitialized") {
		node.Spec.Taints = node.Spec.Taints[1:]
	}
	return node
}

// provider returns the provider id in exactly the form of the cloud controller.
func (m *machine) provider() string { return fmt.Sprintf("linode://%d", m.ID) }

// enrol makes LKE's changes to a new node: annotations for its network to the control plane, and the pool's label.
func (m *machine) enrol(n *corev1.Node) {
	tunnel := fmt.Sprintf("172.31.%d.%d", m.ID/250%250, 1+m.ID%250)
	metav1.SetMetaDataAnnotation(&n.ObjectMeta, "lke.linode.com/wgip", tunnel)
	metav1.SetMetaDataAnnotation(&n.ObjectMeta, "lke.linode.com/wgpub", m.HostUUID)
	metav1.SetMetaDataLabel(&n.ObjectMeta, poolIDLabel, strconv.Itoa(m.pool))
}

func (m *machine) enrolled(n *corev1.Node) bool { return n.Labels[poolIDLabel] != "" }

// complete makes the only update of the cloud controller manager. It sets no zone.
func (m *machine) complete(n *corev1.Node) {
	if n.Spec.ProviderID == "" { // it can be set only once, and may be set already
		n.Spec.ProviderID = m.provider()
	}
	metav1.SetMetaDataLabel(&n.ObjectMeta, corev1.LabelInstanceTypeStable, m.Plan.ID)
	metav1.SetMetaDataLabel(&n.ObjectMeta, corev1.LabelInstanceType, m.Plan.ID)
	metav1.SetMetaDataLabel(&n.ObjectMeta, corev1.LabelTopologyRegion, m.Region)
	metav1.SetMetaDataLabel(&n.ObjectMeta, corev1.LabelFailureDomainBetaRegion, m.Region)
	metav1.SetMetaDataLabel(&n.ObjectMeta, hostLabel, m.HostUUID)
	n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == taintUninitialized })
}

func (m *machine) completed(n *corev1.Node) bool {
	return n.Spec.ProviderID != "" && n.Labels[hostLabel] != "" &&
		!slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == taintUninitialized })
}

// attachVolumes adds what the driver for block storage reports through the kubelet when it has started.
func (m *machine) attachVolumes(n *corev1.Node) {
	metav1.SetMetaDataLabel(&n.ObjectMeta, csiRegionLabel, m.Region)
}

// desired is what a pool sets on its nodes.
type desired struct {
	labels map[string]string
	taints []Taint
}

// impose sets a pool's labels and taints on a node, and removes what it has set before and the pool does not have
// any more. Labels and taints of others stay. The removal is inferred: the API's specification says that an update
// overwrites.
func (d desired) impose(before desired, n *corev1.Node) {
	for key, old := range before.labels {
		if _, kept := d.labels[key]; !kept && n.Labels[key] == old {
			delete(n.Labels, key)
		}
	}
	for key, value := range d.labels {
		metav1.SetMetaDataLabel(&n.ObjectMeta, key, value)
	}
	for _, t := range before.taints {
		if !slices.Contains(d.taints, t) {
			n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, t.same)
		}
	}
	for _, t := range d.taints {
		if at := slices.IndexFunc(n.Spec.Taints, t.same); at >= 0 {
			n.Spec.Taints[at].Value = t.Value
		} else {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: t.Key, Value: t.Value, Effect: corev1.TaintEffect(t.Effect)})
		}
	}
}

// same reports whether two taints have the same key and effect, which a node can have only once.
func (t Taint) same(other corev1.Taint) bool {
	return t.Key == other.Key && t.Effect == string(other.Effect)
}
