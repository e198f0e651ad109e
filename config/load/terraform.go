package load

import (
	"fmt"
	"regexp"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/schemas"
)

// advice is for blocks that users know from Terraform and that have another form here.
var advice = []struct {
	block schemas.Block
	text  string
}{
	{schemas.Block{Type: "resource", Labels: []string{"type", "name"}},
		`Declare pools and node classes with the blocks pool "NAME" { } and node_class "NAME" { }.`},
	{schemas.Block{Type: "provider", Labels: []string{"name"}},
		"Providers do not exist: objects are applied to the cluster of the current kubectl context."},
	{schemas.Block{Type: "terraform"},
		`Settings belong in the lkeplan block, as in lkeplan { required_version = "~> 0.3" }.`},
	{schemas.Block{Type: "data", Labels: []string{"type", "name"}},
		"Data sources do not exist: nothing is read while compiling, so a commit always compiles to the same " +
			"objects. Declare a variable for the value."},
	{schemas.Block{Type: "output", Labels: []string{"name"}},
		"The pools and node classes of a module are its outputs, as in module.NAME.pool.NAME. For a value to use " +
			"in the same directory, declare a local."},
}

// inside is the advice for arguments and blocks that users try in blocks.
var inside = map[string]string{
	"count": "The argument count does not exist. To repeat the block, use for_each. To leave it out, use enabled.",
	"lifecycle": "The block lifecycle does not exist. To protect pools from deletion, write guards { protected = " +
		"[pool.NAME] }. To let other managers set a field, delete its argument.",
	"depends_on": "The argument depends_on does not exist. Node classes are applied before the pools that refer " +
		"to them.",
	"sensitive": "The argument sensitive does not exist. A configuration contains no secrets, and a plan shows " +
		"all values.",
	"ephemeral": "The argument ephemeral does not exist. A configuration contains no secrets, and a plan shows " +
		"all values.",
	"provider":    "Providers do not exist: objects are applied to the cluster of the current kubectl context.",
	"providers":   "Providers do not exist: objects are applied to the cluster of the current kubectl context.",
	"provisioner": "Provisioners do not exist. Configure nodes in their node_class.",
	"taint":       `The argument is taints, as in taints = ["team=web:NoSchedule"].`,
	"requirement": `The argument is requirements, as in requirements = { arch = "amd64", cpu = lte(16) }.`,
	"label":       `The argument is labels, as in labels = { team = "web" }.`,
	"time_zone":   "The argument time_zone does not exist. Times are in UTC.",
	"timezone":    "The argument timezone does not exist. Times are in UTC.",
	"kubelet":     "Configure the kubelet in the node_class of the pool.",
	"min_size":    "Pools scale with pods, up to limits. For a fixed number of nodes, set replicas.",
	"max_size":    "To limit the number of nodes, set limits = { nodes = 10 }.",
	"autoscaler":  "Pools scale with pods. To limit the number of nodes, set limits = { nodes = 10 }.",
}

var (
	unsupported = regexp.MustCompile(`^(?:An argument named|Blocks of type) "([^"]*)"`)
	misnamed    = regexp.MustCompile(`^(Missing name|Extraneous label) for (\w+)$`)
)

// Advise adds advice to diagnostics about unknown arguments and blocks that users often try, and about the names of blocks.
func Advise(diags hcl.Diagnostics) hcl.Diagnostics {
	for _, d := range diags {
		if m := misnamed.FindStringSubmatch(d.Summary); m != nil && m[1] == "Missing name" {
			d.Detail = fmt.Sprintf("Write a name in quotation marks after the word %[1]s, as in %[1]s \"NAME\" { }.", m[2])
		} else if m != nil {
			d.Detail = fmt.Sprintf("A %s block takes fewer names. Delete this one.", m[2])
		}
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

// CheckTerraform reports blocks of Terraform that do not exist here, with advice.
func CheckTerraform(blocks hcl.Blocks) (diags hcl.Diagnostics) {
	for _, a := range advice {
		for _, block := range blocks.OfType(a.block.Type) {
			diags = append(diags,
				diag.At("No such block", "Blocks of type "+a.block.Type+" do not exist. "+a.text, block.TypeRange))
		}
	}
	return diags
}
