package function

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/customdecode"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// tryFunc returns the first of its expressions that evaluates without error. The library's function
// evaluates them twice, for the type and for the value, and panics if the meter stops between the
// two.
var tryFunc = function.New(&function.Spec{
	VarParam: &function.Parameter{Name: "expressions", Type: customdecode.ExpressionClosureType},
	Type:     function.StaticReturnType(cty.DynamicPseudoType),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if len(args) == 0 {
			return cty.NilVal, errors.New("at least one argument is required")
		}
		var all hcl.Diagnostics
		for _, arg := range args {
			v, diags := customdecode.ExpressionClosureFromVal(arg).Value()
			switch {
			case diags.HasErrors():
				all = append(all, diags...)
			case !v.IsWhollyKnown(): // it can become an error
				return cty.DynamicVal, nil
			default:
				return v, nil
			}
		}
		return cty.NilVal, noneSucceeds(all)
	},
})

func noneSucceeds(diags hcl.Diagnostics) error {
	const shown = 10
	var text strings.Builder
	text.WriteString("no expression succeeded:\n")
	for _, d := range diags[:min(len(diags), shown)] {
		fmt.Fprintf(&text, "- %s", d.Summary)
		if d.Subject != nil {
			fmt.Fprintf(&text, " (at %s)", d.Subject)
		}
		fmt.Fprintf(&text, "\n  %s\n", d.Detail)
	}
	text.WriteString("\nAt least one expression must produce a successful result")
	return errors.New(text.String())
}
