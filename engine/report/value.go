package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/schemas"
)

// fieldPath returns the path of a field as the HCL block has it.
func fieldPath(blockType, path string) string { return diag.OneLine(schemas.Written(blockType, path)) }

// fieldValues writes the values of a field before and after a change.
func fieldValues(f plan.Field) (before, after string) {
	return valueText(f.Path, f.Before), valueText(f.Path, f.After)
}

// valueText writes a value as the reader of HCL knows it, on one line; "" stands for
// none.
func valueText(path string, v any) string {
	list, ok := v.([]any)
	switch {
	case v == nil:
		return ""
	case !ok:
		return literalText(v)
	}
	texts := make([]string, len(list))
	for i, e := range list {
		texts[i] = elementText(path, e)
	}
	return diag.OneLine(strings.Join(texts, ", "))
}

func elementText(path string, e any) string {
	m, ok := e.(map[string]any)
	switch {
	case !ok:
		return literalText(e)
	case strings.Contains(path, ".requirements["):
		return requirementText(m)
	case strings.Contains(path, "aints["):
		return literalText(fmt.Sprint(cmp.Or[any](m["value"], "")))
	case strings.HasSuffix(path, ".budgets"):
		return budgetText(m)
	}
	return literalText(e)
}

func requirementText(m map[string]any) string {
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

func budgetText(m map[string]any) string {
	text := fmt.Sprint(cmp.Or[any](m["nodes"], ""))
	if reasons, ok := m["reasons"].([]any); ok && len(reasons) > 0 {
		text += " for " + strings.Trim(fmt.Sprint(reasons), "[]")
	}
	if schedule, ok := m["schedule"]; ok {
		text += fmt.Sprintf(" at %q for %v", schedule, m["duration"])
	}
	return text
}

// literalText writes a value as JSON, as HCL writes most values.
func literalText(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return diag.OneLine(fmt.Sprint(v))
	}
	return diag.Visible(strings.TrimSuffix(b.String(), "\n"))
}

// ceilingsText writes the maximum monthly cost before and after; only one amount if they are the same, "" if there is
// no cost.
func ceilingsText(before, after *plan.Cost) string {
	return compareCosts(before, after, func(c plan.Cost) string { return c.Ceiling.String() })
}

// floorsText writes the minimum monthly cost before and after; "" if that is nothing.
func floorsText(before, after *plan.Cost) string {
	nothing := func(c *plan.Cost) bool { return c == nil || c.Floor == 0 && !c.FloorUnknown }
	if nothing(before) && nothing(after) {
		return ""
	}
	return compareCosts(before, after, func(c plan.Cost) string {
		if c.FloorUnknown && c.Floor == 0 {
			return "an unknown amount"
		}
		return c.Floor.Text()
	})
}

// ceilingsWithoutLimits writes the ceilings without limits blocks.
func ceilingsWithoutLimits(before, after *plan.Cost) string {
	return compareCosts(before, after, func(c plan.Cost) string { return c.Uncapped().String() })
}

func compareCosts(before, after *plan.Cost, text func(plan.Cost) string) string {
	switch {
	case before == nil && after == nil:
		return ""
	case before == nil:
		return text(*after)
	case after == nil:
		return text(*before) + " → nothing"
	}
	return bothSides(text(*before), text(*after))
}

// writeBill writes the cost of all pools together. Name escapes what authors choose, such as the address of a limits
// block.
func writeBill(r Report, name func(string) string) string {
	if r.Incomplete {
		return "Monthly cost: unknown, because some directories have no plan."
	}
	most := "Monthly cost: maximum " + ceilingsText(&r.Before, &r.After)
	var by []string
	for _, addr := range r.After.By {
		by = append(by, name(addr))
	}
	if len(by) > 0 {
		most += ", limited by " + strings.Join(by, " and ")
	}
	parts := []string{most}
	if text := ceilingsWithoutLimits(&r.Before, &r.After); text != ceilingsText(&r.Before, &r.After) {
		parts = append(parts, "without the limits blocks: "+text)
	}
	if text := floorsText(&r.Before, &r.After); text != "" {
		parts = append(parts, "minimum "+text)
	}
	if r.Current != nil {
		parts = append(parts, "live nodes "+r.Current.Text())
	}
	text := strings.Join(parts, "; ") + "."
	if r.Catalog != "" {
		text += " Prices: " + name(r.Catalog) + "."
	}
	if r.Repriced {
		text += " " + repricedText
	}
	return text
}

const repricedText = "The price catalogue changes: costs are at the higher of the old and the new prices."
