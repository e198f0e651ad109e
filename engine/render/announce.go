package render

import (
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/syntax"
)

// An Announcement describes a parameter that an Application can set, for the form
// in the UI of Argo CD.
type Announcement struct {
	Name           string            `json:"name"`
	Title          string            `json:"title,omitempty"`
	Tooltip        string            `json:"tooltip,omitempty"`
	Required       bool              `json:"required,omitempty"`
	ItemType       string            `json:"itemType,omitempty"`       // of the value, or of the parts of a collection
	CollectionType string            `json:"collectionType,omitempty"` // string, array or map
	String         string            `json:"string,omitempty"`
	Array          []string          `json:"array,omitempty"`
	Map            map[string]string `json:"map,omitempty"`
}

// Announce returns the parameters for the variables of a directory. Argo CD shows
// lists and maps of text, numbers and bools in a separate form; the value of
// any other variable is an expression in HCL.
func Announce(variables []config.Variable) []Announcement {
	announced := make([]Announcement, 0, len(variables)) // none is [], and not null
	for _, v := range variables {
		announced = append(announced, announceVariable(v))
	}
	return announced
}

func announceVariable(v config.Variable) Announcement {
	a := Announcement{
		Name: v.Name, Title: v.Name, Tooltip: v.Description, Required: v.Value == cty.NilVal, CollectionType: "string",
	}
	ty := v.Type
	switch list := ty.IsListType() || ty.IsSetType(); {
	case ty.IsPrimitiveType():
		a.ItemType = itemType(ty)
	case list && ty.ElementType().IsPrimitiveType():
		a.ItemType, a.CollectionType = itemType(ty.ElementType()), "array"
	case ty.IsMapType() && ty.ElementType().IsPrimitiveType():
		a.ItemType, a.CollectionType = itemType(ty.ElementType()), "map"
	}
	switch {
	case a.Required || v.Value.IsNull() || !v.Value.IsKnown():
	case a.ItemType == "":
		a.String = syntax.Print(v.Value)
	case a.CollectionType == "array":
		for _, element := range v.Value.AsValueSlice() {
			a.Array = append(a.Array, valueText(element))
		}
	case a.CollectionType == "map":
		a.Map = map[string]string{}
		for key, element := range v.Value.AsValueMap() {
			a.Map[key] = valueText(element)
		}
	default:
		a.String = valueText(v.Value)
	}
	return a
}

func itemType(ty cty.Type) string {
	switch ty {
	case cty.Number:
		return "number"
	case cty.Bool:
		return "boolean"
	}
	return "string"
}

// valueText returns a value of a primitive type as a string, as Argo CD has all of them.
func valueText(v cty.Value) string {
	v, err := convert.Convert(v, cty.String)
	if err != nil || v.IsNull() || !v.IsKnown() {
		return ""
	}
	return v.AsString()
}
