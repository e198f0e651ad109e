package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Approval lets one plan pass guards that refuse it.
//
// It is in the status: the API server takes the status from nobody who applies an
// object. So a commit cannot bring its own approval, whatever rights Flux, Argo CD or
// kubectl apply have; a field of the spec, an annotation and an object of its own it
// could bring. Who may write it is said by RBAC, on nodeplans/status, and by the verb
// approve on nodeplans, which the policy in kube/deploy/approval.yaml asks for.
type Approval struct {
	// PlanDigest is the digest of the plan, from status.plan.
	// +kubebuilder:validation:Pattern="^sha256:[0-9a-f]{64}$"
	PlanDigest string `json:"planDigest"`

	// Guards are what it lifts, as status.guards names them: max_deleted_pools:pool.web.
	// What else refuses the plan goes on refusing it.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=512
	// +listType=set
	Guards []string `json:"guards"`

	// MaxNodes is how many nodes the plan may delete, drain and replace in sum. Nodes come
	// and go while it waits, so their number is not in the digest.
	// +kubebuilder:validation:Minimum=0
	MaxNodes int `json:"maxNodes"`

	// Expires is when it ends.
	Expires metav1.Time `json:"expires"`

	// By is the user who has given it, as the API server knows the user.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	By string `json:"by"`

	// Reason is why, for those who read the history.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`
}
