package config

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	ctyyaml "github.com/zclconf/go-cty-yaml"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/lkeplan/lkeplan/config/requirement"
	"github.com/lkeplan/lkeplan/config/syntax"
)

// functions returns the functions of the language. All of them are pure: a
// directory compiles to the same objects wherever and whenever it is compiled,
// so there is no time, no randomness, no environment and no network.
func functions(meter *syntax.Meter) map[string]function.Function {
	metered := map[string]function.Function{}
	for name, f := range requirement.Functions() {
		metered[name] = meter.Function(f, nil)
	}
	for name, f := range general() {
		metered[name] = meter.Function(f, costs()[name])
	}
	return metered
}

func general() map[string]function.Function {
	return map[string]function.Function{
		"abs":   stdlib.AbsoluteFunc,
		"ceil":  stdlib.CeilFunc,
		"floor": stdlib.FloorFunc,
		"max":   stdlib.MaxFunc,
		"min":   stdlib.MinFunc,
		"sum":   sumFunc,

		"endswith":   affixFunc("Whether the text ends with the given suffix.", strings.HasSuffix),
		"format":     stdlib.FormatFunc,
		"join":       stdlib.JoinFunc,
		"lower":      stdlib.LowerFunc,
		"regex":      stdlib.RegexFunc,
		"replace":    stdlib.ReplaceFunc,
		"split":      stdlib.SplitFunc,
		"startswith": affixFunc("Whether the text begins with the given prefix.", strings.HasPrefix),
		"substr":     stdlib.SubstrFunc,
		"trim":       stdlib.TrimFunc,
		"trimprefix": stdlib.TrimPrefixFunc,
		"trimspace":  stdlib.TrimSpaceFunc,
		"trimsuffix": stdlib.TrimSuffixFunc,
		"upper":      stdlib.UpperFunc,

		"alltrue":         allTrueFunc,
		"anytrue":         anyTrueFunc,
		"coalesce":        stdlib.CoalesceFunc,
		"compact":         stdlib.CompactFunc,
		"concat":          stdlib.ConcatFunc,
		"contains":        stdlib.ContainsFunc,
		"distinct":        stdlib.DistinctFunc,
		"flatten":         stdlib.FlattenFunc,
		"keys":            stdlib.KeysFunc,
		"length":          stdlib.LengthFunc,
		"lookup":          stdlib.LookupFunc,
		"merge":           stdlib.MergeFunc,
		"one":             oneFunc,
		"range":           stdlib.RangeFunc,
		"reverse":         stdlib.ReverseListFunc,
		"setintersection": stdlib.SetIntersectionFunc,
		"setproduct":      stdlib.SetProductFunc,
		"setsubtract":     stdlib.SetSubtractFunc,
		"setunion":        stdlib.SetUnionFunc,
		"slice":           stdlib.SliceFunc,
		"sort":            stdlib.SortFunc,
		"values":          stdlib.ValuesFunc,
		"zipmap":          stdlib.ZipmapFunc,

		"jsondecode": stdlib.JSONDecodeFunc,
		"jsonencode": stdlib.JSONEncodeFunc,
		"tobool":     stdlib.MakeToFunc(cty.Bool),
		"tolist":     stdlib.MakeToFunc(cty.List(cty.DynamicPseudoType)),
		"tomap":      stdlib.MakeToFunc(cty.Map(cty.DynamicPseudoType)),
		"tonumber":   stdlib.MakeToFunc(cty.Number),
		"toset":      stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)),
		"tostring":   stdlib.MakeToFunc(cty.String),
		"yamldecode": ctyyaml.YAMLDecodeFunc,

		"can": tryfunc.CanFunc,
		"try": tryfunc.TryFunc,
	}
}

// costs are the sizes of results that do not follow from the arguments' own.
func costs() map[string]syntax.Cost {
	return map[string]syntax.Cost{
		"distinct":   func(args []cty.Value) int { return square(length(args[0])) / 100 },
		"format":     formatCost,
		"join":       joinCost,
		"replace":    replaceCost,
		"setproduct": productCost,
	}
}

// length is the number of elements of a collection, or of bytes of a text.
func length(v cty.Value) int {
	switch {
	case !v.IsKnown() || v.IsNull():
		return 0
	case v.Type() == cty.String:
		return len(v.AsString())
	case v.CanIterateElements():
		return v.LengthInt()
	}
	return 0
}

func square(n int) int { return n * n }

func joinCost(args []cty.Value) int {
	pieces := 0
	for _, list := range args[1:] {
		pieces += length(list)
	}
	return pieces * (1 + length(args[0])/16)
}

func replaceCost(args []cty.Value) int {
	return (1 + length(args[0])) * (1 + length(args[2])/16)
}

func productCost(args []cty.Value) int {
	product := 1
	for _, set := range args {
		product = min(product*length(set), syntax.MaxSize+1)
	}
	return product * len(args)
}

var verbPattern = regexp.MustCompile(`%[^%a-zA-Z]*`)

// formatCost counts each verb as large as all arguments, and takes widths at
// their word: format("%999999999d", 1) makes a gigabyte.
func formatCost(args []cty.Value) int {
	if length(args[0]) == 0 {
		return 0
	}
	all := 1
	for _, arg := range args[1:] {
		all += syntax.Size(arg, syntax.MaxSize)
		if numeric, err := stdlib.MakeToFunc(cty.Number).Call([]cty.Value{arg}); err == nil && numeric.IsKnown() && !numeric.IsNull() && !syntax.InRange(numeric) {
			return math.MaxInt32
		}
	}
	cost := 0
	for _, verb := range verbPattern.FindAllString(args[0].AsString(), -1) {
		cost += all
		for number := range strings.FieldsFuncSeq(verb, func(r rune) bool { return r < '0' || r > '9' }) {
			n, err := strconv.Atoi(number)
			if err != nil || n > 1000 {
				return math.MaxInt32
			}
		}
	}
	return cost
}

var boolsParam = []function.Parameter{{Name: "list", Type: cty.List(cty.Bool)}}

var allTrueFunc = function.New(&function.Spec{
	Description: "Whether all elements are true; true for an empty list.",
	Params:      boolsParam,
	Type:        function.StaticReturnType(cty.Bool),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		return cty.BoolVal(count(args[0], cty.False) == 0), nil
	},
})

var anyTrueFunc = function.New(&function.Spec{
	Description: "Whether at least one element is true.",
	Params:      boolsParam,
	Type:        function.StaticReturnType(cty.Bool),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		return cty.BoolVal(count(args[0], cty.True) > 0), nil
	},
})

// count is the number of elements that are v. Null counts as false.
func count(list, v cty.Value) (n int) {
	for _, element := range list.AsValueSlice() {
		if element.IsNull() {
			element = cty.False
		}
		if element.RawEquals(v) {
			n++
		}
	}
	return n
}

var sumFunc = function.New(&function.Spec{
	Description: "The sum of the numbers of a list.",
	Params:      []function.Parameter{{Name: "list", Type: cty.List(cty.Number)}},
	Type:        function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		sum := cty.Zero
		for _, n := range args[0].AsValueSlice() {
			if n.IsNull() {
				return cty.NilVal, fmt.Errorf("the list has an element that is null")
			}
			sum = sum.Add(n)
		}
		return sum, nil
	},
})

var oneFunc = function.New(&function.Spec{
	Description: "The element of a list that has one, null for an empty list.",
	Params:      []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}},
	Type: func(args []cty.Value) (cty.Type, error) {
		v, err := one(args[0])
		return v.Type(), err
	},
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		return one(args[0])
	},
})

func one(list cty.Value) (cty.Value, error) {
	switch {
	case !list.IsKnown():
		return cty.DynamicVal, nil
	case !list.CanIterateElements():
		return cty.DynamicVal, fmt.Errorf("a list is required")
	case list.LengthInt() > 1:
		return cty.DynamicVal, fmt.Errorf("the list has %d elements", list.LengthInt())
	case list.LengthInt() == 0:
		return cty.NullVal(cty.DynamicPseudoType), nil
	}
	return list.AsValueSlice()[0], nil
}

func affixFunc(doc string, has func(text, affix string) bool) function.Function {
	return function.New(&function.Spec{
		Description: doc,
		Params:      []function.Parameter{{Name: "text", Type: cty.String}, {Name: "affix", Type: cty.String}},
		Type:        function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return cty.BoolVal(has(args[0].AsString(), args[1].AsString())), nil
		},
	})
}
