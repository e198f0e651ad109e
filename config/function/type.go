package function

import (
	"reflect"

	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// A typeText is a type in the syntax of a variable block.
type typeText struct{ text string }

// String returns the type expression.
func (t *typeText) String() string { return t.text }

var typeType = cty.Capsule("type", reflect.TypeFor[typeText]())

// Type returns the type of a value. It is for people who inspect values, not for configurations.
var Type = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowNull: true, AllowDynamicType: true}},
	Type:   function.StaticReturnType(typeType),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		return cty.CapsuleVal(typeType, &typeText{typeexpr.TypeString(withoutRequirements(args[0].Type()))}), nil
	},
})

// withoutRequirements replaces the types of requirements, which have no expression, by any.
func withoutRequirements(ty cty.Type) cty.Type {
	switch {
	case ty.IsCapsuleType():
		return cty.DynamicPseudoType
	case ty.IsObjectType():
		of := map[string]cty.Type{}
		for name, attribute := range ty.AttributeTypes() {
			of[name] = withoutRequirements(attribute)
		}
		return cty.Object(of)
	case ty.IsTupleType():
		var of []cty.Type
		for _, element := range ty.TupleElementTypes() {
			of = append(of, withoutRequirements(element))
		}
		return cty.Tuple(of)
	case ty.IsMapType():
		return cty.Map(withoutRequirements(ty.ElementType()))
	case ty.IsListType():
		return cty.List(withoutRequirements(ty.ElementType()))
	case ty.IsSetType():
		return cty.Set(withoutRequirements(ty.ElementType()))
	}
	return ty
}
