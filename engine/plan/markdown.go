package plan

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// MaxComment is how long Markdown may be by default, in characters. GitHub
// takes comments of 65,536.
const MaxComment = 60_000

// Markdown writes a plan as a comment for a pull request, of at most so many
// characters where that is possible: what says least is left out first, and
// deleted and replaced nodes never are. The first line is a marker by which a
// bot finds its comment again. Whatever comes from the configuration stands in
// code, where nothing of it is taken for Markdown, a mention or a reference.
func Markdown(w io.Writer, p Plan, target string, maxChars int) error {
	var text string
	for detail := allDetails; detail >= noDetails; detail-- {
		text = comment(p, target, detail)
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

func comment(p Plan, target string, d detail) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- lkeplan:%s:v1 -->\n", marker(target))
	fmt.Fprintf(&b, "### lkeplan: %s\n\n", verdict(p))
	if p.Empty() {
		return b.String()
	}
	b.WriteString("| object | | nodes | most a month |\n|---|---|---|---|\n")
	hidden := 0
	for _, c := range p.Changes {
		if d == noDetails && !grave(c) {
			hidden++
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", code(c.Addr), action(c), nodes(c), ceilings(c.Before, c.After))
	}
	if hidden > 0 {
		fmt.Fprintf(&b, "\n%d more objects change without touching nodes.\n", hidden)
	}
	for _, c := range p.Changes {
		for _, conflict := range c.Conflicts {
			fmt.Fprintf(&b, "\n**Conflict**: %s of %s was set by %s to another value; apply refuses to take it over.\n",
				code(conflict.Path), code(c.Addr), code(conflict.Owner))
		}
	}
	for _, c := range p.Changes {
		if d == allDetails || (d == graveDetails && grave(c)) {
			writeDetails(&b, c)
		}
	}
	if d != allDetails {
		b.WriteString("\nToo long for one comment; `lkeplan diff` shows the rest.\n")
	}
	s := p.Summary()
	fmt.Fprintf(&b, "\n%d to create, %d to update, %d to delete, %d moved. Most a month, all pools together: %s.\n",
		s.Create, s.Update, s.Delete, s.Move, ceilings(&p.Before, &p.After))
	return b.String()
}

func grave(c Change) bool { return gravity[c.Effect] >= gravity[Roll] }

// verdict is what a reviewer must know before anything else.
func verdict(p Plan) string {
	s := p.Summary()
	switch {
	case p.Empty():
		return "no changes"
	case len(s.Deleted) > 0:
		return fmt.Sprintf("⚠️ deletes the nodes of %s", pools(len(s.Deleted)))
	case len(s.Rolled) > 0:
		return fmt.Sprintf("⚠️ replaces nodes of %s", pools(len(s.Rolled)))
	}
	return "no node is replaced or deleted"
}

func pools(n int) string {
	if n == 1 {
		return "1 pool"
	}
	return fmt.Sprintf("%d pools", n)
}

func action(c Change) string {
	switch {
	case c.Action == Create:
		return "created"
	case c.Action == Delete:
		return "**deleted**"
	case c.Previous != "":
		return "moved from " + code(c.Previous)
	case c.Action == Update:
		return "updated"
	}
	return "unchanged"
}

func nodes(c Change) string {
	var text string
	switch {
	case c.Effect == DeleteNodes:
		return "**all deleted, at once and past the budgets**"
	case c.Effect == Roll && c.Partial:
		text = "replaced where they do not match any more"
	case c.Effect == Roll:
		text = "**all replaced**"
	default:
		return "stay"
	}
	if sentence := c.Impact.sentence(); sentence != "" {
		text += ": " + sentence
	}
	for i, addr := range c.Because {
		text += []string{", because of ", ", "}[min(i, 1)] + code(addr)
	}
	return text
}

// writeDetails lists the fields of one object, with the signs in the first
// column that diffs are coloured by.
func writeDetails(b *strings.Builder, c Change) {
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
		if c.Action != Create {
			fmt.Fprintf(&lines, "  (%s)", words(f.Effect, f.Partial))
		}
		lines.WriteString(at(f.Source) + "\n")
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
