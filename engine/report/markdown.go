package report

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/lkeplan/lkeplan/engine/plan"
)

// MaxComment is how long Markdown may be by default, in characters. GitHub
// takes comments of 65,536.
const MaxComment = 60_000

// Markdown writes a plan as a comment for a pull request, of at most so many
// characters where that is possible: what says least is left out first, and
// deleted and replaced nodes never are. The first line is a marker by which a
// bot finds its comment again. Whatever comes from the configuration stands in
// code, where nothing of it is taken for Markdown, a mention or a reference.
func Markdown(w io.Writer, messages iter.Seq[Message], o Options) error {
	p := read(messages)
	maxChars := cmp.Or(o.MaxChars, MaxComment)
	var text string
	for detail := allDetails; detail >= noDetails; detail-- {
		text = comment(p, o.Target, detail)
		if utf8.RuneCountInString(text) <= maxChars {
			break
		}
	}
	_, err := io.WriteString(w, text)
	return err
}

// detail is how much a comment says.
type detail int

const (
	noDetails    detail = iota // one line for each object whose nodes go, none for others
	onlyTable                  // one line for each object
	graveDetails               // fields of the objects whose nodes go
	allDetails                 // fields of all objects
)

func comment(p whole, target string, d detail) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- lkeplan:%s:v1 -->\n", marker(target))
	fmt.Fprintf(&b, "### lkeplan: %s\n\n", verdict(p))
	if !p.sum.Changed {
		return b.String()
	}
	b.WriteString("| object | | nodes | most a month |\n|---|---|---|---|\n")
	hidden := 0
	for _, c := range p.changes {
		if d == noDetails && !grave(c.Effect) {
			hidden++
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", code(c.Addr), action(c.Change), nodes(c.Change), ceilings(c.Before, c.After))
	}
	if hidden > 0 {
		fmt.Fprintf(&b, "\n%d more objects change without touching nodes.\n", hidden)
	}
	for _, c := range p.changes {
		for _, conflict := range c.Conflicts {
			fmt.Fprintf(&b, "\n**Conflict**: %s of %s was set by %s to another value; apply refuses to take it over.\n",
				code(conflict.Path), code(c.Addr), code(conflict.Owner))
		}
	}
	for _, c := range p.changes {
		if d == allDetails || (d == graveDetails && grave(c.Effect)) {
			writeDetails(&b, c.Change)
		}
	}
	if d != allDetails {
		b.WriteString("\nToo long for one comment; `lkeplan diff` shows the rest.\n")
	}
	s := p.sum
	fmt.Fprintf(&b, "\n%d to create, %d to update, %d to delete, %d moved. Most a month, all pools together: %s.\n",
		s.Create, s.Update, s.Delete, s.Move, ceilings(&s.Before, &s.After))
	return b.String()
}

// verdict is what a reviewer must know before anything else.
func verdict(p whole) string {
	s := p.sum
	switch {
	case !p.sum.Changed:
		return "no changes"
	case len(s.Deleted) > 0:
		return fmt.Sprintf("⚠️ deletes the nodes of %s", count(len(s.Deleted), "pool"))
	case len(s.Rolled) > 0:
		return fmt.Sprintf("⚠️ replaces nodes of %s", count(len(s.Rolled), "pool"))
	}
	return "no node is replaced or deleted"
}

func action(c plan.Change) string {
	switch {
	case c.Action == plan.Create:
		return "created"
	case c.Action == plan.Delete:
		return "**deleted**"
	case c.Previous != "":
		return "moved from " + code(c.Previous)
	case c.Action == plan.Update:
		return "updated"
	}
	return "unchanged"
}

func nodes(c plan.Change) string {
	var text string
	switch {
	case c.Effect == plan.DeleteNodes:
		return "**all deleted, at once and past the budgets**"
	case c.Effect == plan.Roll && c.Partial:
		text = "replaced where they do not match any more"
	case c.Effect == plan.Roll:
		text = "**all replaced**"
	default:
		return "stay"
	}
	if sentence := consequence(c.Impact); sentence != "" {
		text += ": " + sentence
	}
	for i, addr := range c.Because {
		text += []string{", because of ", ", "}[min(i, 1)] + code(addr)
	}
	return text
}

// writeDetails lists the fields of one object, with the signs in the first
// column that diffs are coloured by.
func writeDetails(b *strings.Builder, c plan.Change) {
	if len(c.Fields) == 0 {
		return
	}
	var lines strings.Builder
	for _, f := range c.Fields {
		sign := "!"
		switch {
		case f.Before == nil:
			sign = "+"
		case f.After == nil:
			sign = "-"
		}
		fmt.Fprintf(&lines, "%s %s  %s", sign, short(f.Path), change(f))
		if c.Action != plan.Create {
			fmt.Fprintf(&lines, "  (%s)", effect(f))
		}
		if place := at(f.Source); place != "" {
			lines.WriteString("  " + place)
		}
		lines.WriteString("\n")
	}
	fence := strings.Repeat("`", max(3, longestRun(lines.String(), '`')+1))
	fmt.Fprintf(b, "\n<details><summary><code>%s</code></summary>\n\n%sdiff\n%s%s\n</details>\n", html(c.Addr), fence, lines.String(), fence)
}

// code is a code span for a table cell.
func code(s string) string {
	fence := strings.Repeat("`", longestRun(s, '`')+1)
	s = strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ").Replace(s)
	if len(fence) > 1 {
		s = " " + s + " "
	}
	return fence + s + fence
}

func html(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "@", "&#64;", "#", "&#35;", "\n", " ").Replace(s)
}

// marker keeps of a target what cannot end an HTML comment.
func marker(target string) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || r == '.' || r == '_' || (r >= '0' && r <= '9') || (r|0x20 >= 'a' && r|0x20 <= 'z') {
			return r
		}
		return '_'
	}, target)
}

func longestRun(s string, of rune) int {
	longest, run := 0, 0
	for _, r := range s {
		if r != of {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}
