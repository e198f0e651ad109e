package report

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lkeplan/lkeplan/engine/plan"
)

func manyPools(n int, value string) Report {
	var r Report
	for i := range n {
		c := plan.Change{Addr: fmt.Sprintf("pool.pool%03d", i), Kind: "NodePool", Action: plan.Update, Effect: plan.InPlace}
		switch {
		case i%20 == 0:
			c.Action, c.Effect = plan.Delete, plan.DeleteNodes
		case i%3 == 0:
			c.Effect = plan.Roll
		}
		for j := range 8 {
			c.Fields = append(c.Fields, plan.Field{Path: fmt.Sprintf("spec.limits.resource%d", j), Before: value, After: value + "!", Effect: c.Effect})
		}
		r.Changes = append(r.Changes, c)
	}
	return r
}

func TestMarkdownKeepsInsideItsSizeWithEveryDeletion(t *testing.T) {
	for _, n := range []int{1, 20, 200, 600} {
		r := manyPools(n, strings.Repeat("x", 40))
		var b strings.Builder
		if err := Write(&b, "markdown", r, Options{Target: "prod"}); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		if size := utf8.RuneCountInString(text); size > MaxComment {
			t.Errorf("%d pools take %d characters", n, size)
		}
		for _, c := range r.Changes {
			if grave(c.Effect) && !strings.Contains(text, "| `"+c.Addr+"` |") {
				t.Errorf("of %d pools %s is missing, whose nodes go", n, c.Addr)
			}
		}
		if strings.Count(text, "<details>") != strings.Count(text, "</details>") || strings.Count(text, "```")%2 != 0 {
			t.Errorf("%d pools: something is opened and not closed", n)
		}
	}
}

// TestMarkdownCannotBeInjected: what is in the configuration stays inside code.
func TestMarkdownCannotBeInjected(t *testing.T) {
	hostile := "```\n@admin closes #1 | </details><script>`<!-- -->"
	p := plan.Plan{Changes: []plan.Change{{
		Addr: `pool.web["` + hostile + `"]`, Kind: "NodePool", Action: plan.Update, Effect: plan.Roll,
		Fields: []plan.Field{{Path: "spec.template.metadata.labels[a]", Before: hostile, After: hostile + "x", Effect: plan.Roll}},
	}}}
	var b strings.Builder
	if err := Write(&b, "markdown", Report{Plan: p}, Options{Target: "prod --> <b>"}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	if lines[0] != "<!-- lkeplan:prod______b_:v1 -->" {
		t.Errorf("the marker is %q", lines[0])
	}
	fence := ""
	for _, line := range lines[1:] {
		switch {
		case fence == "" && strings.HasSuffix(line, "diff") && strings.HasPrefix(line, "````"):
			fence = strings.TrimSuffix(line, "diff")
		case fence != "" && line == fence:
			fence = ""
		case fence != "":
		case strings.HasPrefix(line, "| ````"):
			if strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") != 5 {
				t.Errorf("a row has other cells: %s", line)
			}
		case strings.Contains(line, "@admin"), strings.Contains(line, "<script>"):
			t.Errorf("outside of code: %s", line)
		}
	}
	if fence != "" {
		t.Error("a fence is not closed")
	}
}
