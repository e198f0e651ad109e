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
	"github.com/lkeplan/lkeplan/schemas/text"
)

//go:embed page.html
var pageHTML string

// HTML writes a plan as one self-contained page: no script, no font, no image, no request. Its policy forbids browsers
// to load anything, even if the plan contains a link.
func HTML(w io.Writer, r Report, _ Options) error {
	page, err := template.New("page").Funcs(words).Parse(pageHTML)
	if err != nil {
		return fmt.Errorf("parse the page: %w", err)
	}
	return page.Execute(w, pageOf(r))
}

// words are the functions of the template.
var words = template.FuncMap{
	"abridged": abridge, "bill": func(r Report) string { return writeBill(r, diag.Visible) }, "capital": capitalize, "list": plainText.list, "pill": pillOf, "plain": plainText,
	"unchanged": Report.unchanged,
	"sign":      func(a plan.Action) string { return signs[a] },
	"tone":      func(e plan.Effect) string { return tones[e] },
}

// page is the content of the page. The template escapes all of its text.
type page struct {
	view
	Policy  string
	CSS     template.CSS // ours
	Title   string
	Tone    string // good, warn or bad
	Tiles   []tile
	Guarded string
	Cost    *costChart
	Week    *weekChart
	Groups  []group
	Dirs    []part // the directories with something to report
}

type tile struct{ Label, Value, Note, Tone string }

// group is objects under one heading.
type group struct {
	Title   string
	Open    bool // its entries are unfolded
	Entries []entryView
}

func pageOf(r Report) page {
	s := r.Summary()
	v := page{
		view: plainText.view(r, true, nil), Dirs: r.overview(), Policy: ContentPolicy(), CSS: template.CSS(CSS()), Title: pageTitle(r), Tone: "good",
		Tiles: pageTiles(s), Guarded: r.guarded(), Cost: costChartOf(r), Week: weekChartOf(r),
	}
	v.Groups = groupEntries(v.Entries)
	switch {
	case r.Refused(), len(s.Deleted) > 0, s.Conflicts+r.failed() > 0:
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
	return v
}

// pageTitle returns the title of the page.
func pageTitle(r Report) string {
	sentence := headline(r)
	switch n := len(r.refusing()); {
	case n > 2:
		sentence = "refused by " + text.Count(n, "guard") + "; " + sentence
	case n > 0:
		sentence = "refused by " + plainText.list(r.refusing()) + "; " + sentence
	}
	return capitalize(sentence)
}

// capitalize makes the first letter upper case.
func capitalize(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// pageTiles returns the numbers at the top of the page.
func pageTiles(s plan.Summary) []tile {
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
	rolled := number(len(s.Rolled), "pool replaces nodes", "pools replace nodes", "warn")
	deleted := number(len(s.Deleted), "pool loses all nodes", "pools lose all nodes", "bad")
	if s.NodesRolled.Known && s.NodesRolled.Nodes > 0 {
		rolled = number(s.NodesRolled.Nodes, "node replaced", "nodes replaced", "warn")
		rolled.Note = "in " + text.Count(len(s.Rolled), "pool")
	}
	if s.NodesDeleted.Known && s.NodesDeleted.Nodes > 0 {
		deleted = number(s.NodesDeleted.Nodes, "node deleted", "nodes deleted", "bad")
		deleted.Note = "with " + text.Count(len(s.Deleted), "pool")
	}
	list = append(list, rolled, deleted)
	if n := len(s.Removable) - len(s.Unseen); n > 0 && s.NodesRemovable.Some() {
		if s.Exact {
			list = append(list, number(n, "pool loses nodes", "pools lose nodes", "warn"))
		} else {
			list = append(list, number(n, "pool may lose nodes", "pools may lose nodes", "warn"))
		}
	}
	if n := len(s.Unseen); n > 0 {
		list = append(list,
			number(n, "object may remove nodes of unknown pools", "objects may remove nodes of unknown pools", "warn"))
	}
	return list
}

// groupEntries puts the objects whose nodes are replaced or removed first.
func groupEntries(entries []entryView) []group {
	disrupted, others := group{Title: "Objects whose nodes may be replaced or removed"}, group{Title: "Objects whose nodes stay", Open: len(entries) <= 5}
	for _, e := range entries {
		if isDisruptive(e.Effect) {
			disrupted.Entries = append(disrupted.Entries, e)
		} else {
			others.Entries = append(others.Entries, e)
		}
	}
	disrupted.Open = len(disrupted.Entries) <= 20
	return slices.DeleteFunc([]group{disrupted, others}, func(g group) bool { return len(g.Entries) == 0 })
}

// pill is what happens to an object, in two words.
type pill struct{ Text, Tone string }

func pillOf(c entryView) pill {
	p := pill{"in place", tones[c.Effect]}
	switch {
	case c.Effect == plan.DeleteNodes:
		p.Text = "deletes nodes"
	case c.Prune == plan.StartRemoval:
		p.Text = "drains nodes"
	case c.Prune == plan.Drained:
		p.Text = "deleted"
	case c.Effect == plan.Roll:
		p.Text = "replaces nodes"
	case c.Effect == plan.MayRemove:
		p.Text = "may remove nodes"
	case c.Action == plan.Create:
		p = pill{"new", "good"}
	case c.Action == plan.Keep:
		p.Text = "unchanged"
	case c.Action == plan.Forget:
		p.Text = "no longer managed"
	}
	return p
}

//go:embed page.css
var css string

// CSS returns the style sheet, which pages contain.
func CSS() string { return css }

// ContentPolicy forbids browsers to load anything, and allows the style sheet in the page.
func ContentPolicy() string {
	digest := sha256.Sum256([]byte(css))
	hash := base64.StdEncoding.EncodeToString(digest[:])
	return "default-src 'none'; style-src 'sha256-" + hash + "'; base-uri 'none'; form-action 'none'"
}
