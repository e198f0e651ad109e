package requirement

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/lkeplan/lkeplan/schemas"
)

// Encode returns r as requirements of a NodePool, with the label's key and in its unit. It rejects
// amounts that are not whole numbers, and bounds that no number satisfies.
func (r Requirement) Encode(key schemas.Key) ([]any, error) {
	entries := make([]any, 0, len(r.Terms))
	for _, term := range r.Terms {
		if err := term.notRange(key.Label); err != nil {
			return nil, err
		}
		values, err := term.values(key.Unit)
		if err != nil {
			return nil, err
		}
		entry := map[string]any{"key": key.Label, "operator": string(term.Operator)}
		if len(values) > 0 {
			entry["values"] = values
		}
		if term.MinValues > 0 {
			entry["minValues"] = term.MinValues
		}
		entries = append(entries, entry)
	}
	return entries, bounds(entries)
}

var aRange = regexp.MustCompile(`^([0-9]+)([KMGT]i)? ?- ?([0-9]+)([KMGT]i)?$`)

// notRange rejects text such as "4-8" for a label of plan types, of which none has such a value.
func (t Term) notRange(label string) error {
	for _, text := range t.Values {
		m := aRange.FindStringSubmatch(text)
		if m == nil || !strings.HasPrefix(label, schemas.NodeClassGroup+"/") {
			continue
		}
		return fmt.Errorf("%q is a single value; for a range, write between(%s, %s)", text,
			literal(m[1]+m[2]), literal(m[3]+m[4]))
	}
	return nil
}

// values returns the term's values in the label's unit, in JSON form.
func (t Term) values(unit schemas.Unit) ([]any, error) {
	var values []any
	for _, text := range t.Values {
		value := text
		var err error
		switch {
		case unit == schemas.MiB:
			value, err = mebibytes(text)
		case unit == schemas.Count || t.Operator.compares():
			err = whole(text)
		}
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, nil
}

// compares reports whether the operator compares numbers, so its single value must be a whole
// number.
func (o Operator) compares() bool {
	return slices.Contains([]Operator{Gt, Lt, Gte, Lte}, o)
}

func whole(text string) error {
	if n, err := strconv.ParseInt(text, 10, 64); err != nil || n < 0 {
		return fmt.Errorf("%q is not a whole number", text)
	}
	return nil
}

// bounds rejects comparisons that no number satisfies, usually because two amounts are in the wrong
// order.
func bounds(entries []any) error {
	low, high := int64(0), int64(1<<62)
	for _, e := range entries {
		entry := e.(map[string]any)
		op := Operator(entry["operator"].(string))
		if !op.compares() {
			continue
		}
		n, _ := strconv.ParseInt(entry["values"].([]any)[0].(string), 10, 64)
		switch op {
		case Gt:
			low = max(low, n+1)
		case Gte:
			low = max(low, n)
		case Lt:
			high = min(high, n-1)
		case Lte:
			high = min(high, n)
		}
	}
	if low > high {
		return fmt.Errorf("the minimum %d is above the maximum %d", low, high)
	}
	return nil
}

// Decode reads the requirements of a NodePool, grouped by label key. It is the inverse of Encode,
// except that amounts stay in the label's unit.
func Decode(entries []any) (map[string]Requirement, error) {
	all := map[string]Requirement{}
	for i, e := range entries {
		key, term, err := decodeTerm(e)
		if err != nil {
			return nil, fmt.Errorf("requirements[%d]: %w", i, err)
		}
		r := all[key]
		r.Terms = append(r.Terms, term)
		all[key] = r
	}
	return all, nil
}

func decodeTerm(e any) (string, Term, error) {
	entry, _ := e.(map[string]any)
	key, _ := entry["key"].(string)
	op, _ := entry["operator"].(string)
	term := Term{Operator: Operator(op)}
	term.MinValues, _ = entry["minValues"].(int64)
	values, _ := entry["values"].([]any)
	for _, v := range values {
		s, ok := v.(string)
		if !ok {
			return "", Term{}, fmt.Errorf("values must be strings")
		}
		term.Values = append(term.Values, s)
	}
	slices.Sort(term.Values)
	term.Values = slices.Compact(term.Values)
	return key, term, term.check(key)
}

// check rejects requirements that no requirement value can express.
func (t Term) check(key string) error {
	n := len(t.Values)
	switch {
	case key == "":
		return fmt.Errorf("the key is missing")
	case t.Operator == Exists || t.Operator == DoesNotExist:
		if n > 0 {
			return fmt.Errorf("%s takes no values", t.Operator)
		}
	case t.Operator == In || t.Operator == NotIn:
		if n == 0 {
			return fmt.Errorf("%s needs values", t.Operator)
		}
	case t.Operator.compares():
		if n != 1 {
			return fmt.Errorf("%s takes one value", t.Operator)
		}
		return whole(t.Values[0])
	default:
		return fmt.Errorf("unknown operator %q", t.Operator)
	}
	return nil
}
