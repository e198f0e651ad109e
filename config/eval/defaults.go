package eval

import (
	"strconv"

	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"
)

// Fill sets the attributes that a type declares as optional. It returns lists and maps as tuples
// and objects, for callers that convert them to the type. The library would compare the types of
// all pairs of elements.
func (m *Meter) Fill(v cty.Value, defaults *typeexpr.Defaults) cty.Value {
	if v.IsNull() || !v.IsKnown() || !v.CanIterateElements() {
		return v
	}
	if !m.Spend((1 + len(defaults.DefaultValues)) * converted) {
		return cty.DynamicVal
	}
	if ty := v.Type(); !ty.IsObjectType() && !ty.IsMapType() {
		elements := v.AsValueSlice()
		for i, element := range elements {
			elements[i] = m.fillChild(element, defaults, strconv.Itoa(i))
		}
		return cty.TupleVal(elements)
	}
	attributes := map[string]cty.Value{}
	for name, value := range v.AsValueMap() {
		attributes[name] = m.fillChild(value, defaults, name)
	}
	for name, value := range defaults.DefaultValues {
		if given, ok := attributes[name]; !ok || given.IsNull() {
			attributes[name] = m.fillChild(value, defaults, name)
		}
	}
	return cty.ObjectVal(attributes)
}

// fillChild fills an attribute or an element. The defaults of all elements of a collection have the
// key "".
func (m *Meter) fillChild(v cty.Value, defaults *typeexpr.Defaults, key string) cty.Value {
	if !defaults.Type.IsObjectType() && !defaults.Type.IsTupleType() {
		key = ""
	}
	if child := defaults.Children[key]; child != nil {
		return m.Fill(v, child)
	}
	return v
}

// Convert is ConvertMetered, counted by this meter.
func (m *Meter) Convert(v cty.Value, ty cty.Type) (cty.Value, error) {
	if !m.Spend(SizeOf(v) * converted) {
		return cty.DynamicVal, nil
	}
	return ConvertMetered(v, ty)
}
