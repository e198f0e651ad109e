package schemas

// Rings sets the order in which a revision reaches the clusters of a fleet.
var Rings = Block{
	Type: "rings",
	Doc: "The order in which a revision reaches clusters. A NodePlan applies a revision if each cluster of the " +
		"previous ring has applied the same commit and is ready. The rings are read from the configuration " +
		"before the change, so a change cannot leave its own order. Rings that are the same for several " +
		"directories stand in a module that each of them calls; a directory and its modules can have one rings " +
		"block.",
	Blocks: []Block{{
		Type:   "ring",
		Labels: []string{"name"},
		Path:   "ring",
		Doc:    "Clusters that get a revision at the same time. The rings follow each other in the order of their blocks.",
		Args: []Arg{
			{Name: "clusters", Path: "clusters", Kind: Strings, Required: true, NotNull: true,
				Doc: `The names of the clusters, as in their cluster blocks, such as ["eu-1", "us-1"]. A cluster is ` +
					`in one ring.`},
			{Name: "soak", Path: "soak", Kind: String, NotNull: true, Default: `"0s"`,
				Doc: `How long a revision has to be ready in each cluster of the ring before the next ring gets it, ` +
					`such as "1h". A revision that changes nothing in a cluster does not start the time again.`},
		},
	}},
}
