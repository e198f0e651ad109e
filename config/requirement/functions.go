package requirement

import (
	"fmt"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// Functions returns the functions that make requirements.
func Functions() map[string]function.Function {
	return map[string]function.Function{
		"notin":   variadic(notin),
		"exists":  constant(Exists),
		"absent":  constant(DoesNotExist),
		"gt":      comparison(Gt),
		"gte":     comparison(Gte),
		"lt":      comparison(Lt),
		"lte":     comparison(Lte),
		"between": betweenFunc,
		"all":     allFunc,
		"atleast": atleastFunc,
	}
}

var betweenFunc = function.New(&function.Spec{
	Params: []function.Parameter{plain("from"), plain("to")},
	Type:   function.StaticReturnType(Type),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		from, err := compare(Gte, args[0])
		if err != nil {
			return cty.NilVal, function.NewArgError(0, err)
		}
		to, err := compare(Lte, args[1])
		if err != nil {
			return cty.NilVal, function.NewArgError(1, err)
		}
		return Value(Requirement{Terms: []Term{from, to}}), nil
	},
})

var allFunc = function.New(&function.Spec{
	VarParam: &function.Parameter{Name: "requirements", Type: Type},
	Type:     function.StaticReturnType(Type),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		var all Requirement
		for _, arg := range args {
			all.Terms = append(all.Terms, arg.EncapsulatedValue().(*Requirement).Terms...)
		}
		if len(all.Terms) == 0 {
			return cty.NilVal, fmt.Errorf("at least one requirement is needed")
		}
		return Value(all), nil
	},
})

// A minimum is stored on the first term only: Karpenter intersects all terms
// of a key and keeps the largest minimum.
var atleastFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "n", Type: cty.Number}, {Name: "requirement", Type: Type}},
	Type:   function.StaticReturnType(Type),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		n, exact := args[0].AsBigFloat().Int64()
		if exact != 0 || n < 1 || n > 50 {
			return cty.NilVal, function.NewArgErrorf(0, "a whole number from 1 to 50 is required")
		}
		terms := args[1].EncapsulatedValue().(*Requirement).Terms
		terms = append([]Term(nil), terms...)
		terms[0].MinValues = n
		return Value(Requirement{Terms: terms}), nil
	},
})

func notin(args []cty.Value) (Requirement, error) {
	if len(args) == 1 && !args[0].IsNull() && args[0].CanIterateElements() {
		args = args[0].AsValueSlice()
	}
	texts, err := texts(args)
	if err == nil && len(texts) == 0 {
		err = fmt.Errorf("at least one value is needed")
	}
	return Requirement{Terms: []Term{{Operator: NotIn, Values: texts}}}, err
}

func compare(op Operator, v cty.Value) (Term, error) {
	amount, err := text(v)
	return Term{Operator: op, Values: []string{amount}}, err
}

func comparison(op Operator) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{plain("amount")},
		Type:   function.StaticReturnType(Type),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			term, err := compare(op, args[0])
			if err != nil {
				return cty.NilVal, function.NewArgError(0, err)
			}
			return Value(Requirement{Terms: []Term{term}}), nil
		},
	})
}

func constant(op Operator) function.Function {
	return function.New(&function.Spec{
		Type: function.StaticReturnType(Type),
		Impl: func([]cty.Value, cty.Type) (cty.Value, error) {
			return Value(Requirement{Terms: []Term{{Operator: op}}}), nil
		},
	})
}

func variadic(impl func([]cty.Value) (Requirement, error)) function.Function {
	values := plain("values")
	return function.New(&function.Spec{
		VarParam: &values,
		Type:     function.StaticReturnType(Type),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			r, err := impl(args)
			if err != nil {
				return cty.NilVal, err
			}
			return Value(r), nil
		},
	})
}

// plain is a parameter that takes text, a number or a list: its type is
// checked by the function, which can say what is wrong better.
func plain(name string) function.Parameter {
	return function.Parameter{Name: name, Type: cty.DynamicPseudoType, AllowNull: true, AllowDynamicType: true}
}
