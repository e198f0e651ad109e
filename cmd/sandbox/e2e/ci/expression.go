package ci

import (
	"encoding/json"
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
func expand(text string, context map[string]any) (string, error) {
	var failed error
	expanded := marked.ReplaceAllStringFunc(text, func(match string) string {
		v, err := evaluate(marked.FindStringSubmatch(match)[1], context)
		if err != nil && failed == nil {
			failed = err
		}
		return written(v)
	})
	return expanded, failed
}

// condition evaluates the text of an "if", with or without ${{ }}.
func condition(text string, context map[string]any) (bool, error) {
	if match := marked.FindStringSubmatch(text); match != nil {
		text = match[1]
	}
	v, err := evaluate(text, context)
	return truth(v), err
}

// written is a value as it is written into a text.
func written(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool, int, float64:
		return fmt.Sprint(v)
	}
	asJSON, _ := json.Marshal(v) // it came from JSON or a test
	return string(asJSON)
}

func truth(v any) bool { return v != nil && v != "" && v != false && v != 0 && v != 0.0 }

// An expression is evaluated from left to right, token by token. It supports the part
// of GitHub's language that the examples use; anything else is an error.
type expression struct {
	text    string
	tokens  []string
	context map[string]any
}

var token = regexp.MustCompile(`\s*('(?:[^']|'')*'|[0-9]+|[A-Za-z_][A-Za-z0-9_-]*|\.\*|==|!=|&&|\|\||[!().,])`)

func evaluate(text string, context map[string]any) (any, error) {
	e := &expression{text: text, context: context}
	rest := text
	for strings.TrimSpace(rest) != "" {
		at := token.FindStringSubmatchIndex(rest)
		if at == nil || at[0] != 0 {
			return nil, fmt.Errorf("expression %q: %q is not understood", text, rest)
		}
		e.tokens, rest = append(e.tokens, rest[at[2]:at[3]]), rest[at[1]:]
	}
	v, err := e.or()
	if err == nil && len(e.tokens) > 0 {
		err = fmt.Errorf("%q is left over", e.tokens[0])
	}
	if err != nil {
		return nil, fmt.Errorf("expression %q: %w", text, err)
	}
	return v, nil
}

// take consumes the next token if it is one of these.
func (e *expression) take(any ...string) (string, bool) {
	if len(e.tokens) == 0 || !slices.Contains(any, e.tokens[0]) {
		return "", false
	}
	next := e.tokens[0]
	e.tokens = e.tokens[1:]
	return next, true
}

func (e *expression) or() (any, error) { return e.chain("||", e.and, true) }

func (e *expression) and() (any, error) { return e.chain("&&", e.comparison, false) }

// chain is the first of its operands that decides, by its truth, or else the last.
func (e *expression) chain(operator string, operand func() (any, error), decides bool) (any, error) {
	left, err := operand()
	for err == nil {
		if _, ok := e.take(operator); !ok {
			break
		}
		var right any
		if right, err = operand(); truth(left) != decides {
			left = right
		}
	}
	return left, err
}

func (e *expression) comparison() (any, error) {
	left, err := e.operand()
	if err != nil {
		return nil, err
	}
	operator, ok := e.take("==", "!=")
	if !ok {
		return left, nil
	}
	right, err := e.operand()
	return (written(left) == written(right)) == (operator == "=="), err
}

func (e *expression) operand() (any, error) {
	if _, ok := e.take("!"); ok {
		v, err := e.operand()
		return !truth(v), err
	}
	if len(e.tokens) == 0 {
		return nil, fmt.Errorf("something is missing at the end")
	}
	first := e.tokens[0]
	e.tokens = e.tokens[1:]
	switch {
	case first[0] == '\'':
		return strings.ReplaceAll(first[1:len(first)-1], "''", "'"), nil
	case first[0] >= '0' && first[0] <= '9':
		return first, nil
	case first == "true", first == "false":
		return first == "true", nil
	}
	if _, ok := e.take("("); ok {
		return e.call(first)
	}
	return e.path(first)
}

// call evaluates a function of arguments that are paths or literals.
func (e *expression) call(name string) (any, error) {
	var args []any
	for {
		if _, ok := e.take(")"); ok {
			break
		}
		v, err := e.or()
		if err != nil {
			return nil, err
		}
		args = append(args, v)
		e.take(",")
	}
	switch status, known := e.context["status"].(string); {
	case name == "always" && len(args) == 0:
		return true, nil
	case name == "cancelled" && len(args) == 0:
		return false, nil // no test cancels anything
	case known && name == "success" && len(args) == 0:
		return status == "success", nil
	case known && name == "failure" && len(args) == 0:
		return status == "failure", nil
	case name == "fromJSON" && len(args) == 1:
		var v any
		err := json.Unmarshal([]byte(written(args[0])), &v)
		return v, err
	case name == "contains" && len(args) == 2:
		list, ok := args[0].([]any)
		return ok && slices.Contains(list, args[1]), nil
	}
	return nil, fmt.Errorf("there is no function %s of %d arguments", name, len(args))
}

// path looks up a value, such as github.event.pull_request.labels.*.name.
func (e *expression) path(name string) (any, error) {
	at, ok := e.context[name]
	for ok {
		if _, each := e.take(".*"); each {
			return e.each(at)
		}
		if _, more := e.take("."); !more {
			return at, nil
		}
		if len(e.tokens) == 0 {
			break
		}
		name, e.tokens = e.tokens[0], e.tokens[1:]
		switch m := at.(type) {
		case map[string]any:
			at, ok = m[name]
		case open:
			at = m[name]
		default:
			ok = false
		}
	}
	return nil, fmt.Errorf("%s is not known here", name)
}

// each looks up the rest of a path in every item of a list.
func (e *expression) each(at any) (any, error) {
	list, ok := at.([]any)
	_, dot := e.take(".")
	if !ok || !dot || len(e.tokens) == 0 {
		return nil, fmt.Errorf(".* takes a list, and a name after it")
	}
	name, found := e.tokens[0], []any{}
	e.tokens = e.tokens[1:]
	for _, item := range list {
		if m, ok := item.(map[string]any); ok && m[name] != nil {
			found = append(found, m[name])
		}
	}
	return found, nil
}
