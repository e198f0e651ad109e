package config

import (
	"maps"
	"strings"

	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	ctyyaml "github.com/zclconf/go-cty-yaml"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/lkeplan/lkeplan/config/meter"
	"github.com/lkeplan/lkeplan/config/requirement"
)

// functions returns the functions of the language. All of them are pure: a
// directory compiles to the same objects wherever and whenever it is compiled,
// so there is no time, no randomness, no environment and no network. The
// function file, which depends on the directory, is replaced in each.
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

// functionsIn returns the functions of one directory.
func functionsIn(from *files, m *meter.Meter, all map[string]function.Function) map[string]function.Function {
	all = maps.Clone(all)
	all["file"] = m.Function(fileFunc(from), costs()["file"])
	return all
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
		"length":          lengthFunc,
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

		"file": fileFunc(nil),

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
