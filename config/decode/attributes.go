package decode

import (
	"fmt"
	"maps"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/eval"
)

// UnknownAttributes reports attributes of a literal object that the type of a variable does not
// have. Conversion would drop them, and so hide misspelled optional attributes. Objects from other
// sources can have more attributes than required.
func UnknownAttributes(expr hcl.Expression, ty cty.Type, scope *eval.Scope) (diags hcl.Diagnostics) {
	switch {
	case ty.IsObjectType(), ty.IsMapType():
		pairs, mapDiags := hcl.ExprMap(expr)
		if mapDiags.HasErrors() {
			return nil
		}
		for _, pair := range pairs {
			if ty.IsMapType() {
				diags = append(diags, UnknownAttributes(pair.Value, ty.ElementType(), scope)...)
				continue
			}
			key, keyDiags := pair.Key.Value(nil)
			if keyDiags.HasErrors() || key.Type() != cty.String || key.IsNull() || !key.IsKnown() {
				continue
			}
			name := key.AsString()
			if ty.HasAttribute(name) {
				diags = append(diags, UnknownAttributes(pair.Value, ty.AttributeType(name), scope)...)
				continue
			}
			diags = append(diags, diag.AtExpression("Unknown attribute",
				fmt.Sprintf("The type of the variable has no attribute %q.%s", name,
					scope.DidYouMean(name, maps.Keys(ty.AttributeTypes()))), pair.Key))
		}
	case ty.IsListType(), ty.IsSetType():
		items, _ := hcl.ExprList(expr)
		for _, item := range items {
			diags = append(diags, UnknownAttributes(item, ty.ElementType(), scope)...)
		}
	}
	return diags
}
