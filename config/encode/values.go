package encode

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/lkeplan/lkeplan/config/syntax"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// value writes a field as the value of an argument. It returns false if the argument cannot have
// this value. It writes nothing for values that each object compiles to.
func (w writer) value(arg schemas.Arg, v any) (text string, ok bool) {
	n, whole := v.(int64)
	switch arg.Kind {
	case schemas.String:
		return writeScalar(v)
	case schemas.Bool:
		b, ok := v.(bool)
		return strconv.FormatBool(b), ok
	case schemas.Number:
		return strconv.FormatInt(n, 10), whole
	case schemas.ID:
		return strconv.FormatInt(n, 10), whole && n > 0
	case schemas.Duration:
		return writeMatching(durations, v)
	case schemas.Quantity:
		return writeMatching(amounts, v)
	case schemas.Money:
		return writeMatching(dollars, v)
	case schemas.Strings, schemas.Tags:
		return writeList(v)
	case schemas.LabelKeys:
		return writeKeys(v)
	case schemas.StringMap:
		return writeObject(v, writeQuoted)
	case schemas.Quantities:
		return writeObject(v, func(v any) (string, bool) { return writeMatching(amounts, v) })
	case schemas.Taints:
		return writeTaints(v)
	case schemas.Requirements, schemas.Selector:
		return writeRequirements(v, arg.Kind == schemas.Requirements)
	case schemas.NodeClassRef:
		return w.nodeClass(v)
	case schemas.PoolRefs:
		return w.pools(v)
	}
	return "", false
}

var (
	durations = regexp.MustCompile(schemas.DurationPattern)
	amounts   = regexp.MustCompile(schemas.QuantityPattern)
	dollars   = regexp.MustCompile(schemas.MoneyPattern)
	number    = regexp.MustCompile(`^(0|[1-9][0-9]{0,17})$`)
)

// writeMatching writes text that matches a pattern, or a whole number without quotes.
func writeMatching(form *regexp.Regexp, v any) (string, bool) {
	text, ok := v.(string)
	if n, whole := v.(int64); whole {
		text, ok = strconv.FormatInt(n, 10), true
	}
	switch {
	case !ok || !form.MatchString(text):
		return "", false
	case number.MatchString(text):
		return text, true
	}
	return syntax.Quote(text), true
}

// writeKeys writes a text with commas as a list, if it is sorted as it compiles.
func writeKeys(v any) (string, bool) {
	text, ok := v.(string)
	var elements []any
	for _, key := range strings.Split(text, ",") {
		ok = ok && key != "" && schemas.ReservedOnNodes(key) == ""
		elements = append(elements, key)
	}
	if !ok || !slices.IsSorted(strings.Split(text, ",")) {
		return "", false
	}
	return writeList(elements)
}

func writeQuoted(v any) (string, bool) {
	text, ok := v.(string)
	return syntax.Quote(text), ok
}

// writeScalar writes text. A field that can also be a number is treated as text.
func writeScalar(v any) (string, bool) {
	if n, ok := v.(int64); ok {
		return strconv.FormatInt(n, 10), true
	}
	return writeQuoted(v)
}

func writeList(v any) (string, bool) {
	elements, ok := v.([]any)
	parts := make([]string, len(elements))
	for i, element := range elements {
		text, isText := writeQuoted(element)
		parts[i], ok = text, ok && isText
	}
	return syntax.List(parts), ok && len(parts) > 0
}

func writeObject(v any, value func(any) (string, bool)) (string, bool) {
	fields, ok := v.(map[string]any)
	var pairs []syntax.Pair
	for _, key := range sortedKeys(fields) {
		text, is := value(fields[key])
		pairs = append(pairs, syntax.Pair{Key: key, Value: text})
		ok = ok && is
	}
	return syntax.Object(pairs), ok && len(pairs) > 0
}

func sortedKeys(fields map[string]any) []string { return slices.Sorted(maps.Keys(fields)) }

// writeTaints writes taints in the form that kubectl uses.
func writeTaints(v any) (string, bool) {
	elements, ok := v.([]any)
	var parts []string
	seen := map[string]bool{}
	for _, element := range elements {
		fields, _ := element.(map[string]any)
		key, value, effect := manifest.Text(fields, "key"), manifest.Text(fields, "value"), manifest.Text(fields,
			"effect")
		known := 0
		for name, field := range fields {
			if _, isText := field.(string); isText && slices.Contains([]string{"key", "value", "effect"}, name) {
				known++
			}
		}
		if known != len(fields) || key == "" || effect == "" || strings.ContainsAny(key, "=:") ||
			strings.Contains(value, ":") || seen[key+":"+effect] {
			return "", false
		}
		seen[key+":"+effect] = true
		if value != "" {
			key += "=" + value
		}
		parts = append(parts, syntax.Quote(key+":"+effect))
	}
	return syntax.List(parts), ok && len(parts) > 0
}

// nodeClass writes a reference to a class: to its block, or by name if it has none.
func (w writer) nodeClass(v any) (string, bool) {
	fields, _ := v.(map[string]any)
	ok := len(fields) == 3 && manifest.Text(fields, "group") == schemas.NodeClassGroup &&
		manifest.Text(fields, "kind") == schemas.NodeClass.Object.Kind
	return w.reference(schemas.NodeClass, manifest.Text(fields, "name")), ok && manifest.Text(fields, "name") != ""
}

// writeForeign writes a reference to a class of another kind, as far as the argument can express it.
func writeForeign(v any) string {
	fields, _ := v.(map[string]any)
	return writer{}.reference(schemas.NodeClass, manifest.Text(fields, "name"))
}

func (w writer) pools(v any) (string, bool) {
	names, ok := v.([]any)
	var parts []string
	for _, element := range names {
		name, isText := element.(string)
		parts = append(parts, w.reference(schemas.Pool, name))
		ok = ok && isText && name != ""
	}
	return syntax.List(parts), ok && len(parts) > 0
}

func (w writer) reference(table schemas.Block, name string) string {
	if label, ok := w.labels[manifest.Key{Kind: table.Object.Kind, Name: name}]; ok {
		return table.Type + "." + label
	}
	return syntax.Object([]syntax.Pair{{Key: "kind", Value: syntax.Quote(table.Object.Kind)},
		{Key: "name", Value: syntax.Quote(name)}})
}

// writeLiteral writes any value.
func writeLiteral(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return syntax.Quote(v)
	case []any:
		parts := make([]string, len(v))
		for i, element := range v {
			parts[i] = writeLiteral(element)
		}
		return syntax.List(parts)
	case map[string]any:
		var pairs []syntax.Pair
		for _, key := range sortedKeys(v) {
			pairs = append(pairs, syntax.Pair{Key: key, Value: writeLiteral(v[key])})
		}
		return syntax.Object(pairs)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(v)
}
