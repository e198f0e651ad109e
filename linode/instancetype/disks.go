package instancetype

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
)

// WithDisks returns a type as a machine of it is that has a system disk and a swap disk of these
// sizes in MiB; nil is Linode's default for the plan type.
// Unverified: that the file system of a separate Linode uses as much of its disk as LKE's.
func WithDisks(it *cloudprovider.InstanceType, system, swap *int) *cloudprovider.InstanceType {
	if system == nil && swap == nil {
		return it
	}
	const mib = 1 << 20
	was := it.Capacity.StorageEphemeral().Value()
	is := was
	if swap != nil {
		is -= int64(*swap) * mib
	}
	if system != nil {
		is = min(is, int64(*system)*mib*983/1000) // as catalog.Plan.Reported has it
	}
	is = max(0, is)
	with := &cloudprovider.InstanceType{
		Name: it.Name, Requirements: it.Requirements, Offerings: it.Offerings, Capacity: it.Capacity.DeepCopy(),
		Overhead: &cloudprovider.InstanceTypeOverhead{
			KubeReserved: it.Overhead.KubeReserved, SystemReserved: it.Overhead.SystemReserved,
			EvictionThreshold: it.Overhead.EvictionThreshold.DeepCopy(),
		},
	}
	with.Capacity[corev1.ResourceEphemeralStorage] = *resource.NewQuantity(is, resource.BinarySI)
	if held := it.Overhead.EvictionThreshold.StorageEphemeral().Value(); was > 0 { // a share of what there is
		with.Overhead.EvictionThreshold[corev1.ResourceEphemeralStorage] =
			*resource.NewQuantity(int64(float64(held)*float64(is)/float64(was)), resource.BinarySI)
	}
	return with
}
