package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// RingsSpec defines how a NodePlan reads the NodePlans of other clusters.
type RingsSpec struct {
	// SecretRef refers to a Secret with a kubeconfig for each cluster of the previous ring.
	// The keys are the names of the clusters. A kubeconfig contains its certificates and its
	// token: those that run a program, name a file or a proxy, or do not verify the server are
	// refused.
	SecretRef LocalReference `json:"secretRef"`
}

// RingStatus is what other clusters read before they apply a revision.
type RingStatus struct {
	// Cluster is the name of the cluster.
	Cluster string `json:"cluster"`

	// Name of the ring that the last applied configuration puts the cluster in. Absent if it
	// declares no rings.
	// +optional
	Name string `json:"name,omitempty"`

	// Waiting is what the current revision waits for. Absent if it does not wait for a ring.
	// +optional
	Waiting *RingWait `json:"waiting,omitempty"`

	// Proven lists the last revisions that were applied and ready, newest first.
	// +optional
	Proven []ProvenRevision `json:"proven,omitempty"`
}

// RingWait is what a revision waits for.
type RingWait struct {
	// Revision of the source that waits.
	Revision string `json:"revision"`

	// Ring that it waits for.
	Ring string `json:"ring"`

	// Since is when the cluster started to wait, for this revision or for an earlier one that
	// was replaced before its turn.
	Since metav1.Time `json:"since"`

	// Clusters lists clusters of that ring that have not proven the revision, at most 20.
	// +optional
	Clusters []RingCluster `json:"clusters,omitempty"`
}

// RingCluster is a cluster that has not proven a revision.
type RingCluster struct {
	// Name of the cluster.
	Name string `json:"name"`

	// State is Behind, Working, Soaking, NotReady, Failed, Stopped, Mismatch or Unknown.
	State string `json:"state"`

	// Message explains the state.
	// +optional
	Message string `json:"message,omitempty"`
}

// ProvenRevision is a revision that was applied, and whose nodes are ready.
type ProvenRevision struct {
	// Revision of the source.
	Revision string `json:"revision"`

	// Commit of the revision, or the digest of a source without commits.
	Commit string `json:"commit"`

	// Objects is a digest of the objects that the revision declares.
	// +optional
	Objects string `json:"objects,omitempty"`

	// Rings is a digest of the rings that the revision declares. Absent if it declares none.
	// +optional
	Rings string `json:"rings,omitempty"`

	// Since is when these objects were first ready, by the clock of the cluster.
	Since metav1.Time `json:"since"`

	// Looked is when they were last checked. Absent if they were not ready then.
	// +optional
	Looked *metav1.Time `json:"looked,omitempty"`

	// Ready is how long they were observed to be ready: the sum of the times between checks,
	// each counted as two minutes at most.
	// +optional
	Ready metav1.Duration `json:"ready,omitempty"`
}
