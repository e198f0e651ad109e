package function

import (
	"fmt"
	"slices"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// lengthFunc also counts the attributes of an object, which the library does not: a literal map is
// an object, and so is pool.
var lengthFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowDynamicType: true}},
	Type: func(args []cty.Value) (cty.Type, error) {
		if ty := args[0].Type(); ty.IsObjectType() || ty == cty.String {
			return cty.Number, nil
		}
		return stdlib.LengthFunc.ReturnTypeForValues(args)
	},
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		switch ty := args[0].Type(); {
		case ty.IsObjectType():
			return cty.NumberIntVal(int64(len(ty.AttributeTypes()))), nil
		case ty == cty.String:
			return stdlib.Strlen(args[0])
		}
		return stdlib.Length(args[0])
	},
})

// returning is a function whose result has a fixed type.
func returning(ty cty.Type, impl func(args []cty.Value) (cty.Value, error),
	params ...function.Parameter) function.Function {
	return function.New(&function.Spec{
		Params: params,
		Type:   function.StaticReturnType(ty),
		Impl:   func(args []cty.Value, _ cty.Type) (cty.Value, error) { return impl(args) },
	})
}

var boolsParam = function.Parameter{Name: "list", Type: cty.List(cty.Bool)}

var allTrueFunc = returning(cty.Bool, func(args []cty.Value) (cty.Value, error) {
	return cty.BoolVal(count(args[0], cty.False) == 0), nil
}, boolsParam)

var anyTrueFunc = returning(cty.Bool, func(args []cty.Value) (cty.Value, error) {
	return cty.BoolVal(count(args[0], cty.True) > 0), nil
}, boolsParam)

// count returns the number of elements equal to v. Null counts as false.
func count(list, v cty.Value) (n int) {
	for _, element := range list.AsValueSlice() {
		if element.IsNull() {
			element = cty.False
		}
		if element.RawEquals(v) {
			n++
		}
	}
	return n
}

var sumFunc = returning(cty.Number, func(args []cty.Value) (cty.Value, error) {
	sum := cty.Zero
	for _, n := range args[0].AsValueSlice() {
		if n.IsNull() {
			return cty.NilVal, fmt.Errorf("the list contains a null element")
		}
		sum = sum.Add(n)
	}
	return sum, nil
}, function.Parameter{Name: "list", Type: cty.List(cty.Number)})

var oneFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}},
	Type: func(args []cty.Value) (cty.Type, error) {
		v, err := one(args[0])
		return v.Type(), err
	},
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		return one(args[0])
	},
})

func one(list cty.Value) (cty.Value, error) {
	switch {
	case !list.IsKnown():
		return cty.DynamicVal, nil
	case !list.Type().IsListType() && !list.Type().IsSetType() && !list.Type().IsTupleType():
		return cty.DynamicVal, fmt.Errorf("a list is required")
	case list.LengthInt() > 1:
		return cty.DynamicVal, fmt.Errorf("the list has %d elements", list.LengthInt())
	case list.LengthInt() == 0:
		return cty.NullVal(cty.DynamicPseudoType), nil
	}
	return list.AsValueSlice()[0], nil
}

// mergeFunc returns null for null arguments. The library returns an empty object, so a for_each
// would silently have no elements.
var mergeFunc = function.New(&function.Spec{
	VarParam: stdlib.MergeFunc.VarParam(),
	Type: func(args []cty.Value) (cty.Type, error) {
		return stdlib.MergeFunc.ReturnTypeForValues(args)
	},
	Impl: func(args []cty.Value, ty cty.Type) (cty.Value, error) {
		if len(args) > 0 && !slices.ContainsFunc(args, func(v cty.Value) bool { return !v.IsNull() }) {
			return cty.NullVal(ty), nil
		}
		return stdlib.MergeFunc.Call(args)
	},
})
