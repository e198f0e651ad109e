package load

import (
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
