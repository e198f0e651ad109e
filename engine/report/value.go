package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/lkeplan/lkeplan/config/diag"
)

// fieldPath leaves out the part of a path that is the same in every pool.
func fieldPath(path string) string {
	path = strings.TrimPrefix(path, "spec.template.spec.")
	path = strings.TrimPrefix(path, "spec.template.metadata.")
	return diag.OneLine(strings.TrimPrefix(path, "spec."))
}

// valueSides are the values of a field before and after; "" where there is none.
func valueSides(path string, before, after any) (string, string) {
	return valueText(path, before), valueText(path, after)
}

// valueText writes a value as the reader of HCL knows it, on one line; "" stands for
// none.
func valueText(path string, v any) string {
	list, ok := v.([]any)
	switch {
	case v == nil:
		return ""
	case !ok:
		return literal(v)
	}
	texts := make([]string, len(list))
	for i, e := range list {
		texts[i] = element(path, e)
	}
	return diag.OneLine(strings.Join(texts, ", "))
}

func element(path string, e any) string {
	m, ok := e.(map[string]any)
	switch {
	case !ok:
		return literal(e)
	case strings.Contains(path, ".requirements["):
		return requirement(m)
	case strings.Contains(path, "aints["):
		return literal(fmt.Sprint(cmp.Or[any](m["value"], "")))
	case strings.HasSuffix(path, ".budgets"):
		return budget(m)
	}
	return literal(e)
}

func requirement(m map[string]any) string {
	var values []string
	list, _ := m["values"].([]any)
	for _, v := range list {
		values = append(values, fmt.Sprint(v))
	}
	text := strings.TrimSpace(fmt.Sprint(m["operator"], " ", strings.Join(values, ", ")))
	if least, ok := m["minValues"]; ok {
		text += fmt.Sprintf(" (at least %v)", least)
	}
	return text
}

func budget(m map[string]any) string {
	text := fmt.Sprint(cmp.Or[any](m["nodes"], ""))
	if reasons, ok := m["reasons"].([]any); ok && len(reasons) > 0 {
		text += " for " + strings.Trim(fmt.Sprint(reasons), "[]")
	}
	if schedule, ok := m["schedule"]; ok {
		text += fmt.Sprintf(" at %q for %v", schedule, m["duration"])
	}
	return text
}

// literal writes a value as JSON, which is how HCL writes most of them.
func literal(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return diag.OneLine(fmt.Sprint(v))
	}
	return diag.Visible(strings.TrimSuffix(b.String(), "\n"))
}
