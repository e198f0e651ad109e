package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodePlan applies a directory of HCL to the cluster, and keeps the node pools, node
// classes and limits in that state. Fields, conditions and annotations that mean the same
// as in Flux's Kustomization have the same names.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=nodeplans,scope=Namespaced,categories={lkeplan,fluxcd-appliers},shortName=np
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status"
// +kubebuilder:printcolumn:name="Outdated",type="integer",JSONPath=".status.outdated"
// +kubebuilder:printcolumn:name="Window",type="string",JSONPath=".status.nextWindow"
// +kubebuilder:printcolumn:name="Status",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message"
// +kubebuilder:printcolumn:name="Revision",type="string",JSONPath=".status.lastAppliedRevision",priority=1
type NodePlan struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec NodePlanSpec `json:"spec"`
	// +kubebuilder:default={observedGeneration:-1}
	Status NodePlanStatus `json:"status,omitempty"`
}

// NodePlanList is a list of NodePlan.
//
// +kubebuilder:object:root=true
type NodePlanList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodePlan `json:"items"`
}

// GetConditions returns the conditions of the status.
func (in *NodePlan) GetConditions() []metav1.Condition { return in.Status.Conditions }

// SetConditions replaces the conditions of the status.
func (in *NodePlan) SetConditions(conditions []metav1.Condition) { in.Status.Conditions = conditions }

// The modes of a NodePlan.
const (
	ModeApply    = "Apply"    // the source is applied to the cluster
	ModePlanOnly = "PlanOnly" // the plan is only reported, in the status and as an event
)

// The values of deletionPolicy: what happens to the objects when their NodePlan
// is deleted.
const (
	DeletionOrphan = "Orphan" // they stay
	DeletionDelete = "Delete" // they are deleted, and their nodes with them
)

// NodePlanSpec defines where the HCL comes from and how it is applied.
//
// +kubebuilder:validation:XValidation:rule="!has(self.planFor) || self.mode == 'PlanOnly'",message="planFor is only for the mode PlanOnly"
// +kubebuilder:validation:XValidation:rule="has(self.sourceRef) != has(self.configMapRef)",message="exactly one of sourceRef and configMapRef must be set"
type NodePlanSpec struct {
	// SourceRef refers to a source of Flux's source-controller.
	// +optional
	SourceRef *SourceReference `json:"sourceRef,omitempty"`

	// ConfigMapRef refers to a ConfigMap in the same namespace. Each key is a file.
	// +optional
	ConfigMapRef *LocalReference `json:"configMapRef,omitempty"`

	// Path is the directory in the source. Defaults to the root of the source.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path,omitempty"`

	// Interval is how often the cluster is compared with the source.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern="^([0-9]{1,6}(\\.[0-9]+)?(ms|s|m|h))+$"
	Interval metav1.Duration `json:"interval"`

	// RetryInterval is the time until a failed reconciliation is retried. Defaults to
	// the interval, but at most 30 seconds.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern="^([0-9]{1,6}(\\.[0-9]+)?(ms|s|m|h))+$"
	RetryInterval *metav1.Duration `json:"retryInterval,omitempty"`

	// Timeout limits each of the steps fetch, compile, apply and wait. Defaults to the
	// interval, but at least 30 seconds and at most five minutes.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern="^([0-9]{1,6}(\\.[0-9]+)?(ms|s|m|h))+$"
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// Suspend stops the reconciliation. Karpenter still creates and removes nodes for
	// the objects in the cluster.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// DependsOn lists NodePlans that must be ready first.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	DependsOn []NamespacedReference `json:"dependsOn,omitempty"`

	// Prune deletes applied objects that are no longer in the source. The nodes of a
	// NodePool drain first, within its disruption budgets, unless the guards in the
	// source have prune = "now". Until its last node is gone, a revert keeps the NodePool.
	// +optional
	// +kubebuilder:default=true
	Prune *bool `json:"prune,omitempty"`

	// DeletionPolicy defines what happens to the objects when the NodePlan is deleted.
	// Orphan keeps them. Delete deletes them if the last applied guards allow it, and
	// waits for approval otherwise. A NodePlan that is suspended, or whose mode is
	// PlanOnly, always keeps them.
	// +optional
	// +kubebuilder:validation:Enum=Orphan;Delete
	// +kubebuilder:default=Orphan
	DeletionPolicy string `json:"deletionPolicy,omitempty"`

	// Variables are values for variable blocks, of any type.
	// +optional
	// +kubebuilder:validation:MaxProperties=256
	Variables map[string]apiextensionsv1.JSON `json:"variables,omitempty"`

	// VariablesFrom lists ConfigMaps and Secrets whose keys are variables. Later entries
	// override earlier ones, and variables overrides them all. Values from Secrets are
	// allowed in conditions and locals, but not in objects, names, guards and messages.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	VariablesFrom []VariablesReference `json:"variablesFrom,omitempty"`

	// ServiceAccountName is the service account, in the same namespace, that reads and
	// applies objects. Defaults to the account that --default-service-account names, or
	// to the controller's account.
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// Wait delays readiness until all objects are ready, and the nodes of the pools have
	// joined and are ready.
	// +optional
	Wait bool `json:"wait,omitempty"`

	// DriftIgnore lists fields that others may change.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	DriftIgnore []DriftIgnore `json:"driftIgnore,omitempty"`

	// RequireVerifiedSource refuses revisions whose signature source-controller has not
	// verified.
	// +optional
	RequireVerifiedSource bool `json:"requireVerifiedSource,omitempty"`

	// Mode is Apply, or PlanOnly to report the plan without changing anything.
	// +optional
	// +kubebuilder:validation:Enum=Apply;PlanOnly
	// +kubebuilder:default=Apply
	Mode string `json:"mode,omitempty"`

	// PlanFor is the target NodePlan that this NodePlan plans for in the mode PlanOnly.
	// For example, the NodePlan of a pull request plans for that of the main branch. The
	// plan shows what applying this source to the target would change, including what it
	// would prune. The guards and policies last applied by the target evaluate the plan.
	// The fields prune, driftIgnore and guards come from the target; path, variables and
	// serviceAccountName come from this NodePlan.
	// +optional
	PlanFor *NamespacedReference `json:"planFor,omitempty"`

	// Guards limit what one revision may do, in addition to the guards in the source. The
	// stricter one applies.
	// +optional
	Guards *PlanGuards `json:"guards,omitempty"`

	// Rollout applies each revision to a few nodes first, and to the rest after these
	// have proven healthy. Without it, revisions are applied as a whole.
	// +optional
	Rollout *RolloutSpec `json:"rollout,omitempty"`
}

// SourceReference names a source.
type SourceReference struct {
	// APIVersion of the source. Defaults to the version that Flux serves.
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`

	// Kind of the source.
	// +kubebuilder:validation:Enum=GitRepository;OCIRepository;Bucket;ExternalArtifact
	Kind string `json:"kind"`

	// Name of the source.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Namespace of the source. Defaults to the namespace of the NodePlan.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}

// LocalReference refers to an object in the same namespace.
type LocalReference struct {
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// NamespacedReference refers to an object.
type NamespacedReference struct {
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Namespace of the object. Defaults to the namespace of the NodePlan.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}

// VariablesReference names an object whose keys are variables.
type VariablesReference struct {
	// Kind of the object.
	// +kubebuilder:validation:Enum=ConfigMap;Secret
	Kind string `json:"kind"`

	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Optional ignores that the object does not exist.
	// +optional
	Optional bool `json:"optional,omitempty"`
}

// DriftIgnore names fields of objects.
type DriftIgnore struct {
	// Paths of the fields, as JSON pointers such as /spec/weight.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:Pattern="^/"
	Paths []string `json:"paths"`

	// Kind of the objects. Defaults to all kinds.
	// +optional
	Kind string `json:"kind,omitempty"`

	// Name of the object. Defaults to all objects.
	// +optional
	Name string `json:"name,omitempty"`
}

// PlanGuards limit what one revision may do.
type PlanGuards struct {
	// Protected lists NodePools that must not be deleted.
	// +optional
	// +listType=set
	Protected []string `json:"protected,omitempty"`

	// MaxDeletedPools is the maximum number of NodePools to delete.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxDeletedPools *int `json:"maxDeletedPools,omitempty"`

	// MaxDeletedNodes is the maximum number of nodes to delete together with their pools,
	// as a number or as a share of all nodes such as 10%.
	// +optional
	// +kubebuilder:validation:Pattern="^[0-9]{1,6}%?$"
	MaxDeletedNodes string `json:"maxDeletedNodes,omitempty"`

	// MaxRolledNodes is the maximum number of nodes that the plan replaces, or that
	// Karpenter may remove because of the plan, as a number or as a share of all nodes
	// such as 50%.
	// +optional
	// +kubebuilder:validation:Pattern="^[0-9]{1,6}%?$"
	MaxRolledNodes string `json:"maxRolledNodes,omitempty"`
}
