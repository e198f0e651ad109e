package eval

import (
	"errors"
	"fmt"
	"slices"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// maxUnlike is the maximum number of elements of different types that are unified: all pairs of
// types are compared.
const maxUnlike = 1000

// ConvertMetered is convert.Convert in linear time. That function compares the types of all pairs
// of elements of a list even if the wanted type is known: five thousand elements take a second.
func ConvertMetered(v cty.Value, ty cty.Type) (cty.Value, error) {
	if !v.IsKnown() || v.IsNull() || v.Type().Equals(ty) {
		return convert.Convert(v, ty)
	}
	switch {
	case ty == cty.Number:
		return convertNumber(v)
	case ty.IsObjectType() && v.Type().IsObjectType():
		return convertAttributes(v, ty)
	case ty.IsMapType() && (v.Type().IsObjectType() || v.Type().IsMapType()):
		return convertMap(v, ty)
	case (ty.IsListType() || ty.IsSetType()) &&
		(v.Type().IsTupleType() || v.Type().IsListType() || v.Type().IsSetType()):
		return convertList(v, ty)
	}
	return convert.Convert(v, ty)
}

// convertNumber rejects text such as "1e1000000", a number that takes minutes to print.
func convertNumber(v cty.Value) (cty.Value, error) {
	n, err := convert.Convert(v, cty.Number)
	if err == nil && !NumbersInRange(n) {
		err = errors.New("the number is out of range")
	}
	return n, err
}

// convertAttributes converts the attributes that both types have, so only short work remains for
// the library, which handles missing and additional attributes.
func convertAttributes(v cty.Value, ty cty.Type) (cty.Value, error) {
	attributes := v.AsValueMap()
	for name, value := range attributes {
		if !ty.HasAttribute(name) {
			continue
		}
		converted, err := ConvertMetered(value, ty.AttributeType(name))
		if err != nil {
			return cty.DynamicVal, fmt.Errorf("attribute %q: %w", name, err)
		}
		attributes[name] = converted
	}
	return convert.Convert(cty.ObjectVal(attributes), ty)
}

func convertMap(v cty.Value, ty cty.Type) (cty.Value, error) {
	elements := v.AsValueMap()
	var all []cty.Value
	for key, value := range elements {
		converted, err := ConvertMetered(value, ty.ElementType())
		if err != nil {
			return cty.DynamicVal, fmt.Errorf("element %q: %w", key, err)
		}
		elements[key] = converted
		all = append(all, converted)
	}
	switch alike, err := alike(all); {
	case err != nil:
		return cty.DynamicVal, err
	case !alike:
		return convert.Convert(v, ty)
	}
	return cty.MapVal(elements), nil
}

func convertList(v cty.Value, ty cty.Type) (cty.Value, error) {
	var elements []cty.Value
	for i, element := range v.AsValueSlice() {
		converted, err := ConvertMetered(element, ty.ElementType())
		if err != nil {
			return cty.DynamicVal, fmt.Errorf("element %d: %w", i+1, err)
		}
		elements = append(elements, converted)
	}
	switch alike, err := alike(elements); {
	case err != nil:
		return cty.DynamicVal, err
	case !alike:
		return convert.Convert(v, ty)
	case ty.IsSetType():
		if Collisions(elements) > maxCollisions {
			return cty.DynamicVal, errors.New("too many elements of the set have the same hash")
		}
		return cty.SetVal(elements), nil
	}
	return cty.ListVal(elements), nil
}

// maxCollisions is the maximum number of pairs of set elements with the same hash. The library
// compares all such pairs, and anyone can construct many texts with the same hash.
const maxCollisions = 100_000

// Collisions returns how many pairs of distinct elements a set of them would compare.
func Collisions(elements []cty.Value) (pairs int) {
	alike := map[int][]cty.Value{}
	for _, element := range elements {
		if !element.IsWhollyKnown() {
			continue
		}
		hash := element.Hash()
		if slices.ContainsFunc(alike[hash], element.RawEquals) {
			continue // a duplicate, which the set drops
		}
		pairs += len(alike[hash])
		alike[hash] = append(alike[hash], element)
		if pairs > maxCollisions {
			break
		}
	}
	return pairs
}

// alike reports whether there are elements, all of one type. If not, the library can unify their
// types if they are few.
func alike(elements []cty.Value) (bool, error) {
	for _, element := range elements {
		if element.Type().Equals(elements[0].Type()) {
			continue
		}
		if len(elements) > maxUnlike {
			return false, fmt.Errorf("the %d elements are not all of the same type", len(elements))
		}
		return false, nil
	}
	return len(elements) > 0, nil
}
