package schemas

import (
	"fmt"
	"io/fs"
	"strings"
)

// Lkeplan holds the settings of lkeplan for the directory.
var Lkeplan = Block{
	Type: "lkeplan",
	Doc:  "Settings for lkeplan itself.",
	Args: []Arg{
		{Name: "required_version", Kind: String,
			Doc: `The versions of lkeplan that can read this directory, such as "~> 0.3" or ">= 0.2, < 1.0".`},
		{Name: "directory", Kind: String, Default: "its path in the repository",
			Doc: "The name of this directory among the directories of its cluster. Objects that `lkeplan apply` " +
				"creates are labelled with it and with the first commit of the repository, and no other directory " +
				"changes or prunes them. If you move a directory, set this to its previous path; if you move it to " +
				"another repository, to its previous name, such as `clusters/prod@1f2c3d4a5b6c`. The value must be " +
				"literal, without references. A NodePlan ignores it."},
	},
}

// WrongDirectory returns what is wrong with the name of a directory; "" if it is valid.
func WrongDirectory(name string) string {
	const most = 200
	fits := name != "" && len(name) <= most && !strings.ContainsFunc(name, notInPath)
	if fits && fs.ValidPath(name) {
		return ""
	}
	return fmt.Sprintf("The name of a directory is a path of letters, digits, dots, dashes, underscores, at signs and "+
		"slashes, with at most %d characters.", most)
}

func notInPath(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-/@", r)
}

// Cluster names the cluster of a directory. Each root directory has one.
var Cluster = Block{
	Type: "cluster",
	Doc:  "The cluster that this directory configures.",
	Args: []Arg{
		{Name: "name", Kind: String, Required: true,
			Doc: "The cluster's label in LKE. In instance mode, the controller's CLUSTER_NAME: at most 34 " +
				"characters, with lower-case letters, digits and single dashes."},
		{Name: "mode", Kind: String, OneOf: []string{ModeLKE, ModeInstance}, Default: ModeLKE,
			Doc: `How nodes are created: "lke" creates them in node pools of LKE; "instance" creates Linodes ` +
				`that join a cluster that you run. It must match the controller's --mode.`},
		{Name: "id", Kind: ID, Default: "any cluster with that label", Modes: Modes{NotInstances: "It is an id in LKE."},
			Doc: "The cluster's id in LKE. If a cluster is recreated with the same label, the new cluster has " +
				"another id, so it is not mistaken for the old one."},
		{Name: "region", Kind: String, Required: true, Doc: `The Linode region of the cluster, such as "us-ord".`},
		{Name: "tier", Kind: String, OneOf: []string{TierStandard, TierEnterprise}, Default: TierStandard,
			Modes: Modes{NotInstances: "Only LKE has tiers."}, Doc: `The LKE tier: "standard" or "enterprise".`},
		{Name: "gpu_plans", Kind: Bool, Default: "false", Modes: Modes{NotInstances: "Linode sells GPU plans to " +
			"all who create Linodes."},
			Doc: "Whether nodes can use GPU plan types on LKE Enterprise. The Linode Cloud Manager does not offer " +
				"them there. Set gpu_plans to true if Linode sells them to you. On the standard tier, GPU plan types " +
				"are always offered."},
		{Name: "kubernetes_version", Kind: String, Default: "nodes keep their current version",
			Modes: Modes{NotInstances: "The image contains the kubelet: to change the version, change the image."},
			Doc: `The Kubernetes version of nodes whose node class sets none: "v1.33.4+lke2" on LKE Enterprise, ` +
				`"1.33" on the standard tier. It does not upgrade the control plane.`},
	},
}

// Variable is an input of the directory.
var Variable = Block{
	Type:   "variable",
	Labels: []string{"name"},
	Doc:    "An input of the directory, available as var.NAME.",
	Args: []Arg{
		{Name: "type", Kind: Type, Default: "any",
			Doc: "The type that the value is converted to, such as string, number or map(object({ max_cpu = " +
				"number }))."},
		{Name: "default", Kind: Any, Doc: "The value if none is set. A variable without a default must be set."},
		{Name: "nullable", Kind: Bool, Default: "true",
			Doc: "Whether the variable can be null. If not, null stands for the default."},
		{Name: "description", Kind: String, Doc: "What the variable is for."},
	},
	Blocks: []Block{Validation},
}

// Validation is a rule for the value of a variable.
var Validation = Block{
	Type: "validation",
	List: true,
	Doc:  "A rule that the value of the variable must satisfy.",
	Args: assertion,
}

// Locals names values for use in the same directory. The user chooses the arguments, so the table
// lists none.
var Locals = Block{
	Type: "locals",
	Doc:  "Named values, available as local.NAME in the same directory.",
	Open: true,
}

// Check is a rule that the compiled directory must satisfy.
var Check = Block{
	Type:   "check",
	Labels: []string{"name"},
	Doc:    "Rules for the compiled directory as a whole.",
	Blocks: []Block{{
		Type: "assert",
		List: true,
		Doc:  "One rule.",
		Args: assertion,
	}},
}

// Policy is a rule for changes. Its expressions refer to the change as plan.
var Policy = Block{
	Type:   "policy",
	Labels: []string{"name"},
	Doc: "A rule for changes, such as how many nodes a change may replace, based on the values below. If a value " +
		"that the policy needs is not known, the policy is not evaluated. Without `--simulate`, and for a " +
		"NodePlan, plan.simulate is null, and a policy that reads its attributes refuses the change. To allow " +
		"such changes, test for null: `plan.simulate == null || plan.simulate.cost.delta <= 500`.",
	Args: assertion,
}

var assertion = []Arg{
	{Name: "condition", Kind: Condition, Required: true, Doc: "An expression that is true if the rule is satisfied."},
	{Name: "error_message", Kind: Condition, Required: true, Doc: "The message if the rule is not satisfied: a " +
		"full sentence."},
}

// TypeOf returns the type of the blocks that compile to a kind; the kind itself if there are none.
func TypeOf(kind string) string {
	for _, block := range Document() {
		if block.Object != nil && block.Object.Kind == kind {
			return block.Type
		}
	}
	return kind
}
