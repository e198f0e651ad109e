package config

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/schemas"
)

// declareLocals makes local.NAME for each argument of the locals blocks.
func (c *compiler) declareLocals() *eval.Table {
	table := &eval.Table{Noun: "local", Nodes: map[string]*eval.Node{}}
	for _, block := range c.dir.Blocks.OfType(schemas.Locals.Type) {
		attrs, diags := block.Body.JustAttributes()
		c.report(diags...)
		for _, attr := range inSourceOrder(attrs) {
			node := &eval.Node{Eval: func() (cty.Value, hcl.Diagnostics) {
				v, _, diags := c.scope.Private().Value(attr.Expr)
				return v, diags
			}}
			c.enter(table, declaration{"local", attr.Name, attr.NameRange, attr.NameRange}, node)
		}
	}
	return table
}

func inSourceOrder(attrs hcl.Attributes) []*hcl.Attribute {
	var list []*hcl.Attribute
	for _, attr := range attrs {
		list = append(list, attr)
	}
	slices.SortFunc(list, func(a, b *hcl.Attribute) int { return diag.CompareRanges(&a.Range, &b.Range) })
	return list
}
