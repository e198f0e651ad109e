package eval

import (
	"math/big"

	"github.com/zclconf/go-cty/cty"
)

// MaxSize is the size of the largest value, as SizeOf counts: all elements, including nested ones,
// plus a quarter of the characters of text. A pool has a size of about 80.
const MaxSize = 500_000

// maxExponent limits numbers to 38 decimal digits. Much larger ones take minutes to print.
const maxExponent = 128

// SizeOf returns the size of v: its elements, with those of sets weighted by the cost of sorting,
// plus a quarter of its characters. It stops soon after MaxSize, because a value that contains the
// same part several times can be far larger than its memory.
func SizeOf(v cty.Value) int {
	return measure(v, MaxSize).size
}

// NumbersInRange reports whether all numbers in v can be printed quickly. The size of v must not
// exceed MaxSize.
func NumbersInRange(v cty.Value) bool {
	return !measure(v, MaxSize).outOfRange
}

// seen is the result of one walk through a value, because each walk sorts sets.
type seen struct {
	size       int
	unknown    bool // part of it is
	outOfRange bool // a number is
}

func (s *seen) add(element seen, weight int) {
	s.size += weight * element.size
	s.unknown = s.unknown || element.unknown
	s.outOfRange = s.outOfRange || element.outOfRange
}

// measure walks through v until its size exceeds a limit.
func measure(v cty.Value, limit int) seen {
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
	if v.Type().IsObjectType() { // in any order, which is faster
		for name := range v.Type().AttributeTypes() {
			if s.add(measure(v.GetAttr(name), limit-s.size), 1); s.size > limit {
				break
			}
		}
		return s
	}
	weight := 1
	if v.Type().IsSetType() { // each walk sorts it
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
		s.add(measure(element, limit-s.size), weight)
	}
	return s
}

func inRange(f *big.Float) bool {
	exponent := f.MantExp(nil)
	return !f.IsInf() && -maxExponent <= exponent && exponent <= maxExponent
}

// The weights of an element of a set: if its elements have an order, and if they are sorted by
// their text form.
const (
	sorted       = 5
	sortedByText = 100
)

// LengthOf returns the number of elements of a collection; 0 for other values.
func LengthOf(v cty.Value) int {
	if !v.IsKnown() || v.IsNull() || !v.CanIterateElements() {
		return 0
	}
	return v.LengthInt()
}
