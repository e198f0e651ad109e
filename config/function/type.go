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
		return cty.CapsuleVal(typeType, &typeText{typeexpr.TypeString(args[0].Type())}), nil
	},
})
