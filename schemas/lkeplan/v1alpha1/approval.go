package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Approval allows one plan that guards refuse.
//
// It is in the status because the API server ignores the status of an object that a client
// applies. So a commit cannot bring its own approval, regardless of the rights of Flux,
// Argo CD or kubectl apply. It could bring a field of the spec, an annotation or a separate
// object. RBAC on nodeplans/status controls who may write it, together with the verb
// approve on nodeplans, which the policy in kube/deploy/approval.yaml requires.
type Approval struct {
	// PlanDigest is the digest of the plan, as in status.plan.digest.
	// +kubebuilder:validation:Pattern="^sha256:[0-9a-f]{64}$"
	PlanDigest string `json:"planDigest"`

	// Guards lists what the approval lifts, as in status.guards.permission, such as
	// max_deleted_pools:pool.web. Other guards still apply.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=512
	// +listType=set
	Guards []string `json:"guards"`

	// MaxNodes is how many nodes the plan may delete, drain and replace in total. It is
	// separate from the digest because the number of nodes changes while the plan waits.
	// +kubebuilder:validation:Minimum=0
	MaxNodes int `json:"maxNodes"`

	// Expires is when the approval expires.
	Expires metav1.Time `json:"expires"`

	// By is the name by which the API server knows the user who gave the approval.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	By string `json:"by"`

	// Reason is why it was given, for readers of the history.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason"` // no omitempty: an approval is merged, and the reason of an earlier one would stay
}
