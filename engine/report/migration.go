package report

import (
	"fmt"
	"iter"
	"strings"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/plan"
)

// migration writes the steps by which a pool becomes another object.
func (p *page) migration(m plan.Migration) {
	p.section("To keep the nodes, in steps instead")
	p.sentence(2, styled{plainly(m.From) + " → " + plainly(m.To) + ": " + plainly(m.Reason), p.bold})
	for i, step := range m.Steps {
		p.sentence(2, styled{text: fmt.Sprintf("%d. %s", i+1, plainly(step.Title))})
		for line := range lines(step.HCL) {
			if line == "" {
				p.line(0)
				continue
			}
			p.line(7, styled{text: p.plain(line)})
		}
	}
}

// lines are those of a text of several, harmless one by one.
func lines(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(strings.TrimSpace(text)) {
			if !yield(diag.Visible(strings.TrimRight(line, "\n"))) {
				return
			}
		}
	}
}

// migration writes the same as Markdown.
func (c *comment) migration(m plan.Migration) {
	c.printf("\n<details><summary>Steps that keep the nodes of <code>%s</code></summary>\n\n%s\n",
		entities(m.From), code(m.Reason))
	for i, step := range m.Steps {
		c.printf("\n**%d.** %s\n", i+1, code(step.Title))
		if step.HCL != "" {
			fence := fenceFor(step.HCL)
			c.printf("\n%shcl\n", fence)
			for line := range lines(step.HCL) {
				c.printf("%s\n", line)
			}
			c.printf("%s\n", fence)
		}
	}
	c.printf("\n</details>\n")
}
