package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The values of drains: what happens to nodes that are draining when disruption is stopped.
const (
	DrainsFinish = "Finish" // they drain and are deleted
	DrainsHold   = "Hold"   // their pods are not evicted
)

// DisruptionStop stops voluntary disruption of the nodes of all pools for a time: no node
// is consolidated, replaced or repaired. There can be several; disruption is stopped while
// any of them is active. To end one earlier, delete it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=disruptionstops,scope=Cluster,categories=karpenter,shortName={dstop,dstops}
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".spec.reason"
// +kubebuilder:printcolumn:name="By",type="string",JSONPath=".spec.by"
// +kubebuilder:printcolumn:name="For",type="string",JSONPath=".spec.for"
// +kubebuilder:printcolumn:name="Drains",type="string",JSONPath=".spec.drains"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type DisruptionStop struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec DisruptionStopSpec `json:"spec"`
}

// DisruptionStopList is a list of DisruptionStop.
//
// +kubebuilder:object:root=true
type DisruptionStopList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []DisruptionStop `json:"items"`
}

// DisruptionStopSpec cannot be changed: to stop disruption for longer, create another
// DisruptionStop.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a DisruptionStop cannot be changed; create another one, or delete it"
// +kubebuilder:validation:XValidation:rule="duration(self.for) > duration('0s') && duration(self.for) <= duration('168h')",message="for must be more than 0 and at most 168h"
type DisruptionStopSpec struct {
	// For is how long disruption is stopped, from the creation of the object, such as 2h. At
	// most 168h. It is a duration because the API server can limit a duration, and not how
	// far a time is in the future.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern="^([0-9]{1,6}(\\.[0-9]+)?(ms|s|m|h))+$"
	For metav1.Duration `json:"for"`

	// Reason is why, for readers of the status.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Reason string `json:"reason"`

	// By is who stopped disruption, for readers of the status. The API server does not
	// check it; its audit log has the user.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	By string `json:"by,omitempty"`

	// Drains is what happens to nodes that are draining: Finish drains and deletes them.
	// Hold evicts none of their pods. The terminationGracePeriod of a node continues, and
	// at its end the pods are deleted.
	// +optional
	// +kubebuilder:validation:Enum=Finish;Hold
	// +kubebuilder:default=Finish
	Drains string `json:"drains,omitempty"`
}

// Until is when the stop ends, unless it is deleted before.
func (s *DisruptionStop) Until() time.Time { return s.CreationTimestamp.Add(s.Spec.For.Duration) }
