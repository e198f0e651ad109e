package eval

import (
	"errors"
	"slices"

	"github.com/hashicorp/hcl/v2/ext/customdecode"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

var (
	errTooLarge   = errors.New("the result would be too large")
	errOutOfRange = errors.New("the result contains a number out of range")
	errUnknown    = errors.New("the result is unknown for these arguments; one of them may be null")
)

// A CallCost returns the cost of a function call, for functions whose work exceeds the size of
// their arguments.
type CallCost func(args []cty.Value) int

// Function wraps f, to count its work and limit the size of its result. Without a cost function, f
// is assumed to read all of its arguments and to create as many elements. Limits are checked before
// f determines the type of its result, which for some functions is all of the work. The wrapper
// accepts arguments of any type and converts them in linear time.
func (m *Meter) Function(f function.Function, cost CallCost) function.Function {
	if cost == nil {
		cost = copying
	}
	return wrapper{m, f, cost}.function(untyped(f.Params()), untypedVariadic(f.VarParam()))
}

// operator wraps the function of an operator. Its parameters keep their types, which HCL reads.
func (m *Meter) operator(f function.Function) function.Function {
	return wrapper{m, f, comparing}.function(f.Params(), nil)
}

func comparing(args []cty.Value) int {
	cost := 0
	for _, arg := range args {
		cost += SizeOf(arg) * compared
	}
	return cost
}

func copying(args []cty.Value) int {
	cost := 0
	for _, arg := range args {
		cost += LengthOf(arg) * elementMade
	}
	return cost
}

func untyped(params []function.Parameter) []function.Parameter {
	params = slices.Clone(params)
	for i := range params {
		if customdecode.CustomExpressionDecoderForType(params[i].Type) == nil {
			params[i].Type = cty.DynamicPseudoType
		}
		// An argument of unknown type is unknown, and an untyped null is null.
		params[i].AllowDynamicType = params[i].AllowDynamicType || params[i].AllowNull
		params[i].AllowMarked = true // no value is marked, and searching for marks is slow
	}
	return params
}

func untypedVariadic(param *function.Parameter) *function.Parameter {
	if param == nil {
		return nil
	}
	return &untyped([]function.Parameter{*param})[0]
}

type wrapper struct {
	meter *Meter
	f     function.Function
	cost  CallCost
}

func (w wrapper) function(params []function.Parameter, variadic *function.Parameter) function.Function {
	return function.New(&function.Spec{
		Params:   params,
		VarParam: variadic,
		Type:     w.resultType,
		Impl:     w.call,
	})
}

func (w wrapper) resultType(args []cty.Value) (cty.Type, error) {
	for _, arg := range args { // reading them also takes time
		if !w.meter.Spend(1 + SizeOf(arg)*elementSeen) {
			return cty.DynamicPseudoType, nil
		}
	}
	cost := w.cost(args)
	if cost > perExpression {
		return cty.DynamicPseudoType, errTooLarge
	}
	if !w.meter.Spend(cost) {
		return cty.DynamicPseudoType, nil
	}
	args, err := w.convert(args)
	if err != nil {
		return cty.DynamicPseudoType, err
	}
	return w.f.ReturnTypeForValues(args)
}

// allKnown reports whether all arguments are known, so the result is known too. Functions that
// evaluate their arguments can have unknown ones.
func allKnown(args []cty.Value) bool {
	return !slices.ContainsFunc(args, func(v cty.Value) bool { return v.Type().IsCapsuleType() || !v.IsWhollyKnown() })
}

func (w wrapper) call(args []cty.Value, result cty.Type) (cty.Value, error) {
	if w.meter.stopped() {
		return cty.UnknownVal(result), nil
	}
	args, err := w.convert(args)
	if err != nil {
		return cty.NilVal, err
	}
	v, err := w.f.Call(args)
	if err != nil {
		return v, err
	}
	switch s := measure(v, MaxSize); {
	case s.size > MaxSize:
		return cty.NilVal, errTooLarge
	case s.unknown && !w.meter.stopped() && allKnown(args):
		return cty.NilVal, errUnknown
	case s.outOfRange:
		return cty.NilVal, errOutOfRange
	}
	return v, nil
}

// convert converts the arguments to the types of the parameters.
func (w wrapper) convert(args []cty.Value) ([]cty.Value, error) {
	args = slices.Clone(args)
	params := w.f.Params()
	for i, arg := range args {
		param := w.f.VarParam()
		if i < len(params) {
			param = &params[i]
		}
		if param.Type == cty.DynamicPseudoType {
			if arg.IsNull() && arg.Type() == cty.DynamicPseudoType && param.AllowNull && !param.AllowDynamicType {
				args[i] = cty.NullVal(cty.String) // for an untyped null, the result would be unknown
			}
			continue
		}
		converted, err := ConvertMetered(arg, param.Type)
		if err != nil {
			return nil, function.NewArgError(i, err)
		}
		args[i] = converted
	}
	return args, nil
}
