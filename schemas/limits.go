package schemas

// Limits caps several pools together, in addition to the limits of each pool.
var Limits = Block{
	Type:   "limits",
	Labels: []string{"name"},
	Doc:    "A limit on the nodes, resources or cost of several pools together. Compiles to a CapacityLimit.",
	Object: &Object{APIVersion: "lkeplan.dev/v1alpha1", Kind: "CapacityLimit"},
	Args: []Arg{
		objectName,
		{Name: "pools", Path: "spec.nodePools", Kind: PoolRefs, Default: "all pools of the cluster",
			Doc: `The pools that the limit is for, such as [pool.general, pool.team["ml"]].`},
		{Name: "nodes", Path: "spec.nodes", Kind: Number, Default: "no limit", Doc: "The maximum number of nodes."},
		{Name: "cpu", Path: "spec.cpu", Kind: Quantity, Default: "no limit", Doc: "The maximum number of CPUs in " +
			"total."},
		{Name: "memory", Path: "spec.memory", Kind: Quantity, Default: "no limit",
			Doc: `The maximum memory in total, such as "512Gi".`},
		{Name: "monthly_cost", Path: "spec.monthlyCost", Kind: Money, Default: "no limit",
			Doc: "The maximum monthly cost of the nodes, in US dollars, at Linode's list prices for the region."},
		forEach, enabled, manifest,
	},
	Blocks: []Block{Metadata},
}
