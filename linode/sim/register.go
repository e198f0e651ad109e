package sim

import (
	"cmp"
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// register creates the machine's Node, with the machine's credentials. If a Node with the name exists, it uses
// that, and does not add taints or labels of the user data: a kubelet adds them only when it creates the Node.
func (k *Kubelet) register(ctx context.Context) error {
	node := k.node(metav1.Now())
	config, err := k.own()
	if err != nil {
		return err
	}
	client, err := k.dial(config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err = client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = client.CoreV1().Nodes().Get(ctx, node.Name, metav1.GetOptions{})
	}
	return err
}

// node returns the Node as a kubelet creates it. The API server adds the taint not-ready. On a plan with GPUs, a
// kubelet reports them after their device plugin has started; here it does so from the beginning.
func (k *Kubelet) node(now metav1.Time) *corev1.Node {
	offers := k.join.Settings.offered(k.Has)
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        cmp.Or(k.RegisterAs, k.join.Name),
			Labels:      nodeLabels(k.join.Name),
			Annotations: map[string]string{"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
		},
		Spec: corev1.NodeSpec{ProviderID: k.join.ProviderID, Taints: append([]corev1.Taint{}, k.join.Taints...)},
		Status: corev1.NodeStatus{
			Capacity: resourceList(offers.Capacity), Allocatable: resourceList(offers.Allocatable), Conditions: nodeConditions(now),
			Addresses: nodeAddresses(k.join.Name, k.Address),
			NodeInfo:  nodeInfo(k.MachineID, k.Version),
		},
	}
	maps.Copy(node.Labels, k.join.Labels)
	if k.join.External {
		node.Spec.Taints = append(node.Spec.Taints,
			corev1.Taint{Key: taintUninitialized, Value: "true", Effect: corev1.TaintEffectNoSchedule})
	}
	return node
}

// nodeLabels returns the labels that every kubelet sets on its Node.
func nodeLabels(name string) map[string]string {
	return map[string]string{
		"beta.kubernetes.io/arch": "amd64", corev1.LabelArchStable: "amd64",
		"beta.kubernetes.io/os": "linux", corev1.LabelOSStable: "linux",
		corev1.LabelHostname: name,
	}
}

// nodeAddresses returns the addresses that a kubelet knows itself.
func nodeAddresses(name, internal string) []corev1.NodeAddress {
	return []corev1.NodeAddress{
		{Type: corev1.NodeHostName, Address: name}, {Type: corev1.NodeInternalIP, Address: internal},
	}
}

// nodeInfo returns what a kubelet reports about its machine.
func nodeInfo(machine, version string) corev1.NodeSystemInfo {
	return corev1.NodeSystemInfo{
		MachineID: machine, SystemUUID: machine, BootID: machine,
		KernelVersion: "6.1.0-43-cloud-amd64", OSImage: "Debian GNU/Linux 12 (bookworm)",
		ContainerRuntimeVersion: "containerd://2.2.1", KubeletVersion: version,
		OperatingSystem: "linux", Architecture: "amd64",
	}
}

// nodeConditions returns the conditions of a machine that has just started: no pressure, and no network yet.
func nodeConditions(now metav1.Time) []corev1.NodeCondition {
	state := func(kind corev1.NodeConditionType, reason, message string) corev1.NodeCondition {
		return corev1.NodeCondition{
			Type: kind, Status: corev1.ConditionFalse, Reason: reason, Message: message,
			LastHeartbeatTime: now, LastTransitionTime: now,
		}
	}
	return []corev1.NodeCondition{
		state(corev1.NodeMemoryPressure, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
		state(corev1.NodeDiskPressure, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
		state(corev1.NodePIDPressure, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
		state(corev1.NodeReady, "KubeletNotReady", "container runtime network not ready"),
	}
}
