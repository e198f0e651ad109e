package load

import (
	"regexp"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/schemas"
)

// advice is for blocks that people who know Terraform try first, and for which
// there is another way here.
var advice = []struct {
	block schemas.Block
	text  string
}{
	{schemas.Block{Type: "resource", Labels: []string{"type", "name"}},
		`Pools and node classes have blocks of their own: pool "NAME" { } and node_class "NAME" { }.`},
	{schemas.Block{Type: "provider", Labels: []string{"name"}},
		"There are no providers: objects are applied to the cluster that kubectl would talk to."},
	{schemas.Block{Type: "terraform"},
		"Settings of the tool are in the lkeplan block, as in lkeplan { required_version = \"~> 0.3\" }."},
	{schemas.Block{Type: "data", Labels: []string{"type", "name"}},
		"Nothing is looked up while compiling, so that a commit always compiles to the same objects. Pass the " +
			"value in as a variable."},
	{schemas.Block{Type: "output", Labels: []string{"name"}},
		"The pools and node classes of a module are its outputs, as in module.NAME.pool.NAME. A value for use in " +
			"the same directory is a local."},
}

// inside is what to write instead of arguments and blocks that people try inside of
// blocks.
var inside = map[string]string{
	"count": "There is no count. Repeat the block with for_each, or leave it out with enabled.",
	"lifecycle": "There is no lifecycle. What must not be deleted is named in guards { protected = [pool.NAME] }; " +
		"an argument that is left out is for others to set.",
	"depends_on":  "There is no depends_on. Node classes are applied before the pools that refer to them.",
	"sensitive":   "There is no sensitive. A configuration holds no secrets, and a plan shows all of it.",
	"ephemeral":   "There is no ephemeral. A configuration holds no secrets, and a plan shows all of it.",
	"provider":    "There are no providers: objects are applied to the cluster that kubectl would talk to.",
	"providers":   "There are no providers: objects are applied to the cluster that kubectl would talk to.",
	"provisioner": "Nothing is run on nodes. What a node is set up with is said in its node_class.",
	"taint":       "Taints are one argument: taints = [\"team=web:NoSchedule\"].",
	"requirement": "Requirements are one argument: requirements = { arch = \"amd64\", cpu = lte(16) }.",
	"label":       "Labels are one argument: labels = { team = \"web\" }.",
	"kubelet":     "The kubelet is set up in the node_class of the pool.",
	"min_size":    "Pools grow as pods ask for it, up to limits. A fixed number of nodes is replicas.",
	"max_size":    "The most that a pool grows to is limits = { nodes = 10 }.",
	"autoscaler":  "Pools grow as pods ask for it. The most that a pool grows to is limits = { nodes = 10 }.",
}

var unsupported = regexp.MustCompile(`^(?:An argument named|Blocks of type) "([^"]*)"`)

// Advise says in diagnostics about arguments and blocks that there are not what to
// write instead, where people try them often.
func Advise(diags hcl.Diagnostics) hcl.Diagnostics {
	for _, d := range diags {
		if d.Summary != "Unsupported argument" && d.Summary != "Unsupported block type" {
			continue
		}
		if m := unsupported.FindStringSubmatch(d.Detail); m != nil && inside[m[1]] != "" {
			d.Detail = inside[m[1]]
		}
	}
	return diags
}

func terraformBlocks() (blocks []schemas.Block) {
	for _, a := range advice {
		blocks = append(blocks, a.block)
	}
	return blocks
}

// CheckTerraform reports blocks that Terraform has and that do not exist here,
// and says what to write.
func CheckTerraform(blocks hcl.Blocks) (diags hcl.Diagnostics) {
	for _, a := range advice {
		for _, block := range blocks.OfType(a.block.Type) {
			diags = append(diags,
				diag.At("No such block", "There are no "+a.block.Type+" blocks here. "+a.text, block.TypeRange))
		}
	}
	return diags
}
