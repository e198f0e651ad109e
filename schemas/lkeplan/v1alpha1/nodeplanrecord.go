package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// NodePlanRecord holds what was last applied by the NodePlan of the same name and
// namespace. Its guards, with the variables of that time, evaluate the next revision.
// Therefore only the controller can write it, and no default role of Kubernetes can read
// it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=nodeplanrecords,scope=Namespaced
type NodePlanRecord struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Path is the directory in the source that was compiled.
	Path string `json:"path"`

	// Files are the files that the compiler read, as a tar.gz archive. Absent if they do
	// not fit into the object.
	// +optional
	Files []byte `json:"files,omitempty"`

	// Variables are the values that the files were compiled with. Absent if the files are.
	// +optional
	Variables []RecordedVariable `json:"variables,omitempty"`
}

// RecordedVariable is the value of a variable.
type RecordedVariable struct {
	// Name of the variable.
	Name string `json:"name"`

	// Value of a variable that is not from a Secret.
	// +optional
	Value string `json:"value,omitempty"`

	// Digest of a value from a Secret.
	// +optional
	Digest string `json:"digest,omitempty"`
}

// NodePlanRecordList is a list of NodePlanRecord.
//
// +kubebuilder:object:root=true
type NodePlanRecordList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodePlanRecord `json:"items"`
}
