package meter

import (
	"math/big"

	"github.com/zclconf/go-cty/cty"
)

// MaxSize is the size of the largest value, as Size counts: all elements,
// nested ones included, and the characters of text by fours. A pool has about
// 80.
const MaxSize = 500_000

// maxExponent bounds numbers, to 38 decimal digits. Far larger ones take
// minutes to print.
const maxExponent = 128

// Size counts the elements of v, those of sets for what sorting them takes, and its
// characters by fours. It stops soon after MaxSize,
// as a value that refers to its parts more than once can be far larger than
// the memory it takes.
func Size(v cty.Value) int {
	return size(v, MaxSize)
}

func size(v cty.Value, limit int) int {
	switch {
	case !v.IsKnown() || v.IsNull():
		return 1
	case v.Type() == cty.String:
		return 1 + len(v.AsString())/4
	case !v.CanIterateElements():
		return 1
	}
	sum := 1
	if v.Type().IsObjectType() { // in any order, which takes less time
		for name := range v.Type().AttributeTypes() {
			if sum += size(v.GetAttr(name), limit-sum); sum > limit {
				break
			}
		}
		return sum
	}
	weight := 1
	if v.Type().IsSetType() { // it is sorted each time that somebody walks it
		if weight = sorted; !v.Type().ElementType().IsPrimitiveType() {
			weight = sortedByText
		}
		if v.LengthInt()*weight > limit {
			return limit + 1
		}
	}
	for it := v.ElementIterator(); it.Next() && sum <= limit; {
		_, element := it.Element()
		sum += weight * size(element, limit-sum)
	}
	return sum
}

// What an element of a set counts for, whose elements have an order of their own, and one
// of a set that is sorted by what its elements would be as text.
const (
	sorted       = 5
	sortedByText = 100
)

// Length is the number of elements of a collection; 0 for anything else.
func Length(v cty.Value) int {
	if !v.IsKnown() || v.IsNull() || !v.CanIterateElements() {
		return 0
	}
	return v.LengthInt()
}

// NumbersInRange reports whether all numbers in v can be printed in no time.
// The caller has made sure that v is no larger than MaxSize.
func NumbersInRange(v cty.Value) bool {
	if !v.IsKnown() || v.IsNull() {
		return true
	}
	if v.Type() == cty.Number {
		return inRange(v.AsBigFloat())
	}
	if !v.CanIterateElements() {
		return true
	}
	for it := v.ElementIterator(); it.Next(); {
		if _, element := it.Element(); !NumbersInRange(element) {
			return false
		}
	}
	return true
}

func inRange(f *big.Float) bool {
	exponent := f.MantExp(nil)
	return !f.IsInf() && -maxExponent <= exponent && exponent <= maxExponent
}
