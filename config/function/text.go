package function

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// affixFunc tests the beginning or the end of text.
func affixFunc(has func(text, affix string) bool) function.Function {
	return returning(cty.Bool, func(args []cty.Value) (cty.Value, error) {
		return cty.BoolVal(has(args[0].AsString(), args[1].AsString())), nil
	}, function.Parameter{Name: "text", Type: cty.String}, function.Parameter{Name: "affix", Type: cty.String})
}

var textParam = function.Parameter{Name: "text", Type: cty.String}

// replaceFunc replaces matches of a regular expression if the substring is between slashes, as in
// Terraform.
var replaceFunc = returning(cty.String, func(args []cty.Value) (cty.Value, error) {
	if old, ok := pattern(args[1].AsString()); ok {
		return stdlib.RegexReplace(args[0], cty.StringVal(old), args[2])
	}
	return stdlib.Replace(args[0], args[1], args[2])
}, textParam, function.Parameter{Name: "old", Type: cty.String}, function.Parameter{Name: "new", Type: cty.String})

var sha256Func = returning(cty.String, func(args []cty.Value) (cty.Value, error) {
	return cty.StringVal(fmt.Sprintf("%x", sha256.Sum256([]byte(args[0].AsString())))), nil
}, textParam)

// pattern returns the regular expression between slashes, for functions that take one in this form.
func pattern(text string) (string, bool) {
	if len(text) < 2 || !strings.HasPrefix(text, "/") || !strings.HasSuffix(text, "/") {
		return "", false
	}
	return text[1 : len(text)-1], true
}

// powFunc rejects results that are not numbers, such as the root of -1, on which the library
// panics.
var powFunc = returning(cty.Number, func(args []cty.Value) (cty.Value, error) {
	base, _ := args[0].AsBigFloat().Float64()
	exponent, _ := args[1].AsBigFloat().Float64()
	result := math.Pow(base, exponent)
	if math.IsNaN(result) || math.IsInf(result, 0) {
		return cty.NilVal, errors.New("the result is not a number, or is too large")
	}
	return cty.NumberFloatVal(result), nil
}, function.Parameter{Name: "base", Type: cty.Number}, function.Parameter{Name: "exponent", Type: cty.Number})
