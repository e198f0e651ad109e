package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// NodePlanRecord holds what was last applied through the NodePlan of the same name
// and namespace. The next revision is judged by the guards in it, so only the
// controller writes it, and none of Kubernetes' own roles can read it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=nodeplanrecords,scope=Namespaced
type NodePlanRecord struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Path is the directory in the source that was compiled.
	Path string `json:"path"`

	// Files are the files that the compiler has read, as a tar.gz archive. They are
	// left out where they do not fit.
	// +optional
	Files []byte `json:"files,omitempty"`
}

// NodePlanRecordList is a list of NodePlanRecord.
//
// +kubebuilder:object:root=true
type NodePlanRecordList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodePlanRecord `json:"items"`
}
