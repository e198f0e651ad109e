package eval

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

// SizeOf counts the elements of v, those of sets for what sorting them takes, and its
// characters by fours. It stops soon after MaxSize,
// as a value that refers to its parts more than once can be far larger than
// the memory it takes.
func SizeOf(v cty.Value) int {
	return look(v, MaxSize).size
}

// NumbersInRange reports whether all numbers in v can be printed in no time.
// The caller has made sure that v is no larger than MaxSize.
func NumbersInRange(v cty.Value) bool {
	return !look(v, MaxSize).outOfRange
}

// seen is what one walk through a value tells: a set is sorted by each.
type seen struct {
	size       int
	unknown    bool // something in it is
	outOfRange bool // a number is
}

func (s *seen) add(element seen, weight int) {
	s.size += weight * element.size
	s.unknown = s.unknown || element.unknown
	s.outOfRange = s.outOfRange || element.outOfRange
}

// look walks through v until its size is over a limit.
func look(v cty.Value, limit int) seen {
	s := seen{size: 1}
	switch {
	case !v.IsKnown():
		s.unknown = true
		return s
	case v.IsNull():
		return s
	case v.Type() == cty.String:
		s.size += len(v.AsString()) / 4
		return s
	case v.Type() == cty.Number:
		s.outOfRange = !inRange(v.AsBigFloat())
		return s
	case !v.CanIterateElements():
		return s
	}
	if v.Type().IsObjectType() { // in any order, which takes less time
		for name := range v.Type().AttributeTypes() {
			if s.add(look(v.GetAttr(name), limit-s.size), 1); s.size > limit {
				break
			}
		}
		return s
	}
	weight := 1
	if v.Type().IsSetType() { // it is sorted each time that somebody walks it
		if weight = sorted; !v.Type().ElementType().IsPrimitiveType() {
			weight = sortedByText
		}
		if v.LengthInt()*weight > limit {
			s.size = limit + 1
			return s
		}
	}
	for it := v.ElementIterator(); it.Next() && s.size <= limit; {
		_, element := it.Element()
		s.add(look(element, limit-s.size), weight)
	}
	return s
}

func inRange(f *big.Float) bool {
	exponent := f.MantExp(nil)
	return !f.IsInf() && -maxExponent <= exponent && exponent <= maxExponent
}

// What an element of a set counts for, whose elements have an order of their own, and one
// of a set that is sorted by what its elements would be as text.
const (
	sorted       = 5
	sortedByText = 100
)

// LengthOf is the number of elements of a collection; 0 for anything else.
func LengthOf(v cty.Value) int {
	if !v.IsKnown() || v.IsNull() || !v.CanIterateElements() {
		return 0
	}
	return v.LengthInt()
}
