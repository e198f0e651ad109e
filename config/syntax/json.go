package syntax

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// A strictBody is a JSON body whose expressions are strict.
type strictBody struct{ hcl.Body }

// Content implements hcl.Body.
func (b strictBody) Content(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Diagnostics) {
	content, diags := b.Body.Content(schema)
	return strictContent(content), diags
}

// PartialContent implements hcl.Body.
func (b strictBody) PartialContent(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Body, hcl.Diagnostics) {
	content, remain, diags := b.Body.PartialContent(schema)
	return strictContent(content), strictBody{remain}, diags
}

// JustAttributes implements hcl.Body.
func (b strictBody) JustAttributes() (hcl.Attributes, hcl.Diagnostics) {
	attrs, diags := b.Body.JustAttributes()
	return strictAttributes(attrs), diags
}

func strictContent(content *hcl.BodyContent) *hcl.BodyContent {
	for _, block := range content.Blocks {
		block.Body = strictBody{block.Body}
	}
	content.Attributes = strictAttributes(content.Attributes)
	return content
}

func strictAttributes(attrs hcl.Attributes) hcl.Attributes {
	for _, attr := range attrs {
		attr.Expr = strictExpr{attr.Expr}
	}
	return attrs
}

// A strictExpr is an expression of HCL's JSON, which parses the templates in its strings whenever it is evaluated, so that
// their operators cannot be changed before. It is evaluated as the same expression in native syntax. Without a context,
// strings are not templates, as in HCL.
type strictExpr struct{ hcl.Expression }

// Value implements hcl.Expression.
func (e strictExpr) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if ctx == nil {
		return e.Expression.Value(nil)
	}
	expr, diags := native(e.Expression)
	if !diags.HasErrors() {
		diags = append(diags, strict(expr)...)
	}
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	v, more := expr.Value(ctx)
	return v, append(diags, more...)
}

// UnwrapExpression returns the expression for what HCL reads and does not evaluate, such as the name of an iterator.
func (e strictExpr) UnwrapExpression() hcl.Expression { return e.Expression }

// ExprList is for hcl.ExprList: it returns the elements of a list, or nil.
func (e strictExpr) ExprList() []hcl.Expression {
	items, _ := hcl.ExprList(e.Expression)
	for i := range items {
		items[i] = strictExpr{items[i]}
	}
	return items
}

// ExprMap is for hcl.ExprMap: it returns the keys and values of an object, or nil.
func (e strictExpr) ExprMap() []hcl.KeyValuePair {
	items, _ := hcl.ExprMap(e.Expression)
	for i, item := range items {
		items[i] = hcl.KeyValuePair{Key: strictExpr{item.Key}, Value: strictExpr{item.Value}}
	}
	return items
}

// native returns a value in JSON as an expression in native syntax. Places in a string are exact unless it contains
// escapes.
func native(expr hcl.Expression) (hclsyntax.Expression, hcl.Diagnostics) {
	if items, diags := hcl.ExprList(expr); !diags.HasErrors() {
		list := &hclsyntax.TupleConsExpr{SrcRange: expr.Range(), OpenRange: expr.StartRange()}
		var all hcl.Diagnostics
		for _, item := range items {
			element, diags := native(item)
			list.Exprs = append(list.Exprs, element)
			all = append(all, diags...)
		}
		return list, all
	}
	if items, diags := hcl.ExprMap(expr); !diags.HasErrors() {
		object := &hclsyntax.ObjectConsExpr{SrcRange: expr.Range(), OpenRange: expr.StartRange()}
		var all hcl.Diagnostics
		for _, item := range items {
			key, keyDiags := native(item.Key)
			value, diags := native(item.Value)
			object.Items = append(object.Items, hclsyntax.ObjectConsItem{KeyExpr: key, ValueExpr: value})
			all = append(append(all, keyDiags...), diags...)
		}
		return object, all
	}
	v, diags := expr.Value(nil)
	if v.Type() != cty.String || v.IsNull() || !v.IsKnown() || diags.HasErrors() {
		return &hclsyntax.LiteralValueExpr{Val: v, SrcRange: expr.Range()}, diags
	}
	start := expr.Range().Start
	start.Byte, start.Column = start.Byte+1, start.Column+1 // the quotation mark
	return hclsyntax.ParseTemplate([]byte(v.AsString()), expr.Range().Filename, start)
}
