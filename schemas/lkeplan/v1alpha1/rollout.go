package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// The values of rollout.onFailure: what happens to a revision whose first wave fails.
const (
	RolloutHold     = "Hold"     // the rest of it is not applied
	RolloutRollback = "Rollback" // the previous revision is applied again
)

// The phases of a rollout.
const (
	PhasePlanned    = "Planned" // nothing is applied yet, except for some of the wave's budgets
	PhaseProving    = "Proving"
	PhaseProven     = "Proven"  // the rest of the revision can be applied if the guards allow it
	PhaseApplied    = "Applied" // the rest of it is applied, with the approval of the first wave
	PhaseHeld       = "Held"
	PhaseRolledBack = "RolledBack"
)

// RolloutSpec applies each revision to a first wave of nodes before the rest of it. The
// first revision, and revisions that create no nodes, have no first wave.
//
// +kubebuilder:validation:XValidation:rule="duration(self.stable) <= duration('1h')",message="stable must be at most 1h"
// +kubebuilder:validation:XValidation:rule="duration(self.timeout) <= duration('24h')",message="timeout must be at most 24h"
// +kubebuilder:validation:XValidation:rule="duration(self.stable) < duration(self.timeout)",message="stable must be less than timeout"
type RolloutSpec struct {
	// Canary lists the NodePools that a revision is applied to first, together with their
	// node classes and with the limits. The rest of the revision waits. If canary is empty,
	// or the revision changes none of these NodePools, everything except for removals is
	// applied immediately, and only the replacement of nodes waits.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	Canary []string `json:"canary,omitempty"`

	// Nodes is how many nodes of each NodePool are replaced in the first wave.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Nodes int `json:"nodes,omitempty"`

	// Stable is how long the new nodes must stay ready, at most 1h.
	// +optional
	// +kubebuilder:default="2m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern="^([0-9]{1,6}(\\.[0-9]+)?(ms|s|m|h))+$"
	Stable *metav1.Duration `json:"stable,omitempty"`

	// Timeout is how long the first wave may take, at most 24h. Time does not count
	// while Linode has no capacity, or while budgets, limits and PodDisruptionBudgets
	// block the replacement of all outdated nodes.
	// +optional
	// +kubebuilder:default="15m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern="^([0-9]{1,6}(\\.[0-9]+)?(ms|s|m|h))+$"
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// OnFailure defines what happens if the first wave fails. Hold stops the rollout, and
	// Rollback applies the previous revision again. In both cases the revision is not
	// retried until the next one arrives, or until spec.rollout changes.
	// +optional
	// +kubebuilder:validation:Enum=Hold;Rollback
	// +kubebuilder:default=Hold
	OnFailure string `json:"onFailure,omitempty"`
}

// RolloutStatus is the progress of a revision that is applied to a first wave.
type RolloutStatus struct {
	// Revision of the source.
	Revision string `json:"revision"`

	// Digest of the objects that the revision declares and of those that were applied
	// before. If variables change it, the rollout starts again.
	Digest string `json:"digest"`

	// Terms is a digest of spec.rollout. If it changes, the rollout starts again on the same
	// nodes.
	Terms string `json:"terms"`

	// Phase is Planned, Proving, Proven, Applied, Held or RolledBack.
	Phase string `json:"phase"`

	// Since is when the rollout started.
	Since metav1.Time `json:"since"`

	// Looked is when the nodes were last checked.
	// +optional
	Looked *metav1.Time `json:"looked,omitempty"`

	// Ran is how long the nodes were observed: the sum of the times between checks, each
	// counted as one minute at most.
	// +optional
	Ran metav1.Duration `json:"ran,omitempty"`

	// Retried is the last value of the annotation reconcile.fluxcd.io/forceAt that the
	// controller handled.
	// +optional
	Retried string `json:"retried,omitempty"`

	// Drifted lists NodeClaims that were already drifted, for another reason, when the
	// rollout started.
	// +optional
	Drifted []string `json:"drifted,omitempty"`

	// Pools lists the NodePools of the first wave.
	// +optional
	Pools []RolloutPool `json:"pools,omitempty"`

	// Whole is true if the revision changes nothing outside the first wave.
	// +optional
	Whole bool `json:"whole,omitempty"`

	// Message describes the progress, or why the first wave failed, with a line for each
	// NodePool.
	// +optional
	Message string `json:"message,omitempty"`

	// Approval that the rollout started with. It also covers the rest of the revision, and
	// is used up when that is applied.
	// +optional
	Approval *Approval `json:"approval,omitempty"`
}

// RolloutPool is a NodePool of the first wave.
type RolloutPool struct {
	// Name of the NodePool.
	Name string `json:"name"`

	// Before is how many of its nodes were to be replaced when the rollout started.
	// +optional
	Before int `json:"before,omitempty"`

	// Created is true if the revision created the NodePool. A rollback removes it.
	// +optional
	Created bool `json:"created,omitempty"`

	// Hash of its template, karpenter.sh/nodepool-hash, which new nodes carry.
	// +optional
	Hash string `json:"hash,omitempty"`

	// Earlier lists NodeClaims that existed before and already match the revision. They do
	// not count as new nodes.
	// +optional
	Earlier []string `json:"earlier,omitempty"`

	// New lists the NodeClaims with that hash that were created since.
	// +optional
	New []RolloutNode `json:"new,omitempty"`

	// Waited is how much of its timeout has passed.
	// +optional
	Waited metav1.Duration `json:"waited,omitempty"`

	// Unhealthy is since when NodeRegistrationHealthy was already false when the rollout
	// started.
	// +optional
	Unhealthy *metav1.Time `json:"unhealthy,omitempty"`
}

// RolloutNode is a node of the first wave.
type RolloutNode struct {
	// Name of its NodeClaim.
	Name string `json:"name"`

	// ReadySince is since when the node is ready, by the clock of the cluster. Absent if it
	// is not ready.
	// +optional
	ReadySince *metav1.Time `json:"readySince,omitempty"`

	// Ready is how long the node was observed to be ready since then.
	// +optional
	Ready metav1.Duration `json:"ready,omitempty"`

	// WasReady is true if the node has been ready. It may have replaced an old node.
	// +optional
	WasReady bool `json:"wasReady,omitempty"`

	// Gone is true if the NodeClaim no longer exists.
	// +optional
	Gone bool `json:"gone,omitempty"`
}
