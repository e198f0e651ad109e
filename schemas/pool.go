package schemas

// Pool is a Karpenter NodePool: https://karpenter.sh/docs/concepts/nodepools/. Enumerations are
// spelled as in Kubernetes and checked by the CRD, so new values of Karpenter need no change here.
var Pool = Block{
	Type:   "pool",
	Labels: []string{"name"},
	Doc:    "A group of similar nodes that scales with pending pods. Compiles to a NodePool.",
	Object: &Object{APIVersion: "karpenter.sh/v1", Kind: "NodePool"},
	Args: []Arg{
		objectName,
		{Name: "node_class", Path: "spec.template.spec.nodeClassRef", Kind: NodeClassRef, Required: true,
			Doc: "The node class of the machines: a reference to a node_class block."},
		{Name: "requirements", Path: "spec.template.spec.requirements", Kind: Requirements, Default: "any plan type",
			Doc: "The plan types and nodes that the pool can use. Keys are short names such as cpu and class, or " +
				"full label keys."},
		{Name: "labels", Path: "spec.template.metadata.labels", Kind: StringMap,
			Doc: "Labels of the nodes. A change replaces the nodes, unless in_place has the key."},
		{Name: "annotations", Path: "spec.template.metadata.annotations", Kind: StringMap,
			Doc: "Annotations of the nodes. A change replaces the nodes, unless in_place has the key."},
		{Name: "in_place", Path: "metadata.annotations[" + AnnotationInPlace + "]", Kind: LabelKeys, Default: "none",
			Doc: "Keys of labels and annotations that change on existing nodes, without replacing them, such as " +
				`["example.com/team"]. lkeplan keeps their values on the nodes as the pool sets them. If a node loses a ` +
				"label that its pods select, the pods keep running, but new pods with this selector cannot start on the node."},
		{Name: "taints", Path: "spec.template.spec.taints", Kind: Taints,
			Doc: `Taints of the nodes, as "key=value:Effect".`},
		{Name: "startup_taints", Path: "spec.template.spec.startupTaints", Kind: Taints,
			Doc: "Taints of a new node that a program in the cluster removes when the node is ready for pods."},
		{Name: "limits", Path: "spec.limits", Kind: Quantities, Keys: nodeResources, Default: "no limit",
			Doc: `The maximum resources of the pool in total, such as { cpu = 400, memory = "1600Gi", nodes = 60 ` +
				`}. Possible keys are cpu, memory, nodes, pods, ephemeral-storage and device resources such as ` +
				`"nvidia.com/gpu".`},
		{Name: "weight", Path: "spec.weight", Kind: Number, Default: "none",
			Doc: "The priority of the pool, 1 to 100. Pools with a higher weight are tried first; pools without " +
				"a weight are tried last."},
		{Name: "replicas", Path: "spec.replicas", Kind: Number, Default: "scales with pods",
			Doc: "A fixed number of nodes. The pool does not scale with pods."},
		{Name: "expire_after", Path: "spec.template.spec.expireAfter", Kind: Duration, Default: "720h",
			Doc: `The age at which a node is drained at any time, regardless of budgets and without a replacement first, or ` +
				`"Never".`},
		{Name: "refresh_after", Path: "metadata.annotations[" + AnnotationRefreshAfter + "]", Kind: Duration, Default: "never",
			Doc: "The age by which a node is replaced within the disruption budgets, the oldest first, each after its " +
				`replacement is ready: "720h". Each node is due in the last tenth of this time, so that nodes which were ` +
				"created together are not due together. A change of the value changes no node by itself; nodes that are older " +
				"are due at once."},
		{Name: "termination_grace_period", Path: "spec.template.spec.terminationGracePeriod", Kind: Duration,
			Default: "no limit", Doc: "How long a node can drain before its pods are removed by force."},
		forEach, enabled, manifest,
	},
	Blocks: []Block{Disruption, Metadata},
}

// Disruption configures when working nodes can be removed.
var Disruption = Block{
	Type: "disruption",
	Path: "spec.disruption",
	Doc:  "When nodes are consolidated to save money, and how many at a time.",
	Args: []Arg{
		{Name: "policy", Path: "consolidationPolicy", Kind: String, Default: "WhenEmptyOrUnderutilized",
			Doc: `Which nodes can be consolidated: "WhenEmpty", "WhenEmptyOrUnderutilized" or "Balanced".`},
		{Name: "consolidate_after", Path: "consolidateAfter", Kind: Duration, Default: "0s",
			Doc: `How long a node must be without new or removed pods before it can be consolidated, or "Never".`},
	},
	Blocks: []Block{Budget},
}

// Budget limits how many nodes are disrupted at the same time.
var Budget = Block{
	Type: "budget",
	Path: "budgets",
	List: true,
	Doc: "The number of nodes that can be disrupted at the same time. If several budgets apply, the smallest " +
		"counts.",
	Args: []Arg{
		{Name: "nodes", Path: "nodes", Kind: String, Numeric: true, Required: true,
			Doc: `A number of nodes, or a percentage of the pool such as "20%".`},
		{Name: "reasons", Path: "reasons", Kind: Tags, Default: "all reasons",
			Doc: `The reasons for disruption to which the budget applies: "Empty", "Drifted", "Underutilized", "Unhealthy".`},
		{Name: "schedule", Path: "schedule", Kind: String, Default: "always",
			Doc: `When the budget starts to apply, in cron notation and UTC, such as "0 13 * * mon-fri". ` +
				`Requires duration.`},
		{Name: "duration", Path: "duration", Kind: Duration,
			Doc: `How long the budget applies from then on, in hours and minutes such as "8h" or "1h30m". ` +
				`Requires schedule.`},
	},
}
