package syntax

import (
	"errors"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// strictly returns an operation for which a deciding null, or a division by zero, is an error. In HCL, null is false in &&
// and ||, and an error elsewhere; n / 0 is infinite, and n % 0 is n.
func strictly(op *hclsyntax.Operation) *hclsyntax.Operation {
	switch op {
	case hclsyntax.OpLogicalAnd:
		return strictAnd
	case hclsyntax.OpLogicalOr:
		return strictOr
	case hclsyntax.OpDivide:
		return strictDivide
	case hclsyntax.OpModulo:
		return strictModulo
	}
	return op
}

var (
	strictAnd = refusingNull(hclsyntax.OpLogicalAnd, cty.False)
	strictOr  = refusingNull(hclsyntax.OpLogicalOr, cty.True)

	strictDivide = refusingZero(hclsyntax.OpDivide)
	strictModulo = refusingZero(hclsyntax.OpModulo)
)

// refusingZero returns a division that rejects zero as its right side.
func refusingZero(op *hclsyntax.Operation) *hclsyntax.Operation {
	return &hclsyntax.Operation{Type: op.Type, Impl: function.New(&function.Spec{
		Params: op.Impl.Params(),
		Type:   function.StaticReturnType(cty.Number),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if args[1].IsKnown() && args[1].RawEquals(cty.Zero) {
				return cty.NilVal, errors.New("division by zero")
			}
			return op.Impl.Call(args)
		},
	})}
}

// refusingNull passes a null to the operation, which rejects it. If the left side decides, the
// right side is not evaluated.
func refusingNull(op *hclsyntax.Operation, decisive cty.Value) *hclsyntax.Operation {
	strict := *op
	strict.ShortCircuit = func(left, right cty.Value, ofLeft, ofRight hcl.Diagnostics) (cty.Value, hcl.Diagnostics) {
		decided := left.IsKnown() && left.RawEquals(decisive)
		if left.IsNull() || right.IsNull() && !decided {
			return cty.NilVal, nil
		}
		return op.ShortCircuit(left, right, ofLeft, ofRight)
	}
	return &strict
}
