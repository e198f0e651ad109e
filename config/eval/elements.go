package eval

import (
	"slices"

	"github.com/zclconf/go-cty/cty"
)

// Elements returns the elements of a value of for_each, by key: those of a map or object, or of a
// set of strings. For other values, wrong explains the error. The value must be known.
func Elements(v cty.Value) (elements map[string]cty.Value, wrong string) {
	wrong = notIterable(v)
	if wrong != "" {
		return nil, wrong
	}
	elements = map[string]cty.Value{}
	for it := v.ElementIterator(); it.Next(); {
		key, value := it.Element()
		elements[key.AsString()] = value
	}
	return elements, ""
}

// notIterable explains why a value has no elements; "" if it has.
func notIterable(v cty.Value) string {
	ty := v.Type()
	switch {
	case v.IsNull():
		return "This value is null. For no objects, write an empty map."
	case ty.IsSetType() && (ty.ElementType() == cty.String || v.LengthInt() == 0):
		if slices.ContainsFunc(v.AsValueSlice(), cty.Value.IsNull) {
			return "An element of the set is null. To omit null elements, write compact([...])."
		}
		return ""
	case ty.IsMapType(), ty.IsObjectType():
		return ""
	case ty.IsListType(), ty.IsTupleType():
		return "This value is a list, whose elements have no keys: removing one would change the identity of others. " +
			"Write toset([...])."
	}
	return "This value has the type " + ty.FriendlyName() + "."
}
