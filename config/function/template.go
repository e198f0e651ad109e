package function

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/lkeplan/lkeplan/config/syntax"
)

// templateFunc evaluates text as a template, with some functions.
func templateFunc(functions map[string]function.Function) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{
			{Name: "template", Type: cty.String},
			{Name: "values", Type: cty.DynamicPseudoType},
		},
		Type: function.StaticReturnType(cty.DynamicPseudoType),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if ty := args[1].Type(); !ty.IsObjectType() && !ty.IsMapType() {
				return cty.NilVal, function.NewArgErrorf(1, "a map is required")
			}
			expr, diags := syntax.ParseTemplate("template", args[0].AsString())
			if diags.HasErrors() {
				return cty.NilVal, function.NewArgErrorf(0, "%s", templateErrors(diags))
			}
			v, diags := expr.Value(&hcl.EvalContext{Variables: args[1].AsValueMap(), Functions: functions})
			if diags.HasErrors() {
				return cty.NilVal, function.NewArgErrorf(0, "%s", templateErrors(diags))
			}
			return v, nil
		},
	})
}

// templateErrors returns the errors of a template with its line numbers.
func templateErrors(diags hcl.Diagnostics) string {
	d := diags[0]
	if d.Subject == nil {
		return d.Summary
	}
	return fmt.Sprintf("line %d of the template: %s: %s", d.Subject.Start.Line, d.Summary, d.Detail)
}
