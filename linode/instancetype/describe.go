package instancetype

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// ResourceGPU is the resource that pods request if they need a GPU of a Linode plan.
const ResourceGPU corev1.ResourceName = schemas.GPU

// ResourceVPU is the resource that pods request if they need a video card of an accelerated plan. NETINT's device
// plugin uses this name for the Quadra cards of Linode.
//
// Unverified: that it does so on LKE.
const ResourceVPU corev1.ResourceName = schemas.VPU

// newInstanceType describes a plan type to Karpenter.
func newInstanceType(
	plan catalog.Plan, r catalog.NodeResources, region string, price catalog.Price, available bool,
) *cloudprovider.InstanceType {
	capacity, overhead := nodeResources(plan, r)
	return &cloudprovider.InstanceType{
		Name:         plan.ID,
		Requirements: planRequirements(plan, region),
		Offerings: cloudprovider.Offerings{{
			// LKE regions have one zone each, which has the region's name, and Linode sells only on demand. Both
			// keys must be set, because Karpenter needs them to find the price of a candidate for consolidation.
			Requirements: scheduling.NewRequirements(
				scheduling.NewRequirement(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, region),
				scheduling.NewRequirement(
					karpv1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, karpv1.CapacityTypeOnDemand),
			),
			Price:     price.Hourly.Float64(),
			Available: available,
		}},
		Capacity: capacity,
		Overhead: &cloudprovider.InstanceTypeOverhead{EvictionThreshold: overhead},
	}
}

// planRequirements returns the labels of a node of the plan type. Every well-known label must be in it: a label
// that the plan lacks is marked as not existing.
func planRequirements(plan catalog.Plan, region string) scheduling.Requirements {
	r := scheduling.NewRequirements(
		scheduling.NewRequirement(corev1.LabelWindowsBuild, corev1.NodeSelectorOpDoesNotExist),
	)
	for key, value := range Labels(plan, region) {
		r.Add(scheduling.NewRequirement(key, corev1.NodeSelectorOpIn, value))
	}
	for _, key := range linodev1alpha1.PlanLabels() {
		if !r.Has(key) {
			r.Add(scheduling.NewRequirement(key, corev1.NodeSelectorOpDoesNotExist))
		}
	}
	return r
}

// Labels returns the labels of a node of the plan type.
func Labels(plan catalog.Plan, region string) map[string]string {
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
	if plan.From != "" && plan.DiskMiB == 0 { // unknown
		delete(labels, linodev1alpha1.LabelInstanceDisk)
		delete(labels, linodev1alpha1.LabelInstanceNetworkOut)
		delete(labels, linodev1alpha1.LabelInstanceTransfer)
	}
	for key, value := range labels {
		if value == "" {
			delete(labels, key)
		}
	}
	return labels
}

// memoryMargin is the percentage of the expected memory that is reserved until a node of the plan type has reported
// its own. Only nodes of two plan types were recorded; the others are estimates. If more memory is promised than a
// node has, pods stay pending and a second node is created.
const memoryMargin = 3

// On Enterprise a node of 8 GB has about 6 GiB for pods. Until a node has reported its own memory, small plan types
// are assumed to have that much less, so that no second node is created.
const (
	smallEnterpriseMargin = 25
	smallEnterpriseMiB    = 8192
)

// expectedResources returns the smallest resources that a node of a plan type is expected to report, according to
// the price list.
func expectedResources(plan catalog.Plan, tier catalog.Tier) catalog.NodeResources {
	r, percent := plan.Reported(), int64(memoryMargin)
	if tier.LKE() == catalog.Enterprise && plan.MemoryMiB <= smallEnterpriseMiB {
		percent = smallEnterpriseMargin
	}
	margin := r.Capacity.MemoryBytes * percent / 100
	r.Capacity.MemoryBytes -= margin
	r.Allocatable.MemoryBytes -= margin
	return r
}

// Capacity returns the smallest capacity of a node of a plan type, according to the price list.
func Capacity(plan catalog.Plan, tier catalog.Tier) corev1.ResourceList {
	capacity, _ := nodeResources(plan, expectedResources(plan, tier))
	return capacity
}

// nodeResources returns the capacity of a node, and the part of it that pods cannot use. LKE reserves nothing for
// the system: the difference is the kubelet's eviction threshold (linode/sim/testdata/nodes.json).
func nodeResources(plan catalog.Plan, r catalog.NodeResources) (capacity, overhead corev1.ResourceList) {
	capacity = corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewMilliQuantity(r.Capacity.MilliCPU, resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(r.Capacity.MemoryBytes, resource.BinarySI),
		corev1.ResourceEphemeralStorage: *resource.NewQuantity(r.Capacity.EphemeralBytes, resource.BinarySI),
		corev1.ResourcePods:             *resource.NewQuantity(r.Capacity.Pods, resource.DecimalSI),
	}
	if r.Capacity.GPUs > 0 {
		capacity[ResourceGPU] = *resource.NewQuantity(r.Capacity.GPUs, resource.DecimalSI)
	}
	if plan.AcceleratedDevices > 0 {
		capacity[ResourceVPU] = *resource.NewQuantity(int64(plan.AcceleratedDevices), resource.DecimalSI)
	}
	held := func(all, usable int64) *resource.Quantity { return resource.NewQuantity(all-usable, resource.BinarySI) }
	overhead = corev1.ResourceList{
		corev1.ResourceCPU: *resource.NewMilliQuantity(r.Capacity.MilliCPU-r.Allocatable.MilliCPU,
			resource.DecimalSI),
		corev1.ResourceMemory:           *held(r.Capacity.MemoryBytes, r.Allocatable.MemoryBytes),
		corev1.ResourceEphemeralStorage: *held(r.Capacity.EphemeralBytes, r.Allocatable.EphemeralBytes),
	}
	return capacity, overhead
}
