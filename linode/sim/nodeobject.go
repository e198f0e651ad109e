package sim

import (
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

const (
	poolIDLabel    = "lke.linode.com/pool-id"
	hostLabel      = "node.k8s.linode.com/host-uuid"
	csiRegionLabel = "topology.linode.com/region"

	smallEnterpriseMiB = 8192

	taintUninitialized = "node.cloudprovider.kubernetes.io/uninitialized"
)

// bare is the Node as a kubelet of LKE registers it: no labels of the pool, no providerID, and tainted until the cloud
// controller has seen it and it is ready. The recorded nodes show the labels; the first taint is an inference from what
// kubelets do that are started for an external cloud provider, the second is what any API server adds.
func (m *machine) bare(now metav1.Time) *corev1.Node {
	reported := m.plan.Reported()
	if m.tier == catalog.Enterprise && m.plan.MemoryMiB <= smallEnterpriseMiB {
		rest := int64(m.plan.MemoryMiB) << 20 * int64(100-m.memoryKept) / 100
		reported.Allocatable.MemoryBytes = min(reported.Allocatable.MemoryBytes, rest)
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:   m.name,
			Labels: nodeLabels(m.name),
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
			Addresses:   nodeAddresses(m.name, m.privateIP),
			NodeInfo:    nodeInfo(m.machineID, m.version),
		},
	}
}

// provider is the id that the cloud controller writes, to the letter.
func (m *machine) provider() string { return fmt.Sprintf("linode://%d", m.instance) }

// enrol is what LKE itself does to a new node: annotations for its network to the control plane and the pool's label.
func (m *machine) enrol(n *corev1.Node) {
	tunnel := fmt.Sprintf("172.31.%d.%d", m.instance/250%250, 1+m.instance%250)
	metav1.SetMetaDataAnnotation(&n.ObjectMeta, "lke.linode.com/wgip", tunnel)
	metav1.SetMetaDataAnnotation(&n.ObjectMeta, "lke.linode.com/wgpub", m.hostUUID)
	metav1.SetMetaDataLabel(&n.ObjectMeta, poolIDLabel, strconv.Itoa(m.pool))
}

func (m *machine) enrolled(n *corev1.Node) bool { return n.Labels[poolIDLabel] != "" }

// complete is the one update of the cloud controller manager. It gives no zone.
func (m *machine) complete(n *corev1.Node) {
	if n.Spec.ProviderID == "" { // it can be set once, and somebody may have done so
		n.Spec.ProviderID = m.provider()
	}
	metav1.SetMetaDataLabel(&n.ObjectMeta, corev1.LabelInstanceTypeStable, m.plan.ID)
	metav1.SetMetaDataLabel(&n.ObjectMeta, corev1.LabelInstanceType, m.plan.ID)
	metav1.SetMetaDataLabel(&n.ObjectMeta, corev1.LabelTopologyRegion, m.region)
	metav1.SetMetaDataLabel(&n.ObjectMeta, corev1.LabelFailureDomainBetaRegion, m.region)
	metav1.SetMetaDataLabel(&n.ObjectMeta, hostLabel, m.hostUUID)
	n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == taintUninitialized })
}

func (m *machine) completed(n *corev1.Node) bool {
	return n.Spec.ProviderID != "" && n.Labels[hostLabel] != "" &&
		!slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == taintUninitialized })
}

// attachVolumes is what the driver for block storage adds through the kubelet when it has started.
func (m *machine) attachVolumes(n *corev1.Node) {
	metav1.SetMetaDataLabel(&n.ObjectMeta, csiRegionLabel, m.region)
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
