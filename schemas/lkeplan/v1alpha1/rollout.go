package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// The values of rollout.onFailure: what becomes of a revision that does not prove itself.
const (
	RolloutHold     = "Hold"     // the rest of it is not applied
	RolloutRollback = "Rollback" // what was applied before is applied again
)

// The phases of a rollout.
const (
	PhasePlanned    = "Planned" // nothing of it is applied yet, or some of the brakes are
	PhaseProving    = "Proving"
	PhaseProven     = "Proven"  // the rest of the revision may be applied, as far as guards let it
	PhaseApplied    = "Applied" // the rest of it is applied, with the approval that it had
	PhaseHeld       = "Held"
	PhaseRolledBack = "RolledBack"
)

// RolloutSpec has each revision prove itself on a first wave of nodes before the rest of
// it is applied. A revision that makes no node has nothing to prove, and neither has the
// first one.
//
// +kubebuilder:validation:XValidation:rule="duration(self.stable) <= duration('1h')",message="stable must be at most 1h"
// +kubebuilder:validation:XValidation:rule="duration(self.timeout) <= duration('24h')",message="timeout must be at most 24h"
// +kubebuilder:validation:XValidation:rule="duration(self.stable) < duration(self.timeout)",message="stable must be less than timeout"
type RolloutSpec struct {
	// Canary are the NodePools that a revision is applied to first, with the node classes
	// that they use, and the limits; everything else of it waits. Left out, or where the
	// revision changes none of them, all of it is applied at once but for what it removes,
	// and only the replacement of nodes waits.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	Canary []string `json:"canary,omitempty"`

	// Nodes is how many nodes of each NodePool of the first wave are replaced.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Nodes int `json:"nodes,omitempty"`

	// Stable is how long these have to stay ready: at most 1h.
	// +optional
	// +kubebuilder:default="2m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern="^([0-9]{1,6}(\\.[0-9]+)?(ms|s|m|h))+$"
	Stable *metav1.Duration `json:"stable,omitempty"`

	// Timeout is when they have to be ready: at most 24h. It does not run while Linode has
	// no capacity, or while budgets, limits and PodDisruptionBudgets hold all nodes that
	// are to be replaced.
	// +optional
	// +kubebuilder:default="15m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern="^([0-9]{1,6}(\\.[0-9]+)?(ms|s|m|h))+$"
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// OnFailure says what becomes of a revision that does not prove itself: Hold applies
	// no more of it, Rollback applies again what was applied before. Either way the
	// revision is left alone until the next one, or until spec.rollout changes.
	// +optional
	// +kubebuilder:validation:Enum=Hold;Rollback
	// +kubebuilder:default=Hold
	OnFailure string `json:"onFailure,omitempty"`
}

// RolloutStatus is how far a revision has proven itself.
type RolloutStatus struct {
	// Revision of the source.
	Revision string `json:"revision"`

	// Digest of the objects that it declares and of those that were applied before: with other
	// variables it begins anew.
	Digest string `json:"digest"`

	// Terms is a digest of spec.rollout: with another one it begins anew, on the same nodes. It is
	// not there if a release began that did not note the nodes.
	// +optional
	Terms string `json:"terms,omitempty"`

	// Generation is written by the release before terms: it reads it with this CRD, too.
	// +optional
	Generation int64 `json:"generation,omitempty"`

	// Phase is Planned, Proving, Proven, Applied, Held or RolledBack.
	Phase string `json:"phase"`

	// Since when the revision proves itself.
	Since metav1.Time `json:"since"`

	// Looked is when the nodes were last looked at.
	// +optional
	Looked *metav1.Time `json:"looked,omitempty"`

	// Ran is how long they were looked at: the sum of the times between two looks, of each a
	// minute at most.
	// +optional
	Ran metav1.Duration `json:"ran,omitempty"`

	// Retried is the last value of the annotation reconcile.fluxcd.io/forceAt that was acted on.
	// +optional
	Retried string `json:"retried,omitempty"`

	// Drifted are NodeClaims that Karpenter took for drifted before, for another reason.
	// +optional
	Drifted []string `json:"drifted,omitempty"`

	// Pools are the NodePools of the first wave.
	// +optional
	Pools []RolloutPool `json:"pools,omitempty"`

	// Whole tells that the first wave is all that the revision changes.
	// +optional
	Whole bool `json:"whole,omitempty"`

	// Message is how far it is, or why it has failed, a line for each NodePool.
	// +optional
	Message string `json:"message,omitempty"`

	// Approval that the revision began with. The rest of it needs no other one, and uses it up.
	// +optional
	Approval *Approval `json:"approval,omitempty"`
}

// RolloutPool is a NodePool of the first wave.
type RolloutPool struct {
	// Name of the NodePool.
	Name string `json:"name"`

	// Before is how many of its nodes were to be replaced.
	// +optional
	Before int `json:"before,omitempty"`

	// Created tells that the revision has brought it: a rollback removes it.
	// +optional
	Created bool `json:"created,omitempty"`

	// Clock is written by the release before waited: it reads it with this CRD, too.
	// +optional
	Clock *metav1.Time `json:"clock,omitempty"`

	// Hash of its template, karpenter.sh/nodepool-hash, which new nodes have.
	// +optional
	Hash string `json:"hash,omitempty"`

	// Earlier are NodeClaims that were there before and are what the revision asks for: they
	// prove nothing.
	// +optional
	Earlier []string `json:"earlier,omitempty"`

	// New are the NodeClaims that were made since, with that hash.
	// +optional
	New []RolloutNode `json:"new,omitempty"`

	// Waited is how much of its timeout has passed.
	// +optional
	Waited metav1.Duration `json:"waited,omitempty"`

	// Unhealthy is since when Karpenter had given up on nodes of the pool before.
	// +optional
	Unhealthy *metav1.Time `json:"unhealthy,omitempty"`
}

// RolloutNode is a node of the first wave.
type RolloutNode struct {
	// Name of its NodeClaim.
	Name string `json:"name"`

	// ReadySince is since when it is ready, as the cluster says; left out if it is not.
	// +optional
	ReadySince *metav1.Time `json:"readySince,omitempty"`

	// Ready is how long it was seen ready since then.
	// +optional
	Ready metav1.Duration `json:"ready,omitempty"`

	// WasReady tells that it has been ready: a node may have gone for it.
	// +optional
	WasReady bool `json:"wasReady,omitempty"`

	// Gone tells that it is not there any more.
	// +optional
	Gone bool `json:"gone,omitempty"`
}
