package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodePlan applies a directory of HCL to the cluster, and keeps its node pools,
// node classes and limits that way. Its fields, conditions and annotations are those of
// Flux's Kustomization where they mean the same.
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
	ModeApply    = "Apply"    // the cluster is brought in line
	ModePlanOnly = "PlanOnly" // the plan is only reported, in the status and as an event
)

// The values of deletionPolicy: what happens to the objects when their NodePlan
// is deleted.
const (
	DeletionOrphan = "Orphan" // they stay
	DeletionDelete = "Delete" // they are deleted, and their nodes with them
)

// NodePlanSpec says where the HCL comes from and how it is applied.
//
// +kubebuilder:validation:XValidation:rule="!has(self.planFor) || self.mode == 'PlanOnly'",message="planFor is only for the mode PlanOnly"
// +kubebuilder:validation:XValidation:rule="[has(self.sourceRef), has(self.configMapRef), has(self.git)].filter(x, x).size() == 1",message="exactly one of sourceRef, configMapRef and git must be set"
type NodePlanSpec struct {
	// SourceRef names a source of Flux's source-controller.
	// +optional
	SourceRef *SourceReference `json:"sourceRef,omitempty"`

	// ConfigMapRef names a ConfigMap of the same namespace; each of its keys is a
	// file.
	// +optional
	ConfigMapRef *LocalReference `json:"configMapRef,omitempty"`

	// Git is a repository that the controller fetches itself, for clusters without
	// Flux.
	// +optional
	Git *GitSource `json:"git,omitempty"`

	// Path is the directory in the source. Left out, it is the source's root.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path,omitempty"`

	// Interval is how often the cluster is compared with the source again.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern="^([0-9]{1,6}(\\.[0-9]+)?(ms|s|m|h))+$"
	Interval metav1.Duration `json:"interval"`

	// RetryInterval is how soon a failure is tried again. Left out, it is the
	// interval, and thirty seconds at most.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern="^([0-9]{1,6}(\\.[0-9]+)?(ms|s|m|h))+$"
	RetryInterval *metav1.Duration `json:"retryInterval,omitempty"`

	// Timeout bounds fetching, compiling, applying and waiting, each for itself.
	// Left out, it is the interval, and five minutes at most.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern="^([0-9]{1,6}(\\.[0-9]+)?(ms|s|m|h))+$"
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// Suspend stops comparing and applying. Nodes are still made and removed for
	// the objects in the cluster.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// DependsOn are NodePlans that must be ready first.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	DependsOn []NamespacedReference `json:"dependsOn,omitempty"`

	// Prune deletes objects that were applied and are no longer in the source. A
	// NodePool with nodes gives them up first, within its own budgets, unless the guards
	// in the source say that pools go now; until it has none left, a revert keeps it.
	// +optional
	// +kubebuilder:default=true
	Prune *bool `json:"prune,omitempty"`

	// DeletionPolicy says what happens to the objects when the NodePlan is deleted.
	// Delete asks the guards that were last applied, and waits for approval where they
	// refuse it. If it is suspended, or its mode is PlanOnly, they stay in any case.
	// +optional
	// +kubebuilder:validation:Enum=Orphan;Delete
	// +kubebuilder:default=Orphan
	DeletionPolicy string `json:"deletionPolicy,omitempty"`

	// Variables are values for variable blocks, of any type.
	// +optional
	// +kubebuilder:validation:MaxProperties=256
	Variables map[string]apiextensionsv1.JSON `json:"variables,omitempty"`

	// VariablesFrom are ConfigMaps and Secrets whose keys are variables. Later ones
	// win, and Variables wins over all. Values from Secrets are for conditions and
	// locals; in objects, names, guards and messages they are an error.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	VariablesFrom []VariablesReference `json:"variablesFrom,omitempty"`

	// ServiceAccountName is the account of the same namespace that reads and applies
	// objects. Left out, it is the one of the controller's configuration, or the
	// controller's own.
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// Wait makes the NodePlan ready when all its objects are, and the nodes of its pools
	// have joined and are ready.
	// +optional
	Wait bool `json:"wait,omitempty"`

	// DriftIgnore are fields that others may set to other values.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	DriftIgnore []DriftIgnore `json:"driftIgnore,omitempty"`

	// RequireVerifiedSource refuses revisions of the source whose signature
	// source-controller has not verified.
	// +optional
	RequireVerifiedSource bool `json:"requireVerifiedSource,omitempty"`

	// Mode is Apply, or PlanOnly to report the plan and change nothing.
	// +optional
	// +kubebuilder:validation:Enum=Apply;PlanOnly
	// +kubebuilder:default=Apply
	Mode string `json:"mode,omitempty"`

	// PlanFor is another NodePlan, for which this one plans in the mode PlanOnly: that
	// of the main branch, for instance, for that of a pull request. The other one's
	// objects are compared with this one's source, including those that it would
	// prune, and the guards and policies of the other one's last applied revision judge
	// the plan. Prune, driftIgnore and guards are those of the other one; path,
	// variables and serviceAccountName are those of this one.
	// +optional
	PlanFor *NamespacedReference `json:"planFor,omitempty"`

	// Guards bound what one revision may do, besides the guards in the source: the
	// stricter one applies.
	// +optional
	Guards *PlanGuards `json:"guards,omitempty"`

	// Rollout has each revision prove itself on a few nodes before the rest of it is
	// applied. Left out, revisions are applied as a whole.
	// +optional
	Rollout *RolloutSpec `json:"rollout,omitempty"`
}

// SourceReference names a source.
type SourceReference struct {
	// APIVersion of the source. Left out, it is the one that Flux serves.
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`

	// Kind of the source.
	// +kubebuilder:validation:Enum=GitRepository;OCIRepository;Bucket;ExternalArtifact
	Kind string `json:"kind"`

	// Name of the source.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Namespace of the source. Left out, it is that of the NodePlan.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}

// LocalReference names an object of the same namespace.
type LocalReference struct {
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// NamespacedReference names an object.
type NamespacedReference struct {
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Namespace of the object. Left out, it is that of the NodePlan.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}

// GitSource is a Git repository.
type GitSource struct {
	// URL of the repository: https or ssh.
	// +kubebuilder:validation:Pattern="^(https|http|ssh)://"
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url"`

	// Ref is what is checked out. Left out, it is the branch main.
	// +optional
	Ref *GitRef `json:"ref,omitempty"`

	// SecretRef names a Secret with the keys that Flux reads: username and password,
	// bearerToken, or githubAppID, githubAppInstallationID and githubAppPrivateKey, for a
	// URL of https; identity and known_hosts for ssh; and ca.crt.
	// +optional
	SecretRef *LocalReference `json:"secretRef,omitempty"`

	// Interval is how often the repository is polled for a new commit. Left out, it
	// is one minute.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern="^([0-9]{1,6}(\\.[0-9]+)?(ms|s|m|h))+$"
	Interval *metav1.Duration `json:"interval,omitempty"`
}

// GitRef is a branch, a tag or a commit; the commit wins, then the tag.
type GitRef struct {
	// Branch to follow.
	// +optional
	Branch string `json:"branch,omitempty"`

	// Tag to use.
	// +optional
	Tag string `json:"tag,omitempty"`

	// Commit to use, as 40 hexadecimal digits.
	// +optional
	// +kubebuilder:validation:Pattern="^[0-9a-f]{40}$"
	Commit string `json:"commit,omitempty"`
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

	// Optional allows that the object does not exist.
	// +optional
	Optional bool `json:"optional,omitempty"`
}

// DriftIgnore names fields of objects.
type DriftIgnore struct {
	// Paths of the fields, as JSON pointers: /spec/weight.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:Pattern="^/"
	Paths []string `json:"paths"`

	// Kind of the objects. Left out, it is every kind.
	// +optional
	Kind string `json:"kind,omitempty"`

	// Name of the object. Left out, it is every object.
	// +optional
	Name string `json:"name,omitempty"`
}

// PlanGuards bound what one revision may do.
type PlanGuards struct {
	// Protected are NodePools that are not deleted.
	// +optional
	// +listType=set
	Protected []string `json:"protected,omitempty"`

	// MaxDeletedPools is the largest number of NodePools that are deleted.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxDeletedPools *int `json:"maxDeletedPools,omitempty"`

	// MaxDeletedNodes is the most nodes that go at once with deleted pools: a
	// number, or a share of all nodes such as 10%.
	// +optional
	// +kubebuilder:validation:Pattern="^[0-9]{1,6}%?$"
	MaxDeletedNodes string `json:"maxDeletedNodes,omitempty"`

	// MaxRolledNodes is the most nodes that are replaced, or that Karpenter may remove for the
	// plan: a number, or a share of all nodes such as 50%.
	// +optional
	// +kubebuilder:validation:Pattern="^[0-9]{1,6}%?$"
	MaxRolledNodes string `json:"maxRolledNodes,omitempty"`
}
