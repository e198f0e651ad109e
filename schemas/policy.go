package schemas

// A PlanAttribute is a number about a change that policies can use: plan.GROUP.NAME. A group can be
// nested in another: simulate.cost.
type PlanAttribute struct {
	Group, Name string
	Doc         string
	Known       Known
}

// Known describes when a number is known.
type Known string

// The conditions under which numbers are known. The group Simulated is null if no pods are
// simulated.
const (
	Always        Known = "always"
	WithACluster  Known = "with a cluster"
	WithSimulated Known = "with `--simulate`"
)

// Simulated is the group of the results of a simulation.
const Simulated = "simulate"

// PlanAttributes returns all attributes of a change.
func PlanAttributes() []PlanAttribute {
	return []PlanAttribute{
		{"objects", "created", "The number of objects that are created.", Always},
		{"objects", "changed", "The number of objects that change.", Always},
		{"objects", "deleted", "The number of objects that are deleted.", Always},
		{"nodes", "total", "The number of existing nodes.", WithACluster},
		{"nodes", "created", "Always 0: nodes are created for pods, not by a change.", WithACluster},
		{"nodes", "deleted", "The number of nodes that are deleted immediately, together with their pools.", WithACluster},
		{"nodes", "rolled", "The number of nodes that are replaced, that drain with a removed pool, or that " +
			"Karpenter may remove because of the change.", WithACluster},
		{"cost", "current", "The monthly cost of the existing nodes, in US dollars.", WithACluster},
		{"cost", "floor", "The minimum monthly cost of all pools after the change, in US dollars; null if the " +
			"price of a node is not known.", Always},
		{"cost", "ceiling", "The maximum monthly cost of all pools after the change, in US dollars; null if it " +
			"has no limit or a price is not known.", Always},
		{Simulated, "unschedulable",
			"The number of pods that have a node before the change, and get no node after it.", WithSimulated},
		{Simulated + ".cost", "before",
			"The monthly cost of the nodes of the pods before the change, in US dollars.", WithSimulated},
		{Simulated + ".cost", "after",
			"The monthly cost of the nodes of the pods after the change, in US dollars.", WithSimulated},
		{Simulated + ".cost", "delta", "The change of the monthly cost, in US dollars; negative if it is lower " +
			"after the change.", WithSimulated},
		{Simulated + ".cost", "buffers", "The monthly cost of the nodes that only buffers use after the change, in US dollars; " +
			"null if the pod template or workload of a buffer is not known.", WithSimulated},
	}
}
