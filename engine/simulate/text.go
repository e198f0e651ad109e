package simulate

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lkeplan/lkeplan/engine/simulate/step"
)

// Report is what a simulation has to tell: of one state, or of two.
type Report struct {
	Target string  `json:"target"` // the directory
	Base   string  `json:"base"`   // what it is compared with; "" for nothing
	Head   Result  `json:"head"`
	Before *Result `json:"before"` // nil where there is no base
	// New are the pods that have a node in the base and none in the head; without a base
	// there are none.
	New []Share `json:"newly_refused"`
	// Change is what becomes of the settled nodes of the base; nil where that is not
	// simulated.
	Change *Settled `json:"change,omitempty"`
}

// NewReport compares two results; before is nil for only one.
func NewReport(target, base string, head Result, before *Result) Report {
	r := Report{Target: target, Base: base, Head: head, Before: before, New: []Share{}}
	if before == nil {
		return r
	}
	was := map[string]int{}
	for _, f := range before.Refusals {
		was[f.Workload] += f.Pods
	}
	now, order := map[string]int{}, []string{}
	for _, f := range head.Refusals {
		if now[f.Workload] == 0 {
			order = append(order, f.Workload)
		}
		now[f.Workload] += f.Pods
	}
	for _, load := range order {
		if more := now[load] - was[load]; more > 0 {
			r.New = append(r.New, Share{Workload: load, Pods: more})
		}
	}
	return r
}

// Changed reports whether the two results have other nodes or other refused pods.
func (r Report) Changed() bool {
	return r.Before != nil && (tableOf(r.Head, nil).text() != tableOf(*r.Before, nil).text() ||
		refusedText(r.Head) != refusedText(*r.Before) || settledText(r.Head, nil) != settledText(*r.Before, nil))
}

// Text is the report for people.
func (r Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", step.Plain(r.Target), step.Count(r.Head.Asked, "pod"))
	if r.Before != nil {
		fmt.Fprintf(&b, ", compared with %s", r.Base)
	}
	b.WriteString(".\n\n")
	if len(r.New) > 0 {
		b.WriteString("Pods that have a node before the change, and none after it:\n")
		for _, s := range r.New[:min(len(r.New), mostRefusals)] {
			fmt.Fprintf(&b, "  %s: %s\n", s.Workload, step.Count(s.Pods, "pod"))
		}
		if n := len(r.New) - mostRefusals; n > 0 {
			fmt.Fprintf(&b, "  and %d more; -o json has all\n", n)
		}
		b.WriteString("\n")
	}
	b.WriteString(tableOf(r.Head, r.Before).text())
	b.WriteString(refusedText(r.Head))
	for _, s := range r.Head.Shortfalls {
		fmt.Fprintf(&b, "\nPool %s gets %d of its %s: %s\n", s.Pool, s.Made, step.Count(int(s.Wanted), "node"), s.Text)
	}
	b.WriteString(settledText(r.Head, r.Before) + r.changeText())
	if len(r.Head.Notes) > 0 {
		b.WriteString("\n")
	}
	for _, n := range r.Head.Notes {
		b.WriteString("Note: " + n + "\n")
	}
	return b.String()
}

// Table is the nodes by pool and plan type, with the names of the columns first and the
// sum last.
func (r Report) Table() [][]string { return tableOf(r.Head, r.Before).rows }

// Afterwards says what Karpenter makes of the nodes; "" where that is not simulated.
func (r Report) Afterwards() string {
	return strings.TrimSpace(settledText(r.Head, r.Before) + r.changeText())
}

// mostRefusals are told of.
const mostRefusals = 50

// refusedText says which pods get no node, and why for each pool.
func refusedText(r Result) string {
	if r.Refused == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nWithout a node: %d of %s.\n", r.Refused, step.Count(r.Asked, "pod"))
	b.WriteString(RefusalsText(r.Refusals))
	return b.String()
}

// RefusalsText says of pods why they get no node.
func RefusalsText(refusals []Refusal) string {
	var b strings.Builder
	for i, f := range refusals {
		if i == mostRefusals {
			fmt.Fprintf(&b, "  and %d more; -o json has all\n", len(refusals)-i)
			break
		}
		fmt.Fprintf(&b, "  %s: %s\n", f.Workload, step.Count(f.Pods, "pod"))
		for _, reason := range f.Reasons {
			if reason.Pool != "" {
				fmt.Fprintf(&b, "    pool %s: ", reason.Pool)
			} else {
				b.WriteString("    ")
			}
			b.WriteString(reason.Text + "\n")
		}
	}
	return b.String()
}

// A line is one row of the table, with the figures before and after.
type line struct {
	pool, plan  string
	after, base *Plan
}

// table is the nodes by pool and plan type.
type table struct {
	sides bool
	rows  [][]string
}

// tableOf is the table of a result, next to what was before.
func tableOf(head Result, before *Result) table {
	t := table{sides: before != nil}
	t.rows = append(t.rows, []string{"pool", "plan", "nodes", "pods", "cpu", "memory", "$/hour", "$/month"})
	lines := merge(head.Plans, nil)
	sum := line{pool: "total", after: total(head)}
	if before != nil {
		lines, sum.base = merge(head.Plans, before.Plans), total(*before)
	}
	for _, l := range append(lines, sum) {
		t.rows = append(t.rows, t.row(l))
	}
	return t
}

// merge brings the plan types of both sides into one order.
func merge(after, base []Plan) (lines []line) {
	at := map[string]int{}
	for i := range after {
		p := &after[i]
		at[p.Pool+" "+p.Plan] = len(lines)
		lines = append(lines, line{pool: p.Pool, plan: p.Plan, after: p})
	}
	for i := range base {
		p := &base[i]
		if n, both := at[p.Pool+" "+p.Plan]; both {
			lines[n].base = p
			continue
		}
		lines = append(lines, line{pool: p.Pool, plan: p.Plan, base: p})
	}
	return lines
}

func total(r Result) *Plan {
	sum := Plan{Cost: r.Total}
	for _, p := range r.Plans {
		sum.Nodes += p.Nodes
		sum.Pods += p.Pods
		sum.CPU.add(p.CPU)
		sum.Memory.add(p.Memory)
	}
	return &sum
}

func (t table) row(l line) []string {
	percent := func(u Use) string {
		if u.Allocatable == 0 {
			return "-"
		}
		return strconv.Itoa(u.Percent()) + "%"
	}
	row := []string{l.pool, l.plan}
	for _, figure := range []func(Plan) string{
		func(p Plan) string { return strconv.Itoa(p.Nodes) },
		func(p Plan) string { return strconv.Itoa(p.Pods) },
		func(p Plan) string { return percent(p.CPU) },
		func(p Plan) string { return percent(p.Memory) },
		func(p Plan) string { return step.Dollars(p.Cost.Hourly, 3) },
		func(p Plan) string { return step.Dollars(p.Cost.Monthly, 2) },
	} {
		row = append(row, t.figure(l, figure))
	}
	return row
}

// figure is one cell: what is, or what was and what is.
func (t table) figure(l line, of func(Plan) string) string {
	none := Plan{}
	if l.after == nil {
		l.after = &none
	}
	if !t.sides {
		return of(*l.after)
	}
	if l.base == nil {
		l.base = &none
	}
	before, after := of(*l.base), of(*l.after)
	if before == after {
		return after
	}
	return before + " -> " + after
}

func (t table) text() string { return step.Aligned(t.rows) }
