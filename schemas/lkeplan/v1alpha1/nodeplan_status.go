package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ConditionHealthy is the condition of a NodePlan besides those of kstatus.
const ConditionHealthy = "Healthy"

// The reasons of a NodePlan's conditions.
const (
	ReasonSucceeded         = "ReconciliationSucceeded"
	ReasonArtifactFailed    = "ArtifactFailed"    // the source does not exist, or cannot be fetched
	ReasonSourceNotVerified = "SourceNotVerified" // and requireVerifiedSource asks for it
	ReasonCompileFailed     = "CompileFailed"     // the HCL has errors
	ReasonDependency        = "DependencyNotReady"
	ReasonAccessDenied      = "AccessDenied"
	ReasonWrongCluster      = "WrongCluster"    // the HCL is for another cluster
	ReasonConflict          = "Conflict"        // others have set fields, or own objects
	ReasonGuarded           = "ApprovalPending" // guards refuse the plan
	ReasonApplyFailed       = "ApplyFailed"
	ReasonPruneFailed       = "PruneFailed"
	ReasonOutsideWindow     = "OutsideWindow" // the plan waits for a change window
	ReasonPruning           = "Pruning"       // pools that are no longer in the source give up their nodes
	ReasonHealthCheckFailed = "HealthCheckFailed"
	ReasonProving           = "Proving"        // the revision proves itself on a first wave of nodes
	ReasonHeld              = "Held"           // it has not, and no more of it is applied
	ReasonRolledBack        = "RolledBack"     // it has not, and what was applied before is applied again
	ReasonPlanned           = "Planned"        // the mode is PlanOnly
	ReasonDriftCorrected    = "DriftCorrected" // of an event: fields that others had set are set back
)

// NodePlanStatus is the state of a NodePlan. All of it but the approval is the
// controller's, to which the policy of kube/deploy/approval.yaml holds each field by name.
type NodePlanStatus struct {
	// ObservedGeneration is the generation that was reconciled last.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions are Ready, Reconciling, Stalled and Healthy.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// LastHandledReconcileAt is the last value of the annotation
	// reconcile.fluxcd.io/requestedAt that was acted on.
	// +optional
	LastHandledReconcileAt string `json:"lastHandledReconcileAt,omitempty"`

	// LastAttemptedRevision is the revision that was tried last.
	// +optional
	LastAttemptedRevision string `json:"lastAttemptedRevision,omitempty"`

	// LastAppliedRevision is the revision that was applied last.
	// +optional
	LastAppliedRevision string `json:"lastAppliedRevision,omitempty"`

	// LastAppliedOriginRevision is the commit that the source's artifact was made
	// from, where it says so.
	// +optional
	LastAppliedOriginRevision string `json:"lastAppliedOriginRevision,omitempty"`

	// LastAppliedDigest is that of the files that were read of the last applied
	// revision. Where the NodePlanRecord has others, a change waits for approval.
	// +optional
	LastAppliedDigest string `json:"lastAppliedDigest,omitempty"`

	// LastAppliedBy is the version of lkeplan that applied it.
	// +optional
	LastAppliedBy string `json:"lastAppliedBy,omitempty"`

	// Inventory are the objects that were applied. No other is pruned.
	// +optional
	Inventory []InventoryEntry `json:"inventory,omitempty"`

	// Contested are objects of the source that another NodePlan holds. Nothing is
	// applied while there are any.
	// +optional
	Contested []ContestedEntry `json:"contested,omitempty"`

	// Plan is the last plan; in the mode Apply the last one that was not empty.
	// +optional
	Plan *PlanSummary `json:"plan,omitempty"`

	// Guards are the guards and policies that do not simply pass the plan.
	// +optional
	Guards []GuardStatus `json:"guards,omitempty"`

	// Approval lets a plan pass that guards refuse. The apply of that plan uses it up:
	// from then on it is in the history. It may be given before the revision is there.
	// +optional
	Approval *Approval `json:"approval,omitempty"`

	// Pools are the NodePools, with how many of their nodes are outdated.
	// +optional
	Pools []PoolStatus `json:"pools,omitempty"`

	// Outdated is how many nodes of all pools are still to be replaced; left out while
	// that is not known.
	// +optional
	Outdated *int `json:"outdated,omitempty"`

	// NextWindow is when something that waits for its time is next let go: the plan
	// by the change window, or else nodes by the budgets of their pools. Left out if
	// nothing waits for one.
	// +optional
	NextWindow *metav1.Time `json:"nextWindow,omitempty"`

	// Drift are fields that others have set and that stay: the source does not set
	// them, or driftIgnore allows them. All other fields are set back, and an event
	// reports it. A field that the source does not set belongs to the one who sets it,
	// as in server-side apply: an autoscaler may need it. Declare the field to have it
	// set back, or remove it.
	// +optional
	Drift []DriftStatus `json:"drift,omitempty"`

	// Rollout is how far the last revision that had to has proven itself.
	// +optional
	Rollout *RolloutStatus `json:"rollout,omitempty"`

	// History are the last revisions that were applied or refused, newest first.
	// +optional
	History []HistoryEntry `json:"history,omitempty"`
}

// InventoryEntry is one object.
type InventoryEntry struct {
	// ID is namespace_name_group_kind, as in Flux's inventories.
	ID string `json:"id"`

	// Version of the API.
	V string `json:"v"`

	// UID of the object, which a copy of it does not have.
	// +optional
	UID string `json:"uid,omitempty"`
}

// ContestedEntry is an object that another NodePlan holds.
type ContestedEntry struct {
	// ID is namespace_name_group_kind, as in the inventory.
	ID string `json:"id"`

	// Holder is the NodePlan that holds it, as namespace/name.
	Holder string `json:"holder"`
}

// PlanSummary is the effect of a plan.
type PlanSummary struct {
	// Digest names the plan: what it does to which objects, and whether their nodes are
	// deleted, replaced or stay. Their number is not in it.
	Digest string `json:"digest"`

	// Revision of the source that the plan is for.
	Revision string `json:"revision"`

	// Summary is the plan in a sentence.
	Summary string `json:"summary"`

	// Create is how many objects are created.
	Create int `json:"create"`

	// Update is how many objects are changed.
	Update int `json:"update"`

	// Delete is how many objects are deleted.
	Delete int `json:"delete"`

	// NodesRolled is how many nodes are replaced.
	NodesRolled int `json:"nodesRolled"`

	// NodesDeleted is how many nodes go with deleted pools.
	NodesDeleted int `json:"nodesDeleted"`

	// NodesDrained is how many nodes condemned pools give up before they go.
	// +optional
	NodesDrained int `json:"nodesDrained,omitempty"`

	// NodesRemovable is how many other nodes Karpenter may remove or replace for the plan,
	// because it loosens their disruption.
	// +optional
	NodesRemovable int `json:"nodesRemovable,omitempty"`

	// CostCeiling is the most that all pools can cost in a month, in US dollars;
	// empty where nothing bounds it, or a price is not known.
	// +optional
	CostCeiling string `json:"costCeiling,omitempty"`

	// Changes are the objects that the plan changes, at most a hundred, if a guard or policy
	// has not let it pass.
	// +optional
	Changes []PlannedChange `json:"changes,omitempty"`
}

// PlannedChange is what a plan does to one object.
type PlannedChange struct {
	// Object is its address: pool.web.
	Object string `json:"object"`

	// Effect on the object and its nodes, as a sentence.
	Effect string `json:"effect"`

	// Fields that change, such as: limits.cpu "100" → "160". A long value is cut.
	// +optional
	Fields []string `json:"fields,omitempty"`

	// FieldsLeftOut is how many more fields change.
	// +optional
	FieldsLeftOut int `json:"fieldsLeftOut,omitempty"`
}

// GuardStatus is the verdict of a guard or policy.
type GuardStatus struct {
	// Guard is its name.
	Guard string `json:"guard"`

	// Address of the block that it is about; empty for the whole plan.
	// +optional
	Address string `json:"address,omitempty"`

	// Status is blocked, allowed, unknown or waiting.
	Status string `json:"status"`

	// Message is why, as a sentence.
	// +optional
	Message string `json:"message,omitempty"`

	// Permission is what an approval names to lift it, where it is blocked.
	// +optional
	Permission string `json:"permission,omitempty"`
}

// PoolStatus counts the nodes of a pool.
type PoolStatus struct {
	// Name of the NodePool.
	Name string `json:"name"`

	// Nodes is the number of its NodeClaims.
	Nodes int `json:"nodes"`

	// Outdated is how many of them are still to be replaced.
	Outdated int `json:"outdated"`

	// NextWindow is when the budgets next let a node be replaced; left out if
	// they let it now, if there is nothing to replace, or if they never let it.
	// +optional
	NextWindow *metav1.Time `json:"nextWindow,omitempty"`

	// Condemned is of a NodePool that is no longer in the source: it makes no new nodes,
	// gives up those that it has, and is deleted when it has none left.
	// +optional
	Condemned *CondemnedStatus `json:"condemned,omitempty"`
}

// CondemnedStatus is how far a NodePool is on its way out.
type CondemnedStatus struct {
	// Since when it gives up its nodes.
	Since metav1.Time `json:"since"`

	// Nodes that it had then.
	Nodes int `json:"nodes"`

	// SoonestEnd is when the last node can have gone by the budgets; left out if that is
	// never, or not within a week.
	// +optional
	SoonestEnd *metav1.Time `json:"soonestEnd,omitempty"`

	// Message is how far it is and what holds it, as a sentence.
	// +optional
	Message string `json:"message,omitempty"`
}

// DriftStatus is a field that somebody else has set.
type DriftStatus struct {
	// Object is its kind and name.
	Object string `json:"object"`

	// Path of the field.
	Path string `json:"path"`

	// Owners are the field managers.
	Owners []string `json:"owners"`
}

// HistoryEntry is a revision that was applied or refused.
type HistoryEntry struct {
	// Revision of the source.
	Revision string `json:"revision"`

	// Time at which it was last tried.
	Time metav1.Time `json:"time"`

	// Status is the reason of the Ready condition after it.
	Status string `json:"status"`

	// Digest of its plan, where there was one.
	// +optional
	Digest string `json:"digest,omitempty"`

	// Approval that its plan was applied with.
	// +optional
	Approval *Approval `json:"approval,omitempty"`
}
