package function

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/lkeplan/lkeplan/config/eval"
)

// fixed is the cost of a function whose work does not depend on its arguments.
func fixed(cost int) eval.CallCost {
	return func([]cty.Value) int { return cost }
}

// textCost counts the characters of an argument, for functions that do much work for each.
func textCost(each int) eval.CallCost {
	return func(args []cty.Value) int { return each * 4 * eval.SizeOf(args[0]) }
}

func flattenCost(args []cty.Value) int { return 80 * eval.SizeOf(args[0]) }

func distinctCost(args []cty.Value) int {
	return eval.LengthOf(args[0]) * eval.SizeOf(args[0])
}

func joinCost(args []cty.Value) int {
	pieces := 0
	for _, list := range args[1:] {
		pieces += eval.LengthOf(list)
	}
	return pieces * eval.SizeOf(args[0])
}

func replaceCost(args []cty.Value) int {
	cost := eval.SizeOf(args[0]) * eval.SizeOf(args[2])
	if !text(args[1]) {
		return cost
	}
	if old, ok := pattern(args[1].AsString()); ok {
		cost = min(cost+regexAllCost([]cty.Value{cty.StringVal(old), args[0]}), math.MaxInt32)
	}
	return cost
}

// unionCost counts the elements of all sets in total, and the pairs that a set of all of them would
// compare.
func unionCost(args []cty.Value) int {
	var all []cty.Value
	for _, set := range args {
		if eval.LengthOf(set) > 0 && !set.Type().IsObjectType() && !set.Type().IsMapType() {
			all = append(all, set.AsValueSlice()...)
		}
	}
	return 20*len(all) + 2*eval.Collisions(all)
}

func productCost(args []cty.Value) int {
	const elements = 40
	product := elements * len(args)
	for _, set := range args {
		product = min(product*eval.LengthOf(set), math.MaxInt32)
	}
	return product
}

// csvCost counts the result for a table of many short fields: an object for each line, with the
// name of each column.
func csvCost(args []cty.Value) int {
	const field = 40
	if !args[0].IsKnown() || args[0].IsNull() || args[0].Type() != cty.String {
		return 1 // the call fails
	}
	text := args[0].AsString()
	header, _, _ := strings.Cut(text, "\n")
	columns, lines := strings.Count(header, ",")+1, strings.Count(text, "\n")+strings.Count(text, "\r")+1
	return min(field*columns*lines+len(text), math.MaxInt32)
}

var verbPattern = regexp.MustCompile(`%[^%a-zA-Z]*`)

// formatCost counts the length of all arguments for each verb. It includes widths, and the length
// of text that a verb prints as a number: both format("%999999999d", 1) and format("%d",
// "1e999999999") would print a gigabyte.
func formatCost(args []cty.Value) int {
	all := 1
	for _, arg := range args {
		if !printable(arg) {
			return math.MaxInt32
		}
		all += eval.SizeOf(arg)
	}
	if !args[0].IsKnown() || args[0].Type() != cty.String {
		return all // the call fails
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

// printable reports whether a value, or each element of a list, can be printed quickly if it is a
// number.
func printable(v cty.Value) bool {
	if !v.IsKnown() || v.IsNull() {
		return true
	}
	if v.CanIterateElements() {
		return !slices.ContainsFunc(v.AsValueSlice(), func(element cty.Value) bool { return !printable(element) })
	}
	n, err := convert.Convert(v, cty.Number)
	return err != nil || eval.NumbersInRange(n)
}

// formatListCost counts each element of the longest list as one text.
func formatListCost(args []cty.Value) int {
	texts := 1
	for _, arg := range args {
		texts = max(texts, eval.LengthOf(arg))
	}
	if one := formatCost(args); one < math.MaxInt32/texts {
		return one * texts
	}
	return math.MaxInt32
}
