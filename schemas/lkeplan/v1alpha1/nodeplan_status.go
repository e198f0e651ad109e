package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ConditionHealthy is the only condition of a NodePlan that kstatus does not define.
const ConditionHealthy = "Healthy"

// The reasons of a NodePlan's conditions.
const (
	ReasonSucceeded         = "ReconciliationSucceeded"
	ReasonArtifactFailed    = "ArtifactFailed"    // the source does not exist, or cannot be fetched
	ReasonSourceNotVerified = "SourceNotVerified" // although requireVerifiedSource is set
	ReasonCompileFailed     = "CompileFailed"     // the HCL has errors
	ReasonDependency        = "DependencyNotReady"
	ReasonAccessDenied      = "AccessDenied"
	ReasonWrongCluster      = "WrongCluster"    // the HCL is for another cluster
	ReasonConflict          = "Conflict"        // others have set fields, or manage objects
	ReasonGuarded           = "ApprovalPending" // guards refuse the plan
	ReasonApplyFailed       = "ApplyFailed"
	ReasonPruneFailed       = "PruneFailed"
	ReasonOutsideWindow     = "OutsideWindow" // the plan waits for a change window
	ReasonPruning           = "Pruning"       // pools that are no longer in the source drain
	ReasonHealthCheckFailed = "HealthCheckFailed"
	ReasonProving           = "Proving"        // the revision is tried on a first wave of nodes
	ReasonHeld              = "Held"           // the first wave failed; the rest is not applied
	ReasonRolledBack        = "RolledBack"     // the first wave failed; the previous revision is applied again
	ReasonPlanned           = "Planned"        // the mode is PlanOnly
	ReasonDriftCorrected    = "DriftCorrected" // only of events: manual edits were reverted
)

// NodePlanStatus is the state of a NodePlan. Only the controller writes it, except for the
// approval. The policy in kube/deploy/approval.yaml enforces that for each field by name.
type NodePlanStatus struct {
	// ObservedGeneration is the generation that was last reconciled.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions are Ready, Reconciling, Stalled and Healthy.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// LastHandledReconcileAt is the last value of the annotation
	// reconcile.fluxcd.io/requestedAt that the controller handled.
	// +optional
	LastHandledReconcileAt string `json:"lastHandledReconcileAt,omitempty"`

	// LastAttemptedRevision is the revision that the controller last tried to apply.
	// +optional
	LastAttemptedRevision string `json:"lastAttemptedRevision,omitempty"`

	// LastAppliedRevision is the revision that was last applied.
	// +optional
	LastAppliedRevision string `json:"lastAppliedRevision,omitempty"`

	// LastAppliedOriginRevision is the commit that the source's artifact was built from,
	// if the artifact names it.
	// +optional
	LastAppliedOriginRevision string `json:"lastAppliedOriginRevision,omitempty"`

	// LastAppliedDigest is the digest of the files and variables of the last applied
	// revision. If those in the NodePlanRecord differ, a change waits for approval.
	// +optional
	LastAppliedDigest string `json:"lastAppliedDigest,omitempty"`

	// Inventory lists the objects that were applied. Only these are pruned.
	// +optional
	Inventory []InventoryEntry `json:"inventory,omitempty"`

	// Contested lists objects in the source that another NodePlan manages. While there are
	// any, nothing is applied.
	// +optional
	Contested []ContestedEntry `json:"contested,omitempty"`

	// Plan is the last plan; in the mode Apply, the last plan that was not empty.
	// +optional
	Plan *PlanSummary `json:"plan,omitempty"`

	// Guards lists the guards and policies that did not pass the plan without restrictions.
	// +optional
	Guards []GuardStatus `json:"guards,omitempty"`

	// Approval allows one plan that guards refuse. It can be given before the revision
	// arrives. When the plan is applied, the approval moves to the history. If another
	// revision replaces the plan before that, the approval is removed.
	// +optional
	Approval *Approval `json:"approval,omitempty"`

	// Pools lists the NodePools, with the number of outdated nodes.
	// +optional
	Pools []PoolStatus `json:"pools,omitempty"`

	// Outdated is the number of nodes, in all pools, that are still to be replaced. Absent
	// while it is unknown.
	// +optional
	Outdated *int `json:"outdated,omitempty"`

	// NextWindow is when the next waiting change can proceed: the plan when a change
	// window opens, or otherwise nodes when a budget of their pool allows it. Absent if
	// nothing waits.
	// +optional
	NextWindow *metav1.Time `json:"nextWindow,omitempty"`

	// Drift lists fields that others have set and that stay, because the source does not
	// set them or driftIgnore allows them. All other edits are reverted, and an event
	// reports them. As in server-side apply, a field that the source does not set belongs
	// to its writer, such as an autoscaler. A list, and the labels of the nodes of a pool,
	// belong to one writer as a whole: if the source sets an element, the elements of others
	// are reverted. To revert another edit, declare the field in the source, or remove it
	// from the object.
	// +optional
	Drift []DriftStatus `json:"drift,omitempty"`

	// Rollout is the progress of the last revision that was applied to a first wave.
	// +optional
	Rollout *RolloutStatus `json:"rollout,omitempty"`

	// History lists the last revisions that were applied or refused, newest first.
	// +optional
	History []HistoryEntry `json:"history,omitempty"`
}

// InventoryEntry is one object.
type InventoryEntry struct {
	// ID is namespace_name_group_kind, as in Flux's inventories.
	ID string `json:"id"`

	// Version of the API.
	V string `json:"v"`

	// UID of the object. A copy of the object has another UID.
	// +optional
	UID string `json:"uid,omitempty"`
}

// ContestedEntry is an object that another NodePlan manages.
type ContestedEntry struct {
	// ID is namespace_name_group_kind, as in the inventory.
	ID string `json:"id"`

	// Holder is the NodePlan that manages the object, as namespace/name.
	Holder string `json:"holder"`
}

// PlanSummary is the effect of a plan.
type PlanSummary struct {
	// Digest identifies the plan. It covers the changes of each object, and whether its
	// nodes are deleted, replaced or kept, but not the number of nodes.
	Digest string `json:"digest"`

	// Revision of the source that the plan is for.
	Revision string `json:"revision"`

	// Summary is a one-line summary of the plan.
	Summary string `json:"summary"`

	// Create is the number of objects to create.
	Create int `json:"create"`

	// Update is the number of objects to change.
	Update int `json:"update"`

	// Delete is the number of objects to delete.
	Delete int `json:"delete"`

	// NodesRolled is the number of nodes to replace.
	NodesRolled int `json:"nodesRolled"`

	// NodesDeleted is the number of nodes to delete together with their pools.
	NodesDeleted int `json:"nodesDeleted"`

	// NodesDrained is the number of nodes to drain before their pools are deleted.
	// +optional
	NodesDrained int `json:"nodesDrained,omitempty"`

	// NodesRemovable is the number of other nodes that Karpenter may remove or replace
	// because the plan loosens their disruption settings.
	// +optional
	NodesRemovable int `json:"nodesRemovable,omitempty"`

	// Moves lists the nodes that Karpenter's consolidation removes or replaces because of
	// the plan, at most 100. Empty if it is not known which.
	// +optional
	Moves []PlannedMove `json:"moves,omitempty"`

	// CostCeiling is the maximum monthly cost of all pools, in US dollars. Empty if
	// nothing limits the cost, or if a price is unknown.
	// +optional
	CostCeiling string `json:"costCeiling,omitempty"`

	// Changes lists the objects that the plan changes, at most 100. Set only if a guard or
	// policy did not pass the plan without restrictions.
	// +optional
	Changes []PlannedChange `json:"changes,omitempty"`
}

// PlannedMove is a node that Karpenter's consolidation removes or replaces.
type PlannedMove struct {
	// NodeClaim is the name of the NodeClaim of the node.
	NodeClaim string `json:"nodeClaim"`

	// Node is the name of the Node.
	// +optional
	Node string `json:"node,omitempty"`

	// Effect names the changed objects that cause the move, what replaces the node, and the
	// saving, in one sentence.
	Effect string `json:"effect"`
}

// PlannedChange is what a plan does to one object.
type PlannedChange struct {
	// Object is the address of the object, such as pool.web.
	Object string `json:"object"`

	// Effect on the object and its nodes, in one sentence.
	Effect string `json:"effect"`

	// Fields that change, such as: limits.cpu "100" → "160". Long values are truncated.
	// +optional
	Fields []string `json:"fields,omitempty"`

	// FieldsLeftOut is the number of changed fields that are not listed.
	// +optional
	FieldsLeftOut int `json:"fieldsLeftOut,omitempty"`
}

// GuardStatus is the verdict of a guard or policy.
type GuardStatus struct {
	// Guard is the name of the guard or policy.
	Guard string `json:"guard"`

	// Address of the block that the verdict concerns; empty for the whole plan.
	// +optional
	Address string `json:"address,omitempty"`

	// Status is blocked, allowed, unknown or waiting.
	Status string `json:"status"`

	// Message explains the verdict in one sentence.
	// +optional
	Message string `json:"message,omitempty"`

	// Permission is the name that an approval must list to lift a blocked guard.
	// +optional
	Permission string `json:"permission,omitempty"`

	// Until is when a waiting guard lets the plan pass. Absent if that is not within a year.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`
}

// PoolStatus counts the nodes of a pool.
type PoolStatus struct {
	// Name of the NodePool.
	Name string `json:"name"`

	// Nodes is the number of its NodeClaims.
	Nodes int `json:"nodes"`

	// Outdated is how many of these nodes are still to be replaced.
	Outdated int `json:"outdated"`

	// NextWindow is when the budgets next allow replacing a node. Absent if they allow it
	// now, if no node is to be replaced, or if they never allow it.
	// +optional
	NextWindow *metav1.Time `json:"nextWindow,omitempty"`

	// Set for a NodePool that is draining because it is no longer in the source: it gets
	// no new nodes, its nodes drain, and then it is deleted.
	// +optional
	Condemned *CondemnedStatus `json:"condemned,omitempty"`
}

// CondemnedStatus is the progress of a NodePool that is draining.
type CondemnedStatus struct {
	// Since is when the NodePool started to drain.
	Since metav1.Time `json:"since"`

	// Nodes is the number of nodes that it had at that time.
	Nodes int `json:"nodes"`

	// SoonestEnd is the earliest time at which the budgets allow the last node to be gone.
	// Absent if that is more than a week away, or never.
	// +optional
	SoonestEnd *metav1.Time `json:"soonestEnd,omitempty"`

	// Message describes the progress and what blocks it, in one sentence.
	// +optional
	Message string `json:"message,omitempty"`
}

// DriftStatus is a field that another field manager has set.
type DriftStatus struct {
	// Object is the kind and name of the object.
	Object string `json:"object"`

	// Path of the field.
	Path string `json:"path"`

	// Owners are the field managers that set the field.
	Owners []string `json:"owners"`
}

// HistoryEntry is a revision that was applied or refused.
type HistoryEntry struct {
	// Revision of the source.
	Revision string `json:"revision"`

	// Time of the last attempt.
	Time metav1.Time `json:"time"`

	// Status is the reason of the Ready condition after the last attempt.
	Status string `json:"status"`

	// Digest of its plan, if there was one.
	// +optional
	Digest string `json:"digest,omitempty"`

	// Approval that its plan was applied with.
	// +optional
	Approval *Approval `json:"approval,omitempty"`
}
