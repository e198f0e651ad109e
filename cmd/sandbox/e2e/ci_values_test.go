package e2e

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// open is a map whose missing keys are empty: the outputs of a step, which may fail
// before it sets them.
type open map[string]any

// marked matches the expressions ${{ }} in a text.
var marked = regexp.MustCompile(`\$\{\{\s*(.*?)\s*\}\}`)

// expand replaces the expressions in a text by their values.
func (s *scope) expand(text string) (string, error) {
	var failed error
	expanded := marked.ReplaceAllStringFunc(text, func(match string) string {
		value, err := s.value(match)
		if err != nil {
			failed = err
		}
		return value
	})
	return expanded, failed
}

// value is what an expression is, with or without ${{ }}, or what a condition is, if the
// expression has one of these forms, which are all that the examples use: the name of a value, a
// text in quotes, a comparison of two of them, and such as contain, joined by || and &&.
// Nothing, such as a condition that a step does not have, is true.
func (s *scope) value(text string) (string, error) {
	if match := marked.FindStringSubmatch(text); match != nil {
		text = match[1]
	}
	for _, operator := range []string{" || ", " && ", " == ", " != "} {
		left, right, found := strings.Cut(text, operator)
		if !found {
			continue
		}
		a, err := s.value(left)
		if err != nil {
			return "", err
		}
		b, err := s.value(right)
		return fmt.Sprint(map[string]bool{
			" || ": a == "true" || b == "true", " && ": a == "true" && b == "true", " == ": a == b, " != ": a != b,
		}[operator]), err
	}
	if inner, ok := strings.CutPrefix(text, "contains("); ok {
		list, item, _ := strings.Cut(strings.TrimSuffix(inner, ")"), ", ")
		all, err := s.lookup(list)
		return fmt.Sprint(slices.Contains(all, strings.Trim(item, "'"))), err
	}
	if text == "" || text == "!cancelled()" {
		return "true", nil // no test cancels anything
	}
	if literal, ok := strings.CutPrefix(text, "'"); ok {
		return strings.TrimSuffix(literal, "'"), nil
	}
	found, err := s.lookup(text)
	return strings.Join(found, ""), err
}

// lookup finds a value by its name, such as github.event.pull_request.number, or the values
// of a list, such as github.event.pull_request.labels.*.name.
func (s *scope) lookup(name string) (values []string, err error) {
	at := []any{s.context}
	for key := range strings.SplitSeq(name, ".") {
		var next []any
		for _, value := range at {
			switch value := value.(type) {
			case []any:
				next = append(next, value...) // the key is *
			case open:
				next = append(next, value[key])
			case map[string]any:
				inner, known := value[key]
				if !known {
					return nil, fmt.Errorf("%s is not known here", name)
				}
				next = append(next, inner)
			default:
				return nil, fmt.Errorf("%s is not known here", name)
			}
		}
		at = next
	}
	for _, value := range at {
		if value == nil {
			value = ""
		}
		values = append(values, fmt.Sprint(value))
	}
	return values, nil
}
