package simulate

import (
	"fmt"
	"strings"

	"github.com/lkeplan/lkeplan/engine/simulate/step"
)

// settledText tells what becomes of the nodes afterwards.
func settledText(head Result, before *Result) string {
	s := head.Settled
	if s == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n")
	if s.Left > 0 {
		fmt.Fprintf(&b, "Then %d of %s leave. ", s.Left, step.Count(head.Asked, "pod"))
	}
	if len(s.Steps) == 0 {
		b.WriteString("Karpenter leaves the nodes as they are.\n")
	} else {
		fmt.Fprintf(&b, "Karpenter changes the nodes in %s, each at the earliest when consolidate_after has passed:\n",
			step.Count(len(s.Steps), "step"))
	}
	var base *Result
	if before != nil && before.Settled != nil {
		base = before.Settled.result()
	}
	s.tell(&b, base, head.Total)
	return b.String()
}

// changeText tells what the change does to the nodes that the base has.
func (r Report) changeText() string {
	s := r.Change
	if s == nil {
		return ""
	}
	var b strings.Builder
	if len(s.Steps) == 0 {
		fmt.Fprintf(&b, "\nThe nodes that %s has stay as they are after the change.\n", r.Base)
	} else {
		fmt.Fprintf(&b, "\nFrom the nodes that %s has, the change leads to others in %s, within the budgets of the pools:\n",
			r.Base, step.Count(len(s.Steps), "step"))
	}
	base := r.Before.Settled.result()
	s.tell(&b, base, base.Total)
	return b.String()
}

// tell tells the steps and the end, next to another end. Was is what the nodes cost at
// the beginning.
func (s *Settled) tell(b *strings.Builder, base *Result, was step.Cost) {
	for i, m := range s.Steps {
		fmt.Fprintf(b, "%4d. %s\n", i+1, m)
	}
	if len(s.Steps) > 0 {
		fmt.Fprintf(b, "\n%s", tableOf(*s.result(), base).text())
		fmt.Fprintf(b, "\nThat %s, and all nodes together cost $%s an hour at most.\n", step.Saving(was.Less(s.Total)),
			step.Dollars(s.Peak.Hourly, 3))
	}
	if s.Refused > 0 {
		fmt.Fprintf(b, "At the end %s no node.\n", step.Have(s.Refused, "pod"))
	}
	if len(s.Held) > 0 {
		b.WriteString("\nWhy the others stay:\n")
	}
	for _, h := range s.Held {
		fmt.Fprintf(b, "  pool %s, %s: %s.\n", h.Pool, step.Count(len(h.Nodes), "node"), h.Text)
	}
	for _, n := range s.Notes {
		b.WriteString("Note: " + n + "\n")
	}
}

// result is the end as a result, for its table.
func (s *Settled) result() *Result { return &Result{Plans: s.Plans, Total: s.Total} }
