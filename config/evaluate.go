package config

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/function"
	"github.com/lkeplan/lkeplan/config/syntax"
	"github.com/lkeplan/lkeplan/schemas"
)

// Evaluate evaluates an expression as if it were written in the module's directory. It evaluates
// only the names that the expression refers to, so errors elsewhere do not matter. Diagnostics use
// name as the name of the expression. A module can be evaluated only once.
func (m *Module) Evaluate(name, src string) (cty.Value, hcl.Diagnostics) {
	m.Files[name] = &hcl.File{Body: hcl.EmptyBody(), Bytes: []byte(src)}
	expr, diags := syntax.ParseExpression(name, src)
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	c := m.compiler()
	c.functions["type"] = function.Type
	v, _, diags := c.scope.Value(expr)
	diags = append(diags, c.run.Diags...)
	for _, d := range c.diags {
		if d.Summary == undeclared {
			diags = append(diags, d)
		}
	}
	if !diags.HasErrors() && !v.IsWhollyKnown() {
		diags = append(c.diags,
			diag.Error("Value cannot be computed", "A value that the expression refers to has an error."))
	}
	return v, diag.Sort(diags)
}

// VariableNames lists the names of the module's variables in order of declaration.
func (m *Module) VariableNames() (names []string) {
	for _, block := range m.tree.Root.Blocks.OfType(schemas.Variable.Type) {
		names = append(names, block.Labels[0])
	}
	return names
}
