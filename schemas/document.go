package schemas

import (
	"fmt"
	"io/fs"
	"strings"
)

// Lkeplan holds what the directory asks of the tool that reads it.
var Lkeplan = Block{
	Type: "lkeplan",
	Doc:  "Settings for lkeplan itself.",
	Args: []Arg{
		{Name: "required_version", Kind: String,
			Doc: `The versions of lkeplan that may read this directory: "~> 0.3", ">= 0.2, < 1.0".`},
		{Name: "directory", Kind: String, Default: "its path in the repository",
			Doc: "What this directory is called among those of its cluster. Objects that lkeplan apply makes carry it, and no " +
				"other directory changes or prunes them. Give a directory that has been moved the path that it had; it is " +
				"written out, without references. A NodePlan does not read it."},
	},
}

// WrongDirectory says what is wrong with the name of a directory; "" for nothing.
func WrongDirectory(name string) string {
	const most = 200
	fits := name != "" && len(name) <= most && !strings.ContainsFunc(name, notInPath)
	if fits && fs.ValidPath(name) {
		return ""
	}
	return fmt.Sprintf("A directory is called by letters, digits, dots, dashes, underscores and slashes, as a path is, and by "+
		"%d characters at most.", most)
}

func notInPath(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-/", r)
}

// Cluster names the cluster a directory is for; there is one in each root
// directory.
var Cluster = Block{
	Type: "cluster",
	Doc:  "The cluster this directory is for.",
	Args: []Arg{
		{Name: "name", Kind: String, Required: true,
			Doc: "The cluster's label in LKE. In instance mode the CLUSTER_NAME of the controller: at most 34 characters, " +
				"lower-case letters, digits and single dashes."},
		{Name: "mode", Kind: String, OneOf: []string{ModeLKE, ModeInstance}, Default: ModeLKE,
			Doc: `Who makes the machines: "lke", in node pools of LKE, or "instance", the controller itself, as Linodes that ` +
				"join a cluster which you run. It is the --mode of the controller."},
		{Name: "id", Kind: ID, Default: "any cluster of that label", Modes: Modes{NotInstances: "It is a number of LKE's."},
			Doc: "The cluster's id in LKE. A cluster that has been made anew has the same label and another id; with the id, " +
				"it is not taken for the old one."},
		{Name: "region", Kind: String, Required: true, Doc: `The Linode region the cluster is in, such as "us-ord".`},
		{Name: "tier", Kind: String, OneOf: []string{TierStandard, TierEnterprise}, Default: TierStandard,
			Modes: Modes{NotInstances: "Only LKE has tiers."}, Doc: "The tier of LKE."},
		{Name: "gpu_plans", Kind: Bool, Default: "false", Modes: Modes{NotInstances: "Linode sells GPU plans to all who make Linodes."},
			Doc: "Whether nodes are made of GPU plans on LKE Enterprise. Linode's Cloud Manager does not offer them there; set it " +
				"if Linode sells them to you. On the standard tier they are always offered."},
		{Name: "kubernetes_version", Kind: String, Default: "nodes keep the version they have",
			Modes: Modes{NotInstances: "The kubelet is the image's: another version is another image."},
			Doc: `The Kubernetes version of the nodes, where their node class names none: "v1.33.4+lke2" on LKE ` +
				`Enterprise, "1.33" on the standard tier. The control plane itself is not upgraded by it.`},
	},
}

// Variable is an input of the directory.
var Variable = Block{
	Type:   "variable",
	Labels: []string{"name"},
	Doc:    "A value that is given from outside: var.NAME.",
	Args: []Arg{
		{Name: "type", Kind: Type, Default: "any",
			Doc: "The type the value is converted to, such as string, number or map(object({ max_cpu = number }))."},
		{Name: "default", Kind: Any, Doc: "The value where none is given. A variable without a default must be set."},
		{Name: "nullable", Kind: Bool, Default: "true",
			Doc: "Whether null is a value of the variable. Where it is not, null stands for the default."},
		{Name: "description", Kind: String, Doc: "What the variable is for."},
	},
	Blocks: []Block{Validation},
}

// Validation is a rule for the value of a variable.
var Validation = Block{
	Type: "validation",
	List: true,
	Doc:  "A rule the value of the variable must keep.",
	Args: assertion,
}

// Locals names values for use in the same directory. Its arguments are chosen
// by the user, so the table lists none.
var Locals = Block{
	Type: "locals",
	Doc:  "Named values, for use as local.NAME in the same directory.",
	Open: true,
}

// Check is a rule the compiled directory must keep.
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

// Policy is a rule for changes, which are known as plan.
var Policy = Block{
	Type:   "policy",
	Labels: []string{"name"},
	Doc: "A rule for what a change does, such as how many nodes it replaces, by the numbers below. A policy " +
		"that needs a number which is not known is not decided. Without `--simulate`, and for a NodePlan, plan.simulate is " +
		"null: a policy about what is in it refuses, unless it asks for that, as in `plan.simulate == null || " +
		"plan.simulate.cost.delta <= 500`.",
	Args: assertion,
}

var assertion = []Arg{
	{Name: "condition", Kind: Condition, Required: true, Doc: "True where the rule is kept."},
	{Name: "error_message", Kind: Condition, Required: true, Doc: "What to say where it is not: a full sentence."},
}

// TypeOf is the type of the blocks that compile to a kind; the kind where there
// are none.
func TypeOf(kind string) string {
	for _, block := range Document() {
		if block.Object != nil && block.Object.Kind == kind {
			return block.Type
		}
	}
	return kind
}
