package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// planJSON is the part of a plan that TestTextHidesNoValue checks.
type planJSON struct {
	Changes []struct {
		Address string `json:"address"`
		Fields  []struct {
			Path   string `json:"path"`
			Before any    `json:"before"`
			After  any    `json:"after"`
		} `json:"fields"`
		Cost costJSON `json:"cost"`
	} `json:"resource_changes"`
	Cost costJSON `json:"cost"`
}

type costJSON struct {
	Monthly   map[string]any `json:"monthly"`
	LimitedBy []string       `json:"limited_by"`
}

// TestTextHidesNoValue: in ten diffs, at each width, each value and each amount of the JSON plan is in the paragraph of its
// object.
func TestTextHidesNoValue(t *testing.T) {
	directories := []string{
		"batch", "cost-caps", "critical", "gpu", "headroom", "modules/clusters/prod", "office-hours", "production",
		"simulate", "instances", "batch",
	}
	for i, head := range directories[1:] {
		args := []string{"diff", "--at", "2026-11-20T10:00:00Z", "--base", "dir:../../examples/" + directories[i]}
		var plan planJSON
		decode := json.NewDecoder(strings.NewReader(diffed(t, append(args, "-o", "json", "../../examples/"+head))))
		decode.UseNumber()
		if err := decode.Decode(&plan); err != nil {
			t.Fatal(err)
		}
		for _, columns := range []int{80, 200} {
			text := diffed(t, append(args, "--all", "--width", fmt.Sprint(columns), "../../examples/"+head))
			for line := range strings.Lines(text) {
				if n := utf8.RuneCountInString(line) - 1; n > columns && strings.Contains(strings.TrimSpace(line), " ") {
					t.Errorf("%s: %d columns in a page of %d: %s", head, n, columns, line)
				}
			}
			shows := func(where, text string, wanted []string) {
				text = strings.Join(strings.Fields(text), " ")
				for _, want := range wanted {
					if !strings.Contains(text, strings.Join(strings.Fields(want), " ")) {
						t.Errorf("%s with %d columns: %s does not show %s\n%s", head, columns, where, want, text)
					}
				}
			}
			for _, c := range plan.Changes {
				_, rest, _ := strings.Cut(text, " "+c.Address+"  (")
				paragraph, _, _ := strings.Cut(rest, "\n\n")
				for _, f := range c.Fields {
					if class := strings.TrimPrefix(f.Path, "spec.template.spec.nodeClassRef."); f.Before == nil && class != "name" &&
						class != f.Path { // the only kind of class that the CRD allows
						continue
					}
					shows(c.Address+" "+f.Path, paragraph, append(leaves(f.Path, f.Before), leaves(f.Path, f.After)...))
				}
				shows(c.Address, paragraph, amounts(t, c.Cost))
			}
			shows("the sum", text[strings.LastIndex(text, "\n\n"):], amounts(t, plan.Cost))
		}
	}
}

// diffed is the output of a diff, which guards can refuse.
func diffed(t *testing.T, args []string) string {
	t.Helper()
	var out, errs strings.Builder
	env := &env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}
	if code := run(t.Context(), args, env); code == 1 {
		t.Fatalf("%v: %s", args, errs.String())
	}
	return out.String()
}

// leaves are the texts of a value, without the names in its path.
func leaves(path string, value any) (texts []string) {
	switch v := value.(type) {
	case nil:
	case map[string]any:
		for key, inner := range v {
			if key == "key" || key == "effect" && strings.Contains(path, "aints[") {
				continue
			}
			texts = append(texts, leaves(path, inner)...)
		}
	case []any:
		for _, inner := range v {
			texts = append(texts, leaves(path, inner)...)
		}
	case string:
		texts = append(texts, strings.Trim(fmt.Sprintf("%q", v), `"`))
	default:
		texts = append(texts, fmt.Sprint(v))
	}
	return texts
}

// amounts are the amounts of a cost as text has them: ceilings are rounded up to dollars, and $0 is left out.
func amounts(t *testing.T, c costJSON) (texts []string) {
	for name, value := range c.Monthly {
		text, ok := value.(string)
		money, err := catalog.ParseMoney(text)
		switch {
		case !ok:
		case err == nil && money > 0 && strings.HasPrefix(name, "ceiling"):
			texts = append(texts, ((money + catalog.Dollar - 1) / catalog.Dollar * catalog.Dollar).Text())
		case err == nil && money > 0:
			texts = append(texts, money.Text())
		case err == nil, text == "unknown":
		case text == "unlimited":
			texts = append(texts, text)
		default:
			t.Errorf("%s: %s", name, text)
		}
	}
	return append(texts, c.LimitedBy...)
}
