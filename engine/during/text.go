package during

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Period describes when a window is active: Mon-Fri 20:00 UTC for 10h. A schedule that is not about days of the week
// keeps its cron notation: "0 20 1 * *" UTC for 10h.
func Period(w manifest.DuringWindow) string {
	zone := "UTC"
	if w.TimeZone != "" {
		zone = w.TimeZone
	}
	lasts := w.Duration
	if d, err := time.ParseDuration(w.Duration); err == nil {
		lasts = WriteDuration(d)
	}
	return fmt.Sprintf("%s %s for %s", startOf(w.Schedule), zone, lasts)
}

var daily = regexp.MustCompile(`^([0-5]?[0-9]) ([01]?[0-9]|2[0-3]) \* \* ([A-Za-z*,-]+)$`)

func startOf(schedule string) string {
	m := daily.FindStringSubmatch(strings.Join(strings.Fields(schedule), " "))
	if m == nil {
		return fmt.Sprintf("%q", schedule)
	}
	days := "daily"
	if m[3] != "*" {
		days = title(m[3])
	}
	return fmt.Sprintf("%s %02s:%02s", days, m[2], m[1])
}

// title writes names of days with capitals: Mon-Fri.
func title(days string) string {
	upper, out := true, []rune(strings.ToLower(days))
	for i, r := range out {
		if upper {
			out[i] = []rune(strings.ToUpper(string(r)))[0]
		}
		upper = r == '-' || r == ','
	}
	return string(out)
}

// Changes describes the values below a path that differ between two forms of an object of a kind: limits.cpu 400 → 0.
func Changes(kind, path string, before, after map[string]any) (list []string) {
	was, _ := manifest.Field(before, path)
	is, _ := manifest.Field(after, path)
	return ValueChanges(schemas.TypeOf(kind), path, was, is)
}

// ValueChanges is Changes for the values of a field. No value is none.
func ValueChanges(blockType, path string, was, is any) (list []string) {
	old, isMap := was.(map[string]any)
	now, areMaps := is.(map[string]any)
	if isMap || areMaps {
		keys := maps.Clone(now)
		if keys == nil {
			keys = map[string]any{}
		}
		maps.Copy(keys, old)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			list = append(list, ValueChanges(blockType, path+"."+key, old[key], now[key])...)
		}
		return list
	}
	before, after := valueText(was), valueText(is)
	if before == after {
		return nil
	}
	return []string{fmt.Sprintf("%s %s → %s", schemas.Written(blockType, path), before, after)}
}

func valueText(v any) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case string:
		return v
	case []any: // budgets
		var texts []string
		for _, e := range v {
			texts = append(texts, elementText(e))
		}
		return "[" + strings.Join(texts, ", ") + "]"
	}
	return fmt.Sprint(v)
}

// elementText is a budget: 0 (Drifted) at "0 9 * * *" for 8h.
func elementText(e any) string {
	fields, ok := e.(map[string]any)
	if !ok {
		return fmt.Sprint(e)
	}
	text := fmt.Sprint(fields["nodes"])
	if reasons, ok := fields["reasons"].([]any); ok {
		text += fmt.Sprintf(" %v", reasons)
	}
	if schedule, ok := fields["schedule"]; ok {
		text += fmt.Sprintf(" at %q for %v", schedule, fields["duration"])
	}
	return text
}

// Block describes a during block: Mon-Fri 20:00 UTC for 10h: limits.cpu 400 → 0. The base are the values outside of
// all windows, by path.
func Block(blockType string, w manifest.DuringWindow, base map[string]any) string {
	var changes []string
	for _, path := range slices.Sorted(maps.Keys(w.Set)) {
		found := ValueChanges(blockType, path, base[path], w.Set[path])
		if len(found) == 0 {
			found = []string{schemas.Written(blockType, path) + " unchanged"}
		}
		changes = append(changes, found...)
	}
	return Period(w) + ": " + strings.Join(changes, ", ")
}
