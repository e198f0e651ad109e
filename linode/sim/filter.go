package sim

// The X-Filter header of the Linode API. It knows no object, only what each says of itself.

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Row holds the values of the fields of an object that a filter may name.
type Row map[string][]string

// Filter says which rows are listed.
type Filter func(Row) bool

// Problem is one thing that is wrong with a request, such as this header, in the words of the API.
type Problem struct{ Field, Reason string }

// ParseFilter reads an X-Filter header: {"tags":"a"}, {"label":{"+contains":"b"}}, and +and and +or of lists of such.
// What several keys of one object say must all hold. Orders are taken and have no effect. fields are those that may be
// named.
func ParseFilter(header string, fields ...string) (Filter, *Problem) {
	if header == "" {
		return func(Row) bool { return true }, nil
	}
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(header), &object) != nil {
		return nil, wrong("Invalid filter") // assumption: the text
	}
	return parse(object, fields)
}

func wrong(format string, args ...any) *Problem {
	return &Problem{Field: "X-Filter", Reason: fmt.Sprintf(format, args...)}
}

func parse(object map[string]json.RawMessage, fields []string) (Filter, *Problem) {
	var all []Filter
	for _, key := range slices.Sorted(maps.Keys(object)) {
		one, problem := term(key, object[key], fields)
		if problem != nil {
			return nil, problem
		}
		all = append(all, one)
	}
	return every(all), nil
}

func term(key string, value json.RawMessage, fields []string) (Filter, *Problem) {
	switch {
	case key == "+order" || key == "+order_by":
		return every(nil), nil
	case key == "+and" || key == "+or":
		return several(key, value, fields)
	case !slices.Contains(fields, key):
		return nil, wrong("Cannot filter on %s", key) // observed
	}
	return comparison(key, value)
}

func several(key string, value json.RawMessage, fields []string) (Filter, *Problem) {
	var objects []map[string]json.RawMessage
	if json.Unmarshal(value, &objects) != nil {
		return nil, wrong("Invalid value of %s", key)
	}
	var parts []Filter
	for _, object := range objects {
		part, problem := parse(object, fields)
		if problem != nil {
			return nil, problem
		}
		parts = append(parts, part)
	}
	if key == "+and" {
		return every(parts), nil
	}
	return func(row Row) bool {
		return slices.ContainsFunc(parts, func(part Filter) bool { return part(row) })
	}, nil
}

func every(parts []Filter) Filter {
	return func(row Row) bool {
		return !slices.ContainsFunc(parts, func(part Filter) bool { return !part(row) })
	}
}

// comparison: a value alone means equality, and a list has one that is equal. The case of letters does not matter.
func comparison(key string, value json.RawMessage) (Filter, *Problem) {
	matches := strings.EqualFold
	operators := map[string]json.RawMessage{}
	if json.Unmarshal(value, &operators) == nil {
		if len(operators) != 1 {
			return nil, wrong("Invalid operator for %s", key)
		}
		for name, operand := range operators {
			value, matches = operand, operator(name)
		}
		if matches == nil {
			return nil, wrong("Invalid operator for %s", key) // others are not simulated
		}
	}
	var want any
	if json.Unmarshal(value, &want) != nil || want == nil {
		return nil, wrong("Invalid value of %s", key)
	}
	text := fmt.Sprint(want)
	if _, number := want.(float64); number {
		text = string(value) // as it was written: an id of eight digits is no power of ten
	}
	return func(row Row) bool {
		return slices.ContainsFunc(row[key], func(have string) bool { return matches(have, text) })
	}, nil
}

// operator is what an operator compares by; nil if it is not played. Times are ordered as the API writes them, as text.
func operator(name string) func(have, want string) bool {
	switch name {
	case "+contains":
		return func(have, want string) bool { return strings.Contains(strings.ToLower(have), strings.ToLower(want)) }
	case "+gte":
		return func(have, want string) bool { return have >= want }
	}
	return nil
}
