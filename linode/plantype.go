package linode

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/lkeplan/lkeplan/linode/catalog"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// newInstanceType describes a plan to the core.
func newInstanceType(plan catalog.Plan, r catalog.NodeResources, region string, price catalog.Price, available bool) *cloudprovider.InstanceType {
	capacity, overhead := nodeResources(plan, r)
	return &cloudprovider.InstanceType{
		Name:         plan.ID,
		Requirements: planRequirements(plan, region),
		Offerings: cloudprovider.Offerings{{
			// LKE regions have one zone each, which bears the region's name, and
			// Linode sells on demand only. Both keys must be there: the core
			// prices a candidate for consolidation by them.
			Requirements: scheduling.NewRequirements(
				scheduling.NewRequirement(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, region),
				scheduling.NewRequirement(karpv1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, karpv1.CapacityTypeOnDemand),
			),
			Price:     price.Hourly.Float64(),
			Available: available,
		}},
		Capacity: capacity,
		Overhead: &cloudprovider.InstanceTypeOverhead{EvictionThreshold: overhead},
	}
}

// planRequirements says what the labels of a node of the plan are. Every
// well-known label must be there: one that a plan lacks does not exist.
func planRequirements(plan catalog.Plan, region string) scheduling.Requirements {
	r := scheduling.NewRequirements(
		scheduling.NewRequirement(corev1.LabelWindowsBuild, corev1.NodeSelectorOpDoesNotExist),
	)
	for key, value := range planLabels(plan, region) {
		r.Add(scheduling.NewRequirement(key, corev1.NodeSelectorOpIn, value))
	}
	for _, key := range linodev1alpha1.PlanLabels() {
		if !r.Has(key) {
			r.Add(scheduling.NewRequirement(key, corev1.NodeSelectorOpDoesNotExist))
		}
	}
	return r
}

// planLabels are the labels that a node of the plan carries.
func planLabels(plan catalog.Plan, region string) map[string]string {
	labels := map[string]string{
		corev1.LabelInstanceTypeStable:         plan.ID,
		corev1.LabelArchStable:                 karpv1.ArchitectureAmd64,
		corev1.LabelOSStable:                   string(corev1.Linux),
		corev1.LabelTopologyRegion:             region,
		corev1.LabelTopologyZone:               region,
		karpv1.CapacityTypeLabelKey:            karpv1.CapacityTypeOnDemand,
		linodev1alpha1.LabelInstanceCPU:        strconv.Itoa(plan.VCPUs),
		linodev1alpha1.LabelInstanceMemory:     strconv.Itoa(plan.MemoryMiB),
		linodev1alpha1.LabelInstanceDisk:       strconv.Itoa(plan.DiskMiB),
		linodev1alpha1.LabelInstanceTransfer:   strconv.Itoa(plan.TransferGB),
		linodev1alpha1.LabelInstanceNetworkOut: strconv.Itoa(plan.NetworkOutMbps),
		linodev1alpha1.LabelInstanceClass:      plan.Class,
		linodev1alpha1.LabelInstanceGeneration: plan.Generation(),
	}
	if plan.GPUs > 0 {
		labels[linodev1alpha1.LabelInstanceGPUCount] = strconv.Itoa(plan.GPUs)
		labels[linodev1alpha1.LabelInstanceGPUName] = plan.GPUName()
	}
	if plan.AcceleratedDevices > 0 {
		labels[linodev1alpha1.LabelInstanceAcceleratedDevices] = strconv.Itoa(plan.AcceleratedDevices)
	}
	for key, value := range labels {
		if value == "" {
			delete(labels, key)
		}
	}
	return labels
}

// memoryMargin is held back of the memory that a node is expected to report,
// in percent, until one of the plan has been seen. Two plans' nodes were
// recorded, the others are a fit: where more is promised than a node has, pods
// are left over and a second node is made.
const memoryMargin = 3

// expected is what a node of a plan reports of itself as far as the price list
// tells, on the safe side.
func expected(plan catalog.Plan) catalog.NodeResources {
	r := plan.Reported()
	margin := r.Capacity.MemoryBytes * memoryMargin / 100
	r.Capacity.MemoryBytes -= margin
	r.Allocatable.MemoryBytes -= margin
	return r
}

// nodeResources returns what a node has, and what of it pods cannot use. LKE
// reserves nothing for the system: the difference is the kubelet's eviction
// threshold (lke-nodes.json of the recordings).
func nodeResources(plan catalog.Plan, r catalog.NodeResources) (capacity, overhead corev1.ResourceList) {
	capacity = corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewMilliQuantity(r.Capacity.MilliCPU, resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(r.Capacity.MemoryBytes, resource.BinarySI),
		corev1.ResourceEphemeralStorage: *resource.NewQuantity(r.Capacity.EphemeralBytes, resource.BinarySI),
		corev1.ResourcePods:             *resource.NewQuantity(r.Capacity.Pods, resource.DecimalSI),
	}
	if r.Capacity.GPUs > 0 {
		capacity[resourceGPU] = *resource.NewQuantity(r.Capacity.GPUs, resource.DecimalSI)
	}
	if plan.AcceleratedDevices > 0 {
		capacity[resourceVPU] = *resource.NewQuantity(int64(plan.AcceleratedDevices), resource.DecimalSI)
	}
	held := func(all, usable int64) *resource.Quantity { return resource.NewQuantity(all-usable, resource.BinarySI) }
	overhead = corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewMilliQuantity(r.Capacity.MilliCPU-r.Allocatable.MilliCPU, resource.DecimalSI),
		corev1.ResourceMemory:           *held(r.Capacity.MemoryBytes, r.Allocatable.MemoryBytes),
		corev1.ResourceEphemeralStorage: *held(r.Capacity.EphemeralBytes, r.Allocatable.EphemeralBytes),
	}
	return capacity, overhead
}
