package schemas

// Rings sets the order in which a revision reaches the clusters of a fleet.
var Rings = Block{
	Type: "rings",
	Doc: "The order in which groups of clusters (rings) get a revision. A NodePlan applies a revision after each " +
		"cluster of the previous ring has applied the same commit, and its objects were ready for the soak time. The " +
		"rings are read from the configuration before the change, so a change cannot change its own order. If " +
		"several directories have the same rings, put the rings block into a module that each of them calls. A " +
		"directory and its modules can have only one rings block.",
	Blocks: []Block{{
		Type:   "ring",
		Labels: []string{"name"},
		Path:   "ring",
		Doc:    "Clusters that get a revision at the same time. Rings get a revision in the order of their blocks.",
		Args: []Arg{
			{Name: "clusters", Path: "clusters", Kind: Strings, Required: true, NotNull: true,
				Doc: `The names of the clusters, as in their cluster blocks, such as ["eu-1", "us-1"]. A cluster can ` +
					"be in only one ring."},
			{Name: "soak", Path: "soak", Kind: String, NotNull: true, Default: `"0s"`,
				Doc: "The soak time: how long the objects of a revision must be ready in each cluster of the ring before " +
					`the next ring gets the revision, such as "1h". If a revision changes no object in a cluster, the time ` +
					"continues."},
		},
	}},
}
