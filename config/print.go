package config

import (
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/config/requirement"
)

// maxWidth is how long a list or an object may be to stay on one line.
const maxWidth = 76

// Print writes a value as HCL, on several lines where it is long.
func Print(v cty.Value) string {
	return string(hclwrite.Format([]byte(literal(v))))
}

func literal(v cty.Value) string {
	ty := v.Type()
	switch {
	case !v.IsKnown():
		return "(cannot be worked out)"
	case v.IsNull():
		return "null"
	case ty.Equals(requirement.Type):
		return v.EncapsulatedValue().(*requirement.Requirement).String()
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
	if line := "[" + strings.Join(parts, ", ") + "]"; len(line) <= maxWidth && !strings.Contains(line, "\n") {
		return line
	}
	return "[\n" + strings.Join(parts, ",\n") + ",\n]"
}

func attributes(v cty.Value) string {
	var parts []string
	for it := v.ElementIterator(); it.Next(); {
		key, value := it.Element()
		name := key.AsString()
		if !hclsyntax.ValidIdentifier(name) {
			name = literal(key)
		}
		parts = append(parts, name+" = "+literal(value))
	}
	if len(parts) == 0 {
		return "{}"
	}
	if line := "{ " + strings.Join(parts, ", ") + " }"; len(line) <= maxWidth && !strings.Contains(line, "\n") {
		return line
	}
	return "{\n" + strings.Join(parts, "\n") + "\n}"
}
