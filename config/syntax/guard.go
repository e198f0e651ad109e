package syntax

import (
	"fmt"
	"math/big"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// Loops within loops and numbers beyond these are in no honest configuration,
// and each more multiplies the work.
const (
	maxLoops    = 3
	maxExponent = 128 // of two: 38 decimal digits
)

// guard checks what is evaluated for numbers and loops that are too large, and
// attaches the meter to everything that repeats work or multiplies data. It
// changes the tree in place and keeps all source ranges.
func guard(node hclsyntax.Node, meter *Meter) hcl.Diagnostics {
	return hclsyntax.Walk(node, &guardian{meter: meter})
}

type guardian struct {
	meter *Meter
	loops int
}

// Enter is called before a node's children are visited.
func (g *guardian) Enter(node hclsyntax.Node) hcl.Diagnostics {
	switch e := node.(type) {
	case *hclsyntax.LiteralValueExpr:
		if !InRange(e.Val) {
			return numberTooLarge(e.SrcRange)
		}
	case *hclsyntax.ForExpr:
		g.loops++
		e.CollExpr = g.meter.loop(e.CollExpr)
		if g.loops > maxLoops {
			return tooManyLoops(e.SrcRange)
		}
	case *hclsyntax.SplatExpr:
		e.Source = g.meter.loop(e.Source)
	case *hclsyntax.TemplateExpr:
		for i, part := range e.Parts {
			if _, literal := part.(*hclsyntax.LiteralValueExpr); !literal {
				e.Parts[i] = g.meter.text(part)
			}
		}
	case *hclsyntax.ObjectConsExpr:
		return repeatedKeys(e)
	case *hclsyntax.BinaryOpExpr:
		e.Op = g.meter.operation(e.Op)
	}
	return nil
}

// Exit is called after a node's children were visited.
func (g *guardian) Exit(node hclsyntax.Node) hcl.Diagnostics {
	if _, ok := node.(*hclsyntax.ForExpr); ok {
		g.loops--
	}
	return nil
}

// InRange reports whether all numbers in v can be printed in no time.
// The caller has made sure that v itself is not too large.
func InRange(v cty.Value) bool {
	ok := true
	_ = cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) {
		if v.Type() == cty.Number && v.IsKnown() && !v.IsNull() {
			ok = ok && finite(v.AsBigFloat())
		}
		return ok, nil
	})
	return ok
}

func finite(f *big.Float) bool {
	exponent := f.MantExp(nil)
	return !f.IsInf() && -maxExponent <= exponent && exponent <= maxExponent
}

func numberTooLarge(at hcl.Range) hcl.Diagnostics {
	return hcl.Diagnostics{{
		Severity: hcl.DiagError,
		Summary:  "Number out of range",
		Detail:   "This number is too large or too small to be of use here: 38 digits are the limit, before the decimal point and after it.",
		Subject:  &at,
	}}
}

func tooManyLoops(at hcl.Range) hcl.Diagnostics {
	return hcl.Diagnostics{{
		Severity: hcl.DiagError,
		Summary:  "Too many nested loops",
		Detail:   fmt.Sprintf("For expressions nest more than %d deep here. Move the inner ones into locals.", maxLoops),
		Subject:  &at,
	}}
}

// repeatedKeys finds keys that are written twice in one object. HCL keeps the
// last and says nothing, so that half of a requirement would be lost.
func repeatedKeys(object *hclsyntax.ObjectConsExpr) (diags hcl.Diagnostics) {
	first := map[string]hcl.Range{}
	for _, item := range object.Items {
		key, ok := literalKey(item.KeyExpr)
		if !ok {
			continue
		}
		at := item.KeyExpr.Range()
		if earlier, ok := first[key]; ok {
			diags = append(diags, &hcl.Diagnostic{
				Severity: hcl.DiagError,
				Summary:  "Key given twice",
				Detail:   fmt.Sprintf("%q is in this object already, on line %d, and only the last one would count. Keep one of them; two requirements on one key are combined with all(...).", key, earlier.Start.Line),
				Subject:  &at,
			})
		}
		first[key] = at
	}
	return diags
}

// literalKey returns a key that is written out, as a bare word or in quotes.
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
