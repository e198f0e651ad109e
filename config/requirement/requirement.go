// Package requirement defines the values of a pool's requirements: the conditions on one key, such
// as cpu = between(4, 32) or class = ["dedicated"].
//
// Requirements are values of the expression language, so they can be stored in locals, merged,
// chosen by a condition and passed through variables. This package defines the possible conditions
// and their spelling in HCL and Kubernetes; package schemas lists the labels.
package requirement

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// Operator is a Kubernetes node selector operator, spelled as in a NodePool.
type Operator string

// The operators of a NodePool requirement.
const (
	In           Operator = "In"
	NotIn        Operator = "NotIn"
	Exists       Operator = "Exists"
	DoesNotExist Operator = "DoesNotExist"
	Gt           Operator = "Gt"
	Lt           Operator = "Lt"
	Gte          Operator = "Gte"
	Lte          Operator = "Lte"
)

// A Term is one entry of a NodePool's requirements, without its key.
type Term struct {
	Operator  Operator
	Values    []string
	MinValues int64 // how many different values must stay possible; 0 if unset
}

// A Requirement is the condition on one key. All of its terms must be satisfied.
type Requirement struct {
	Terms []Term
}

// Type is the type of requirement values in expressions. Text, numbers, bools and lists of them
// convert to it: a plain value means In.
var Type = cty.CapsuleWithOps("requirement", reflect.TypeFor[Requirement](), &cty.CapsuleOps{
	GoString:     func(v any) string { return fmt.Sprintf("requirement(%s)", v.(*Requirement)) },
	TypeGoString: func(reflect.Type) string { return "requirement.Type" },
	RawEquals:    func(a, b any) bool { return a.(*Requirement).String() == b.(*Requirement).String() },
	ConversionTo: conversionTo,
})

// Value returns r as a value of the expression language.
func Value(r Requirement) cty.Value {
	return cty.CapsuleVal(Type, &r)
}

// FromValue returns the requirement of a value that is a requirement or converts to one. The value
// must be known and not null.
func FromValue(v cty.Value) (Requirement, error) {
	v, err := convert.Convert(v, Type)
	if err != nil {
		return Requirement{}, err
	}
	return *v.EncapsulatedValue().(*Requirement), nil
}

// conversionTo converts plain values to requirements.
func conversionTo(src cty.Type) func(cty.Value, cty.Path) (any, error) {
	switch {
	case src.IsPrimitiveType():
		return func(v cty.Value, _ cty.Path) (any, error) {
			return in(v)
		}
	case src.IsListType(), src.IsSetType(), src.IsTupleType():
		return func(v cty.Value, _ cty.Path) (any, error) {
			return in(v.AsValueSlice()...)
		}
	}
	return nil
}

func in(values ...cty.Value) (*Requirement, error) {
	texts, err := texts(values)
	if err != nil {
		return nil, err
	}
	if len(texts) == 0 {
		return nil, fmt.Errorf("an empty list allows no value; to allow any value, write null")
	}
	return &Requirement{Terms: []Term{{Operator: In, Values: texts}}}, nil
}

// texts converts plain values to the strings that Kubernetes compares, sorted and without
// duplicates, because their order has no meaning.
func texts(values []cty.Value) ([]string, error) {
	var texts []string
	for _, v := range values {
		text, err := text(v)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	slices.Sort(texts)
	return slices.Compact(texts), nil
}

func text(v cty.Value) (string, error) {
	switch {
	case v.Type().IsCapsuleType():
		return "", fmt.Errorf("a list can contain only plain values; combine requirements with all(...)")
	case v.IsNull():
		return "", fmt.Errorf("null cannot be compared; remove it")
	case !v.IsKnown() || !v.Type().IsPrimitiveType():
		return "", fmt.Errorf("text or numbers are required, not %s", v.Type().FriendlyName())
	}
	s, err := convert.Convert(v, cty.String)
	if err != nil {
		return "", err
	}
	return s.AsString(), nil
}
