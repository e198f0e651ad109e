package lkesim

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// maxFilterDepth bounds how deep +and and +or may nest.
const maxFilterDepth = 10

// filtered applies an X-Filter header: {"label": "x"}, {"+and": [...]}, {"+or": [...]}, {"memory": {"+gte": 4096}},
// {"+order_by": "label", "+order": "desc"}. The texts for what is not JSON and for fields that cannot be filtered on
// are the API's; the others are ours.
func filtered[T any](header string, rows []T, fields map[string]func(T) any) ([]T, error) {
	if header == "" {
		return rows, nil
	}
	var filter map[string]any
	decoder := json.NewDecoder(strings.NewReader(header))
	if err := decoder.Decode(&filter); err != nil {
		return nil, badFilter("Filter not valid JSON")
	}
	if fields == nil {
		return rows, nil
	}
	order := newOrdering(filter, fields)
	matcher, err := compile(filter, fields, 0)
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(slices.Clone(rows), func(row T) bool { return !matcher(row) })
	return rows, order.sort(rows)
}

// compile turns a filter into a test of a row. The keys of one object must all hold.
func compile[T any](filter map[string]any, fields map[string]func(T) any, depth int) (func(T) bool, error) {
	if depth > maxFilterDepth {
		return nil, badFilter("Filter is nested too deep")
	}
	var tests []func(T) bool
	for _, key := range sortedKeys(filter) {
		test, err := compileKey(key, filter[key], fields, depth)
		if err != nil {
			return nil, err
		}
		tests = append(tests, test)
	}
	return func(row T) bool {
		return !slices.ContainsFunc(tests, func(test func(T) bool) bool { return !test(row) })
	}, nil
}

func compileKey[T any](key string, want any, fields map[string]func(T) any, depth int) (func(T) bool, error) {
	switch key {
	case "+and", "+or":
		return compileGroup(key, want, fields, depth)
	case "+order_by", "+order":
		return func(T) bool { return true }, nil
	}
	get, ok := fields[key]
	if !ok {
		return nil, badFilter("Cannot filter on " + key)
	}
	operators, ok := want.(map[string]any)
	if !ok {
		operators = map[string]any{"": want}
	}
	for operator := range operators {
		if !slices.Contains(comparisons, operator) {
			return nil, badFilter("Unknown operator " + operator)
		}
	}
	return func(row T) bool {
		for operator, want := range operators {
			if !compareAny(get(row), operator, want) {
				return false
			}
		}
		return true
	}, nil
}

func compileGroup[T any](key string, want any, fields map[string]func(T) any, depth int) (func(T) bool, error) {
	members, ok := want.([]any)
	if !ok {
		return nil, badFilter(key + " wants a list")
	}
	var tests []func(T) bool
	for _, member := range members {
		filter, ok := member.(map[string]any)
		if !ok {
			return nil, badFilter(key + " wants a list of filters")
		}
		test, err := compile(filter, fields, depth+1)
		if err != nil {
			return nil, err
		}
		tests = append(tests, test)
	}
	return func(row T) bool {
		holds := func(test func(T) bool) bool { return test(row) }
		if key == "+or" {
			return slices.ContainsFunc(tests, holds)
		}
		return !slices.ContainsFunc(tests, func(test func(T) bool) bool { return !test(row) })
	}, nil
}

// comparisons are the operators on a field; "" is a plain value.
var comparisons = []string{"", "+neq", "+contains", "+gt", "+gte", "+lt", "+lte"}

// compareAny compares a field with what the filter wants. A field that is a list holds where one of its members does.
func compareAny(have any, operator string, want any) bool {
	if members, ok := have.([]string); ok {
		if operator == "+neq" {
			return !slices.ContainsFunc(members, func(m string) bool { return compareOne(m, "", want) })
		}
		return slices.ContainsFunc(members, func(m string) bool { return compareOne(m, operator, want) })
	}
	return compareOne(have, operator, want)
}

func compareOne(have any, operator string, want any) bool {
	if operator == "+contains" {
		h, isText := have.(string)
		w, ok := want.(string)
		return isText && ok && strings.Contains(h, w)
	}
	order, comparable := compareValues(have, want)
	switch operator {
	case "":
		return comparable && order == 0
	case "+neq":
		return !comparable || order != 0
	case "+gt":
		return comparable && order > 0
	case "+gte":
		return comparable && order >= 0
	case "+lt":
		return comparable && order < 0
	default:
		return comparable && order <= 0
	}
}

func compareValues(have, want any) (order int, comparable bool) {
	switch h := have.(type) {
	case string:
		w, ok := want.(string)
		return strings.Compare(h, w), ok
	case int:
		w, ok := want.(float64)
		return cmp.Compare(float64(h), w), ok
	case bool:
		w, ok := want.(bool)
		if h == w {
			return 0, ok
		}
		return 1, ok
	default:
		return 0, false
	}
}

// ordering is +order_by and +order.
type ordering[T any] struct {
	by         string
	get        func(T) any
	descending bool
}

func newOrdering[T any](filter map[string]any, fields map[string]func(T) any) ordering[T] {
	by, _ := filter["+order_by"].(string)
	return ordering[T]{by: by, get: fields[by], descending: filter["+order"] == "desc"}
}

func (o ordering[T]) sort(rows []T) error {
	if o.by == "" {
		return nil
	}
	if o.get == nil {
		return badFilter("Cannot order by " + o.by)
	}
	slices.SortStableFunc(rows, func(a, b T) int {
		order := bytes.Compare(orderKey(o.get(a)), orderKey(o.get(b)))
		if x, ok := o.get(a).(int); ok {
			order = cmp.Compare(x, o.get(b).(int))
		}
		if o.descending {
			return -order
		}
		return order
	})
	return nil
}

func orderKey(v any) []byte {
	key, _ := json.Marshal(v) // strings, numbers and lists of them encode
	return key
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
