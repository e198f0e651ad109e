package schemas

// How a pool goes that is no longer declared.
const (
	PruneGracefully = "graceful" // it is deleted when it has given up its nodes
	PruneNow        = "now"      // it is deleted with its nodes
)

// What guards do about a number of nodes that is not known.
const (
	AllowUnknown  = "allow"
	RefuseUnknown = "refuse"
)

// Paces are the values of the arguments prune.
func Paces() []string { return []string{PruneGracefully, PruneNow} }

// Guards bounds what one change may do.
var Guards = Block{
	Type: "guards",
	Doc: "Bounds for what one change may do. They are read from the state before the change, so that a change " +
		"cannot lift them for itself; " +
		"a change beyond them is refused until somebody allows it by name.",
	Args: []Arg{
		{Name: "protected", Path: "protected", Kind: PoolRefs, NotNull: true, Default: "none",
			Doc: `Pools that are not deleted, such as [pool.general, pool.team["ml"]].`},
		{Name: "max_deleted_pools", Path: "max_deleted_pools", Kind: Number, NotNull: true, Default: "1",
			Doc: "The largest number of pools that a change deletes."},
		{Name: "max_deleted_nodes", Path: "max_deleted_nodes", Kind: String, NotNull: true, Default: "0",
			Doc: `The most nodes that go at once with deleted pools: a number, or a share of all nodes such as "10%". ` +
				"Nodes of pools that go gracefully are not among them."},
		{Name: "max_rolled_nodes", Path: "max_rolled_nodes", Kind: String, NotNull: true, Default: "no limit",
			Doc: "The most nodes that a change replaces, has pools give up, or may have Karpenter remove: a number, or a " +
				`share of all nodes such as "50%". All nodes of a pool count if the change loosens its disruption: a policy ` +
				"that allows more, a shorter consolidate_after, budgets that are not shown to be as strict at every time, " +
				"or requirements that allow more while under-utilized nodes are consolidated. So do those of the pools that " +
				"an overlay, another order of weights or a smaller buffer may affect."},
		{Name: "max_unschedulable_pods", Path: "max_unschedulable_pods", Kind: Number, NotNull: true, Default: "0",
			Doc: "The most pods that get no node any more, of those that diff, plan or apply simulates with --simulate. " +
				"A NodePlan simulates none, and so is not bound by it."},
		{Name: "prune", Path: "prune", Kind: String, NotNull: true, OneOf: Paces(), Default: "graceful",
			Doc: `How a pool goes whose block is gone: "graceful" or "now". A graceful one makes no new nodes, gives up ` +
				"those that it has within its own budgets, and is deleted when it has none left; until then a revert keeps " +
				"what is left of it. With now it is deleted with its nodes, past its budgets."},
		{Name: "unknown", Path: "unknown", Kind: String, NotNull: true,
			OneOf: []string{AllowUnknown, RefuseUnknown}, Default: AllowUnknown,
			Doc: "What a guard or a policy does that is about a number of nodes if no cluster is asked, so that they are " +
				`not counted: with "allow" it warns that it was not checked, and with "refuse" it refuses the change. A guard ` +
				"that allows no node refuses it in any case. A pull request may have no access to a cluster; an apply and a " +
				"NodePlan always count."},
		{Name: "allow_empty", Path: "allow_empty", Kind: Bool, NotNull: true, Default: "false",
			Doc: "Whether a change may leave nothing in the directory that compiles to an object."},
	},
	Blocks: []Block{{
		Type:   "freeze",
		Labels: []string{"name"},
		Path:   "freeze",
		Doc:    "A recurring time in which no change replaces or deletes nodes, or lets Karpenter remove more of them.",
		Args: []Arg{
			{Name: "schedule", Path: "schedule", Kind: String, Required: true,
				Doc: `When it begins, in cron notation and UTC: "0 16 * * fri".`},
			{Name: "duration", Path: "duration", Kind: Duration, Required: true,
				Doc: `How long it lasts, such as "64h".`},
			{Name: "reason", Path: "reason", Kind: String, Doc: "Why changes have to wait, for their authors."},
		},
	}, {
		Type:   "window",
		Labels: []string{"name"},
		Path:   "window",
		Doc: "A recurring time in which changes may replace or delete nodes, or let Karpenter remove more of them. Where there are windows, such a change waits " +
			"for the next of them outside of freezes, and a NodePlan applies it then by itself. What a change has begun " +
			"goes on within the budgets of its pools.",
		Args: []Arg{
			{Name: "schedule", Path: "schedule", Kind: String, Required: true,
				Doc: `When it begins, in cron notation and UTC: "0 22 * * mon-thu".`},
			{Name: "duration", Path: "duration", Kind: Duration, Required: true,
				Doc: `How long it lasts, such as "6h".`},
			{Name: "reason", Path: "reason", Kind: String, Doc: "Why changes have to wait, for their authors."},
		},
	}},
}
