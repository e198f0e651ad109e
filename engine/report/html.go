package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/plan"
)

//go:embed page.html
var pageHTML string

// HTML writes a plan as one page that needs nothing else: no script, no font, no
// image, no request. Its policy lets a browser load nothing, whatever the plan
// holds.
func HTML(w io.Writer, r Report, _ Options) error {
	page, err := template.New("page").Funcs(words).Parse(pageHTML)
	if err != nil {
		return fmt.Errorf("parse the page: %w", err)
	}
	return page.Execute(w, viewOf(r))
}

// words are what the page says in the way of the other formats.
var words = template.FuncMap{
	"at": at, "bill": bill, "capital": capital, "drifted": drifted, "list": plainly.list, "plainly": plainly,
	"progress": plainly.progress, "short": fieldPath, "unchanged": Report.unchanged,
	"reason":    func(r plan.PoolReason) string { return reasonText(r, quoteFunc(plainly)) },
	"obstacles": func(r plan.Rolling) []string { return plainly.obstacles(&plan.Impact{Holds: r.Holds}) },
	"value":     valueText, "verdict": plainly.verdict, "versus": plainly.versus,
	"lines": func(text string) string { return diag.Visible(strings.TrimSpace(text)) },
}

// view is what the page shows. All of it is text, which the template escapes.
type view struct {
	Report
	Policy  string
	CSS     template.CSS // ours
	Title   string
	Tone    string // good, warn or bad
	Tiles   []tile
	Guards  []plan.Verdict // those that have something to say
	Guarded string
	Cost    *costChart
	Week    *weekChart
	Groups  []group
	Pods    *workloadView
	Dirs    []part // of several, those that there is something to say of
}

type tile struct{ Label, Value, Note, Tone string }

// group is objects under one heading.
type group struct {
	Title   string
	Objects []objectView
}

type objectView struct {
	Sign, Addr, What, Headline, Effect, Tone, Place string
	Open                                            bool
	Consequence                                     string
	Warnings                                        []string // what holds nodes, and conflicts
	Fields                                          []fieldView
	Costs                                           []pair
}

type fieldView struct{ Path, Before, After, Effect, Tone, Place string }

// pair is a name and a value.
type pair struct{ Name, Value string }

func viewOf(r Report) view {
	s := r.Summary()
	v := view{
		Dirs: r.overview(), Report: r, Policy: ContentPolicy(), CSS: template.CSS(CSS()), Title: sentence(r), Tone: "good",
		Tiles: tiles(s), Guarded: r.guarded(), Cost: costChartOf(r), Week: weekChartOf(r), Groups: groups(r.Changes),
		Pods: workloadViewOf(r.Workloads, r.Picture),
	}
	switch {
	case r.Refused(), len(s.Deleted) > 0, s.Conflicts+len(r.failed()) > 0:
		v.Tone = "bad"
	case len(s.Rolled) > 0:
		v.Tone = "warn"
	}
	if r.Incomplete { // of a directory
		v.Cost = nil
		for i := range v.Tiles {
			v.Tiles[i].Value, v.Tiles[i].Tone = "?", ""
		}
	}
	for _, verdict := range r.Verdicts {
		if verdict.Status != plan.Passed {
			v.Guards = append(v.Guards, verdict)
		}
	}
	return v
}

// sentence is the title of the page.
func sentence(r Report) string {
	text := headline(r)
	switch n := len(r.refusing()); {
	case n > 2:
		text = "refused by " + diag.Counted(n, "guard") + "; " + text
	case n > 0:
		text = "refused by " + plainly.list(r.refusing()) + "; " + text
	}
	return capital(text)
}

// capital begins a sentence.
func capital(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// tiles are the numbers at the top of the page.
func tiles(s plan.Summary) []tile {
	number := func(n int, one, many, tone string) tile {
		t := tile{Label: many, Value: fmt.Sprint(n), Tone: tone}
		switch n {
		case 0:
			t.Tone = "none"
		case 1:
			t.Label = one
		}
		return t
	}
	list := []tile{
		number(s.Create, "to create", "to create", "good"),
		number(s.Update, "to update", "to update", ""),
		number(s.Delete, "to delete", "to delete", "bad"),
	}
	if s.Move > 0 {
		list = append(list, number(s.Move, "moved", "moved", ""))
	}
	if s.Forget > 0 {
		list = append(list, number(s.Forget, "no longer managed", "no longer managed", ""))
	}
	rolled := number(len(s.Rolled), "pool rolls", "pools roll", "warn")
	deleted := number(len(s.Deleted), "pool loses all nodes", "pools lose all nodes", "bad")
	if s.NodesRolled.Known && s.NodesRolled.Nodes > 0 {
		rolled = number(s.NodesRolled.Nodes, "node replaced", "nodes replaced", "warn")
		rolled.Note = "in " + diag.Counted(len(s.Rolled), "pool")
	}
	if s.NodesDeleted.Known && s.NodesDeleted.Nodes > 0 {
		deleted = number(s.NodesDeleted.Nodes, "node deleted", "nodes deleted", "bad")
		deleted.Note = "with " + diag.Counted(len(s.Deleted), "pool")
	}
	list = append(list, rolled, deleted)
	if len(s.Removable) > 0 {
		list = append(list, number(len(s.Removable), "pool may lose nodes", "pools may lose nodes", "warn"))
	}
	return list
}

// groups puts the objects whose nodes go first.
func groups(changes []plan.Change) (list []group) {
	going, others := group{Title: "Nodes go, or may go"}, group{Title: "Nodes stay"}
	n := 0
	for _, c := range changes {
		if grave(c.Effect) {
			n++
		}
	}
	for _, c := range changes {
		o := objectOf(c)
		if grave(c.Effect) {
			o.Open = n <= 20
			going.Objects = append(going.Objects, o)
		} else {
			o.Open = len(changes) <= 5
			others.Objects = append(others.Objects, o)
		}
	}
	return slices.DeleteFunc([]group{going, others}, func(g group) bool { return len(g.Objects) == 0 })
}

var tones = map[plan.Effect]string{plan.MayRemove: "warn", plan.Roll: "warn", plan.DeleteNodes: "bad"}

func objectOf(c plan.Change) objectView {
	o := objectView{
		Sign: signs[c.Action], Addr: plainly(c.Addr), What: plainly(c.Kind + " " + c.Name), Place: at(c.Source),
		Headline: capital(plainly.headline(c)), Consequence: capital(plainly.consequence(c.Impact)),
		Tone: tones[c.Effect], Warnings: plainly.obstacles(c.Impact),
	}
	switch {
	case c.Effect == plan.DeleteNodes:
		o.Effect = "deletes nodes"
	case c.Prune == plan.StartRemoval:
		o.Effect = "gives up nodes"
	case c.Prune == plan.Drained:
		o.Effect = "deleted"
	case c.Effect == plan.Roll:
		o.Effect = "rolls nodes"
	case c.Effect == plan.MayRemove:
		o.Effect = "may remove nodes"
	case c.Action == plan.Create:
		o.Effect, o.Tone = "new", "good"
	case c.Action == plan.Keep:
		o.Effect = "unchanged"
	case c.Action == plan.Forget:
		o.Effect = "no longer managed"
	default:
		o.Effect = "in place"
	}
	for _, found := range c.Conflicts {
		o.Warnings = append(o.Warnings, "Conflict: "+plainly.conflict(found))
	}
	for _, f := range c.Fields {
		before, after := valueSides(f.Path, f.Before, f.After)
		field := fieldView{fieldPath(f.Path), abridged(before), abridged(after), effect(f), tones[f.Effect], at(f.Source)}
		if c.Action == plan.Create {
			field.Effect = ""
		}
		o.Fields = append(o.Fields, field)
	}
	for _, r := range costRows(c) {
		o.Costs = append(o.Costs, pair{r.Name, r.After})
	}
	return o
}
