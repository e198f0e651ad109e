package config

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/schemas"
)

// compareTypes warns of == and != if the values have types that are never equal, as in Terraform: var.replicas == "3" for a
// number, and var.teams == [] for a list, as [] is a tuple.
func (c *compiler) compareTypes() {
	variables := map[string]cty.Type{}
	for _, block := range c.dir.Blocks.OfType(schemas.Variable.Type) {
		content, _, _ := block.Body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "type"}}})
		if declared, diags := c.constraint(content.Attributes["type"]); !diags.HasErrors() {
			variables[block.Labels[0]] = declared.ty
		}
	}
	for _, block := range c.dir.Blocks {
		body, native := block.Body.(*hclsyntax.Body)
		if !native {
			continue
		}
		_ = hclsyntax.VisitAll(body, func(node hclsyntax.Node) hcl.Diagnostics {
			e, binary := node.(*hclsyntax.BinaryOpExpr)
			if !binary || e.Op != hclsyntax.OpEqual && e.Op != hclsyntax.OpNotEqual {
				return nil
			}
			left, right := typeOf(e.LHS, variables), typeOf(e.RHS, variables)
			advice := "Convert one of them, as in tostring(var.replicas) == \"3\"."
			switch {
			case left.HasDynamicTypes(), right.HasDynamicTypes(), left.Equals(right), left.IsTupleType() && right.IsTupleType(),
				left.IsObjectType() && right.IsObjectType():
				return nil
			case !left.IsPrimitiveType() && !right.IsPrimitiveType():
				advice = "To find out whether one is empty, write length(...) == 0. To compare two, convert both, as with tolist or tomap."
			}
			d := diag.AtExpression(fmt.Sprintf("Comparison is always %t", e.Op == hclsyntax.OpNotEqual),
				fmt.Sprintf("The types of the two values are %s and %s, and values of different types are never equal. %s",
					left.FriendlyName(), right.FriendlyName(), advice), e)
			d.Severity = hcl.DiagWarning
			c.report(d)
			return nil
		})
	}
}

// typeOf is the type of an expression if that does not depend on values.
func typeOf(expr hclsyntax.Expression, variables map[string]cty.Type) cty.Type {
	switch e := expr.(type) {
	case *hclsyntax.ParenthesesExpr:
		return typeOf(e.Expression, variables)
	case *hclsyntax.TupleConsExpr:
		return cty.EmptyTuple
	case *hclsyntax.ObjectConsExpr:
		return cty.EmptyObject
	case *hclsyntax.TemplateExpr:
		return cty.String
	case *hclsyntax.LiteralValueExpr:
		return e.Val.Type() // of null: unknown
	case *hclsyntax.ScopeTraversalExpr:
		if e.Traversal.RootName() != "var" || len(e.Traversal) < 2 {
			break
		}
		ty := cty.Object(variables)
		for _, step := range e.Traversal[1:] {
			attr, named := step.(hcl.TraverseAttr)
			if !named || !ty.IsObjectType() || !ty.HasAttribute(attr.Name) {
				return cty.DynamicPseudoType
			}
			ty = ty.AttributeType(attr.Name)
		}
		return ty
	}
	return cty.DynamicPseudoType
}
