package eval

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/config/diag"
)

// The limits of evaluation. A unit of work is one element that is looked at
// once, about 50 ns.
const (
	perExpression = 5_000_000 // about 250 ms
	inAll         = 6_000_000 // about 300 ms
	perObject     = 5_000     // that each object may take besides

	roundOfLoop = 200 // what a round of a loop costs besides its body
	elementSeen = 15  // what an element costs that a function is called with
	elementMade = 15  // what a new element of a list costs
	converted   = 80  // what an element costs that gets another type
	compared    = 40  // what an element costs that an operator compares
	declared    = 150 // what an attribute of a type costs that is written out
	asserted    = 500 // what a condition costs besides its expression
)

// Rounds is how many rounds of loops an expression may have, if little is done in
// each.
const Rounds = perExpression / roundOfLoop

// A Meter counts the work of one compilation. It is not safe for use by several
// goroutines.
type Meter struct {
	expression   hcl.Range // that is being evaluated
	left         int       // for it; below zero it is stopped
	leftInAll    int
	overrun      hcl.Diagnostics
	replacements map[*hclsyntax.Operation]*hclsyntax.Operation
}

// NewMeter returns a meter with nothing on it.
func NewMeter() *Meter {
	return &Meter{left: perExpression, leftInAll: inAll, replacements: map[*hclsyntax.Operation]*hclsyntax.Operation{}}
}

// Begin is called before each expression that is evaluated as a whole.
func (m *Meter) Begin(expression hcl.Range) {
	m.expression = expression
	m.left = min(perExpression, m.leftInAll)
}

// Object is called before each object that is compiled: many of them may take more
// time than few. What has run out stays so.
func (m *Meter) Object() {
	if !m.Exhausted() {
		m.leftInAll += perObject
	}
}

// Exhausted reports whether nothing more is evaluated: what is unknown then needs no other
// message than the limit.
func (m *Meter) Exhausted() bool { return m.leftInAll < 0 }

// Overrun returns a diagnostic for each expression that was stopped. The
// expression itself may have none, as try(...) swallows errors.
func (m *Meter) Overrun() hcl.Diagnostics {
	return m.overrun
}

// Type charges for a type that is written out: a module reads its own each time that it
// is called.
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

// Condition charges for a condition with its message.
func (m *Meter) Condition() bool { return m.Spend(asserted) }

func (m *Meter) stopped() bool { return m.left < 0 }

// Spend takes n units and reports whether they were there.
func (m *Meter) Spend(n int) bool {
	if m.stopped() {
		return false // and is reported already
	}
	exhausted := m.Exhausted()
	m.left -= n
	m.leftInAll -= n
	switch {
	case !m.stopped():
		return true
	case m.leftInAll >= 0:
		m.overrun = diag.Append(m.overrun, diag.Limit("Too much work",
			"Evaluating this expression takes more steps than a configuration may. Look for loops over long "+
				"lists, above all inside other loops.", m.expression))
	case !exhausted: // what follows is not evaluated either, and needs no message
		m.overrun = diag.Append(m.overrun, diag.Limit("Too much work",
			"Up to here, evaluating the configuration takes more steps than it may. Look for loops over long lists, "+
				"and for large values that are used often.", m.expression))
	}
	return false
}

// A charged expression is paid for when its value is known. It embeds a node
// that has the original as its child, so that walks of the tree still find it.
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

// UnwrapExpression lets static analysis, such as that of type expressions, see
// the original.
func (e *charged) UnwrapExpression() hcl.Expression {
	return e.Expression
}

func (m *Meter) charge(e hclsyntax.Expression, cost func(cty.Value) int) hclsyntax.Expression {
	return &charged{&hclsyntax.ParenthesesExpr{Expression: e, SrcRange: e.Range()}, m, cost}
}

// Operand lets an argument of a function or an operator be evaluated only while
// the meter runs: merely to be called, a function looks at all of it.
func (m *Meter) Operand(e hclsyntax.Expression) hclsyntax.Expression {
	return m.charge(e, func(cty.Value) int { return 1 })
}

// Loop charges for the rounds of a loop over a collection.
func (m *Meter) Loop(collection hclsyntax.Expression) hclsyntax.Expression {
	return m.charge(collection, func(v cty.Value) int {
		cost := 1 + LengthOf(v)*roundOfLoop
		if v.Type().IsSetType() {
			cost += SizeOf(v) * elementSeen
		}
		return cost
	})
}

// Text charges for text that becomes part of a template.
func (m *Meter) Text(part hclsyntax.Expression) hclsyntax.Expression {
	return m.charge(part, SizeOf)
}

// Branch charges for a result of a conditional. HCL looks for a type that both
// results have, and compares all of their elements' types with one another.
func (m *Meter) Branch(result hclsyntax.Expression) hclsyntax.Expression {
	return m.charge(result, comparisons)
}

func comparisons(v cty.Value) int {
	if ty := v.Type(); ty.IsTupleType() || ty.IsObjectType() {
		return 1 + LengthOf(v)*SizeOf(v)
	}
	return 1
}

// Operation charges for an operator: comparing large values takes long, and
// repeated multiplication makes numbers that nobody can print.
func (m *Meter) Operation(op *hclsyntax.Operation) *hclsyntax.Operation {
	if m.replacements[op] == nil {
		replacement := *op
		replacement.Impl = m.operator(op.Impl)
		m.replacements[op] = &replacement
		m.replacements[&replacement] = &replacement
	}
	return m.replacements[op]
}
