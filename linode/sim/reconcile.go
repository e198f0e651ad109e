package sim

import (
	"context"
	"fmt"
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
	// conflicts is how often a write is tried again on a newer Node; others write to it as well.
	conflicts = 8
	// stale is how long to wait for an old Node of the same name to go.
	stale = time.Second
)

// owns holds where the Node is of this machine, and not of one that had the slot before. A Node that does not say
// whose it is, is taken for ours.
func (m *machine) owns(node *corev1.Node) bool {
	id := node.Status.NodeInfo.SystemUUID
	return id == "" || id == m.machineID
}

// due is when the machine's next step is to be taken, if there is one that does not wait for the next sync.
func (t *task) due() (at time.Time, ever bool) {
	switch {
	case t.registered.IsZero():
		return t.joins, t.Gone.IsZero() && !t.Down
	case t.memory.edition != t.edition:
		return t.registered, true
	}
	return time.Time{}, false
}

// reconcile takes one machine through all the steps that are due, each a separate write as in reality. It returns
// when to come back; zero is never.
func (n *nodes) reconcile(ctx context.Context, t task, now time.Time) (again time.Time, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("node %s: %w", t.Label, err)
		}
	}()
	if t.registered.IsZero() {
		if !t.Gone.IsZero() || t.Down {
			return time.Time{}, nil
		}
		if t.joins.After(now) {
			return t.joins, nil
		}
		if again, err = n.join(ctx, &t, now); err != nil || t.registered.IsZero() {
			return again, err
		}
	} else if !t.listed {
		if t.node, err = getNode(ctx, n.objects(), t.Label); err != nil {
			return time.Time{}, err
		}
	}
	if t.node == nil || !t.owns(t.node) { // it was deleted
		t.memory.edition = t.edition
		return time.Time{}, nil
	}
	return time.Time{}, n.imposePool(ctx, &t)
}

// join registers the machine's Node. If an older one of the same name is still there, it says when to try again.
func (n *nodes) join(ctx context.Context, t *task, now time.Time) (again time.Time, err error) {
	if t.node == nil {
		t.node, err = n.client.CoreV1().Nodes().Create(ctx, t.bare(metav1.Now()), metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) { // an old one, or an answer was lost
			t.node, err = getNode(ctx, n.objects(), t.Label)
		}
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("register: %w", err)
	}
	if t.node == nil || !t.owns(t.node) {
		return now.Add(stale), nil
	}
	t.registered = time.Now()
	n.sim.noteRegistered(t.ID, t.registered)
	n.log.Info("node joined", "node", t.Label, "instance", t.ID, "plan", t.Type)
	return time.Time{}, nil
}

// imposePool enrols a new node, and puts the pool's labels and taints on one whose pool changed or whose time has come.
func (n *nodes) imposePool(ctx context.Context, t *task) error {
	if t.enrolled(t.node) && t.memory.edition == t.edition && !t.listed {
		return nil
	}
	wanted := desired{t.labels, t.taints}
	node, err := updateNode(ctx, n.objects(), t.node, func(node *corev1.Node) {
		t.enrol(node)
		wanted.impose(t.memory.imposed, node)
	})
	if err != nil {
		return fmt.Errorf("put the pool's labels and taints on it: %w", err)
	}
	t.node, t.memory.imposed, t.memory.edition = node, wanted, t.edition
	return nil
}

// updateNode writes a change to a Node, on the newest one where others were quicker. It returns none if the Node is
// gone, and does not write where nothing would change.
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

// getNode returns the Node of that name, or none.
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

// bare is the Node as a kubelet of LKE registers it: no labels of the pool, no providerID, and tainted until the cloud
// controller has seen it and it is ready. The recorded nodes show the labels; the first taint is an inference from what
// kubelets do that are started for an external cloud provider, the second is what any API server adds.
func (m *machine) bare(now metav1.Time) *corev1.Node {
	reported := m.Plan.Reported()
	if m.tier == catalog.Enterprise && m.Plan.MemoryMiB <= smallEnterpriseMiB {
		rest := int64(m.Plan.MemoryMiB) << 20 * int64(100-m.memoryKept) / 100
		reported.Allocatable.MemoryBytes = min(reported.Allocatable.MemoryBytes, rest)
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:   m.Label,
			Labels: nodeLabels(m.Label),
			Annotations: map[string]string{
				"volumes.kubernetes.io/controller-managed-attach-detach": "true",
				// KWOK plays the rest of the kubelet: readiness, heartbeats and pods.
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
}

// provider is the id that the cloud controller writes, to the letter.
func (m *machine) provider() string { return fmt.Sprintf("linode://%d", m.ID) }

// enrol is what LKE itself does to a new node: annotations for its network to the control plane and the pool's label.
func (m *machine) enrol(n *corev1.Node) {
	tunnel := fmt.Sprintf("172.31.%d.%d", m.ID/250%250, 1+m.ID%250)
	metav1.SetMetaDataAnnotation(&n.ObjectMeta, "lke.linode.com/wgip", tunnel)
	metav1.SetMetaDataAnnotation(&n.ObjectMeta, "lke.linode.com/wgpub", m.HostUUID)
	metav1.SetMetaDataLabel(&n.ObjectMeta, poolIDLabel, strconv.Itoa(m.pool))
}

func (m *machine) enrolled(n *corev1.Node) bool { return n.Labels[poolIDLabel] != "" }

// complete is the one update of the cloud controller manager. It gives no zone.
func (m *machine) complete(n *corev1.Node) {
	if n.Spec.ProviderID == "" { // it can be set once, and it may be set already
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

// attachVolumes is what the driver for block storage adds through the kubelet when it has started.
func (m *machine) attachVolumes(n *corev1.Node) {
	metav1.SetMetaDataLabel(&n.ObjectMeta, csiRegionLabel, m.Region)
}

// desired is what a pool wants of its nodes.
type desired struct {
	labels map[string]string
	taints []Taint
}

// impose puts a pool's labels and taints on a node, and takes away what it had put there before and wants no more.
// Labels and taints of others stay. That dropped ones are taken away is an inference: the API's specification says that
// an update overwrites.
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

// same holds for taints of one key and effect, which cannot be twice on a node.
func (t Taint) same(other corev1.Taint) bool {
	return t.Key == other.Key && t.Effect == string(other.Effect)
}
