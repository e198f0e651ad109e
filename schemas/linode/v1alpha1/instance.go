package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The types in this file describe Linodes made without LKE. They are kept so
// that manifests written for karpenter-provider-linode are accepted; nothing
// in lkeplan acts on them.

// PlacementGroup names the placement group of a Linode.
type PlacementGroup struct {
	// ID of the placement group.
	// +required
	ID int `json:"id"`
	// CompliantOnly refuses a Linode that would break the group's rule.
	// +optional
	CompliantOnly *bool `json:"compliant_only,omitempty"`
}

// IPv6Options says which IPv6 addresses a Linode gets.
type IPv6Options struct {
	// EnableSLAAC asks for an address by SLAAC.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Value is immutable"
	// +optional
	EnableSLAAC *bool `json:"enableSLAAC,omitempty"`
	// EnableRanges asks for a range of addresses.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Value is immutable"
	// +optional
	EnableRanges *bool `json:"enableRanges,omitempty"`
	// IsPublicIPv6 asks for a range that is routed publicly.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Value is immutable"
	// +optional
	IsPublicIPv6 *bool `json:"isPublicIPv6,omitempty"`
}

// InstanceDisks are the disks of a Linode besides its root disk, by device.
type InstanceDisks struct {
	// +optional
	SDB *InstanceDisk `json:"sdb,omitempty"`
	// +optional
	SDC *InstanceDisk `json:"sdc,omitempty"`
	// +optional
	SDD *InstanceDisk `json:"sdd,omitempty"`
	// +optional
	SDE *InstanceDisk `json:"sde,omitempty"`
	// +optional
	SDF *InstanceDisk `json:"sdf,omitempty"`
	// +optional
	SDG *InstanceDisk `json:"sdg,omitempty"`
	// +optional
	SDH *InstanceDisk `json:"sdh,omitempty"`
}

// InstanceDisk is one disk of a Linode.
type InstanceDisk struct {
	// DiskID is the number Linode gave the disk.
	// +optional
	DiskID int `json:"diskID,omitempty"`
	// Size of the disk, a quantity.
	// +required
	Size resource.Quantity `json:"size,omitempty"`
	// Label of the disk; the device name where it is left out.
	// +optional
	Label string `json:"label,omitempty"`
	// Filesystem of the disk; ext4 where it is left out.
	// +optional
	// +kubebuilder:validation:Enum=raw;swap;ext3;ext4;initrd
	Filesystem string `json:"filesystem,omitempty"`
}

// InstanceConfiguration is the boot configuration of a Linode.
type InstanceConfiguration struct {
	// Kernel to boot, such as linode/latest-64bit.
	// +optional
	Kernel string `json:"kernel,omitempty"`
}

// KubeletConfiguration holds kubelet settings, named as the kubelet names
// them (kubelet.config.k8s.io/v1beta1).
type KubeletConfiguration struct {
	// +optional
	ClusterDNS []string `json:"clusterDNS,omitempty"`
	// +kubebuilder:validation:Minimum:=0
	// +optional
	MaxPods *int32 `json:"maxPods,omitempty"`
	// +kubebuilder:validation:Minimum:=0
	// +optional
	PodsPerCore *int32 `json:"podsPerCore,omitempty"`
	// +kubebuilder:validation:XValidation:message="valid keys for systemReserved are ['cpu','memory','ephemeral-storage','pid']",rule="self.all(x, x=='cpu' || x=='memory' || x=='ephemeral-storage' || x=='pid')"
	// +kubebuilder:validation:XValidation:message="systemReserved value cannot be a negative resource quantity",rule="self.all(x, !self[x].startsWith('-'))"
	// +optional
	SystemReserved map[string]string `json:"systemReserved,omitempty"`
	// +kubebuilder:validation:XValidation:message="valid keys for kubeReserved are ['cpu','memory','ephemeral-storage','pid']",rule="self.all(x, x=='cpu' || x=='memory' || x=='ephemeral-storage' || x=='pid')"
	// +kubebuilder:validation:XValidation:message="kubeReserved value cannot be a negative resource quantity",rule="self.all(x, !self[x].startsWith('-'))"
	// +optional
	KubeReserved map[string]string `json:"kubeReserved,omitempty"`
	// +kubebuilder:validation:XValidation:message="valid keys for evictionHard are ['memory.available','nodefs.available','nodefs.inodesFree','imagefs.available','imagefs.inodesFree','pid.available']",rule="self.all(x, x in ['memory.available','nodefs.available','nodefs.inodesFree','imagefs.available','imagefs.inodesFree','pid.available'])"
	// +optional
	EvictionHard map[string]string `json:"evictionHard,omitempty"`
	// +kubebuilder:validation:XValidation:message="valid keys for evictionSoft are ['memory.available','nodefs.available','nodefs.inodesFree','imagefs.available','imagefs.inodesFree','pid.available']",rule="self.all(x, x in ['memory.available','nodefs.available','nodefs.inodesFree','imagefs.available','imagefs.inodesFree','pid.available'])"
	// +optional
	EvictionSoft map[string]string `json:"evictionSoft,omitempty"`
	// +kubebuilder:validation:XValidation:message="valid keys for evictionSoftGracePeriod are ['memory.available','nodefs.available','nodefs.inodesFree','imagefs.available','imagefs.inodesFree','pid.available']",rule="self.all(x, x in ['memory.available','nodefs.available','nodefs.inodesFree','imagefs.available','imagefs.inodesFree','pid.available'])"
	// +optional
	EvictionSoftGracePeriod map[string]metav1.Duration `json:"evictionSoftGracePeriod,omitempty"`
	// +optional
	EvictionMaxPodGracePeriod *int32 `json:"evictionMaxPodGracePeriod,omitempty"`
	// +optional
	CPUCFSQuota *bool `json:"cpuCFSQuota,omitempty"`
}
