package schemas

// A PlanAttribute is a number that policies know of a change: plan.GROUP.NAME. A group may
// be one of another: simulate.cost.
type PlanAttribute struct {
	Group, Name string
	Doc         string
	Known       Known
}

// Known says when a number is known, in words.
type Known string

// When numbers are known. The group Simulated is null where no pods are simulated.
const (
	Always        Known = "always"
	WithACluster  Known = "with a cluster"
	WithSimulated Known = "with `--simulate`"
)

// Simulated is the group of what a simulation of pods finds.
const Simulated = "simulate"

// PlanAttributes are all that policies know of a change.
func PlanAttributes() []PlanAttribute {
	return []PlanAttribute{
		{"objects", "created", "Objects that are created.", Always},
		{"objects", "changed", "Objects that change.", Always},
		{"objects", "deleted", "Objects that are deleted.", Always},
		{"nodes", "total", "Nodes that there are.", WithACluster},
		{"nodes", "created", "Nodes that are created for the change; 0, as pods ask for nodes.", WithACluster},
		{"nodes", "deleted", "Nodes that go at once with deleted pools.", WithACluster},
		{"nodes", "rolled", "Nodes that are replaced, that condemned pools give up, or that Karpenter may remove for the change.", WithACluster},
		{"cost", "current", "What the nodes cost in a month, in US dollars.", WithACluster},
		{"cost", "floor", "What all pools cost in a month at least, after the change; null if the price of a node is not known.", Always},
		{"cost", "ceiling", "What all pools cost in a month at most, after the change; null where nothing bounds it, or a price is not known.", Always},
		{Simulated, "unschedulable", "Pods that have a node before the change, and none after it.", WithSimulated},
		{Simulated + ".cost", "before", "What the nodes that the pods get cost in a month before the change, in US dollars.", WithSimulated},
		{Simulated + ".cost", "after", "The same after the change.", WithSimulated},
		{Simulated + ".cost", "delta", "By how much it is more after the change; less than 0 where it is less.", WithSimulated},
	}
}
