package schemas

// How a pool is removed that is no longer declared.
const (
	PruneGracefully = "graceful" // its nodes drain, then it is deleted
	PruneNow        = "now"      // it is deleted together with its nodes
)

// What guards do if a number of nodes is not known.
const (
	AllowUnknown  = "allow"
	RefuseUnknown = "refuse"
)

// Paces are the values of the prune arguments.
func Paces() []string { return []string{PruneGracefully, PruneNow} }

// Guards limits what one change can do.
var Guards = Block{
	Type: "guards",
	Doc: "Limits for one change. They are read from the configuration before the change, so a change cannot disable " +
		"the guards that check it. A change that exceeds a limit is refused until a user allows it by the name of " +
		"the guard.",
	Args: []Arg{
		{Name: "protected", Path: "protected", Kind: PoolRefs, NotNull: true, Default: "none",
			Doc: `Pools that must not be deleted, such as [pool.general, pool.team["ml"]].`},
		{Name: "max_deleted_pools", Path: "max_deleted_pools", Kind: Number, NotNull: true, Default: "1",
			Doc: "The maximum number of pools that a change can delete."},
		{Name: "max_deleted_nodes", Path: "max_deleted_nodes", Kind: String, Numeric: true, NotNull: true, Default: "0",
			Doc: `The maximum number of nodes that are deleted immediately, together with their pools: a number, ` +
				`or a percentage of all nodes such as "10%". Nodes of draining pools do not count.`},
		{Name: "max_rolled_nodes", Path: "max_rolled_nodes", Kind: String, Numeric: true, NotNull: true, Default: "no limit",
			Doc: `The maximum number of nodes that a change replaces, drains with a removed pool, or lets ` +
				`Karpenter remove: a number, or a percentage of all nodes such as "50%". All nodes of a pool ` +
				`count if the change loosens its disruption settings: a more permissive policy, a shorter ` +
				`consolidate_after, budgets that are not provably as strict at all times, or wider requirements ` +
				`while underutilized nodes are consolidated. All nodes of a pool also count if it may be ` +
				`affected by an overlay, by another order of weights, by a smaller buffer, or by a change of its node ` +
				`class: a more permissive consolidation, or an earlier replace_before_maintenance. If the base does not ` +
				`declare a node class that its pools use, the class is compared with the class in the cluster. If ` +
				`that class is unknown, the number of nodes is unknown, too.`},
		{Name: "max_unschedulable_pods", Path: "max_unschedulable_pods", Kind: Number, NotNull: true, Default: "0",
			Doc: "The maximum number of pods that have a node before the change, and get no node after it. It is checked " +
				"by `diff`, `plan` and `apply` with `--simulate`. A NodePlan simulates no pods and does not " +
				"check it."},
		{Name: "prune", Path: "prune", Kind: String, NotNull: true, OneOf: Paces(), Default: "graceful",
			Doc: `How a pool is removed when its block is deleted. With "graceful", the pool is draining: it ` +
				`gets no new nodes, its nodes drain within its disruption budgets, and then it is deleted. Until ` +
				`then, a revert keeps the remaining nodes. With "now", it is deleted immediately together with ` +
				`its nodes, regardless of its budgets.`},
		{Name: "unknown", Path: "unknown", Kind: String, NotNull: true,
			OneOf: []string{AllowUnknown, RefuseUnknown}, Default: AllowUnknown,
			Doc: "What guards and policies about a number of nodes do if no cluster is read, so that nodes " +
				"cannot be counted: \"allow\" prints a warning that the guard was not checked, \"refuse\" " +
				"refuses the change. A guard that allows no nodes refuses in both cases. `apply` and a NodePlan " +
				"always count nodes; a pull request may have no access to a cluster."},
		{Name: "allow_empty", Path: "allow_empty", Kind: Bool, NotNull: true, Default: "false",
			Doc: "Whether a change can remove all objects from the directory."},
	},
	Blocks: []Block{{
		Type:   "freeze",
		Labels: []string{"name"},
		Path:   "freeze",
		Doc: "A recurring period in which no change may replace or delete nodes, or let Karpenter remove more " +
			"nodes. Such a change waits until no freeze is active; a NodePlan then applies it automatically.",
		Args: []Arg{
			{Name: "schedule", Path: "schedule", Kind: String, Required: true,
				Doc: `When the period starts, in cron notation and UTC, such as "0 16 * * fri".`},
			{Name: "duration", Path: "duration", Kind: Duration, Required: true,
				Doc: `How long the period lasts, such as "64h".`},
			{Name: "reason", Path: "reason", Kind: String, Doc: "Why changes have to wait. It is shown to their " +
				"authors."},
		},
	}, {
		Type:   "window",
		Labels: []string{"name"},
		Path:   "window",
		Doc: "A recurring period in which changes may replace or delete nodes, or let Karpenter remove more " +
			"nodes. If there are windows, such a change waits for the next window that is not in a freeze; a " +
			"NodePlan then applies it automatically. A change that has started continues within the disruption " +
			"budgets of its pools.",
		Args: []Arg{
			{Name: "schedule", Path: "schedule", Kind: String, Required: true,
				Doc: `When the period starts, in cron notation and UTC, such as "0 22 * * mon-thu".`},
			{Name: "duration", Path: "duration", Kind: Duration, Required: true,
				Doc: `How long the period lasts, such as "6h".`},
			{Name: "reason", Path: "reason", Kind: String, Doc: "Why changes have to wait. It is shown to their " +
				"authors."},
		},
	}},
}
