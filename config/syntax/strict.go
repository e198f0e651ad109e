package syntax

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/lkeplan/lkeplan/config/diag"
)

// strict changes what HCL accepts silently in native syntax into errors: duplicate keys of an object, and null in && and ||.
// It modifies the tree in place.
func strict(node hclsyntax.Node) hcl.Diagnostics {
	return hclsyntax.VisitAll(node, func(node hclsyntax.Node) hcl.Diagnostics {
		switch e := node.(type) {
		case *hclsyntax.ObjectConsExpr:
			return repeatedKeys(e)
		case *hclsyntax.BinaryOpExpr:
			e.Op = strictly(e.Op)
		}
		return nil
	})
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
