package schemas

// Pool is a Karpenter NodePool: https://karpenter.sh/docs/concepts/nodepools/.
// Enumerations are spelled as Kubernetes spells them and checked by the CRD,
// so that a value new in Karpenter needs no change here.
var Pool = Block{
	Type:   "pool",
	Labels: []string{"name"},
	Doc:    "Nodes of one kind, made as pods ask for them. Compiles to a NodePool.",
	Object: &Object{APIVersion: "karpenter.sh/v1", Kind: "NodePool"},
	Args: []Arg{
		objectName,
		{Name: "node_class", Path: "spec.template.spec.nodeClassRef", Kind: NodeClassRef, Required: true,
			Doc: "How the machines are set up: a reference to a node_class block."},
		{Name: "requirements", Path: "spec.template.spec.requirements", Kind: Requirements, Default: "any plan",
			Doc: "Which plans and nodes the pool may use, by short names such as cpu and class or by label keys."},
		{Name: "labels", Path: "spec.template.metadata.labels", Kind: StringMap,
			Doc: "Labels of the nodes. A change replaces the nodes."},
		{Name: "annotations", Path: "spec.template.metadata.annotations", Kind: StringMap,
			Doc: "Annotations of the nodes. A change replaces the nodes."},
		{Name: "taints", Path: "spec.template.spec.taints", Kind: Taints,
			Doc: `Taints of the nodes, as "key=value:Effect".`},
		{Name: "startup_taints", Path: "spec.template.spec.startupTaints", Kind: Taints,
			Doc: "Taints of a new node that something in the cluster removes once the node is ready for pods."},
		{Name: "limits", Path: "spec.limits", Kind: Quantities, Keys: nodeResources, Default: "no limit",
			Doc: "What the pool may hold in sum, such as { cpu = 400, memory = \"1600Gi\", nodes = 60 }. A resource is " +
				"cpu, memory, nodes, pods, ephemeral-storage or one of a device, such as \"nvidia.com/gpu\"."},
		{Name: "weight", Path: "spec.weight", Kind: Number, Default: "none",
			Doc: "Pools with more weight are tried first, 1 to 100; those without one come last."},
		{Name: "replicas", Path: "spec.replicas", Kind: Number, Default: "as many as pods ask for",
			Doc: "A fixed number of nodes, whatever the pods ask for."},
		{Name: "expire_after", Path: "spec.template.spec.expireAfter", Kind: Duration, Default: "720h",
			Doc: `The age at which a node is replaced, or "Never".`},
		{Name: "termination_grace_period", Path: "spec.template.spec.terminationGracePeriod", Kind: Duration,
			Default: "no limit", Doc: "How long a node may take to drain before its pods are removed by force."},
		forEach, enabled, manifest,
	},
	Blocks: []Block{Disruption, Metadata},
}

// Disruption says when nodes may be removed although they still work.
var Disruption = Block{
	Type: "disruption",
	Path: "spec.disruption",
	Doc:  "When nodes are merged, replaced or removed to save money, and how many at a time.",
	Args: []Arg{
		{Name: "policy", Path: "consolidationPolicy", Kind: String, Default: "WhenEmptyOrUnderutilized",
			Doc: `Which nodes are candidates: "WhenEmpty", "WhenEmptyOrUnderutilized" or "Balanced".`},
		{Name: "consolidate_after", Path: "consolidateAfter", Kind: Duration, Required: true,
			Doc: `How long a node must have been without a pod coming or going before it is a candidate, or "Never".`},
	},
	Blocks: []Block{Budget},
}

// Budget caps how many nodes are disrupted at the same time.
var Budget = Block{
	Type: "budget",
	Path: "budgets",
	List: true,
	Doc:  "How many nodes may be disrupted at once. Where several apply, the smallest counts.",
	Args: []Arg{
		{Name: "nodes", Path: "nodes", Kind: String, Required: true,
			Doc: `A number of nodes, or a share of the pool such as "20%".`},
		{Name: "reasons", Path: "reasons", Kind: Tags, Default: "all reasons",
			Doc: `The reasons the budget is for: "Empty", "Drifted", "Underutilized".`},
		{Name: "schedule", Path: "schedule", Kind: String, Default: "always",
			Doc: `When the budget begins to apply, in cron notation and UTC: "0 13 * * mon-fri".`},
		{Name: "duration", Path: "duration", Kind: Duration,
			Doc: "For how long it applies from then on. Goes with schedule."},
	},
}
