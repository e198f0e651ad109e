package simulate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/engine/simulate/settling"
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
		fmt.Fprintf(&b, "Then %d of %s leave. ", s.Left, count(head.Asked, "pod"))
	}
	if len(s.Steps) == 0 {
		b.WriteString("Karpenter leaves the nodes as they are.\n")
	} else {
		fmt.Fprintf(&b, "Karpenter changes the nodes in %s, each at the earliest when consolidate_after has passed:\n",
			count(len(s.Steps), "step"))
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
			r.Base, count(len(s.Steps), "step"))
	}
	base := r.Before.Settled.result()
	s.tell(&b, base, base.Total)
	return b.String()
}

// tell tells the steps and the end, next to another end. Was is what the nodes cost at
// the beginning.
func (s *Settled) tell(b *strings.Builder, base *Result, was Cost) {
	for i, m := range s.Steps {
		fmt.Fprintf(b, "%4d. %s\n", i+1, m)
	}
	if len(s.Steps) > 0 {
		fmt.Fprintf(b, "\n%s", tableOf(*s.result(), base).text())
		fmt.Fprintf(b, "\nThat %s, and all nodes together cost $%s an hour at most.\n", saving(less(was, s.Total)),
			Dollars(s.Peak.Hourly, 3))
	}
	if s.Refused > 0 {
		fmt.Fprintf(b, "At the end %s no node.\n", have(s.Refused, "pod"))
	}
	if len(s.Held) > 0 {
		b.WriteString("\nWhy the others stay:\n")
	}
	for _, h := range s.Held {
		fmt.Fprintf(b, "  pool %s, %s: %s.\n", h.Pool, count(len(h.Nodes), "node"), h.Text)
	}
	for _, n := range s.Notes {
		b.WriteString("Note: " + n + "\n")
	}
}

// result is the end as a result, for its table.
func (s *Settled) result() *Result { return &Result{Plans: s.Plans, Total: s.Total} }

// reasons say why a step is taken.
var reasons = map[settling.Kind]string{
	settling.Empty:       "empty",
	settling.StaticDrift: "drifted",
	settling.Drift:       "drifted",
	settling.Multi:       "underutilized together",
	settling.Single:      "underutilized",
	settling.Replicas:    "no longer wanted",
}

// String tells a step for people.
func (m Move) String() string {
	text := fmt.Sprintf("%s, %s: %s", refsText(m.Gone), reasons[m.Kind], goes(len(m.Gone)))
	switch {
	case len(m.Gone) == 0:
		text = refsText(m.Made) + ", wanted: new"
	case len(m.Made) > 0:
		text = fmt.Sprintf("%s, %s -> %s", refsText(m.Gone), reasons[m.Kind], refsText(m.Made))
	}
	if m.Pods > 0 {
		text += fmt.Sprintf("; %s", moves(m.Pods))
	}
	return text + "; " + saving(m.Saved)
}

func goes(n int) string {
	if n == 1 {
		return "goes"
	}
	return "go"
}

func moves(n int) string {
	if n == 1 {
		return "1 pod moves"
	}
	return fmt.Sprintf("%d pods move", n)
}

func have(n int, what string) string {
	if n == 1 {
		return "1 " + what + " has"
	}
	return fmt.Sprintf("%d %ss have", n, what)
}

func saving(c Cost) string {
	switch {
	case c.Monthly == 0 && c.Hourly == 0:
		return "costs the same"
	case c.Monthly < 0:
		return fmt.Sprintf("costs $%s a month more", Dollars(-c.Monthly, 2))
	}
	return fmt.Sprintf("saves $%s a month", Dollars(c.Monthly, 2))
}

// refsText counts nodes by pool and plan type: general 2 g6-standard-4, 1 g6-standard-8.
func refsText(nodes []Ref) string {
	var pools []string
	plans, counts := map[string][]string{}, map[Ref]int{}
	for _, n := range nodes {
		if !slices.Contains(pools, n.Pool) {
			pools = append(pools, n.Pool)
		}
		if n.Name = ""; counts[n] == 0 {
			plans[n.Pool] = append(plans[n.Pool], n.Plan)
		}
		counts[n]++
	}
	slices.Sort(pools)
	for i, pool := range pools {
		slices.Sort(plans[pool])
		var texts []string
		for _, plan := range plans[pool] {
			texts = append(texts, fmt.Sprintf("%d %s", counts[Ref{Pool: pool, Plan: plan}], plan))
		}
		pools[i] = pool + " " + strings.Join(texts, ", ")
	}
	return strings.Join(pools, ", ")
}
