package eval

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// A mention is what messages need of an expression: its place and what it refers to. It
// has no value, and keeps nothing of the tree that it is from.
type mention struct {
	references []hcl.Traversal
	at         hcl.Range
}

// Mention returns what to keep of an expression for messages about its value; nil for one
// that refers to nothing, of which no message says more than its place.
func (s *Scope) Mention(expr hcl.Expression) hcl.Expression {
	references := s.run.referencesOf(expr)
	if len(references) == 0 {
		return nil
	}
	return &mention{references, expr.Range()}
}

// Value implements hcl.Expression.
func (m *mention) Value(*hcl.EvalContext) (cty.Value, hcl.Diagnostics) { return cty.DynamicVal, nil }

// Variables implements hcl.Expression.
func (m *mention) Variables() []hcl.Traversal { return m.references }

// Range implements hcl.Expression.
func (m *mention) Range() hcl.Range { return m.at }

// StartRange implements hcl.Expression.
func (m *mention) StartRange() hcl.Range { return m.at }
