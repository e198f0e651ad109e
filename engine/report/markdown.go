package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// MaxComment is the default maximum length of Markdown, in characters. GitHub accepts comments of 65,536.
const MaxComment = 60_000

// maxSummary is the maximum length of the summary of a job, in characters. GitHub accepts 1 MiB, and a character has
// at most four bytes.
const maxSummary = 250_000

// minComment is the least maximum length, in which the verdict and the totals fit.
const minComment = 2000

// Markdown writes a plan as a comment for a pull request, of at most MaxChars characters: it leaves out the least
// important parts first, and deleted and replaced nodes only if their names alone are longer. The first line is a
// marker by which a bot finds its comment again. Text with parts from the configuration is in code spans, whole
// sentences too: a renderer and a bot would read entities and escaped characters as Markdown, mentions or references.
func Markdown(w io.Writer, r Report, o Options) error {
	most := cmp.Or(max(o.MaxChars, 0), MaxComment)
	view := code.view(r, o.All, nil)
	for d := allDetails; ; d-- {
		c := &comment{view: view, detail: d, apply: o.Apply}
		if text := c.write(o.Target, max(most, minComment)); d == onlyNames || utf8.RuneCountInString(text) <= most {
			_, err := io.WriteString(w, text)
			return err
		}
	}
}

// detail is how much a comment contains.
type detail int

const (
	onlyNames         detail = iota // of deleted objects and disrupted pools
	disruptiveRows                  // one line for each of those
	onlyRows                        // one line for each object
	disruptiveDetails               // and the fields of those
	allDetails                      // and the fields of all objects
)

// comment is Markdown that is being written.
type comment struct {
	strings.Builder
	view
	detail detail
	apply  []string
}

func (c *comment) printf(format string, args ...any) { fmt.Fprintf(c, format, args...) }

func (c *comment) write(target string, most int) string {
	c.printf("<!-- lkeplan:%s:v1 -->\n### lkeplan: %s\n", Marker(target), verdictLine(c.Report))
	c.overview()
	c.guards()
	c.workloads()
	c.table()
	c.conflicts()
	c.drifted()
	c.rolling()
	c.warnings()
	for _, e := range c.Entries {
		if c.detail == allDetails || c.detail == disruptiveDetails && neverOmitted(e.Change) {
			c.details(e)
		}
	}
	end := &comment{view: c.view, detail: c.detail, apply: c.apply}
	if c.detail < allDetails {
		end.printf("\nToo long for one comment; `lkeplan diff` shows the rest.\n")
	}
	end.footer()
	if c.detail > onlyNames {
		return c.String() + end.String()
	}
	return shortenTo(c.String(), most-utf8.RuneCountInString(end.String())) + end.String()
}

// shortenTo shortens a text to a number of characters, at the end of a line or between two names in a line.
func shortenTo(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	kept := string([]rune(text)[:most-len(" and 0000000 more\n")])
	kept = kept[:max(strings.LastIndex(kept, "\n"), strings.LastIndex(kept, "`, `")+1)]
	left := text[len(kept):]
	return kept + fmt.Sprintf(" and %d more\n", strings.Count(left, "`, `")+strings.Count(left, "\n")-1)
}

// verdictLine returns the first line that a reviewer reads.
func verdictLine(r Report) string {
	text := headline(r)
	if s := r.Summary(); len(s.Deleted)+len(s.Rolled)+len(s.Condemned)+len(s.Removable) > 0 {
		text = "⚠️ " + text
	}
	if r.Refused() {
		text = "🛑 refused; " + text
	} else if r.Summary().Conflicts+r.failed() > 0 {
		text = "🛑 " + text
	}
	return text
}

// overview writes a row for each directory with something to report.
func (c *comment) overview() {
	rows := c.Report.overview()
	if c.detail <= disruptiveRows {
		rows = slices.DeleteFunc(rows, func(p part) bool { return p.Status == "" })
	}
	if len(rows) > 0 {
		c.printf("\n| directory | objects | nodes | monthly maximum | |\n|---|---|---|---|---|\n")
	}
	for _, row := range rows {
		if row.Status != "" {
			row.Status = "🛑 " + row.Status
		}
		if row.Objects == "no plan" {
			row.Nodes = code(abridge(row.Nodes))
		}
		c.printf("| %s | %s | %s | %s | %s |\n", code(row.Directory), row.Objects, row.Nodes, row.Cost, row.Status)
	}
	if names := c.unchanged(); len(names) > 0 && len(c.Changes) > 0 {
		c.printf("\n%s without changes.\n", countDirectories(len(names)))
	}
	if n := len(c.Unreached); n > 0 && c.detail > disruptiveRows {
		c.printf("\n%s not affected by the change.\n", countDirectories(n))
	}
}

// rolling lists the pools whose nodes are still draining, joining or being replaced.
func (c *comment) rolling() {
	if len(c.Rolling) > 0 && c.detail <= disruptiveRows {
		c.printf("\nNodes of %s are still draining, joining or being replaced.\n", text.Count(len(c.Rolling), "pool"))
		return
	}
	var items []string
	for _, p := range c.Pools {
		items = append(items, "- in progress: "+p.Addr+": "+p.Progress)
		for _, sentence := range p.Obstacles {
			items = append(items, "  - "+sentence)
		}
	}
	c.list(items)
}

// neverOmitted reports whether every comment must contain an object.
func neverOmitted(c plan.Change) bool { return isDisruptive(c.Effect) || c.Action == plan.Delete }

// guards lists the guards that did not pass.
func (c *comment) guards() {
	if c.detail == onlyNames && c.Refused() {
		c.printf("\n🛑 **blocked** by %s\n", code.list(c.refusing()))
		return
	}
	var items []string
	for _, g := range c.Guards {
		item := fmt.Sprintf("- %s: %s", g.Status, g.Text)
		switch {
		case g.Status == plan.Blocked:
			item = "- 🛑 **blocked** by " + g.Text
		case c.detail <= disruptiveRows:
			continue
		case g.Status == plan.Unknown:
			item = "- not checked: " + g.Text
		}
		if g.Place != "" {
			item += " (" + code(g.Place) + ")"
		}
		items = append(items, item)
	}
	c.list(items)
	if guards := c.guarded(); guards != "" {
		c.printf("\nGuards: %s.\n", guards)
	}
}

// table has a row for each object.
func (c *comment) table() {
	if len(c.Changes) == 0 {
		return
	}
	if c.detail == onlyNames {
		c.names()
		return
	}
	c.printf("\n| object | | nodes | earliest start | monthly maximum |\n|---|---|---|---|---|\n")
	hidden := 0
	for _, e := range c.Entries {
		if c.detail == disruptiveRows && !neverOmitted(e.Change) {
			hidden += len(e.All())
			continue
		}
		object, becomes := e.Addr, nodesText(e.Change)
		if n := len(e.More); n > 0 {
			object += fmt.Sprintf(" and %d more", n)
			if e.Impact != nil && e.Impact.Known {
				becomes = e.Consequence
			}
		}
		c.printf("| %s | %s | %s | %s | %s |\n",
			object, actionText(e.Change), becomes, nextDisruption(e.Impact), ceilingsText(e.Before, e.After))
	}
	if hidden > 0 {
		c.printf("\n%s more that affect no nodes.\n", text.Count(hidden, "object"))
	}
	for _, e := range c.Entries {
		c.sameChange(e)
	}
}

// sameChange names the further objects of an entry. It names all of them if they are deleted or disrupted.
func (c *comment) sameChange(e entryView) {
	switch {
	case len(e.More) == 0 || !neverOmitted(e.Change) && c.detail < allDetails:
		return
	case !neverOmitted(e.Change) && len(e.More) > mostNamed:
		c.printf("\n`lkeplan diff --all` lists the %d objects with the same change as %s.\n", len(e.More), e.Addr)
		return
	}
	c.printf("\n<details><summary>%s like <code>%s</code></summary>\n\n%s\n\n</details>\n",
		text.Count(len(e.More), "more object"), HTMLEntities(e.Change.Addr), code.list(changeAddresses(e.More)))
}

// names replaces the table if nothing longer fits.
func (c *comment) names() {
	for _, part := range []struct {
		title string
		is    func(plan.Change) bool
	}{
		{"**Deletes, with all nodes,**", func(ch plan.Change) bool {
			return ch.Effect == plan.DeleteNodes && ch.Action == plan.Delete
		}},
		{"**Deletes nodes of**", func(ch plan.Change) bool {
			return ch.Effect == plan.DeleteNodes && ch.Action != plan.Delete
		}},
		{"**Drains and deletes**", func(ch plan.Change) bool { return ch.Prune == plan.StartRemoval }},
		{"**Replaces nodes of**", func(ch plan.Change) bool { return ch.Effect == plan.Roll && ch.Prune != plan.StartRemoval }},
		{"**May remove nodes of**", func(ch plan.Change) bool { return ch.Effect == plan.MayRemove }},
		{"**Deletes**", func(ch plan.Change) bool { return ch.Action == plan.Delete && !isDisruptive(ch.Effect) }},
	} {
		var addrs []string
		for _, change := range c.Changes {
			if part.is(change) {
				addrs = append(addrs, change.Addr)
			}
		}
		if len(addrs) > 0 {
			c.printf("\n%s %s\n", part.title, code.list(addrs))
		}
	}
}

func actionText(c plan.Change) string {
	switch {
	case c.Action == plan.Create:
		return "created"
	case c.Prune == plan.StartRemoval:
		return "**draining**"
	case c.Action == plan.Delete:
		return "**deleted**"
	case c.Action == plan.Forget:
		return "no longer managed"
	case c.Previous != "":
		return "moved from " + code(c.Previous)
	case c.Action == plan.Update:
		return "updated"
	}
	return "unchanged"
}

func nodesText(c plan.Change) string {
	var sentence string
	switch known := c.Impact != nil && c.Impact.Known; {
	case c.Effect == plan.DeleteNodes && known && c.Impact.Of == 0:
		return "none"
	case c.Effect == plan.DeleteNodes && known:
		return fmt.Sprintf("**%s deleted** immediately, regardless of budgets", text.Count(c.Impact.Deleted, "node"))
	case c.Effect == plan.DeleteNodes && c.Action == plan.Update:
		return "**some deleted** immediately, regardless of budgets"
	case c.Effect == plan.DeleteNodes:
		return "**all deleted** immediately, regardless of budgets"
	case c.Action == plan.Create && c.Effect == plan.None:
		return "" // it has none yet
	case c.Effect != plan.Roll && c.Effect != plan.MayRemove:
		return "stay"
	case c.Effect == plan.MayRemove && known:
		sentence = "**" + code.consequence(c.Impact) + "**"
	case c.Effect == plan.MayRemove:
		sentence = "**may be removed**"
	case known && c.Impact.Pace != nil && c.Impact.Rolled > 0:
		sentence = fmt.Sprintf("**%d of %d %s**", c.Impact.Rolled, c.Impact.Of, rollVerb(c.Impact))
		if !c.Impact.Pace.Never {
			sentence += fmt.Sprintf(", %d at a time", min(c.Impact.Pace.Wave, c.Impact.Rolled))
		}
	case known:
		sentence = code.consequence(c.Impact)
	case c.Prune == plan.StartRemoval:
		sentence = "**all drained** within the disruption budgets"
	case c.Kind == "LinodeNodeClass":
		sentence = "**all replaced** in the pools that use it"
	case c.Partial:
		sentence = "replaced where they no longer match"
	default:
		sentence = "**all replaced**"
	}
	if len(c.Because) > 0 {
		sentence += ", because of " + code.list(c.Because)
	}
	return sentence
}

// nextDisruption returns when the budgets next allow a disruption.
func nextDisruption(im *plan.Impact) string {
	switch {
	case im == nil || im.Pace == nil:
		return ""
	case im.Pace.Never:
		return "**never**"
	case !im.Pace.Next.IsZero():
		return text.SoonTime(im.Pace.Next)
	}
	return "now"
}

// conflicts lists the fields because of which an apply is refused.
func (c *comment) conflicts() {
	if n := c.Summary().Conflicts; c.detail == onlyNames && n > 0 {
		c.printf("\n**Conflict**: %s set by other owners to another value; apply does not overwrite them.\n",
			text.Count(n, "field"))
	}
	if c.detail == onlyNames {
		return
	}
	for _, e := range c.Entries {
		for _, sentence := range e.Conflicts {
			c.printf("\n**Conflict** on %s: %s.\n", e.Addr, sentence)
		}
	}
}

// drifted lists the fields that others have set.
func (c *comment) drifted() {
	if len(c.Drifted) == 0 {
		return
	}
	if c.detail <= disruptiveRows {
		c.printf("\n%s set by other owners in the cluster.\n", text.Count(len(c.Drifted), "field"))
		return
	}
	c.printf("\n**Drift**: set by other owners in the cluster, not by this change\n\n| object | field | | by | " +
		"|\n|---|---|---|---|---|\n")
	for _, d := range c.Drifted {
		c.printf("| %s | %s | %s | %s | %s |\n", d.Addr, code(d.Path), code(abridge(beforeAndAfter(d.Before, d.After))), d.By, d.Apply)
	}
	for _, d := range c.Drifted {
		if d.Detail != "" {
			c.printf("\n%s: %s\n", d.Addr, HTMLEntities(d.Detail))
		}
	}
}

// warnings lists the diagnostics of compiling, and what could not be checked.
func (c *comment) warnings() {
	if c.detail <= disruptiveRows {
		return
	}
	var items []string
	for _, d := range c.Diagnostics {
		item := "- " + d.Severity + ": " + code(abridge(d.Summary+". "+d.Detail))
		if d.Range != nil {
			item += " (" + code(fmt.Sprintf("%s:%d", d.Range.Filename, d.Range.Start.Line)) + ")"
		}
		items = append(items, item)
	}
	for _, text := range c.Missing {
		items = append(items, "- not checked: "+text)
	}
	c.list(items)
}

// details lists the fields of one object, with the signs by which diffs are coloured.
func (c *comment) details(e entryView) {
	var items []string
	for _, text := range append([]string{e.Consequence}, e.Obstacles...) {
		if text != "" {
			items = append(items, "- "+text)
		}
	}
	if len(e.Fields)+len(items) == 0 {
		return
	}
	c.printf("\n<details><summary><code>%s</code> %s</summary>\n", HTMLEntities(e.Change.Addr), inHTML.headline(e.Change))
	c.list(items)
	if len(e.Fields) > 0 {
		text := diffLines(e.Fields)
		fence := FenceFor(text)
		c.printf("\n%sdiff\n%s%s\n", fence, text, fence)
	}
	c.printf("\n</details>\n")
}

func diffLines(fields []fieldRow) string {
	var lines strings.Builder
	for _, f := range fields {
		fmt.Fprintf(&lines, "%s %s  %s", f.Sign, f.Path, beforeAndAfter(abridge(f.Before), abridge(f.After)))
		if f.Does != "" {
			fmt.Fprintf(&lines, "  (%s)", f.Does)
		}
		if f.Place != "" {
			lines.WriteString("  " + f.Place)
		}
		lines.WriteString("\n")
	}
	return lines.String()
}

// footer writes the counts, the cost and the compared revisions.
func (c *comment) footer() {
	if !c.Empty() {
		c.printf("\n%s. %s\n", countActions(c.Summary()), writeBill(c.Report, code))
	}
	if line := retakeCommand(c.Plan, c.apply); line != "" && c.detail > disruptiveRows {
		c.printf("\nTo overwrite the values of other owners: %s\n", code(abridge(line)))
	}
	var parts []string
	if c.Versus != "" {
		parts = append(parts, c.Versus)
	}
	if c.Digest != "" {
		parts = append(parts, "plan "+code(c.Digest))
	}
	if len(parts) > 0 {
		c.printf("\n<sub>%s</sub>\n", strings.Join(parts, "; "))
	}
}
