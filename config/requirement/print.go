package requirement

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lkeplan/lkeplan/config/syntax"
)

// String returns the HCL expression for r, which evaluates to r.
func (r Requirement) String() string {
	if from, to, ok := r.between(); ok {
		return fmt.Sprintf("between(%s, %s)", literal(from), literal(to))
	}
	terms := make([]string, len(r.Terms))
	for i, term := range r.Terms {
		terms[i] = term.String()
	}
	if len(terms) == 1 {
		return terms[0]
	}
	return "all(" + strings.Join(terms, ", ") + ")"
}

// between recognizes the two terms of between(from, to).
func (r Requirement) between() (from, to string, ok bool) {
	if len(r.Terms) != 2 {
		return "", "", false
	}
	a, b := r.Terms[0], r.Terms[1]
	if a.Operator != Gte || b.Operator != Lte || a.MinValues+b.MinValues > 0 {
		return "", "", false
	}
	return a.Values[0], b.Values[0], true
}

// String returns the HCL expression for one term.
func (t Term) String() string {
	if t.MinValues > 0 {
		return fmt.Sprintf("atleast(%d, %s)", t.MinValues, t.condition())
	}
	return t.condition()
}

// condition returns the term without its minimum.
func (t Term) condition() string {
	values := make([]string, len(t.Values))
	for i, v := range t.Values {
		values[i] = literal(v)
	}
	switch {
	case t.Operator == In && len(values) == 1:
		return values[0]
	case t.Operator == In:
		return syntax.List(values)
	case t.Operator == DoesNotExist:
		return "absent()"
	}
	return syntax.Call(strings.ToLower(string(t.Operator)), values)
}

// literal writes a value as HCL: whole numbers without quotes, other values with quotes.
func literal(value string) string {
	if n, err := strconv.ParseInt(value, 10, 64); err == nil && strconv.FormatInt(n, 10) == value {
		return value
	}
	return syntax.Quote(value)
}
