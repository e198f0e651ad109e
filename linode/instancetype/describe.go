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

// ResourceGPU is what pods request when they need a GPU of a Linode plan.
const ResourceGPU corev1.ResourceName = schemas.GPU

// ResourceVPU is what pods request when they need a video card of an accelerated
// plan. NETINT's device plugin gives this name to the Quadra cards that Linode
// has.
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
			// LKE regions have one zone each, which bears the region's name, and
			// Linode sells on demand only. Both keys must be there: Karpenter
			// prices a candidate for consolidation by them.
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

// planRequirements says which labels a node of the plan type has. Every
// well-known label must be there: one that a plan lacks does not exist.
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

// Labels returns the labels that a node of the plan type carries.
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
	if plan.From != "" && plan.DiskMiB == 0 { // not known
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

// memoryMargin is how much of the expected memory is reserved, in percent,
// until a node of the plan type has reported its own. The nodes of two plan
// types were recorded, the others are a fit: where more is promised than a node
// has, pods stay pending and a second node is created.
const memoryMargin = 3

// On Enterprise a node of 8 GB has about 6 GiB for pods. Until one has reported its own, small plan types are held to
// have that much less, so that no second node is created.
const (
	smallEnterpriseMargin = 25
	smallEnterpriseMiB    = 8192
)

// expectedResources returns what a node of a plan type reports of itself at least, as far as
// the price list tells.
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

// Capacity returns what a node of a plan type has at least, as far as the price list
// tells.
func Capacity(plan catalog.Plan, tier catalog.Tier) corev1.ResourceList {
	capacity, _ := nodeResources(plan, expectedResources(plan, tier))
	return capacity
}

// nodeResources returns what a node has, and what of it pods cannot use. LKE
// reserves nothing for the system: the difference is the kubelet's eviction
// threshold (linode/sim/testdata/nodes.json).
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
