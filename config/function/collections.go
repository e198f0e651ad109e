package function

import (
	"fmt"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// lengthFunc counts the attributes of an object too, which the library's does
// not: a map that is written out is an object, and so is pool as a whole.
var lengthFunc = function.New(&function.Spec{
	Description: "The number of elements of a list, a set or a map, or of characters of text.",
	Params:      []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowDynamicType: true}},
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

var boolsParam = []function.Parameter{{Name: "list", Type: cty.List(cty.Bool)}}

var allTrueFunc = function.New(&function.Spec{
	Description: "Whether all elements are true; true for an empty list.",
	Params:      boolsParam,
	Type:        function.StaticReturnType(cty.Bool),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		return cty.BoolVal(count(args[0], cty.False) == 0), nil
	},
})

var anyTrueFunc = function.New(&function.Spec{
	Description: "Whether at least one element is true.",
	Params:      boolsParam,
	Type:        function.StaticReturnType(cty.Bool),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		return cty.BoolVal(count(args[0], cty.True) > 0), nil
	},
})

// count is the number of elements that are v. Null counts as false.
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

var sumFunc = function.New(&function.Spec{
	Description: "The sum of the numbers of a list.",
	Params:      []function.Parameter{{Name: "list", Type: cty.List(cty.Number)}},
	Type:        function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		sum := cty.Zero
		for _, n := range args[0].AsValueSlice() {
			if n.IsNull() {
				return cty.NilVal, fmt.Errorf("the list has an element that is null")
			}
			sum = sum.Add(n)
		}
		return sum, nil
	},
})

var oneFunc = function.New(&function.Spec{
	Description: "The element of a list that has one, null for an empty list.",
	Params:      []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}},
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
	case !list.CanIterateElements():
		return cty.DynamicVal, fmt.Errorf("a list is required")
	case list.LengthInt() > 1:
		return cty.DynamicVal, fmt.Errorf("the list has %d elements", list.LengthInt())
	case list.LengthInt() == 0:
		return cty.NullVal(cty.DynamicPseudoType), nil
	}
	return list.AsValueSlice()[0], nil
}
