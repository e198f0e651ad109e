package eval

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// A mention is the part of an expression that messages need: its place and its references. It has
// no value, and does not retain the syntax tree.
type mention struct {
	references []hcl.Traversal
	at         hcl.Range
}

// Mention returns the part of an expression that messages about its value need; nil if it contains
// no references, because messages then need only its place.
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
