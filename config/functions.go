package config

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	ctyyaml "github.com/zclconf/go-cty-yaml"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/lkeplan/lkeplan/config/meter"
	"github.com/lkeplan/lkeplan/config/requirement"
)

// functions returns the functions of the language. All of them are pure: a
// directory compiles to the same objects wherever and whenever it is compiled,
// so there is no time, no randomness, no environment and no network.
func functions(m *meter.Meter) map[string]function.Function {
	metered := map[string]function.Function{}
	for name, f := range requirement.Functions() {
		metered[name] = m.Function(f, nil)
	}
	for name, f := range general() {
		metered[name] = m.Function(f, costs()[name])
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

		"jsondecode": decoding(stdlib.JSONDecodeFunc),
		"jsonencode": stdlib.JSONEncodeFunc,
		"tobool":     toFunc(cty.Bool),
		"tolist":     toFunc(cty.List(cty.DynamicPseudoType)),
		"tomap":      toFunc(cty.Map(cty.DynamicPseudoType)),
		"tonumber":   toFunc(cty.Number),
		"toset":      toFunc(cty.Set(cty.DynamicPseudoType)),
		"tostring":   toFunc(cty.String),
		"yamldecode": decoding(ctyyaml.YAMLDecodeFunc),

		"can": tryfunc.CanFunc,
		"try": tryfunc.TryFunc,
	}
}

// costs are what those functions cost that make much of little.
func costs() map[string]meter.Cost {
	return map[string]meter.Cost{
		"distinct":   distinctCost,
		"flatten":    func(args []cty.Value) int { return 10 * meter.Size(args[0]) },
		"format":     formatCost,
		"join":       joinCost,
		"range":      func([]cty.Value) int { return 10_000 }, // 1024 elements at most
		"replace":    replaceCost,
		"setproduct": productCost,
	}
}

func distinctCost(args []cty.Value) int {
	return meter.Length(args[0]) * meter.Size(args[0])
}

func joinCost(args []cty.Value) int {
	pieces := 0
	for _, list := range args[1:] {
		pieces += meter.Length(list)
	}
	return pieces * meter.Size(args[0])
}

func replaceCost(args []cty.Value) int {
	return meter.Size(args[0]) * meter.Size(args[2])
}

func productCost(args []cty.Value) int {
	const elements = 20
	product := elements * len(args)
	for _, set := range args {
		product = min(product*meter.Length(set), math.MaxInt32)
	}
	return product
}

var verbPattern = regexp.MustCompile(`%[^%a-zA-Z]*`)

// formatCost counts each verb as long as all arguments. It takes widths at
// their word, and text for the number that a verb may print it as: both
// format("%999999999d", 1) and format("%d", "1e999999999") would print a
// gigabyte.
func formatCost(args []cty.Value) int {
	all := 1
	for _, arg := range args {
		if n, err := convert.Convert(arg, cty.Number); err == nil && !meter.NumbersInRange(n) {
			return math.MaxInt32
		}
		all += meter.Size(arg)
	}
	if !args[0].IsKnown() || args[0].Type() != cty.String {
		return all // and fails
	}
	cost := 0
	for _, verb := range verbPattern.FindAllString(args[0].AsString(), -1) {
		cost += all
		for number := range strings.FieldsFuncSeq(verb, func(r rune) bool { return r < '0' || r > '9' }) {
			if n, err := strconv.Atoi(number); err != nil || n > 1000 {
				return math.MaxInt32
			}
		}
	}
	return cost
}

// toFunc converts to a type, of which the elements may be left open.
func toFunc(ty cty.Type) function.Function {
	return function.New(&function.Spec{
		Description: "The value as a " + ty.FriendlyNameForConstraint() + ".",
		Params:      []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowNull: true}},
		Type: func(args []cty.Value) (cty.Type, error) {
			v, err := meter.Convert(args[0], ty)
			if err != nil {
				return cty.DynamicPseudoType, function.NewArgError(0, err)
			}
			return v.Type(), nil
		},
		Impl: func(args []cty.Value, result cty.Type) (cty.Value, error) {
			return meter.Convert(args[0], result)
		},
	})
}

// decoding checks text before it is decoded.
func decoding(f function.Function) function.Function {
	return function.New(&function.Spec{
		Description: f.Description(),
		Params:      f.Params(),
		Type: func(args []cty.Value) (cty.Type, error) {
			if err := decodable(args[0]); err != nil {
				return cty.DynamicPseudoType, err
			}
			return f.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return f.Call(args) },
	})
}

var (
	yamlAlias = regexp.MustCompile(`(?m)(?:^|[\s\[{,])[&*][^\s,\]}]`)
	yamlDeep  = regexp.MustCompile(`(?:[-?:]\s+){100}`)
)

// decodable refuses text that takes little room and much time: forty lines of
// anchors and aliases can stand for more data than there is memory, and what
// is nested deeply is decoded in quadratic time.
func decodable(v cty.Value) error {
	if !v.IsKnown() {
		return nil
	}
	text := v.AsString()
	depth := 0
	for _, c := range []byte(text) {
		switch c {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		}
		if depth > 100 {
			return errors.New("the text nests too deeply")
		}
	}
	switch {
	case yamlDeep.MatchString(text):
		return errors.New("the text nests too deeply")
	case yamlAlias.MatchString(text):
		return errors.New("anchors and aliases (&name, *name) are not read")
	}
	return nil
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
