package report

import (
	"fmt"
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
		for line := range strings.Lines(step.HCL) {
			if line = strings.TrimRight(line, "\n"); line == "" {
				p.line(0)
				continue
			}
			p.line(7, styled{text: line})
		}
	}
}

// migration writes the same as Markdown.
func (c *comment) migration(m plan.Migration) {
	c.printf("\n<details><summary>Steps that keep the nodes of <code>%s</code></summary>\n\n%s.\n", entities(m.From), entities(m.Reason))
	for i, step := range m.Steps {
		c.printf("\n%d. %s\n", i+1, entities(step.Title))
		if step.HCL != "" {
			fence := strings.Repeat("`", max(3, longestRun(step.HCL, '`')+1))
			c.printf("\n   %shcl\n   %s\n   %s\n", fence, strings.ReplaceAll(strings.TrimSpace(diag.Harmless(step.HCL)), "\n", "\n   "), fence)
		}
	}
	c.printf("\n</details>\n")
}

// migration is a plan.Migration as JSON.
type migration struct {
	From   string `json:"from" doc:"The address in the base."`
	To     string `json:"to" doc:"The address of the pool that takes over."`
	Reason string `json:"reason"`
	Steps  []step `json:"steps"`
}

type step struct {
	Title string `json:"title"`
	HCL   string `json:"hcl,omitempty" doc:"What to write for it."`
}

func migrationOf(m plan.Migration) migration {
	out := migration{From: m.From, To: m.To, Reason: m.Reason}
	for _, s := range m.Steps {
		out.Steps = append(out.Steps, step(s))
	}
	return out
}
