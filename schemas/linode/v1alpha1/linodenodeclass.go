package v1alpha1

import (
	"github.com/awslabs/operatorpkg/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ConditionValidationSucceeded reports whether LKE would accept the class. Ready depends on it.
const ConditionValidationSucceeded = "ValidationSucceeded"

// ConditionVersionCurrent reports whether nodes of the class get the Kubernetes
// version of the control plane. Ready does not depend on it.
const ConditionVersionCurrent = "KubernetesVersionCurrent"

// ConditionPlanClosed is True while some plan types are closed to the account; its message names them. Otherwise
// the condition is absent. It does not affect Ready: other plan types are used.
const ConditionPlanClosed = "PlanClosed"

// ConditionFirewallWithoutEffect is True on a class with a firewall in a cluster of the standard tier, where
// pools are created without it. Otherwise the condition is absent. It does not affect Ready.
const ConditionFirewallWithoutEffect = "FirewallWithoutEffect"

// ConditionLinodeAnswers reports whether the Linode API answers the controller and accepts its token. While
// it refuses the token, the class is not Ready, because no node can be created. While it does not answer,
// NodeClaims wait.
const ConditionLinodeAnswers = "LinodeAnswers"

// LinodeNodeClass configures the nodes of the NodePools that refer to it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=linodenodeclasses,scope=Cluster,categories=karpenter,shortName={lnc,lncs}
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Firewall",type="integer",JSONPath=".spec.firewallID",priority=1
// +kubebuilder:printcolumn:name="Version",type="string",JSONPath=".status.kubernetesVersion"
// +kubebuilder:printcolumn:name="Control plane",type="string",JSONPath=".status.controlPlaneVersion",priority=1
// +kubebuilder:printcolumn:name="Outdated",type="integer",JSONPath=".status.outdatedNodes",priority=1
type LinodeNodeClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   LinodeNodeClassSpec   `json:"spec,omitempty"`
	Status LinodeNodeClassStatus `json:"status,omitempty"`
}

// LinodeNodeClassList is a list of LinodeNodeClass.
//
// +kubebuilder:object:root=true
type LinodeNodeClassList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []LinodeNodeClass `json:"items"`
}

// Consolidation limits when Karpenter consolidates nodes, and for which saving.
type Consolidation struct {
	// BeforePaidHourEnds is the time before the end of each paid hour of a node in which the
	// node can be removed to save money, 10m to 60m: Linode bills whole hours. If it is not
	// set, the node can be removed at any time.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(s|m|h))+$`
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10m') && duration(self) <= duration('60m')",message="must be 10m to 60m"
	BeforePaidHourEnds *metav1.Duration `json:"beforePaidHourEnds,omitempty"`

	// MinimumMonthlySaving is the least, in US dollars a month, for which Karpenter moves
	// pods to other nodes. Left out, any saving is enough. Empty nodes move no pods.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9]{1,6}(\.[0-9]{1,2})?$`
	MinimumMonthlySaving string `json:"minimumMonthlySaving,omitempty"`
}

// LinodeNodeClassSpec is the desired configuration. On LKE, which creates the machines, only tags,
// firewallID, diskEncryption and lkeK8sVersion have an effect. In instance mode, where the controller creates
// Linodes, all fields except lkeK8sVersion have an effect.
type LinodeNodeClassSpec struct {
	// Tags are set on the LKE node pools in addition to lkeplan's own tags: 3 to 50 characters each. On LKE
	// Enterprise the Linodes get them too. A change takes effect in place.
	// +optional
	// +listType=set
	Tags []string `json:"tags,omitempty" hash:"ignore"`

	// FirewallID is the ID of the Cloud Firewall of the nodes. LKE Enterprise and instance mode only. A change
	// replaces the nodes.
	// +optional
	FirewallID *int `json:"firewallID,omitempty"`

	// DiskEncryption sets whether the disks are encrypted. By default LKE decides. A change replaces the nodes.
	// +optional
	// +kubebuilder:validation:Enum=enabled;disabled
	DiskEncryption string `json:"diskEncryption,omitempty"`

	// LKEK8sVersion is the Kubernetes version of the nodes: v1.33.4+lke2 on LKE Enterprise, 1.33 on the standard
	// tier, whose new nodes have the version of the control plane. A change replaces nodes with another version
	// (on the standard tier, with an older one), one NodePool after another, once the control plane has the
	// version. If it is not set, no node is replaced for its version.
	// +optional
	LKEK8sVersion *string `json:"lkeK8sVersion,omitempty" hash:"ignore"`

	// ReplaceBeforeMaintenance is how long before an announced maintenance of its host a
	// node is replaced, within the disruption budgets of its NodePool. If it is not set, no
	// node is replaced before maintenance. The token needs the scope account:read_only. A
	// change replaces no node whose host has no maintenance.
	// +optional
	// +kubebuilder:validation:Pattern=`^([0-9]+(s|m|h))+$`
	// +kubebuilder:validation:Type=string
	ReplaceBeforeMaintenance *metav1.Duration `json:"replaceBeforeMaintenance,omitempty" hash:"ignore"`

	// Consolidation limits when Karpenter consolidates nodes, and for which saving. A change
	// replaces no node.
	// +optional
	Consolidation *Consolidation `json:"consolidation,omitempty" hash:"ignore"`

	// AuthorizedKeys are SSH public keys for root. Instance mode only; a change
	// replaces the nodes.
	// +optional
	// +listType=set
	AuthorizedKeys []string `json:"authorizedKeys,omitempty" hash:"ignore"`

	// AuthorizedUsers are users of the account whose SSH keys root gets. Instance
	// mode only; a change replaces the nodes.
	// +optional
	// +listType=set
	AuthorizedUsers []string `json:"authorizedUsers,omitempty" hash:"ignore"`

	// Image is the image of the machine, such as linode/debian12 or private/123; it must have cloud-init.
	// Instance mode only; a change replaces the nodes.
	// +optional
	Image string `json:"image,omitempty" hash:"ignore"`

	// BackupsEnabled enables Linode's backups of the machine, which cost extra. Instance mode
	// only; a change replaces the nodes.
	// +optional
	BackupsEnabled bool `json:"backupsEnabled,omitempty" hash:"ignore"`

	// OSDisk is the system disk; only its size has an effect.
	// Instance mode only; a change replaces the nodes.
	// +optional
	OSDisk *InstanceDisk `json:"osDisk,omitempty" hash:"ignore"`

	// DataDisks has no effect on LKE and is refused in instance mode.
	// +optional
	DataDisks *InstanceDisks `json:"dataDisks,omitempty" hash:"ignore"`

	// Configuration sets the kernel to boot. Instance mode only; a change
	// replaces the nodes.
	// +optional
	Configuration *InstanceConfiguration `json:"configuration,omitempty" hash:"ignore"`

	// PlacementGroup is the placement group of the machine; a group allows only a few machines. Instance mode
	// only; a change replaces the nodes.
	// +optional
	PlacementGroup *PlacementGroup `json:"placementGroup,omitempty" hash:"ignore"`

	// VPCID is the VPC of the machine; it requires SubnetID. Instance mode
	// only; a change replaces the nodes.
	// +optional
	VPCID *int `json:"vpcID,omitempty" hash:"ignore"`

	// SubnetID is the subnet of the VPC. Instance mode only; a change replaces the
	// nodes.
	// +optional
	SubnetID *int `json:"subnetID,omitempty" hash:"ignore"`

	// IPv6Options sets which addresses the machine gets in its VPC. Instance mode
	// only; a change replaces the nodes.
	// +optional
	IPv6Options *IPv6Options `json:"ipv6Options,omitempty" hash:"ignore"`

	// SwapSize is the size of the swap disk in MiB; by default there is none. A kubelet of kubeadm starts with
	// swap only if failSwapOn is false in kubelet or in the cluster's kubelet-config. Instance mode only; a
	// change replaces the nodes.
	// +optional
	SwapSize *int `json:"swap_size,omitempty" hash:"ignore"`

	// GuideSwapSize is swapSize under the name in the guide of the existing provider. If both are set, they must be equal.
	// +optional
	GuideSwapSize *int `json:"swapSize,omitempty" hash:"ignore"`

	// Kubelet holds settings of the kubelet. Instance mode only, as LKE gives no
	// access to them; a change replaces the nodes.
	// +optional
	// +kubebuilder:validation:XValidation:message="evictionSoft OwnerKey does not have a matching evictionSoftGracePeriod",rule="has(self.evictionSoft) ? self.evictionSoft.all(e, (e in self.evictionSoftGracePeriod)):true"
	// +kubebuilder:validation:XValidation:message="evictionSoftGracePeriod OwnerKey does not have a matching evictionSoft",rule="has(self.evictionSoftGracePeriod) ? self.evictionSoftGracePeriod.all(e, (e in self.evictionSoft)):true"
	Kubelet *KubeletConfiguration `json:"kubelet,omitempty" hash:"ignore"`

	// Select selects objects of the account by their labels instead of their IDs, so that one class serves many
	// regions. Instance mode only; a change replaces the nodes.
	// +optional
	Select *Selection `json:"select,omitempty" hash:"ignore"`

	// Bootstrap configures how the machine joins the cluster; the default is kubeadm. Instance mode only; a
	// change replaces the nodes.
	// +optional
	Bootstrap *Bootstrap `json:"bootstrap,omitempty" hash:"ignore"`
}

// LinodeNodeClassStatus is the observed state of the class.
type LinodeNodeClassStatus struct {
	// KubernetesVersion is the version of new nodes, or on the standard tier the version that nodes should have:
	// that of the spec once the control plane has it. If the spec has none, it is the version that the control
	// plane had when the class was first seen, and does not change.
	// +optional
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`

	// KubernetesVersionSince is when KubernetesVersion last changed.
	// +optional
	KubernetesVersionSince *metav1.Time `json:"kubernetesVersionSince,omitempty"`

	// ControlPlaneVersion is the last known version of the control plane.
	// +optional
	ControlPlaneVersion string `json:"controlPlaneVersion,omitempty"`

	// OutdatedNodes is how many nodes of the class will still be replaced because their version differs from the spec.
	// +optional
	OutdatedNodes int `json:"outdatedNodes,omitempty"`

	// Selected has the objects to which Select and the other fields of the spec resolved. They stay until the
	// spec selects something else, so no node is replaced because a label moved. Instance mode only.
	// +optional
	Selected *Selected `json:"selected,omitempty"`

	// Conditions: Ready, ValidationSucceeded, on which Ready depends, and KubernetesVersionCurrent.
	// +optional
	Conditions []status.Condition `json:"conditions,omitempty"`
}

// TargetVersion is the version for which nodes with another version are replaced; "" if the spec has none or
// the controller has not accepted it yet.
func (in *LinodeNodeClass) TargetVersion() string {
	if in.Spec.LKEK8sVersion == nil || *in.Spec.LKEK8sVersion != in.Status.KubernetesVersion {
		return ""
	}
	return in.Status.KubernetesVersion
}

// GetConditions returns the conditions of the status.
func (in *LinodeNodeClass) GetConditions() []status.Condition { return in.Status.Conditions }

// SetConditions replaces the conditions of the status.
func (in *LinodeNodeClass) SetConditions(conditions []status.Condition) {
	in.Status.Conditions = conditions
}

// StatusConditions gives access to the conditions; Ready summarizes them.
func (in *LinodeNodeClass) StatusConditions(opts ...status.ForOption) status.ConditionSet {
	return status.NewReadyConditions(ConditionValidationSucceeded).For(in, opts...)
}
