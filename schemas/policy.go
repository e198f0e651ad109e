package schemas

// A PlanAttribute is a number that policies know of a change: plan.GROUP.NAME.
type PlanAttribute struct {
	Group, Name string
	Doc         string
	Cluster     bool // known only where a cluster is compared with
}

// PlanAttributes are all that policies know of a change.
func PlanAttributes() []PlanAttribute {
	return []PlanAttribute{
		{"objects", "created", "Objects that are created.", false},
		{"objects", "changed", "Objects that change.", false},
		{"objects", "deleted", "Objects that are deleted.", false},
		{"nodes", "total", "Nodes that there are.", true},
		{"nodes", "created", "Nodes that are created for the change; 0, as pods ask for nodes.", true},
		{"nodes", "deleted", "Nodes that go at once with deleted pools.", true},
		{"nodes", "rolled", "Nodes that are replaced, or that condemned pools give up.", true},
		{"cost", "current", "What the nodes cost in a month, in US dollars.", true},
		{"cost", "floor", "What all pools cost in a month at least, after the change.", false},
		{"cost", "ceiling", "What all pools cost in a month at most, after the change; null where nothing bounds it.", false},
	}
}
