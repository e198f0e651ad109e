package report

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/lkeplan/lkeplan/engine/plan"
)

// TestObjectsWithTheSameChangeAreOneEntry, unless something sets one apart.
func TestObjectsWithTheSameChangeAreOneEntry(t *testing.T) {
	pool := func(i int) plan.Change {
		return plan.Change{
			Addr: fmt.Sprintf("pool.p%03d", i), Kind: "NodePool", Name: fmt.Sprintf("p%03d", i), Action: plan.Update, Effect: plan.Roll,
			Fields: []plan.Field{{Path: "spec.weight", Before: int64(1), After: int64(2), Effect: plan.InPlace}},
			Before: bounds(0, 10), After: bounds(0, 20),
			Impact: &plan.Impact{Known: true, Of: 3, Rolled: 2, Pace: &plan.Pace{Wave: 1}},
		}
	}
	for name, apart := range map[string]func(*plan.Change){
		"another value":     func(c *plan.Change) { c.Fields[0].After = int64(3) },
		"another field":     func(c *plan.Change) { c.Fields[0].Path = "spec.limits.cpu" },
		"another type":      func(c *plan.Change) { c.Fields[0].After = "2" },
		"another effect":    func(c *plan.Change) { c.Effect = plan.InPlace },
		"another action":    func(c *plan.Change) { c.Action = plan.Delete },
		"another kind":      func(c *plan.Change) { c.Kind = "LinodeNodeClass" },
		"another cost":      func(c *plan.Change) { c.After = bounds(0, 2000) },
		"another cause":     func(c *plan.Change) { c.Because = []string{"node_class.a"} },
		"other budgets":     func(c *plan.Change) { c.Impact.Pace = &plan.Pace{Wave: 1, Never: true} },
		"a conflict":        func(c *plan.Change) { c.Conflicts = []plan.Conflict{{Path: "spec.weight", Owner: "jane"}} },
		"another address":   func(c *plan.Change) { c.Previous = "pool.before" },
		"nothing, in sum 9": func(c *plan.Change) { c.Impact.Of, c.Impact.Rolled = 9, 1 },
	} {
		var r Report
		for i := range 501 {
			r.Changes = append(r.Changes, pool(i))
		}
		apart(&r.Changes[250])
		got := written(t, "text", r, Options{})
		alone := strings.Contains(got, "~ pool.p250") || strings.Contains(got, "- pool.p250")
		more := "499 more objects have the same change; --all lists them"
		if strings.HasPrefix(name, "nothing") {
			alone, more = !alone, "500 more objects have the same change; --all lists them"
			if !strings.Contains(got, "1001 of the 1509 nodes of these 501 objects are replaced") {
				t.Errorf("%s: the nodes are not summed up:\n%s", name, got)
			}
		}
		if !alone || !strings.Contains(got, more) || strings.Count(got, "\n") > 40 {
			t.Errorf("%s: it does not stand apart, or %q is missing, or it is long:\n%.2000s", name, more, got)
		}
		all := written(t, "text", r, Options{All: true})
		for _, c := range r.Changes {
			if !strings.Contains(all, " "+c.Addr+"  (") {
				t.Fatalf("%s: --all does not list %s", name, c.Addr)
			}
		}
	}
}

// TestACommentNamesAllWhoseNodesGo, however many change in the same way.
func TestACommentNamesAllWhoseNodesGo(t *testing.T) {
	r := fleet(600, "x")
	for _, text := range []string{written(t, "markdown", r, Options{}), written(t, "markdown", Join([]Report{r}, nil), Options{})} {
		for _, c := range r.Changes {
			if neverOmitted(c) && !strings.Contains(text, c.Addr+"`") {
				t.Errorf("%s is not named", c.Addr)
			}
		}
		if len(text) > MaxComment/2 {
			t.Errorf("the comment has %d bytes", len(text))
		}
	}
}

// TestTheSizeOfACommentHoldsForAllDirectoriesTogether.
func TestTheSizeOfACommentHoldsForAllDirectoriesTogether(t *testing.T) {
	var parts []Report
	for i := range 30 {
		r := fleet(60, fmt.Sprint(strings.Repeat("x", 40), i))
		r.Directory = fmt.Sprintf("clusters/c%02d", i)
		parts = append(parts, r)
	}
	for _, budget := range []int{0, 30_000, 5_000, maxSummary} {
		text := written(t, "markdown", Join(parts, nil), Options{MaxChars: budget})
		if size := len([]rune(text)); size > cmp.Or(budget, MaxComment) {
			t.Errorf("%d characters of %d", size, budget)
		}
		if strings.Contains(text, " more\n\nToo long") { // the names alone are longer
			if budget == maxSummary {
				t.Error("the summary does not have all")
			}
			continue
		}
		for _, p := range parts {
			for _, c := range p.Changes {
				if neverOmitted(c) && !strings.Contains(text, p.Directory+":"+c.Addr) {
					t.Errorf("%s of %s is missing", c.Addr, p.Directory)
				}
			}
		}
	}
}
