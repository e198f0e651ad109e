package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The types in this file describe Linodes that the controller creates in instance mode. All but Selection,
// Bootstrap and PerPool are those of karpenter-provider-linode, so that manifests written for it are
// accepted.

// Selection selects objects of the account by label.
type Selection struct {
	// Image is the label or a tag of a private image in the region; the newest image wins.
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

// Selected has the resolved references of a class. A field without a reference is left out.
type Selected struct {
	// By is the selection that was resolved.
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
	// PlacementGroupSize is how many Linodes the placement group allows.
	// +optional
	PlacementGroupSize int `json:"placementGroupSize,omitempty"`
}

// Ways to join a cluster.
const (
	BootstrapKubeadm = "kubeadm"
	BootstrapK3s     = "k3s"
	BootstrapCustom  = "custom"
)

// Bootstrap configures how a machine joins the cluster.
//
// +kubebuilder:validation:XValidation:message="userDataSecret goes with kind custom, and only with it",rule="(self.kind == 'custom') == has(self.userDataSecret)"
type Bootstrap struct {
	// Kind is kubeadm (the image has kubeadm and a kubelet), k3s (the image has k3s) or custom (you write the user data).
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

// PlacementGroup is the placement group of a Linode: by id, by label in select, or one for each NodePool.
type PlacementGroup struct {
	// ID of the placement group; leave it out with select or perPool.
	// +optional
	ID int `json:"id,omitempty"`
	// PerPool creates a placement group for each NodePool of the class, with the NodePool's first machine. The
	// group is deleted when neither the NodePool nor one of its NodeClaims is left.
	// +optional
	PerPool *PerPool `json:"perPool,omitempty"`
	// CompliantOnly refuses a Linode that would violate the policy of the group.
	// +optional
	CompliantOnly *bool `json:"compliant_only,omitempty"`
}

// PerPool configures the placement group of a NodePool.
type PerPool struct {
	// Policy is strict (Linode refuses a machine that would share a host with another machine of the group) or
	// flexible (Linode creates the machine anyway).
	// +required
	// +kubebuilder:validation:Enum=strict;flexible
	Policy string `json:"policy"`
}

// IPv6Options sets which IPv6 addresses a Linode gets.
type IPv6Options struct {
	// EnableSLAAC requests an address by SLAAC.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Value is immutable"
	// +optional
	EnableSLAAC *bool `json:"enableSLAAC,omitempty"`
	// EnableRanges requests a range of addresses.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Value is immutable"
	// +optional
	EnableRanges *bool `json:"enableRanges,omitempty"`
	// IsPublicIPv6 requests a publicly routed range.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="Value is immutable"
	// +optional
	IsPublicIPv6 *bool `json:"isPublicIPv6,omitempty"`
}

// InstanceDisks are the additional disks of a Linode by device.
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
	// DiskID is the ID of the disk.
	// +optional
	DiskID int `json:"diskID,omitempty"`
	// Size of the disk, a quantity.
	// +required
	Size resource.Quantity `json:"size,omitempty"`
	// Label of the disk; defaults to the device name.
	// +optional
	Label string `json:"label,omitempty"`
	// Filesystem of the disk; defaults to ext4.
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

// KubeletConfiguration holds kubelet settings with the names of kubelet.config.k8s.io/v1beta1.
// karpenter-provider-linode does not have FailSwapOn.
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
	// FailSwapOn prevents the kubelet from starting while swap is on. It defaults to true, and to false with
	// k3s. Set it to false if you set swap_size.
	// +optional
	FailSwapOn *bool `json:"failSwapOn,omitempty"`
}
