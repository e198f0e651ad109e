package syntax

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/eval"
)

// No legitimate configuration exceeds these limits of nested loops and lists.
const (
	MaxLoops    = 3
	MaxElements = 10_000
)

// dynamic is the type of blocks that are repeated when a body is read.
const dynamic = "dynamic"

// guard checks expressions for numbers and loops that are too large, and attaches the meter to all
// parts that repeat work or multiply data. It modifies the tree in place and keeps all source
// ranges.
func guard(node hclsyntax.Node, meter *eval.Meter) hcl.Diagnostics {
	return hclsyntax.Walk(node, &guardian{meter: meter})
}

type guardian struct {
	meter *eval.Meter
	loops int
}

// Enter is called before a node's children are visited.
func (g *guardian) Enter(node hclsyntax.Node) hcl.Diagnostics {
	switch e := node.(type) {
	case *hclsyntax.Block:
		if each := e.Body.Attributes["for_each"]; e.Type == dynamic && each != nil {
			each.Expr = g.meter.Loop(each.Expr)
		}
	case *hclsyntax.LiteralValueExpr:
		if !eval.NumbersInRange(e.Val) {
			return hcl.Diagnostics{diag.At("Number out of range",
				"This number is too large or too small. It can have at most 38 digits before and after the "+
					"decimal point.", e.SrcRange)}
		}
	case *hclsyntax.ForExpr:
		g.loops++
		e.CollExpr = g.meter.Loop(e.CollExpr)
		if g.loops > MaxLoops {
			return hcl.Diagnostics{diag.Limit("Too many nested loops",
				fmt.Sprintf("For expressions can be nested at most %d deep. Move the inner ones to locals.", MaxLoops),
				e.SrcRange)}
		}
	case *hclsyntax.SplatExpr:
		e.Source = g.meter.Loop(e.Source)
	case *hclsyntax.TemplateExpr:
		for i, part := range e.Parts {
			if _, literal := part.(*hclsyntax.LiteralValueExpr); !literal {
				e.Parts[i] = g.meter.Text(part)
			}
		}
	case *hclsyntax.ConditionalExpr:
		e.TrueResult, e.FalseResult = g.meter.Branch(e.TrueResult), g.meter.Branch(e.FalseResult)
	case *hclsyntax.TupleConsExpr:
		return tooManyElements(len(e.Exprs), e.SrcRange)
	case *hclsyntax.FunctionCallExpr:
		for i, arg := range e.Args {
			e.Args[i] = g.meter.Operand(arg)
		}
		return tooManyElements(len(e.Args), e.Range())
	case *hclsyntax.ObjectConsExpr:
		if diags := tooManyElements(len(e.Items), e.SrcRange); diags.HasErrors() {
			return diags
		}
		return repeatedKeys(e)
	case *hclsyntax.UnaryOpExpr:
		e.Op = g.meter.Operation(e.Op)
	case *hclsyntax.BinaryOpExpr:
		e.LHS, e.RHS = g.meter.Operand(e.LHS), g.meter.Operand(e.RHS)
		e.Op = g.meter.Operation(strictly(e.Op))
	}
	return nil
}

// Exit is called after a node's children are visited.
func (g *guardian) Exit(node hclsyntax.Node) hcl.Diagnostics {
	if _, ok := node.(*hclsyntax.ForExpr); ok {
		g.loops--
	}
	return nil
}

func tooManyElements(n int, at hcl.Range) hcl.Diagnostics {
	if n <= MaxElements {
		return nil
	}
	return hcl.Diagnostics{diag.At("List too long",
		fmt.Sprintf("The list has %d literal elements; the limit is %d.", n, MaxElements), at)}
}

// repeatedKeys reports duplicate keys in an object. HCL silently keeps the last one, so half of a
// requirement would be lost.
func repeatedKeys(object *hclsyntax.ObjectConsExpr) (diags hcl.Diagnostics) {
	first := map[string]hcl.Range{}
	for _, item := range object.Items {
		key, ok := literalKey(item.KeyExpr)
		if !ok {
			continue
		}
		at := item.KeyExpr.Range()
		if earlier, ok := first[key]; ok {
			diags = append(diags, diag.At("Duplicate key",
				fmt.Sprintf("The object already has the key %q, on line %d, and only the last one would count. "+
					"Delete one of them, or combine two requirements with all(...).", key,
					earlier.Start.Line), at))
		}
		first[key] = at
	}
	return diags
}

// literalKey returns a literal key, bare or in quotes.
func literalKey(expr hclsyntax.Expression) (string, bool) {
	if key, ok := expr.(*hclsyntax.ObjectConsKeyExpr); ok {
		if word := hcl.ExprAsKeyword(key.Wrapped); word != "" && !key.ForceNonLiteral {
			return word, true
		}
		expr = key.Wrapped
	}
	if t, ok := expr.(*hclsyntax.TemplateExpr); ok && t.IsStringLiteral() {
		v, _ := t.Value(nil)
		return v.AsString(), true
	}
	return "", false
}
