package function

import (
	"errors"
	"fmt"
	"math"
	"regexp/syntax"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// The limits of regular expressions. A short repetition can compile to a long program, and each
// group makes matching slower.
const (
	MaxPattern = 1000 // bytes
	maxProgram = 5000 // states
	MaxGroups  = 100
)

// matching is a function of the library that accepts only patterns within the limits.
func matching(f function.Function) function.Function {
	return function.New(&function.Spec{
		Params: f.Params(),
		Type: func(args []cty.Value) (cty.Type, error) {
			if args[0].IsKnown() {
				if err := checkPattern(args[0].AsString()); err != nil {
					return cty.DynamicPseudoType, function.NewArgError(0, err)
				}
			}
			return f.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return f.Call(args) },
	})
}

// pattern returns the regular expression between slashes, for functions that take one in this form.
func pattern(text string) (string, bool) {
	if len(text) < 2 || !strings.HasPrefix(text, "/") || !strings.HasSuffix(text, "/") {
		return "", false
	}
	return text[1 : len(text)-1], true
}

// checkPattern rejects a pattern that takes long to compile. The compiler reports other errors.
func checkPattern(pattern string) error {
	if len(pattern) > MaxPattern {
		return fmt.Errorf("the pattern is longer than %d bytes", MaxPattern)
	}
	re, err := syntax.Parse(pattern, syntax.Perl)
	switch {
	case err != nil:
		return nil
	case states(re) > maxProgram:
		return errors.New("the repetitions in the pattern are too many")
	case re.MaxCap() > MaxGroups:
		return fmt.Errorf("the pattern has more than %d groups", MaxGroups)
	}
	return nil
}

// regexCost counts the states of the pattern for each character of the text, plus once. The cost of
// a group is that of storing its position.
func regexCost(args []cty.Value) int {
	if len(args) < 2 || !text(args[0]) || !text(args[1]) || len(args[0].AsString()) > MaxPattern {
		return 0 // the call fails, or the result is unknown
	}
	re, err := syntax.Parse(args[0].AsString(), syntax.Perl)
	if err != nil {
		return MaxPattern
	}
	program := states(re)
	if program > maxProgram {
		return MaxPattern
	}
	length := len(args[1].AsString()) + 1
	return min(50*program+length*program*(8+re.MaxCap())/16, math.MaxInt32)
}

// regexAllCost also counts that a search can read to the end of the text for each match, as with a
// pattern that looks far ahead and matches little.
func regexAllCost(args []cty.Value) int {
	cost := regexCost(args)
	if len(args) < 2 || !text(args[1]) {
		return cost
	}
	return min(cost*(1+len(args[1].AsString())/100), math.MaxInt32)
}

func text(v cty.Value) bool { return v.IsKnown() && !v.IsNull() && v.Type() == cty.String }

// states returns the approximate length of a pattern's compiled program. It stops at the limit.
func states(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)/8
	for _, sub := range re.Sub {
		n = min(n+states(sub), math.MaxInt32)
	}
	switch re.Op {
	case syntax.OpLiteral:
		n = 1 + len(re.Rune)
	case syntax.OpRepeat:
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, math.MaxInt32)
}
