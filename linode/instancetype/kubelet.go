package instancetype

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// WithKubelet returns a type as a node of it is whose kubelet has these settings. What
// cannot be read is left as it is: the API server refuses it, or the kubelet does.
//
// Unverified: that a kubelet of which nothing is said keeps back no more than LKE's, and that
// a separate Linode has as much memory as one of LKE.
func WithKubelet(it *cloudprovider.InstanceType, k *linodev1alpha1.KubeletConfiguration) *cloudprovider.InstanceType {
	if k == nil {
		return it
	}
	with := &cloudprovider.InstanceType{
		Name: it.Name, Requirements: it.Requirements, Offerings: it.Offerings, Capacity: it.Capacity.DeepCopy(),
		Overhead: &cloudprovider.InstanceTypeOverhead{
			KubeReserved: reserved(k.KubeReserved), SystemReserved: reserved(k.SystemReserved),
			EvictionThreshold: it.Overhead.EvictionThreshold.DeepCopy(),
		},
	}
	with.Capacity[corev1.ResourcePods] = *resource.NewQuantity(mostPods(it, k), resource.DecimalSI)
	for signal, of := range map[string]corev1.ResourceName{
		"memory.available": corev1.ResourceMemory, "nodefs.available": corev1.ResourceEphemeralStorage,
	} {
		if held, ok := threshold(k.EvictionHard[signal], with.Capacity[of]); ok {
			with.Overhead.EvictionThreshold[of] = held
		}
	}
	return with
}

// mostPods is how many pods a kubelet takes: maxPods, and no more than podsPerCore allows.
func mostPods(it *cloudprovider.InstanceType, k *linodev1alpha1.KubeletConfiguration) int64 {
	most := it.Capacity.Pods().Value()
	if k.MaxPods != nil {
		most = int64(*k.MaxPods)
	}
	if k.PodsPerCore != nil && *k.PodsPerCore > 0 {
		most = min(most, int64(*k.PodsPerCore)*it.Capacity.Cpu().Value())
	}
	return most
}

func reserved(texts map[string]string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for name, text := range texts {
		if q, err := resource.ParseQuantity(text); err == nil && name != "pid" {
			list[corev1.ResourceName(name)] = q
		}
	}
	return list
}

// threshold reads a quantity, or a share of what there is: 100Mi or 5%.
func threshold(text string, of resource.Quantity) (resource.Quantity, bool) {
	if percent, ok := strings.CutSuffix(text, "%"); ok {
		share, err := strconv.ParseFloat(percent, 64)
		return *resource.NewQuantity(int64(share/100*float64(of.Value())), resource.BinarySI), err == nil
	}
	q, err := resource.ParseQuantity(text)
	return q, err == nil
}
