package sim

// This file implements the X-Filter header of the Linode API, for any objects that the API shows.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// row holds the values of the fields of an object that a filter may name.
type row map[string][]string

// rowOf returns the fields of an object as the API shows it. Fields of nested objects have the name of their parent
// as a prefix.
func rowOf(object any) row {
	raw, _ := json.Marshal(object) // views can always be encoded
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber() // an id of eight digits must not become a power of ten
	var fields any
	_ = decoder.Decode(&fields)
	r := row{}
	r.add("", fields)
	return r
}

func (r row) add(name string, value any) {
	switch value := value.(type) {
	case nil:
	case []any:
		for _, one := range value {
			r.add(name, one)
		}
	case map[string]any:
		for key, one := range value {
			r.add(strings.TrimPrefix(name+"."+key, "."), one)
		}
	default:
		r[name] = append(r[name], fmt.Sprint(value))
	}
}

// filter says which rows are listed.
type filter func(row) bool

// parseFilter reads an X-Filter header: {"tags":"a"}, {"label":{"+contains":"b"}}, and +or with a list of such
// objects. All keys of one object must match. fields are the fields that may be named. Filters that lkeplan does
// not send are rejected.
func parseFilter(header string, fields ...string) (filter, error) {
	if header == "" {
		return nil, nil
	}
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(header), &object) != nil {
		return nil, invalidFilter("Invalid filter") // assumption: the text
	}
	return parseObject(object, fields)
}

func invalidFilter(format string, args ...any) error {
	return refusalError(http.StatusBadRequest, "X-Filter", fmt.Sprintf(format, args...))
}

func parseObject(object map[string]json.RawMessage, fields []string) (filter, error) {
	var all []filter
	for _, key := range slices.Sorted(maps.Keys(object)) {
		one, err := parseTerm(key, object[key], fields)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return func(r row) bool {
		return !slices.ContainsFunc(all, func(one filter) bool { return !one(r) })
	}, nil
}

func parseTerm(key string, value json.RawMessage, fields []string) (filter, error) {
	switch {
	case key == "+or":
		return parseOr(value, fields)
	case !slices.Contains(fields, key):
		return nil, invalidFilter("Cannot filter on %s", key) // observed
	}
	return parseComparison(key, value)
}

func parseOr(value json.RawMessage, fields []string) (filter, error) {
	var objects []map[string]json.RawMessage
	if json.Unmarshal(value, &objects) != nil {
		return nil, invalidFilter("Invalid value of +or")
	}
	var parts []filter
	for _, object := range objects {
		part, err := parseObject(object, fields)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return func(r row) bool {
		return slices.ContainsFunc(parts, func(part filter) bool { return part(r) })
	}, nil
}

// parseComparison reads the condition for a field: a value alone means equality, and a list field matches if one
// element does. Case does not matter.
func parseComparison(key string, value json.RawMessage) (filter, error) {
	matches := strings.EqualFold
	operators := map[string]json.RawMessage{}
	if json.Unmarshal(value, &operators) == nil {
		if len(operators) != 1 {
			return nil, invalidFilter("Invalid operator for %s", key)
		}
		for name, operand := range operators {
			value, matches = operand, operatorFunc(name)
		}
		if matches == nil {
			return nil, invalidFilter("Invalid operator for %s", key) // others are not simulated
		}
	}
	var want any
	if json.Unmarshal(value, &want) != nil || want == nil {
		return nil, invalidFilter("Invalid value of %s", key)
	}
	text := fmt.Sprint(want)
	if _, number := want.(float64); number {
		text = string(value) // as it is written: an id of eight digits must not become a power of ten
	}
	return func(r row) bool {
		return slices.ContainsFunc(r[key], func(have string) bool { return matches(have, text) })
	}, nil
}

// operatorFunc returns the comparison for an operator; nil if it is not simulated. Times are compared as text, in the
// API's format.
func operatorFunc(name string) func(have, want string) bool {
	switch name {
	case "+contains":
		return func(have, want string) bool { return strings.Contains(strings.ToLower(have), strings.ToLower(want)) }
	case "+gte":
		return func(have, want string) bool { return have >= want }
	}
	return nil
}
