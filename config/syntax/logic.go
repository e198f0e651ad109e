package syntax

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// strictly returns an operation for which a deciding null is an error. In HCL, null is false in &&
// and ||, and an error elsewhere.
func strictly(op *hclsyntax.Operation) *hclsyntax.Operation {
	switch op {
	case hclsyntax.OpLogicalAnd:
		return strictAnd
	case hclsyntax.OpLogicalOr:
		return strictOr
	}
	return op
}

var (
	strictAnd = refusingNull(hclsyntax.OpLogicalAnd, cty.False)
	strictOr  = refusingNull(hclsyntax.OpLogicalOr, cty.True)
)

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
