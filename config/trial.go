package config

import (
	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config/decode"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/schemas"
)

// A Trial is a directory that was compiled for a run. Its assertions are evaluated later, when more
// values are known.
type Trial struct {
	asserts hcl.Blocks
	in      *compiler
}

// begin sets the variables of a run, and keeps its assertions.
func (m *Module) begin(r *Run) hcl.Diagnostics {
	content, file, diags := r.Blocks()
	m.Files[r.File()] = file
	if diags.HasErrors() {
		return diags
	}
	for _, values := range content.Blocks.OfType("variables") {
		diags = append(diags, m.inputs.addFile(values.Body, r.File())...)
	}
	m.asserts = content.Blocks.OfType(schemas.Assert.Type)
	return diags
}

// Judge evaluates the assertions: a result that is false, null, unknown or an error is an error.
// known contains the values of schemas.TestValues by the first part of their names.
func (t *Trial) Judge(known map[string]eval.Root) (diags hcl.Diagnostics) {
	scope := t.in.scope
	for name, root := range known {
		scope = scope.With(name, root)
	}
	earlier := len(t.in.run.Diags)
	for _, block := range t.asserts {
		found := t.in.assert(schemas.Assert, block, "Assertion failed", scope)
		content, _, _ := block.Body.PartialContent(decode.Schema(schemas.Assert))
		if attr := content.Attributes["condition"]; attr != nil && !found.HasErrors() {
			found = append(found, unknownResult(attr.Expr, scope)...)
		}
		diags = append(diags, found...)
	}
	// No assertion was evaluated before, and the directory compiled.
	return diag.Sort(append(diags, t.in.run.Diags[earlier:]...))
}

// unknownResult reports a condition that is neither true nor false.
func unknownResult(condition hcl.Expression, scope *eval.Scope) hcl.Diagnostics {
	if v, _, diags := scope.Private().Value(condition); v.IsKnown() || diags.HasErrors() {
		return diags
	}
	return hcl.Diagnostics{diag.AtExpression("Unknown result of an assertion",
		"The condition depends on a value that is not known. Nodes of a change are counted only in a run with "+
			"pods or a snapshot; without them, their numbers are known only if the change replaces and deletes "+
			"none.", condition)}
}
