package e2e

import (
	"fmt"
	"regexp"
	"strings"
)

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
// text in quotes, and comparisons of two of them, joined by || and &&.
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
	if text == "" || text == "!cancelled()" {
		return "true", nil // no test cancels anything
	}
	if literal, ok := strings.CutPrefix(text, "'"); ok {
		return strings.TrimSuffix(literal, "'"), nil
	}
	return s.lookup(text)
}

// lookup finds a value by its name, such as github.event.pull_request.number. Outputs of steps and
// parts of the event may be missing, which GitHub takes for empty; a context or a step may not.
func (s *scope) lookup(name string) (string, error) {
	var at any = s.context
	keys := strings.Split(name, ".")
	for i, key := range keys {
		inner, _ := at.(map[string]any)
		value, known := inner[key]
		if !known && (i < 2 || keys[0] != "github" && keys[i-1] != "outputs") {
			return "", fmt.Errorf("%s is not known here", name)
		}
		at = value
	}
	if at == nil {
		return "", nil
	}
	return fmt.Sprint(at), nil
}
