package instancetype

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// Disks are the sizes of a machine's disks in MiB; nil means Linode's default for the plan type.
type Disks struct{ System, Swap *int }

// Variant returns a copy of a type for a machine with these disks, whose kubelet has these settings. It ignores
// invalid settings, because the API server or the kubelet rejects them.
//
// Unverified: that a kubelet of which nothing is said keeps back no more than LKE's, that a separate Linode has as
// much memory as one of LKE, and that its file system uses as much of its disk.
func Variant(
	it *cloudprovider.InstanceType, disks Disks, k linodev1alpha1.KubeletConfiguration,
) *cloudprovider.InstanceType {
	with := &cloudprovider.InstanceType{
		Name: it.Name, Requirements: it.Requirements, Offerings: it.Offerings, Capacity: it.Capacity.DeepCopy(),
		Overhead: &cloudprovider.InstanceTypeOverhead{
			KubeReserved: reservedResources(k.KubeReserved), SystemReserved: reservedResources(k.SystemReserved),
			EvictionThreshold: it.Overhead.EvictionThreshold.DeepCopy(),
		},
	}
	if was := it.Capacity.StorageEphemeral().Value(); was > 0 {
		is := disks.remaining(was)
		held := it.Overhead.EvictionThreshold.StorageEphemeral().Value() // a share of what there is
		with.Capacity[corev1.ResourceEphemeralStorage] = *resource.NewQuantity(is, resource.BinarySI)
		with.Overhead.EvictionThreshold[corev1.ResourceEphemeralStorage] =
			*resource.NewQuantity(int64(float64(held)*float64(is)/float64(was)), resource.BinarySI)
	}
	with.Capacity[corev1.ResourcePods] = *resource.NewQuantity(mostPods(it, k), resource.DecimalSI)
	for signal, of := range map[string]corev1.ResourceName{
		"memory.available": corev1.ResourceMemory, "nodefs.available": corev1.ResourceEphemeralStorage,
	} {
		if held, ok := readThreshold(k.EvictionHard[signal], with.Capacity[of]); ok {
			with.Overhead.EvictionThreshold[of] = held
		}
	}
	return with
}

// remaining returns what the disks leave of the storage of a plan type, in bytes.
func (d Disks) remaining(storage int64) int64 {
	const mib = 1 << 20
	if d.Swap != nil {
		storage -= int64(*d.Swap) * mib
	}
	if d.System != nil {
		storage = min(storage, int64(*d.System)*mib*983/1000) // the same factor as in catalog.Plan.Reported
	}
	return max(0, storage)
}

// mostPods returns how many pods a kubelet accepts: maxPods, and no more than podsPerCore allows.
func mostPods(it *cloudprovider.InstanceType, k linodev1alpha1.KubeletConfiguration) int64 {
	most := it.Capacity.Pods().Value()
	if k.MaxPods != nil {
		most = int64(*k.MaxPods)
	}
	if k.PodsPerCore != nil && *k.PodsPerCore > 0 {
		most = min(most, int64(*k.PodsPerCore)*it.Capacity.Cpu().Value())
	}
	return most
}

func reservedResources(texts map[string]string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for name, text := range texts {
		if q, err := resource.ParseQuantity(text); err == nil && name != "pid" {
			list[corev1.ResourceName(name)] = q
		}
	}
	return list
}

// readThreshold reads a quantity or a percentage of a quantity: 100Mi or 5%.
func readThreshold(text string, of resource.Quantity) (resource.Quantity, bool) {
	if percent, ok := strings.CutSuffix(text, "%"); ok {
		share, err := strconv.ParseFloat(percent, 64)
		return *resource.NewQuantity(int64(share/100*float64(of.Value())), resource.BinarySI), err == nil
	}
	q, err := resource.ParseQuantity(text)
	return q, err == nil
}
