package config

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/config/decode"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/schemas"
)

// A Variable is an input of a directory.
type Variable struct {
	Name        string
	Description string
	Type        cty.Type
	Value       cty.Value // from the files and options; cty.NilVal if it must be set
}

// Variables lists the variables of the module in order of declaration, with the values from its
// files and options. It evaluates only variables, so errors elsewhere do not matter. A module can
// be evaluated only once.
func (m *Module) Variables() ([]Variable, hcl.Diagnostics) {
	c := m.compiler()
	var variables []Variable
	for _, block := range c.dir.Blocks.OfType(schemas.Variable.Type) {
		content, diags := block.Body.Content(decode.Schema(schemas.Variable))
		v := Variable{Name: block.Labels[0], Type: cty.DynamicPseudoType}
		if attr := content.Attributes["description"]; attr != nil {
			text, textDiags := decode.Literal(attr)
			v.Description, diags = text, append(diags, textDiags...)
		}
		ty, typeDiags := c.constraint(content.Attributes["type"])
		diags = append(diags, typeDiags...)
		if !typeDiags.HasErrors() {
			v.Type = ty.ty
		}
		if _, given := c.inputs[v.Name]; given || content.Attributes["default"] != nil {
			value, valueDiags := c.variable(block).Eval()
			v.Value, diags = value, append(diags, valueDiags...)
		}
		c.report(diags...)
		variables = append(variables, v)
	}
	return variables, diag.Sort(append(c.diags, c.run.Diags...))
}
