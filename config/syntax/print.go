package syntax

import (
	"fmt"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// Print writes a value as HCL, on several lines if it is long.
func Print(v cty.Value) string {
	return string(hclwrite.Format([]byte(literal(v))))
}

func literal(v cty.Value) string {
	ty := v.Type()
	switch {
	case !v.IsKnown():
		return "(unknown)"
	case v.IsNull():
		return "null"
	case ty.IsCapsuleType(): // writes itself
		return fmt.Sprint(v.EncapsulatedValue())
	case ty.IsPrimitiveType():
		return string(hclwrite.TokensForValue(v).Bytes())
	case ty.IsSetType():
		return "toset(" + elements(v) + ")"
	case ty.IsListType(), ty.IsTupleType():
		return elements(v)
	case ty.IsMapType(), ty.IsObjectType():
		return attributes(v)
	}
	return ty.FriendlyName()
}

func elements(v cty.Value) string {
	var parts []string
	for it := v.ElementIterator(); it.Next(); {
		_, element := it.Element()
		parts = append(parts, literal(element))
	}
	return List(parts)
}

func attributes(v cty.Value) string {
	var pairs []Pair
	for it := v.ElementIterator(); it.Next(); {
		key, value := it.Element()
		pairs = append(pairs, Pair{Key: key.AsString(), Value: literal(value)})
	}
	return Object(pairs)
}
