package eval

import (
	"slices"

	"github.com/zclconf/go-cty/cty"
)

// Elements are what something is repeated for, by key: those of a map or an object, or of
// a set of strings. For any other value, wrong says what it is. The value must be known.
func Elements(v cty.Value) (elements map[string]cty.Value, wrong string) {
	if wrong = notIterable(v); wrong != "" {
		return nil, wrong
	}
	elements = map[string]cty.Value{}
	for it := v.ElementIterator(); it.Next(); {
		key, value := it.Element()
		elements[key.AsString()] = value
	}
	return elements, ""
}

// notIterable says why nothing is repeated for a value; "" where it is.
func notIterable(v cty.Value) string {
	ty := v.Type()
	switch {
	case v.IsNull():
		return "It is null; to make nothing, give an empty map."
	case ty.IsSetType() && (ty.ElementType() == cty.String || v.LengthInt() == 0):
		if slices.ContainsFunc(v.AsValueSlice(), cty.Value.IsNull) {
			return "An element of the set is null; compact([...]) leaves such elements out."
		}
		return ""
	case ty.IsMapType(), ty.IsObjectType():
		return ""
	case ty.IsListType(), ty.IsTupleType():
		return "It is a list, whose elements have no names: when one is taken out, the others would change theirs. " +
			"Write toset([...])."
	}
	return "It is " + ty.FriendlyName() + "."
}
