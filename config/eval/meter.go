package eval

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/config/diag"
)

// The limits of evaluation. A unit of work is reading one element, about 50 ns.
const (
	perExpression = 5_000_000 // about 250 ms
	inAll         = 6_000_000 // about 300 ms
	perObject     = 5_000     // additional work for each object

	roundOfLoop = 200 // an iteration of a loop, in addition to its body
	elementSeen = 15  // an element of an argument of a function
	elementMade = 15  // a new element of a list
	converted   = 80  // a conversion of an element
	compared    = 40  // a comparison of an element
	declared    = 150 // a literal attribute of a type
	asserted    = 500 // a condition, in addition to its expression
)

// Rounds is the maximum number of iterations in an expression if each does little work.
const Rounds = perExpression / roundOfLoop

// A Meter counts the work of one compilation. It is not safe for concurrent use.
type Meter struct {
	expression   hcl.Range // the current expression
	left         int       // remaining work; negative if the meter has stopped
	leftInAll    int
	overrun      hcl.Diagnostics
	replacements map[*hclsyntax.Operation]*hclsyntax.Operation
}

// NewMeter returns a new meter.
func NewMeter() *Meter {
	return &Meter{left: perExpression, leftInAll: inAll, replacements: map[*hclsyntax.Operation]*hclsyntax.Operation{}}
}

// Begin must be called before the evaluation of each complete expression.
func (m *Meter) Begin(expression hcl.Range) {
	m.expression = expression
	m.left = min(perExpression, m.leftInAll)
}

// Object must be called before each object is compiled, because the limit grows with the number of
// objects. A meter that has stopped stays stopped.
func (m *Meter) Object() {
	if !m.Exhausted() {
		m.leftInAll += perObject
	}
}

// Exhausted reports whether evaluation has stopped. Unknown values then need no other message.
func (m *Meter) Exhausted() bool { return m.leftInAll < 0 }

// Overrun returns a diagnostic for each stopped expression. The expression itself may report none,
// because try(...) hides errors.
func (m *Meter) Overrun() hcl.Diagnostics {
	return m.overrun
}

// Type counts a literal type. A module evaluates its types again for each call.
func (m *Meter) Type(ty cty.Type) bool { return m.Spend(attributesIn(ty) * declared) }

func attributesIn(ty cty.Type) int {
	n := 1
	switch {
	case ty.IsCollectionType():
		n += attributesIn(ty.ElementType())
	case ty.IsTupleType():
		for _, element := range ty.TupleElementTypes() {
			n += attributesIn(element)
		}
	case ty.IsObjectType():
		for _, attribute := range ty.AttributeTypes() {
			n += attributesIn(attribute)
		}
	}
	return n
}

// Condition counts a condition with its message.
func (m *Meter) Condition() bool { return m.Spend(asserted) }

func (m *Meter) stopped() bool { return m.left < 0 }

// Spend consumes n units and reports whether they were available.
func (m *Meter) Spend(n int) bool {
	if m.stopped() {
		return false // already reported
	}
	exhausted := m.Exhausted()
	m.left -= n
	m.leftInAll -= n
	switch {
	case !m.stopped():
		return true
	case m.leftInAll >= 0:
		m.overrun = diag.Append(m.overrun, diag.Limit("Too much work",
			"This expression exceeds the limit for evaluation. Look for loops over long lists, especially nested "+
				"loops.", m.expression))
	case !exhausted: // later expressions are not evaluated and need no message
		m.overrun = diag.Append(m.overrun, diag.Limit("Too much work",
			"The configuration up to this point exceeds the limit for evaluation. Look for loops over long "+
				"lists, and for large values that are used often.", m.expression))
	}
	return false
}

// A charged expression is counted when its value is known. It embeds a node with the original as
// its child, so walks of the tree find it.
type charged struct {
	*hclsyntax.ParenthesesExpr
	meter *Meter
	cost  func(cty.Value) int
}

// Value evaluates the expression.
func (e *charged) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if e.meter.stopped() {
		return cty.DynamicVal, nil
	}
	v, diags := e.Expression.Value(ctx)
	if !e.meter.Spend(e.cost(v)) {
		return cty.DynamicVal, diags
	}
	return v, diags
}

// UnwrapExpression returns the original, for static analysis such as that of type expressions.
func (e *charged) UnwrapExpression() hcl.Expression {
	return e.Expression
}

func (m *Meter) charge(e hclsyntax.Expression, cost func(cty.Value) int) hclsyntax.Expression {
	return &charged{&hclsyntax.ParenthesesExpr{Expression: e, SrcRange: e.Range()}, m, cost}
}

// Operand wraps an argument of a function or an operator, which is evaluated only if the meter has
// not stopped: even calling a function reads all of its arguments.
func (m *Meter) Operand(e hclsyntax.Expression) hclsyntax.Expression {
	return m.charge(e, func(cty.Value) int { return 1 })
}

// Loop counts the iterations of a loop over a collection.
func (m *Meter) Loop(collection hclsyntax.Expression) hclsyntax.Expression {
	return m.charge(collection, func(v cty.Value) int {
		cost := 1 + LengthOf(v)*roundOfLoop
		if v.Type().IsSetType() {
			cost += SizeOf(v) * elementSeen
		}
		return cost
	})
}

// Text counts text that becomes part of a template.
func (m *Meter) Text(part hclsyntax.Expression) hclsyntax.Expression {
	return m.charge(part, SizeOf)
}

// Branch counts a result of a conditional. HCL unifies the types of both results, and compares all
// of their elements' types.
func (m *Meter) Branch(result hclsyntax.Expression) hclsyntax.Expression {
	return m.charge(result, comparisons)
}

func comparisons(v cty.Value) int {
	if ty := v.Type(); ty.IsTupleType() || ty.IsObjectType() {
		return 1 + LengthOf(v)*SizeOf(v)
	}
	return 1
}

// Operation counts an operator: comparing large values is slow, and repeated multiplication makes
// numbers that take too long to print.
func (m *Meter) Operation(op *hclsyntax.Operation) *hclsyntax.Operation {
	if m.replacements[op] == nil {
		replacement := *op
		replacement.Impl = m.operator(op.Impl)
		m.replacements[op] = &replacement
		m.replacements[&replacement] = &replacement
	}
	return m.replacements[op]
}
