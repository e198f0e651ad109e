package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/plan"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
)

// HTML writes a plan as one page that needs nothing else: no script, no font, no
// image, no request. Its policy lets a browser load nothing, whatever the plan
// holds.
func HTML(w io.Writer, r Report, _ Options) error {
	page, err := template.New("page").Parse(pageHTML)
	if err != nil {
		return fmt.Errorf("parse the page: %w", err)
	}
	return page.Execute(w, viewOf(r))
}

// policy allows the one style sheet that is in the page.
func policy() string {
	digest := sha256.Sum256([]byte(pageCSS))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) + "'; base-uri 'none'; form-action 'none'"
}

// view is what the page shows. All of it is text, which the template escapes.
type view struct {
	Policy  string
	CSS     template.CSS // ours
	Verdict string
	Tone    string // good, warn or bad
	Versus  string
	Digest  string
	Bill    string
	Tiles   []tile
	Guards  []verdictView
	Passed  int
	Cost    *costChart
	Week    *weekChart
	Groups  []group
	Moves   []moveView
	Drift   []driftView
	Remarks []remark
}

// moveView is how a pool becomes another object and keeps its nodes.
type moveView struct {
	From, To, Reason string
	Steps            []pair // what to do, and what to write for it
}

type tile struct{ Label, Value, Note, Tone string }

type verdictView struct{ Status, Tone, Text, Place string }

// group is objects under one heading.
type group struct {
	Title   string
	Objects []objectView
}

type objectView struct {
	Sign, Addr, What, Headline, Effect, Tone, Place string
	Open                                            bool
	Consequence                                     string
	Warnings                                        []string // what holds nodes, and who stands in the way
	Fields                                          []fieldView
	Costs                                           []pair
}

type fieldView struct{ Path, Before, After, Effect, Tone, Place string }

// pair is a name and a value.
type pair struct{ Name, Value string }

type driftView struct{ Addr, Path, Before, After, Owners, Then string }

type remark struct{ Kind, Text, Place string }

func viewOf(r Report) view {
	s := r.Summary()
	v := view{
		Policy: policy(), CSS: template.CSS(pageCSS), Verdict: sentence(r), Tone: "good", Versus: plainly.versus(r), Digest: plainly(r.Digest),
		Tiles: tiles(s), Passed: r.passed(), Cost: costChartOf(r), Week: weekChartOf(r), Groups: groups(r.Changes),
	}
	switch {
	case r.Refused(), len(s.Deleted) > 0:
		v.Tone = "bad"
	case len(s.Rolled) > 0:
		v.Tone = "warn"
	}
	if !r.Empty() {
		v.Bill = bill(r)
	}
	for _, verdict := range r.Verdicts {
		if verdict.Status != plan.Passed {
			tone := map[plan.Status]string{plan.Blocked: "bad"}[verdict.Status]
			v.Guards = append(v.Guards, verdictView{string(verdict.Status), tone, plainly.verdict(verdict), at(verdict.Source)})
		}
	}
	for _, m := range r.Migrations {
		move := moveView{From: plainly(m.From), To: plainly(m.To), Reason: capital(plainly(m.Reason))}
		for _, step := range m.Steps {
			move.Steps = append(move.Steps, pair{plainly(step.Title), diag.Visible(strings.TrimSpace(step.HCL))})
		}
		v.Moves = append(v.Moves, move)
	}
	for _, d := range r.Drift {
		before, after := sides(d.Path, d.Applied, d.Live)
		v.Drift = append(v.Drift, driftView{plainly(d.Addr), short(d.Path), before, after, plainly.list(d.Owners), drifted(d)})
	}
	for _, d := range r.Diagnostics {
		place := ""
		if d.Range != nil {
			place = fmt.Sprintf("%s:%d", d.Range.Filename, d.Range.Start.Line)
		}
		v.Remarks = append(v.Remarks, remark{d.Severity, d.Summary + ". " + d.Detail, place})
	}
	for _, text := range r.Notes {
		v.Remarks = append(v.Remarks, remark{"not looked at", plainly(text), ""})
	}
	return v
}

// sentence is the title of the page.
func sentence(r Report) string {
	text := headline(r)
	switch n := len(r.refusing()); {
	case n > 2:
		text = "refused by " + count(n, "guard") + "; " + text
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
	list := []tile{number(s.Create, "to create", "to create", "good"), number(s.Update, "to update", "to update", ""), number(s.Delete, "to delete", "to delete", "bad")}
	if s.Move > 0 {
		list = append(list, number(s.Move, "moved", "moved", ""))
	}
	if s.Forget > 0 {
		list = append(list, number(s.Forget, "no longer managed", "no longer managed", ""))
	}
	rolled := number(len(s.Rolled), "pool rolls", "pools roll", "warn")
	deleted := number(len(s.Deleted), "pool loses all nodes", "pools lose all nodes", "bad")
	if s.NodesRolled > 0 {
		rolled = number(s.NodesRolled, "node replaced", "nodes replaced", "warn")
		rolled.Note = "in " + count(len(s.Rolled), "pool")
	}
	if s.NodesDeleted > 0 {
		deleted = number(s.NodesDeleted, "node deleted", "nodes deleted", "bad")
		deleted.Note = "with " + count(len(s.Deleted), "pool")
	}
	return append(list, rolled, deleted)
}

// groups puts the objects whose nodes go first.
func groups(changes []plan.Change) (list []group) {
	going, others := group{Title: "Nodes go"}, group{Title: "Nodes stay"}
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

var tones = map[plan.Effect]string{plan.Roll: "warn", plan.DeleteNodes: "bad"}

func objectOf(c plan.Change) objectView {
	o := objectView{
		Sign: signs[c.Action], Addr: plainly(c.Addr), What: plainly(c.Kind + " " + c.Name), Headline: capital(plainly.headline(c)), Place: at(c.Source),
		Tone: tones[c.Effect], Consequence: capital(plainly.consequence(c.Impact)), Warnings: plainly.obstacles(c.Impact),
	}
	switch {
	case c.Effect == plan.DeleteNodes:
		o.Effect = "deletes nodes"
	case c.Effect == plan.Roll:
		o.Effect = "rolls nodes"
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
		before, after := sides(f.Path, f.Before, f.After)
		field := fieldView{short(f.Path), abridged(before), abridged(after), effect(f), tones[f.Effect], at(f.Source)}
		if c.Action == plan.Create {
			field.Effect = ""
		}
		o.Fields = append(o.Fields, field)
	}
	for _, r := range costRows(c) {
		o.Costs = append(o.Costs, pair{r.name, r.after})
	}
	return o
}
