package schemas

// Limits caps several pools together, besides the limits of each pool.
var Limits = Block{
	Type:   "limits",
	Labels: []string{"name"},
	Doc: "A cap on several pools together: on their nodes, their resources or their cost. Compiles to a " +
		"CapacityLimit.",
	Object: &Object{APIVersion: "lkeplan.dev/v1alpha1", Kind: "CapacityLimit"},
	Args: []Arg{
		objectName,
		{Name: "pools", Path: "spec.nodePools", Kind: PoolRefs, Default: "all pools of the cluster",
			Doc: `The pools whose nodes count, such as [pool.general, pool.team["ml"]].`},
		{Name: "nodes", Path: "spec.nodes", Kind: Number, Default: "no limit", Doc: "The largest number of nodes."},
		{Name: "cpu", Path: "spec.cpu", Kind: Quantity, Default: "no limit", Doc: "The largest number of CPUs in sum."},
		{Name: "memory", Path: "spec.memory", Kind: Quantity, Default: "no limit",
			Doc: `The most memory in sum, such as "512Gi".`},
		{Name: "monthly_cost", Path: "spec.monthlyCost", Kind: Money, Default: "no limit",
			Doc: "The most that the nodes may cost in a month, in US dollars at Linode's list prices for the region."},
		forEach, enabled, manifest,
	},
	Blocks: []Block{Metadata},
}
