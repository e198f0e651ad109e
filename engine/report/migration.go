package report

import (
	"fmt"
	"iter"
	"strings"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/plan"
)

// migration writes the moved block that keeps a pool. The steps to another object are long: the command explain shows
// them in general, and all writes them for this pool.
func (p *text) migration(m plan.Migration, all bool) {
	title := "To replace the nodes in steps"
	if m.Moved != "" {
		title = "To keep the nodes"
	}
	p.Section(title)
	p.Sentence(2, inStyle(p.Bold, plainText(m.From)+" → "+plainText(m.To)+": "+plainText(m.Reason)))
	if m.Moved != "" {
		p.Sentence(2, unstyled(movedTitle))
		p.hcl(m.Moved)
	}
	switch {
	case len(m.Steps) == 0:
		return
	case !all:
		p.Sentence(2, unstyled("To replace its nodes in steps, see \""+explained+"\", or run \"lkeplan diff --all\" for the steps "+
			"of this pool."))
		return
	case m.Moved != "":
		p.Sentence(2, unstyled("Or create a NodePool with the new name, in steps:"))
	}
	for i, step := range m.Steps {
		p.Sentence(2, unstyled(fmt.Sprintf("%d. %s", i+1, plainText(step.Title))))
		p.hcl(step.HCL)
	}
}

// explained is the command that explains the steps of a migration.
const explained = "lkeplan explain rename-pool"

// hcl writes a piece of configuration.
func (p *text) hcl(src string) {
	for line := range lines(src) {
		if line == "" {
			p.Line(0)
			continue
		}
		p.Line(7, unstyled(p.Plain(line)))
	}
}

// movedTitle introduces the moved block that keeps a pool.
const movedTitle = "If you only changed the label or the place of the block, add this moved block. The NodePool keeps its name and its nodes:"

// lines splits text into lines, and replaces control characters in each.
func lines(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(strings.TrimSpace(text)) {
			if !yield(diag.Visible(strings.TrimRight(line, "\n"))) {
				return
			}
		}
	}
}

// migration is text.migration as Markdown.
func (c *comment) migration(m plan.Migration) {
	how := "How to replace the nodes of <code>%s</code> in steps"
	if m.Moved != "" {
		how = "How to keep the nodes of <code>%s</code>"
	}
	c.printf("\n<details><summary>"+how+"</summary>\n\n%s\n", HTMLEntities(m.From), code(m.Reason))
	if m.Moved != "" {
		c.printf("\n%s\n", movedTitle)
		c.block(m.Moved)
		if len(m.Steps) > 0 {
			c.printf("\nOr create a NodePool with the new name, in steps:\n")
		}
	}
	for i, step := range m.Steps {
		c.printf("\n**%d.** %s\n", i+1, code(step.Title))
		c.block(step.HCL)
	}
	c.printf("\n</details>\n")
}

// block writes HCL, if there is any.
func (c *comment) block(text string) {
	if text == "" {
		return
	}
	fence := FenceFor(text)
	c.printf("\n%shcl\n", fence)
	for line := range lines(text) {
		c.printf("%s\n", line)
	}
	c.printf("%s\n", fence)
}
