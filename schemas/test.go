package schemas

import "strings"

// TestSuffix is the suffix of the names of test files.
const TestSuffix = ".lketest.hcl"

// Run is one test of a directory, in a test file in the same directory.
var Run = Block{
	Type:   "run",
	Labels: []string{"name"},
	Doc: "One test. It compiles the directory with the given variables and evaluates assertions about the " +
		"result. Arguments must be literal. Variables that the run does not set have the values of the directory " +
		"and the command line.",
	Args: []Arg{
		{Name: "pods", Kind: Strings, Default: "none",
			Doc: "Pods to simulate, in the syntax of `--pods`: [\"200x1cpu,2Gi\"]."},
		{Name: "workloads", Kind: Strings, Default: "none",
			Doc: "Manifests with pods to simulate: files or directories, as paths relative to this directory. A " +
				"file that may contain pods and cannot be read is an error."},
		{Name: "lke_daemonsets", Kind: Bool, Default: "true",
			Doc: "Whether pods of LKE's own DaemonSets are added to `pods` and `workloads`, unless the manifests " +
				"contain them. They are as observed on the standard tier in November 2026: `calico-node` " +
				"requests 250m of CPU on each node, the others nothing. Those of the Enterprise tier are not known."},
		{Name: "base", Kind: String, Default: "no comparison",
			Doc: `The state before the change: "git:REF", or "dir:PATH" relative to this directory. The nodes ` +
				`that it affects are those of the snapshot, or else those that the pods get before the change.`},
		{Name: "snapshot", Kind: String, Default: "nodes are not counted",
			Doc: "The path of a file of `lkeplan snapshot`, relative to this directory and inside the " +
				"repository. The change is evaluated for its nodes. Its pods are simulated if the run sets no " +
				"others."},
		{Name: "at", Kind: String, Default: "the time of the snapshot; without one, freezes and windows are not " +
			"evaluated",
			Doc: `The time at which freezes, windows and budgets are evaluated, such as "2026-11-20T17:00:00Z".`},
		{Name: "expect_error", Kind: String, Default: "the directory compiles",
			Doc: "A part of the error with which compiling the directory must fail. Such a run has no assertions."},
	},
	Blocks: []Block{{
		Type: "variables",
		Open: true,
		Doc:  "Values of variables. They take precedence over all others.",
	}, Assert},
}

// Assert is an assertion of a run.
var Assert = Block{
	Type: "assert",
	List: true,
	Doc: "A condition that must be true. It can refer to everything that the directory can, and to the " +
		"values below. An unknown value or null fails the run.",
	Args: assertion,
}

// A TestValue is a name that assertions can use in addition to the names of the directory.
type TestValue struct {
	Name string // as it is written
	When string // what the run must set; "" for nothing
	Doc  string
}

// TestValues returns all names that assertions can use in addition to the names of the directory.
func TestValues() []TestValue {
	const (
		pods  = "`pods`, `workloads` or `snapshot`"
		base  = "`base`"
		nodes = "`base`, and one of `snapshot`, `pods` and `workloads`"
		rolls = nodes + " if the nodes of a pool are replaced"
	)
	values := []TestValue{
		{"objects", "", "The compiled objects with their defaults, by address: `objects[\"pool.web\"].spec.weight`."},
		{"cost.floor", "", "The minimum monthly cost of all pools, in US dollars; null if the price of a node is " +
			"not known."},
		{"cost.ceiling", "", "The maximum monthly cost of all pools, in US dollars; null, which fails the run, " +
			"if it has no limit or a price is not known."},
		{"simulate.nodes", pods, "The number of nodes that the pods get, including nodes of pools with replicas."},
		{"simulate.pods", pods, "The number of simulated pods."},
		{"simulate.placed", pods, "The number of pods that get a node."},
		{"simulate.unschedulable", pods, "The number of pods that get no node."},
		{"simulate.cost", pods, "The monthly cost of the nodes, in US dollars."},
		{"simulate.hourly", pods, "The hourly cost of the nodes, in US dollars."},
		{"simulate.plans", pods, "The number of nodes by plan type: `lookup(simulate.plans, \"g6-standard-8\", 0)`."},
		{"simulate.pools", pods, "`nodes`, `pods` and `cost` of each pool, by its name in the cluster, such as " +
			"`simulate.pools.web.nodes`."},
		{"simulate.refused", pods, "`workload`, `pods` and `reasons` of the pods without a node, as a list."},
		{"plan.pools.rolled", base, "The addresses of the pools whose nodes are replaced. Pools whose nodes are " +
			"deleted immediately are in `plan.pools.deleted`, and draining pools in `plan.pools.condemned`."},
		{"plan.actions", base, "What happens to each changed object, by address: `create`, `update`, `delete`, " +
			"`forget`, or `no-op` for an object that only moved."},
		{"plan.refused_by", base, "A list of the guards and policies that refuse or delay the change, such as " +
			"`max_deleted_pools` or `policy.NAME`. It is unknown if one of them would have to count nodes."},
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
