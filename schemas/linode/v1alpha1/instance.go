package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The types in this file describe Linodes that the controller makes by itself, in
// instance mode. All but Selection, Bootstrap and PerPool are those of
// karpenter-provider-linode, so that manifests written for it are accepted.

// Selection names things of the account by label.
type Selection struct {
	// Image is the label or a tag of a private image that the region has; of
	// several the newest.
	// +optional
	Image string `json:"image,omitempty"`
	// Firewall is the label of a Cloud Firewall.
	// +optional
	Firewall string `json:"firewall,omitempty"`
	// VPC is the label of a VPC of the region.
	// +optional
	VPC string `json:"vpc,omitempty"`
	// Subnet is the label of a subnet of the VPC.
	// +optional
	Subnet string `json:"subnet,omitempty"`
	// PlacementGroup is the label of a placement group of the region.
	// +optional
	PlacementGroup string `json:"placementGroup,omitempty"`
}

// Selected is what a class was found to name. A field is left out where it names nothing.
type Selected struct {
	// By is the selection that this was found for.
	// +optional
	By Selection `json:"by,omitempty"`
	// +optional
	Image string `json:"image,omitempty"`
	// +optional
	FirewallID int `json:"firewallID,omitempty"`
	// +optional
	VPCID int `json:"vpcID,omitempty"`
	// +optional
	SubnetID int `json:"subnetID,omitempty"`
	// +optional
	PlacementGroupID int `json:"placementGroupID,omitempty"`
	// PlacementGroupSize is how many Linodes the placement group takes.
	// +optional
	PlacementGroupSize int `json:"placementGroupSize,omitempty"`
}

// Ways to join a cluster.
const (
	BootstrapKubeadm = "kubeadm"
	BootstrapK3s     = "k3s"
	BootstrapCustom  = "custom"
)

// Bootstrap says how a machine joins the cluster.
//
// +kubebuilder:validation:XValidation:message="userDataSecret goes with kind custom, and only with it",rule="(self.kind == 'custom') == has(self.userDataSecret)"
type Bootstrap struct {
	// Kind is kubeadm, for which the image has kubeadm and a kubelet; k3s, for which
	// it has k3s; or custom, for which you write what the machine does.
	// +required
	// +kubebuilder:validation:Enum=kubeadm;k3s;custom
	Kind string `json:"kind"`
	// UserDataSecret is the name of a Secret in the controller's namespace whose key
	// userData is the template of the user data.
	// +optional
	// +kubebuilder:validation:MinLength=1
	UserDataSecret string `json:"userDataSecret,omitempty"`
}

// Policies of placement groups.
const (
	PolicyStrict   = "strict"
	PolicyFlexible = "flexible"
)

// PlacementGroup says in which placement group a Linode is made: that of an id, that
// which select names, or one of its NodePool's own.
type PlacementGroup struct {
	// ID of the placement group; left out where select names one, or perPool asks
	// for one.
	// +optional
	ID int `json:"id,omitempty"`
	// PerPool asks for a placement group for each NodePool of the class. It is made
	// with the NodePool's first machine, and deleted when neither the NodePool nor a
	// NodeClaim of it is left.
	// +optional
	PerPool *PerPool `json:"perPool,omitempty"`
	// CompliantOnly refuses a Linode that would break the group's rule.
	// +optional
	CompliantOnly *bool `json:"compliant_only,omitempty"`
}

// PerPool says what the placement group of a NodePool is like.
type PerPool struct {
	// Policy is strict, where Linode refuses a machine that would share a host with
	// another of the group, or flexible, where it makes that machine all the same.
	// +required
	// +kubebuilder:validation:Enum=strict;flexible
	Policy string `json:"policy"`
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
// them (kubelet.config.k8s.io/v1beta1). FailSwapOn is one that
// karpenter-provider-linode does not have.
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
	// FailSwapOn keeps the kubelet from starting while swap is on. Left out, it is true,
	// and with k3s false. False goes with swap_size.
	// +optional
	FailSwapOn *bool `json:"failSwapOn,omitempty"`
}
