package syntax

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// The limits of evaluation. One unit of work is one element of a value that is
// looked at, about 50 ns; a round of a loop is 100 of them.
const (
	maxWorkPerExpression = 1_000_000  // about 50 ms
	maxWork              = 50_000_000 // in all, about 2.5 s
	roundOfLoop          = 100
	charsPerUnit         = 16

	// MaxSize is the size of the largest value, as Size counts.
	MaxSize = 10_000
)

// A Meter counts the work of one compilation and stops it when it gets out of
// hand: what is over the limit comes out unknown. It is not safe for use by
// several goroutines.
type Meter struct {
	expression   hcl.Range // that is being evaluated
	left         int       // for it
	leftInAll    int
	overrun      hcl.Diagnostics
	replacements map[*hclsyntax.Operation]*hclsyntax.Operation
}

// NewMeter returns a meter with nothing on it.
func NewMeter() *Meter {
	return &Meter{leftInAll: maxWork, replacements: map[*hclsyntax.Operation]*hclsyntax.Operation{}}
}

// Begin is called before each expression that is evaluated as a whole.
func (m *Meter) Begin(expression hcl.Range) {
	m.expression = expression
	m.left = min(maxWorkPerExpression, m.leftInAll)
}

// Overrun returns a diagnostic for each expression that was stopped. It may be
// nothing an evaluation reports by itself, as try(...) swallows errors.
func (m *Meter) Overrun() hcl.Diagnostics {
	return m.overrun
}

// spend takes n units and reports whether they were there.
func (m *Meter) spend(n int) bool {
	if m.left < 0 {
		return false // and is reported already
	}
	m.left -= n
	m.leftInAll -= n
	if m.left >= 0 {
		return true
	}
	at := m.expression
	m.overrun = append(m.overrun, &hcl.Diagnostic{
		Severity: hcl.DiagError,
		Summary:  "Too much work",
		Detail:   "Evaluating this expression takes more steps than a configuration may. Look for loops over long lists inside other loops.",
		Subject:  &at,
	})
	return false
}

// Size counts the elements of v, nested ones included, and the text in them.
// It stops counting at a little over the given limit.
func Size(v cty.Value, limit int) int {
	if !v.IsKnown() || v.IsNull() {
		return 1
	}
	if v.Type() == cty.String {
		return 1 + len(v.AsString())/charsPerUnit
	}
	size := 1
	if v.CanIterateElements() {
		for it := v.ElementIterator(); it.Next() && size <= limit; {
			_, element := it.Element()
			size += Size(element, limit-size)
		}
	}
	return size
}

// metered is an expression whose value is charged for. It embeds a node that
// has the original as its child, so that walks of the tree still find it.
type metered struct {
	*hclsyntax.ParenthesesExpr
	meter  *Meter
	charge func(cty.Value) int
}

// Value evaluates the expression.
func (e metered) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if e.meter.left < 0 {
		return cty.DynamicVal, nil
	}
	v, diags := e.Expression.Value(ctx)
	if !e.meter.spend(e.charge(v)) {
		return cty.DynamicVal, diags
	}
	return v, diags
}

func (m *Meter) metered(e hclsyntax.Expression, charge func(cty.Value) int) hclsyntax.Expression {
	return metered{&hclsyntax.ParenthesesExpr{Expression: e, SrcRange: e.Range()}, m, charge}
}

// loop charges for the rounds of a loop over the collection.
func (m *Meter) loop(collection hclsyntax.Expression) hclsyntax.Expression {
	return m.metered(collection, func(v cty.Value) int {
		if !v.IsKnown() || v.IsNull() || !v.CanIterateElements() {
			return 1
		}
		return 1 + v.LengthInt()*roundOfLoop
	})
}

// text charges for text that goes into a template.
func (m *Meter) text(part hclsyntax.Expression) hclsyntax.Expression {
	return m.metered(part, func(v cty.Value) int { return Size(v, MaxSize) })
}

// operation charges for an operator: comparing large values takes long, and
// repeated multiplication makes numbers that nobody can print.
func (m *Meter) operation(op *hclsyntax.Operation) *hclsyntax.Operation {
	if m.replacements[op] == nil {
		replacement := *op
		replacement.Impl = m.Function(op.Impl, nil)
		m.replacements[op] = &replacement
		m.replacements[&replacement] = &replacement
	}
	return m.replacements[op]
}

// A Cost tells the size of what a function makes of its arguments, for those
// that can make much of little.
type Cost func(args []cty.Value) int

// Function wraps f so that its work is counted and its result is bounded.
// Without a cost of its own a function costs the size of its arguments. All
// is checked before f finds out its result's type, for which some functions
// already do the whole work.
func (m *Meter) Function(f function.Function, cost Cost) function.Function {
	return function.New(&function.Spec{
		Description: f.Description(),
		Params:      f.Params(),
		VarParam:    f.VarParam(),
		Type: func(args []cty.Value) (cty.Type, error) {
			size, err := cost.of(args)
			if err != nil || !m.spend(size) {
				return cty.DynamicPseudoType, err
			}
			return f.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, result cty.Type) (cty.Value, error) {
			if m.left < 0 {
				return cty.UnknownVal(result), nil
			}
			return bounded(f.Call(args))
		},
	})
}

// of adds what a call makes to what it is given, and refuses more than a value
// may have.
func (c Cost) of(args []cty.Value) (int, error) {
	size := 1
	for _, arg := range args {
		size += Size(arg, MaxSize)
	}
	if c != nil && size <= MaxSize {
		size += c(args)
	}
	if size > MaxSize {
		return 0, fmt.Errorf("the result would be too large")
	}
	return size, nil
}

func bounded(v cty.Value, err error) (cty.Value, error) {
	switch {
	case err != nil:
		return v, err
	case Size(v, MaxSize) > MaxSize:
		return cty.NilVal, fmt.Errorf("the result is too large")
	case !InRange(v):
		return cty.NilVal, fmt.Errorf("the result has a number out of range")
	}
	return v, nil
}
