package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// RevisionForecast is the forecast of the plan of an applied revision, and what happened since.
// It stays open until another revision is applied.
type RevisionForecast struct {
	// Revision of the source.
	Revision string `json:"revision"`

	// Commit that the source's artifact was built from, if the artifact names it.
	// +optional
	Commit string `json:"commit,omitempty"`

	// Objects is the digest of the objects that the revision declares. A revision that
	// declares the same objects as the previous one has no entry.
	Objects string `json:"objects"`

	// Applied is when the controller started to apply the revision.
	Applied metav1.Time `json:"applied"`

	// Closed is when the controller started to apply another revision, or to roll this one
	// back. Absent for the current revision.
	// +optional
	Closed *metav1.Time `json:"closed,omitempty"`

	// RolledBack is true if the first wave failed and the previous revision was applied again.
	// +optional
	RolledBack bool `json:"rolledBack,omitempty"`

	// Rollback is true if the revision was applied again because the next one failed. No plan
	// has a forecast of its effect on nodes.
	// +optional
	Rollback bool `json:"rollback,omitempty"`

	// Total is about all pools of the revision. Nodes of pools that the revision removes are not
	// in its cost.
	Total ForecastRow `json:"total"`

	// Pools lists at most ten pools: those whose nodes the plan affects, then the most expensive.
	// +optional
	// +listType=atomic
	Pools []ForecastRow `json:"pools,omitempty"`

	// PoolsLeftOut is the number of pools that are not listed.
	// +optional
	PoolsLeftOut int `json:"poolsLeftOut,omitempty"`

	// MeasuredUntil is when the nodes were last measured. Absent if they were not.
	// +optional
	MeasuredUntil *metav1.Time `json:"measuredUntil,omitempty"`

	// Counted lists the removed NodeClaims in the status of node classes that are counted as
	// replaced, or that were removed before. So none is counted twice. Absent if the entry is
	// closed.
	// +optional
	// +listType=atomic
	Counted []string `json:"counted,omitempty"`

	// RemovedUntil is the time of the latest removed NodeClaim in the status of node classes when
	// they were last read.
	// +optional
	RemovedUntil *metav1.Time `json:"removedUntil,omitempty"`
}

// ForecastRow compares the forecast with what happened, for one pool or for all.
type ForecastRow struct {
	// Name of the NodePool; empty for all pools.
	// +optional
	Name string `json:"name,omitempty"`

	// Forecast of the plan. A field that is absent is unknown.
	// +optional
	Forecast NodeForecast `json:"forecast,omitempty"`

	// Actual is what was measured.
	// +optional
	Actual NodeActual `json:"actual,omitempty"`
}

// NodeForecast is the forecast of a plan. A field that is absent is unknown. Costs are monthly, in
// US dollars.
type NodeForecast struct {
	// Nodes that existed when the revision was applied.
	// +optional
	Nodes *int `json:"nodes,omitempty"`

	// Replaced is the number of nodes to replace.
	// +optional
	Replaced *int `json:"replaced,omitempty"`

	// Outdated is the number of nodes that an earlier revision had still to replace.
	// +optional
	Outdated *int `json:"outdated,omitempty"`

	// Deleted is the number of nodes to delete or drain without a replacement in their pool.
	// +optional
	Deleted *int `json:"deleted,omitempty"`

	// Removable is the number of other nodes that Karpenter may remove or replace.
	// +optional
	Removable *int `json:"removable,omitempty"`

	// Cost of the nodes that existed when the revision was applied.
	// +optional
	Cost string `json:"cost,omitempty"`

	// CostFloor is the minimum cost.
	// +optional
	CostFloor string `json:"costFloor,omitempty"`

	// CostCeiling is the maximum cost.
	// +optional
	CostCeiling string `json:"costCeiling,omitempty"`

	// Unlimited is true if nothing limits the cost.
	// +optional
	Unlimited bool `json:"unlimited,omitempty"`
}

// NodeActual is what was measured since a revision was applied. Costs are monthly, in US dollars.
// Times in which the controller did not run are not measured.
type NodeActual struct {
	// Replaced is the number of nodes that Karpenter has replaced because of the revision.
	// +optional
	Replaced int `json:"replaced,omitempty"`

	// ReplacedAtLeast is true if further nodes may have been replaced: more were removed between
	// two measurements than node classes list.
	// +optional
	ReplacedAtLeast bool `json:"replacedAtLeast,omitempty"`

	// LastReplaced is when the last of these nodes was deleted.
	// +optional
	LastReplaced *metav1.Time `json:"lastReplaced,omitempty"`

	// Outdated is the number of nodes that are still to be replaced. Absent if unknown.
	// +optional
	Outdated *int `json:"outdated,omitempty"`

	// Seconds for which the nodes were counted.
	// +optional
	Seconds int64 `json:"seconds,omitempty"`

	// NodesMean is the mean number of nodes in these seconds.
	// +optional
	NodesMean string `json:"nodesMean,omitempty"`

	// NodesLowest is the lowest number of nodes. Absent if they were never counted.
	// +optional
	NodesLowest *int `json:"nodesLowest,omitempty"`

	// NodesHighest is the highest number of nodes.
	// +optional
	NodesHighest *int `json:"nodesHighest,omitempty"`

	// CostSeconds are the seconds for which the cost was measured. It is unknown while the price
	// of a node is.
	// +optional
	CostSeconds int64 `json:"costSeconds,omitempty"`

	// CostMean is the mean cost in these seconds.
	// +optional
	CostMean string `json:"costMean,omitempty"`

	// CostLowest is the lowest cost. Absent if the cost was never known.
	// +optional
	CostLowest string `json:"costLowest,omitempty"`

	// CostHighest is the highest cost.
	// +optional
	CostHighest string `json:"costHighest,omitempty"`
}
