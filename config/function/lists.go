package function

import (
	"errors"
	"fmt"
	"slices"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
)

// coalesceFunc skips empty text as well as null, as in Terraform; the library's function does not.
var coalesceFunc = function.New(&function.Spec{
	VarParam: &function.Parameter{
		Name: "values", Type: cty.DynamicPseudoType, AllowNull: true, AllowDynamicType: true,
	},
	Type: func(args []cty.Value) (cty.Type, error) {
		types := make([]cty.Type, len(args))
		for i, arg := range args {
			types[i] = arg.Type()
		}
		ty, _ := convert.UnifyUnsafe(types)
		if ty == cty.NilType {
			return cty.NilType, errors.New("all arguments must have the same type")
		}
		return ty, nil
	},
	Impl: func(args []cty.Value, ty cty.Type) (cty.Value, error) {
		for _, arg := range args {
			v, err := convert.Convert(arg, ty)
			if err != nil {
				return cty.NilVal, err
			}
			if !v.IsNull() && !v.RawEquals(cty.StringVal("")) {
				return v, nil
			}
		}
		return cty.NilVal, errors.New("all arguments are null or empty text")
	},
})

// lookupFunc can be called without a default, unlike the library's function.
var lookupFunc = function.New(&function.Spec{
	Params: []function.Parameter{
		{Name: "map", Type: cty.DynamicPseudoType},
		{Name: "key", Type: cty.String},
	},
	VarParam: &function.Parameter{
		Name: "default", Type: cty.DynamicPseudoType, AllowNull: true, AllowDynamicType: true,
	},
	Type: func(args []cty.Value) (cty.Type, error) {
		v, err := lookup(args)
		return v.Type(), err
	},
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return lookup(args) },
})

func lookup(args []cty.Value) (cty.Value, error) {
	in, key, more := args[0], args[1], args[2:]
	ty := in.Type()
	switch {
	case len(more) > 1:
		return cty.DynamicVal, errors.New("too many arguments: lookup takes a map, a key and a default")
	case !ty.IsObjectType() && !ty.IsMapType():
		return cty.DynamicVal, function.NewArgErrorf(0, "a map is required")
	case !in.IsKnown() || !key.IsKnown():
		return cty.DynamicVal, nil
	}
	if ty.IsMapType() && len(more) == 1 {
		converted, err := convert.Convert(more[0], ty.ElementType())
		if err != nil {
			return cty.DynamicVal, function.NewArgErrorf(2, "the default must have the type of the map's values")
		}
		more = []cty.Value{converted}
	}
	name := key.AsString()
	switch {
	case ty.IsObjectType() && ty.HasAttribute(name):
		return in.GetAttr(name), nil
	case ty.IsMapType() && in.HasIndex(key).True():
		return in.Index(key), nil
	case len(more) == 1:
		return more[0], nil
	}
	return cty.DynamicVal, function.NewArgErrorf(1, "the map has no key %q, and there is no default", name)
}

// indexFunc returns the index of an element. The library's function of this name is different.
var indexFunc = returning(cty.Number, func(args []cty.Value) (cty.Value, error) {
	if ty := args[0].Type(); !ty.IsListType() && !ty.IsTupleType() {
		return cty.NilVal, function.NewArgErrorf(0, "a list is required")
	}
	for i, element := range args[0].AsValueSlice() {
		if equal := element.Equals(args[1]); equal.IsKnown() && equal.True() {
			return cty.NumberIntVal(int64(i)), nil
		}
	}
	return cty.NilVal, function.NewArgErrorf(1, "the list does not contain this element")
}, function.Parameter{Name: "list", Type: cty.DynamicPseudoType},
	function.Parameter{Name: "value", Type: cty.DynamicPseudoType})

// containsFunc accepts a null of any type, for which the result of the library's function is unknown.
var containsFunc = returning(cty.Bool, func(args []cty.Value) (cty.Value, error) {
	if ty := args[0].Type(); !ty.IsListType() && !ty.IsTupleType() && !ty.IsSetType() {
		return cty.NilVal, function.NewArgErrorf(0, "a list is required")
	}
	for _, element := range args[0].AsValueSlice() {
		if element.IsNull() || args[1].IsNull() {
			if element.IsNull() && args[1].IsNull() {
				return cty.True, nil
			}
			continue
		}
		equal := element.Equals(args[1])
		if !equal.IsKnown() {
			return cty.UnknownVal(cty.Bool), nil
		}
		if equal.True() {
			return cty.True, nil
		}
	}
	return cty.False, nil
}, function.Parameter{Name: "list", Type: cty.DynamicPseudoType},
	function.Parameter{Name: "value", Type: cty.DynamicPseudoType, AllowNull: true, AllowDynamicType: true})

// transposeFunc swaps keys and elements of a map of lists: each element becomes a key, with the
// sorted keys of the lists that contain it.
var transposeFunc = returning(cty.Map(cty.List(cty.String)), func(args []cty.Value) (cty.Value, error) {
	under := map[string][]string{}
	for key, list := range args[0].AsValueMap() {
		if list.IsNull() {
			return cty.NilVal, fmt.Errorf("the value of %q is null", key)
		}
		for _, element := range list.AsValueSlice() {
			if element.IsNull() {
				return cty.NilVal, fmt.Errorf("the list of %q contains a null element", key)
			}
			under[element.AsString()] = append(under[element.AsString()], key)
		}
	}
	lists := map[string]cty.Value{}
	for element, keys := range under {
		slices.Sort(keys)
		var list []cty.Value
		for _, key := range keys {
			list = append(list, cty.StringVal(key))
		}
		lists[element] = cty.ListVal(list)
	}
	if len(lists) == 0 {
		return cty.MapValEmpty(cty.List(cty.String)), nil
	}
	return cty.MapVal(lists), nil
}, function.Parameter{Name: "map", Type: cty.Map(cty.List(cty.String))})
