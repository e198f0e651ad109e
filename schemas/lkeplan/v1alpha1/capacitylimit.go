package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The conditions of a CapacityLimit.
const (
	// ConditionReady reports whether the limit is enforced. It is false if a pool that
	// the limit names does not exist.
	ConditionReady = "Ready"

	// ConditionReached reports whether not even the smallest possible node fits into
	// the limit.
	ConditionReached = "Reached"
)

// CapacityLimit limits the total nodes, resources or cost of several NodePools. A node
// that would exceed the limit is not created, and its pods stay pending. Existing nodes
// are never removed, and count until their machine is deleted: to replace nodes one at a
// time, leave capacity for one more.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=capacitylimits,scope=Cluster,categories=karpenter,shortName={climit,climits}
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Nodes",type="integer",JSONPath=".status.used.nodes"
// +kubebuilder:printcolumn:name="CPU",type="string",JSONPath=".status.used.cpu"
// +kubebuilder:printcolumn:name="Memory",type="string",JSONPath=".status.used.memory"
// +kubebuilder:printcolumn:name="Cost",type="string",JSONPath=".status.used.monthlyCost"
// +kubebuilder:printcolumn:name="Max cost",type="string",JSONPath=".spec.monthlyCost"
// +kubebuilder:printcolumn:name="Reached",type="string",JSONPath=".status.conditions[?(@.type==\"Reached\")].status"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Max nodes",type="integer",JSONPath=".spec.nodes",priority=1
// +kubebuilder:printcolumn:name="Max CPU",type="string",JSONPath=".spec.cpu",priority=1
// +kubebuilder:printcolumn:name="Max memory",type="string",JSONPath=".spec.memory",priority=1
// +kubebuilder:printcolumn:name="Pools",type="string",JSONPath=".spec.nodePools",priority=1
type CapacityLimit struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   CapacityLimitSpec   `json:"spec"`
	Status CapacityLimitStatus `json:"status,omitempty"`
}

// CapacityLimitList is a list of CapacityLimit.
//
// +kubebuilder:object:root=true
type CapacityLimitList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CapacityLimit `json:"items"`
}

// CapacityLimitSpec is the limit. Only the fields that are set are limited.
//
// +kubebuilder:validation:XValidation:rule="has(self.nodes) || has(self.cpu) || has(self.memory) || has(self.monthlyCost)",message="set at least one of nodes, cpu, memory and monthlyCost"
type CapacityLimitSpec struct {
	// NodePools are the names of the NodePools whose nodes count. Defaults to all
	// NodePools.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	NodePools []string `json:"nodePools,omitempty"`

	// Nodes is the maximum number of nodes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Nodes *int64 `json:"nodes,omitempty"`

	// CPU is the maximum total number of CPUs of the nodes.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!quantity(string(self)).isLessThan(quantity('0'))",message="must not be negative"
	CPU *resource.Quantity `json:"cpu,omitempty"`

	// Memory is the maximum total memory of the nodes, such as 512Gi.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!quantity(string(self)).isLessThan(quantity('0'))",message="must not be negative"
	Memory *resource.Quantity `json:"memory,omitempty"`

	// MonthlyCost is the maximum monthly cost of the nodes, in US dollars, such as "5000"
	// or "99.50". It uses the monthly prices in Linode's price list for the region, and
	// excludes traffic, volumes, backups and taxes.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^[0-9]+(\.[0-9]{1,2})?$`
	MonthlyCost *string `json:"monthlyCost,omitempty"`
}

// CapacityLimitStatus is the observed use of the limit.
type CapacityLimitStatus struct {
	// ObservedGeneration is the generation of the spec that the status is for.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Used is the total of the nodes, including nodes that are being created.
	// +optional
	Used CapacityAmounts `json:"used,omitempty"`

	// Room is what is left of each limit that is set.
	// +optional
	Room CapacityAmounts `json:"room,omitempty"`

	// Conditions are Ready, whether the limit is enforced, and Reached.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// CapacityAmounts are amounts of everything that can be limited, in the units of the
// spec.
type CapacityAmounts struct {
	// Nodes is a number of nodes.
	// +optional
	Nodes *int64 `json:"nodes,omitempty"`

	// CPU is a number of CPUs.
	// +optional
	CPU *resource.Quantity `json:"cpu,omitempty"`

	// Memory is an amount of memory.
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`

	// MonthlyCost is in US dollars.
	// +optional
	MonthlyCost *string `json:"monthlyCost,omitempty"`
}
