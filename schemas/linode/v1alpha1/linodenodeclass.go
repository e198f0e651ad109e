package v1alpha1

import (
	"github.com/awslabs/operatorpkg/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ConditionValidationSucceeded reports whether LKE would accept what the class
// asks for. Ready follows from it.
const ConditionValidationSucceeded = "ValidationSucceeded"

// ConditionVersionCurrent reports whether nodes of the class get the Kubernetes
// version that the control plane has. Ready does not follow from it.
const ConditionVersionCurrent = "KubernetesVersionCurrent"

// ConditionPlanClosed is True while the account may not have Linodes of some plans: its message names them. There is no
// such condition otherwise. It has no effect on Ready: other plans are used.
const ConditionPlanClosed = "PlanClosed"

// ConditionFirewallWithoutEffect is True on a class that names a firewall in a cluster of the standard tier: pools are
// made without it. There is no such condition otherwise. It has no effect on Ready.
const ConditionFirewallWithoutEffect = "FirewallWithoutEffect"

// ConditionLinodeAnswers reports whether the Linode API answers the controller, and
// takes its token. While it refuses the token, the class is not Ready either: no
// node can be made. While it does not answer, NodeClaims wait.
const ConditionLinodeAnswers = "LinodeAnswers"

// LinodeNodeClass says how the nodes of the NodePools that refer to it are
// made.
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

// Consolidation limits when Karpenter consolidates nodes, and for how little.
type Consolidation struct {
	// BeforePaidHourEnds is how long before the end of each hour that Linode bills a node
	// can be removed to save money, 10m to 60m. Left out, it can be removed at any time.
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

// LinodeNodeClassSpec is the wish. On LKE the node's machine is made by LKE
// itself: tags, firewallID, diskEncryption and lkeK8sVersion have an effect
// there, and the other fields change no node. In instance mode, where the
// controller makes Linodes by itself, all have an effect but lkeK8sVersion.
type LinodeNodeClassSpec struct {
	// Tags are put on the LKE node pools, besides lkeplan's own: 3 to 50
	// characters each. On LKE Enterprise they reach the Linodes too. A change
	// is carried out in place.
	// +optional
	// +listType=set
	Tags []string `json:"tags,omitempty" hash:"ignore"`

	// FirewallID is the number of the Cloud Firewall in front of the nodes.
	// LKE Enterprise only. A change replaces the nodes.
	// +optional
	FirewallID *int `json:"firewallID,omitempty"`

	// DiskEncryption says whether the disks are encrypted. Left out, LKE
	// decides. A change replaces the nodes.
	// +optional
	// +kubebuilder:validation:Enum=enabled;disabled
	DiskEncryption string `json:"diskEncryption,omitempty"`

	// LKEK8sVersion is the Kubernetes version of the nodes: v1.33.4+lke2 on LKE
	// Enterprise, 1.33 on the standard tier, whose new nodes have the version of
	// the control plane. A change replaces the nodes that have another, on the
	// standard tier an older one, one NodePool after another, once the control
	// plane has it. Left out, no node is ever replaced for its version.
	// +optional
	LKEK8sVersion *string `json:"lkeK8sVersion,omitempty" hash:"ignore"`

	// ReplaceBeforeMaintenance is how long before an announced maintenance of its host a
	// node is replaced, within the budgets of its NodePool. Left out, no node is replaced
	// for that. The token needs the scope account:read_only. A change replaces no node
	// whose host has no maintenance.
	// +optional
	// +kubebuilder:validation:Pattern=`^([0-9]+(s|m|h))+$`
	// +kubebuilder:validation:Type=string
	ReplaceBeforeMaintenance *metav1.Duration `json:"replaceBeforeMaintenance,omitempty" hash:"ignore"`

	// Consolidation limits when Karpenter consolidates nodes, and for how little. A change
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

	// Image is what the machine boots, such as linode/debian12 or private/123; it
	// must have cloud-init. Instance mode only; a change replaces the nodes.
	// +optional
	Image string `json:"image,omitempty" hash:"ignore"`

	// BackupsEnabled has Linode back the machine up, for a price. Instance mode
	// only; a change replaces the nodes.
	// +optional
	BackupsEnabled bool `json:"backupsEnabled,omitempty" hash:"ignore"`

	// OSDisk is the disk that the system is on: of it only the size has an effect.
	// Instance mode only; a change replaces the nodes.
	// +optional
	OSDisk *InstanceDisk `json:"osDisk,omitempty" hash:"ignore"`

	// DataDisks has no effect on LKE, and is refused in instance mode.
	// +optional
	DataDisks *InstanceDisks `json:"dataDisks,omitempty" hash:"ignore"`

	// Configuration names the kernel to boot. Instance mode only; a change
	// replaces the nodes.
	// +optional
	Configuration *InstanceConfiguration `json:"configuration,omitempty" hash:"ignore"`

	// PlacementGroup is the group that the machine is made in, which has room for
	// few. Instance mode only; a change replaces the nodes.
	// +optional
	PlacementGroup *PlacementGroup `json:"placementGroup,omitempty" hash:"ignore"`

	// VPCID is the VPC that the machine is in; SubnetID says where. Instance mode
	// only; a change replaces the nodes.
	// +optional
	VPCID *int `json:"vpcID,omitempty" hash:"ignore"`

	// SubnetID is the subnet of the VPC. Instance mode only; a change replaces the
	// nodes.
	// +optional
	SubnetID *int `json:"subnetID,omitempty" hash:"ignore"`

	// IPv6Options says which addresses the machine gets in its VPC. Instance mode
	// only; a change replaces the nodes.
	// +optional
	IPv6Options *IPv6Options `json:"ipv6Options,omitempty" hash:"ignore"`

	// SwapSize is the size of the swap disk in MiB; left out, there is none. A
	// kubelet of kubeadm starts with one only if failSwapOn is false, in kubelet or
	// in the cluster's kubelet-config.
	// Instance mode only; a change replaces the nodes.
	// +optional
	SwapSize *int `json:"swap_size,omitempty" hash:"ignore"`

	// GuideSwapSize is the same under the name that the guide of the existing
	// provider has for it. Both may be set to the same.
	// +optional
	GuideSwapSize *int `json:"swapSize,omitempty" hash:"ignore"`

	// Kubelet holds settings of the kubelet. Instance mode only, as LKE gives no
	// access to them; a change replaces the nodes.
	// +optional
	// +kubebuilder:validation:XValidation:message="evictionSoft OwnerKey does not have a matching evictionSoftGracePeriod",rule="has(self.evictionSoft) ? self.evictionSoft.all(e, (e in self.evictionSoftGracePeriod)):true"
	// +kubebuilder:validation:XValidation:message="evictionSoftGracePeriod OwnerKey does not have a matching evictionSoft",rule="has(self.evictionSoftGracePeriod) ? self.evictionSoftGracePeriod.all(e, (e in self.evictionSoft)):true"
	Kubelet *KubeletConfiguration `json:"kubelet,omitempty" hash:"ignore"`

	// Select names things of the account by their labels, in place of their
	// numbers: one class then serves many regions. Instance mode only; a change
	// replaces the nodes.
	// +optional
	Select *Selection `json:"select,omitempty" hash:"ignore"`

	// Bootstrap says how the machine joins the cluster; by kubeadm where it is left
	// out. Instance mode only; a change replaces the nodes.
	// +optional
	Bootstrap *Bootstrap `json:"bootstrap,omitempty" hash:"ignore"`
}

// LinodeNodeClassStatus is what lkeplan found out about the class.
type LinodeNodeClassStatus struct {
	// KubernetesVersion is the version that nodes are made of, or on the standard
	// tier held to be: that of the spec once the control plane has it. Where the
	// spec names none, it is the one that the control plane had when the class was
	// seen first, and stays.
	// +optional
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`

	// KubernetesVersionSince is since when.
	// +optional
	KubernetesVersionSince *metav1.Time `json:"kubernetesVersionSince,omitempty"`

	// ControlPlaneVersion is the version of the control plane, as LKE last said.
	// +optional
	ControlPlaneVersion string `json:"controlPlaneVersion,omitempty"`

	// OutdatedNodes is how many nodes of the class are still to be replaced, as
	// they have another version than the spec names.
	// +optional
	OutdatedNodes int `json:"outdatedNodes,omitempty"`

	// Selected is what Select and the spec's other fields have come to. What was
	// found stays until the spec selects something else: no node is replaced because
	// a label has moved. Instance mode only.
	// +optional
	Selected *Selected `json:"selected,omitempty"`

	// Conditions: Ready, ValidationSucceeded from which it follows, and
	// KubernetesVersionCurrent.
	// +optional
	Conditions []status.Condition `json:"conditions,omitempty"`

	// Gone are the nodes of the class that went last, the latest first.
	// +optional
	// +kubebuilder:validation:MaxItems=50
	Gone []GoneNode `json:"gone,omitempty"`
}

// MostGone bounds the list of nodes that are gone.
const MostGone = 50

// GoneNode is a node that is gone, or goes, and why.
type GoneNode struct {
	// Time is when its NodeClaim was deleted.
	Time metav1.Time `json:"time"`

	// Created is when its NodeClaim was made.
	Created metav1.Time `json:"created"`

	// NodeClaim is the name of its NodeClaim.
	NodeClaim string `json:"nodeClaim"`

	// Node is the name that it had as a Node, where it has joined.
	// +optional
	Node string `json:"node,omitempty"`

	// NodePool is the name of its NodePool.
	NodePool string `json:"nodePool"`

	// PlanType is what kind of Linode it was.
	PlanType string `json:"planType"`

	// HourlyPrice is what it cost, in US dollars; empty where that is not known.
	HourlyPrice string `json:"hourlyPrice"`

	// Reason is why it went: Drifted, Empty, Underutilized or another that Karpenter
	// gives, Expired, Lost where its machine or its Node was gone before, NeverJoined where
	// its machine did not become a Node in time, or Deleted where its NodeClaim was deleted
	// without a reason.
	Reason string `json:"reason"`

	// Message says more of the reason, such as what has drifted.
	// +optional
	Message string `json:"message,omitempty"`

	// NodePlan is the one whose revision had it replaced, as namespace/name. Left out
	// where that is not known.
	// +optional
	NodePlan string `json:"nodePlan,omitempty"`

	// Revision is the revision of the NodePlan that had it replaced. Left out where that
	// is not known.
	// +optional
	Revision string `json:"revision,omitempty"`
}

// What a node has lost that is Lost.
const (
	LostMachine = "MachineGone" // LKE has no machine of it any more
	LostNode    = "NodeDeleted" // its Node was deleted first, by somebody or because its machine was gone
)

// TargetVersion is the version for which nodes that have another are replaced; ""
// where the spec names none, or the controller has not agreed to it yet.
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

// StatusConditions gives access to the conditions, Ready being the sum.
func (in *LinodeNodeClass) StatusConditions(opts ...status.ForOption) status.ConditionSet {
	return status.NewReadyConditions(ConditionValidationSucceeded).For(in, opts...)
}
