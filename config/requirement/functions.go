package requirement

import (
	"fmt"
	"slices"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// Functions returns the functions that create requirements.
func Functions() map[string]function.Function {
	values := anyParameter("values")
	return map[string]function.Function{
		"notin":   requirementFunc(notin, &values),
		"exists":  constant(Exists),
		"absent":  constant(DoesNotExist),
		"gt":      comparison(Gt),
		"gte":     comparison(Gte),
		"lt":      comparison(Lt),
		"lte":     comparison(Lte),
		"between": requirementFunc(between, nil, anyParameter("from"), anyParameter("to")),
		"all":     requirementFunc(all, &function.Parameter{Name: "requirements", Type: Type}),
		"atleast": requirementFunc(atleast, nil, function.Parameter{Name: "n", Type: cty.Number},
			function.Parameter{Name: "requirement", Type: Type}),
	}
}

// requirementFunc is a function that returns a requirement with the terms that impl returns.
func requirementFunc(impl func([]cty.Value) ([]Term, error), variadic *function.Parameter,
	params ...function.Parameter) function.Function {
	return function.New(&function.Spec{
		Params:   params,
		VarParam: variadic,
		Type:     function.StaticReturnType(Type),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			terms, err := impl(args)
			if err != nil {
				return cty.NilVal, err
			}
			return Value(Requirement{Terms: terms}), nil
		},
	})
}

func constant(op Operator) function.Function {
	return requirementFunc(func([]cty.Value) ([]Term, error) { return []Term{{Operator: op}}, nil }, nil)
}

func comparison(op Operator) function.Function {
	return requirementFunc(func(args []cty.Value) ([]Term, error) { return compare(args, op) }, nil, anyParameter("amount"))
}

func between(args []cty.Value) ([]Term, error) { return compare(args, Gte, Lte) }

// compare creates a term from each operator and its argument.
func compare(args []cty.Value, operators ...Operator) (terms []Term, err error) {
	for i, op := range operators {
		amount, err := text(args[i])
		if err != nil {
			return nil, function.NewArgError(i, err)
		}
		terms = append(terms, Term{Operator: op, Values: []string{amount}})
	}
	return terms, nil
}

func all(args []cty.Value) (terms []Term, err error) {
	for _, arg := range args {
		terms = append(terms, arg.EncapsulatedValue().(*Requirement).Terms...)
	}
	if len(terms) == 0 {
		return nil, fmt.Errorf("at least one requirement is needed")
	}
	return terms, nil
}

// atleast stores the minimum only in the first term: Karpenter intersects all terms of a key and
// keeps the largest minimum.
func atleast(args []cty.Value) ([]Term, error) {
	n, exact := args[0].AsBigFloat().Int64()
	if exact != 0 || n < 1 || n > 50 {
		return nil, function.NewArgErrorf(0, "a whole number from 1 to 50 is required")
	}
	terms := slices.Clone(args[1].EncapsulatedValue().(*Requirement).Terms)
	terms[0].MinValues = n
	return terms, nil
}

func notin(args []cty.Value) ([]Term, error) {
	if len(args) == 1 && !args[0].IsNull() && args[0].CanIterateElements() {
		args = args[0].AsValueSlice()
	}
	texts, err := texts(args)
	if err == nil && len(texts) == 0 {
		err = fmt.Errorf("at least one value is needed")
	}
	return []Term{{Operator: NotIn, Values: texts}}, err
}

// anyParameter is a parameter that takes text, a number or a list. The function checks its type, because
// it can give a better message.
func anyParameter(name string) function.Parameter {
	return function.Parameter{Name: name, Type: cty.DynamicPseudoType, AllowNull: true, AllowDynamicType: true}
}
