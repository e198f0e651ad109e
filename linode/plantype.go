package linode

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas/v1alpha1"
)

// newInstanceType describes a plan to the core.
func newInstanceType(plan catalog.Plan, region string, price catalog.Price, available bool) *cloudprovider.InstanceType {
	capacity, overhead := nodeResources(plan)
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
	for _, key := range v1alpha1.PlanLabels() {
		if !r.Has(key) {
			r.Add(scheduling.NewRequirement(key, corev1.NodeSelectorOpDoesNotExist))
		}
	}
	return r
}

// planLabels are the labels that a node of the plan carries.
func planLabels(plan catalog.Plan, region string) map[string]string {
	labels := map[string]string{
		corev1.LabelInstanceTypeStable:   plan.ID,
		corev1.LabelArchStable:           karpv1.ArchitectureAmd64,
		corev1.LabelOSStable:             string(corev1.Linux),
		corev1.LabelTopologyRegion:       region,
		corev1.LabelTopologyZone:         region,
		karpv1.CapacityTypeLabelKey:      karpv1.CapacityTypeOnDemand,
		v1alpha1.LabelInstanceCPU:        strconv.Itoa(plan.VCPUs),
		v1alpha1.LabelInstanceMemory:     strconv.Itoa(plan.MemoryMiB),
		v1alpha1.LabelInstanceDisk:       strconv.Itoa(plan.DiskMiB),
		v1alpha1.LabelInstanceTransfer:   strconv.Itoa(plan.TransferGB),
		v1alpha1.LabelInstanceNetworkOut: strconv.Itoa(plan.NetworkOutMbps),
		v1alpha1.LabelInstanceClass:      plan.Class,
		v1alpha1.LabelInstanceGeneration: plan.Generation(),
	}
	if plan.GPUs > 0 {
		labels[v1alpha1.LabelInstanceGPUCount] = strconv.Itoa(plan.GPUs)
		labels[v1alpha1.LabelInstanceGPUName] = plan.GPUName()
	}
	if plan.AcceleratedDevices > 0 {
		labels[v1alpha1.LabelInstanceAcceleratedDevices] = strconv.Itoa(plan.AcceleratedDevices)
	}
	for key, value := range labels {
		if value == "" {
			delete(labels, key)
		}
	}
	return labels
}

// memoryMargin is held back of the memory that a node is expected to report,
// in percent. Two plans' nodes were recorded, the others are a fit: where more
// is promised than a node has, pods are left over and a second node is made.
const memoryMargin = 3

// nodeResources returns what a node of the plan has, and what of it pods
// cannot use. LKE reserves nothing for the system: the difference is the
// kubelet's eviction threshold (lke-nodes.json of the recordings).
func nodeResources(plan catalog.Plan) (capacity, overhead corev1.ResourceList) {
	reported := plan.Reported()
	margin := reported.Capacity.MemoryBytes * memoryMargin / 100
	capacity = corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewMilliQuantity(reported.Capacity.MilliCPU, resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(reported.Capacity.MemoryBytes-margin, resource.BinarySI),
		corev1.ResourceEphemeralStorage: *resource.NewQuantity(reported.Capacity.EphemeralBytes, resource.BinarySI),
		corev1.ResourcePods:             *resource.NewQuantity(reported.Capacity.Pods, resource.DecimalSI),
	}
	if reported.Capacity.GPUs > 0 {
		capacity[resourceGPU] = *resource.NewQuantity(reported.Capacity.GPUs, resource.DecimalSI)
	}
	held := func(all, usable int64) *resource.Quantity { return resource.NewQuantity(all-usable, resource.BinarySI) }
	overhead = corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewMilliQuantity(reported.Capacity.MilliCPU-reported.Allocatable.MilliCPU, resource.DecimalSI),
		corev1.ResourceMemory:           *held(reported.Capacity.MemoryBytes, reported.Allocatable.MemoryBytes),
		corev1.ResourceEphemeralStorage: *held(reported.Capacity.EphemeralBytes, reported.Allocatable.EphemeralBytes),
	}
	return capacity, overhead
}
