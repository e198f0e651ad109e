package function

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/lkeplan/lkeplan/config/meter"
)

// fixed is the cost of a function whose work does not depend on its arguments.
func fixed(cost int) meter.Cost {
	return func([]cty.Value) int { return cost }
}

func flattenCost(args []cty.Value) int { return 10 * meter.Size(args[0]) }

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
