package schemas

import "strings"

// TestSuffix is how the names of files of tests end.
const TestSuffix = ".lketest.hcl"

// Run is one test of a directory, in a file of tests next to its files.
var Run = Block{
	Type:   "run",
	Labels: []string{"name"},
	Doc: "One test: the directory is compiled with some variables, and assertions hold of what comes out. All arguments " +
		"are written out. Variables have the values that the directory and the command line give them, where the run " +
		"gives no other.",
	Args: []Arg{
		{Name: "pods", Kind: Strings, Default: "none",
			Doc: `Pods that are simulated, as after --pods: ["200x1cpu,2Gi"].`},
		{Name: "workloads", Kind: Strings, Default: "none",
			Doc: "Manifests whose pods are simulated: files, or directories of them, as paths from this directory. What may have " +
				"pods and cannot be read is an error."},
		{Name: "lke_daemonsets", Kind: Bool, Default: "true",
			Doc: "Whether LKE's own DaemonSets count with `pods` and `workloads`, as they were seen on the standard tier in " +
				"November 2026 (`calico-node` requests 250m of CPU on each node, others nothing), unless the manifests have " +
				"them. Those of the enterprise tier are not known."},
		{Name: "base", Kind: String, Default: "nothing is compared",
			Doc: `What the directory is compared with, as it is before a change: "git:REF", or "dir:PATH" from this ` +
				"directory. Nodes are counted among those of the snapshot, or else those that the pods have before the change."},
		{Name: "snapshot", Kind: String, Default: "no nodes are counted",
			Doc: "A file of `lkeplan snapshot` below the root of the repository, as a path from this directory. A change is " +
				"compared on its nodes, and its pods are simulated where no others are given."},
		{Name: "at", Kind: String, Default: "when the snapshot was taken, or else freezes and windows are not judged",
			Doc: `The moment for which freezes, windows and budgets are judged, such as "2026-11-20T17:00:00Z".`},
		{Name: "expect_error", Kind: String, Default: "the directory compiles",
			Doc: "A part of the message with which the directory must not compile. Such a run has no assertions."},
	},
	Blocks: []Block{{
		Type: "variables",
		Open: true,
		Doc:  "Values of variables. They are stronger than all others.",
	}, {
		Type: "assert",
		List: true,
		Doc: "What must be true. A condition can refer to all that the directory can, and to the values below. What is " +
			"unknown or null fails the run.",
		Args: assertion,
	}},
}

// A TestValue is what assertions know besides the names of the directory.
type TestValue struct {
	Name string // as it is written
	When string // what the run must have; "" for nothing
	Doc  string
}

// TestValues are all that assertions know besides the names of the directory.
func TestValues() []TestValue {
	const (
		pods  = "`pods`, `workloads` or `snapshot`"
		base  = "`base`"
		nodes = "`base`, and one of `snapshot`, `pods` and `workloads`"
		rolls = nodes + " where a pool rolls"
	)
	values := []TestValue{
		{"objects", "", "The compiled objects with their defaults, by address: `objects[\"pool.web\"].spec.weight`."},
		{"cost.floor", "", "What all pools cost in a month at least, in US dollars; null if the price of a node is not known."},
		{"cost.ceiling", "", "What all pools cost in a month at most; null, which fails the run, where nothing bounds it, or a price is not known."},
		{"simulate.nodes", pods, "The nodes that the pods get, those of static pools among them."},
		{"simulate.pods", pods, "The pods that were simulated."},
		{"simulate.placed", pods, "Those that get a node."},
		{"simulate.unschedulable", pods, "Those that get none."},
		{"simulate.cost", pods, "What the nodes cost in a month, in US dollars."},
		{"simulate.hourly", pods, "What they cost in an hour."},
		{"simulate.plans", pods, "The nodes by plan type: `lookup(simulate.plans, \"g6-standard-8\", 0)`."},
		{"simulate.pools", pods, "`nodes`, `pods` and `cost` of each pool by its name in the cluster, such as " +
			"`simulate.pools.web.nodes`."},
		{"simulate.refused", pods, "`workload`, `pods` and `reasons` of the pods without a node, as a list."},
		{"plan.pools.rolled", base, "The addresses of the pools whose nodes are replaced, all or some; those of pools " +
			"whose nodes go at once are `plan.pools.deleted`, and of those that give up their nodes " +
			"`plan.pools.condemned`."},
		{"plan.actions", base, "What happens to each object that changes, by address: `create`, `update`, `delete`, " +
			"`forget`, or `no-op` for one that only moved."},
		{"plan.refused_by", base, "The guards and policies that refuse the change or have it wait, such as " +
			"`max_deleted_pools` or `policy.NAME`, as a list. It is not known where one of them would have to count nodes."},
	}
	for _, a := range PlanAttributes() {
		if strings.HasPrefix(a.Group, Simulated) {
			continue // a run has its own simulation
		}
		when := base
		if a.Known == WithACluster {
			when = nodes
		}
		if a.Group == "nodes" && a.Name != "total" {
			when = rolls
		}
		values = append(values, TestValue{"plan." + a.Group + "." + a.Name, when, a.Doc})
	}
	return values
}
