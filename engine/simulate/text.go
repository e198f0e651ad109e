package simulate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/lkeplan/lkeplan/engine/costs"
	"github.com/lkeplan/lkeplan/engine/simulate/disrupt"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// Report is a simulation of one state, or of two states to compare.
type Report struct {
	Target string  `json:"target"` // the directory
	Base   string  `json:"base"`   // the state to compare with; "" for none
	Head   Result  `json:"head"`
	Before *Result `json:"before"` // nil without a base
	// New are the pods that have a node in the base and none in the head; empty without a base.
	New []Share `json:"newly_refused"`
	// Change is the effect of the change on the nodes of the base; nil if it is not simulated.
	Change *Consolidated `json:"change,omitempty"`
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

// Changed reports whether nodes or unschedulable pods differ between the two results.
func (r Report) Changed() bool {
	return r.Before != nil && (alignRows(tableOf(r.Head, nil)) != alignRows(tableOf(*r.Before, nil)) ||
		refusedText(r.Head) != refusedText(*r.Before) || consolidatedText(r.Head, nil) != consolidatedText(*r.Before, nil))
}

// Text returns the report for people.
func (r Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", escapeLine(r.Target), text.Count(r.Head.Asked-r.Head.Spare.Pods, "pod"))
	if n := r.Head.Spare.Pods; n > 0 {
		fmt.Fprintf(&b, " and %d of buffers", n)
	}
	if r.Before != nil {
		fmt.Fprintf(&b, ", compared with %s", r.Base)
	}
	b.WriteString(".\n\n")
	if len(r.New) > 0 {
		b.WriteString("Newly unschedulable pods:\n")
		for _, s := range r.New[:min(len(r.New), mostRefusals)] {
			fmt.Fprintf(&b, "  %s: %s\n", s.Workload, text.Count(s.Pods, "pod"))
		}
		if n := len(r.New) - mostRefusals; n > 0 {
			fmt.Fprintf(&b, "  and %d more; -o json has all\n", n)
		}
		b.WriteString("\n")
	}
	b.WriteString(alignRows(r.Table()))
	if rows := r.CostTable(); rows != nil {
		b.WriteString("\n" + strings.Join(text.Columns(rows, 1, 2, 3), "\n") + "\n" + costs.Legend + "\n")
	}
	b.WriteString(refusedText(r.Head))
	for _, s := range r.Head.Shortfalls {
		fmt.Fprintf(&b, "\nPool %s gets %d of its %s: %s\n", s.Pool, s.Made, text.Count(int(s.Wanted), "node"), s.Text)
	}
	b.WriteString(consolidatedText(r.Head, r.Before) + r.changeText())
	if len(r.Head.Notes) > 0 {
		b.WriteString("\n")
	}
	for _, n := range r.Head.Notes {
		b.WriteString("Note: " + n + "\n")
	}
	return b.String()
}

// Table returns the nodes by pool and plan type. The first row has the names of the columns, and the last row the
// sum.
func (r Report) Table() [][]string { return tableOf(r.Head, r.Before) }

// CostTable returns what each namespace or value of a label pays, with the names of the columns first; nil if it is not
// asked for.
func (r Report) CostTable() [][]string {
	if r.Head.Costs == nil {
		return nil
	}
	var before *costs.Breakdown
	if r.Before != nil {
		before = r.Before.Costs
	}
	rows := r.Head.Costs.Table(before)
	for _, row := range rows {
		row[0] = escapeLine(row[0])
	}
	return rows
}

// Afterwards describes the consolidation; "" if it is not simulated.
func (r Report) Afterwards() string {
	return strings.TrimSpace(consolidatedText(r.Head, r.Before) + r.changeText())
}

const mostRefusals = 50

// refusedText lists the unschedulable pods, with the reason of each pool.
func refusedText(r Result) string {
	if r.Refused == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nUnschedulable: %d of %s.\n", r.Refused, text.Count(r.Asked, "pod"))
	b.WriteString(refusalsText(r.Refusals))
	return b.String()
}

// refusalsText lists pods with the reasons why they are unschedulable.
func refusalsText(refusals []Refusal) string {
	var b strings.Builder
	for i, f := range refusals {
		if i == mostRefusals {
			fmt.Fprintf(&b, "  and %d more; -o json has all\n", len(refusals)-i)
			break
		}
		fmt.Fprintf(&b, "  %s: %s\n", f.Workload, text.Count(f.Pods, "pod"))
		for _, reason := range f.Shown() {
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
	after, base Plan
}

// tableOf returns the table of a result by pool and plan type, compared with a previous one.
func tableOf(head Result, before *Result) [][]string {
	base := ptr.Deref(before, head)
	rows := [][]string{{"pool", "plan", "nodes", "pods", "cpu", "memory", "hourly", "monthly"}}
	for _, l := range append(mergePlans(head.Plans, base.Plans), line{pool: "total", after: totalPlan(head), base: totalPlan(base)}) {
		rows = append(rows, l.row())
	}
	return rows
}

// mergePlans brings the plan types of both sides into one order.
func mergePlans(after, base []Plan) (lines []line) {
	for _, p := range after {
		lines = append(lines, line{pool: p.Pool, plan: p.Plan, after: p})
	}
	for _, p := range base {
		i := slices.IndexFunc(lines, func(l line) bool { return l.pool == p.Pool && l.plan == p.Plan })
		if i < 0 {
			i = len(lines)
			lines = append(lines, line{pool: p.Pool, plan: p.Plan})
		}
		lines[i].base = p
	}
	return lines
}

func totalPlan(r Result) Plan {
	sum := Plan{Cost: r.Total}
	for _, p := range r.Plans {
		sum.Nodes += p.Nodes
		sum.Pods += p.Pods
		sum.CPU.add(p.CPU)
		sum.Memory.add(p.Memory)
	}
	return sum
}

// row has the value of each figure, or the values before and after.
func (l line) row() []string {
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
		func(p Plan) string { return moneyText(p.Cost.Hourly) },
		func(p Plan) string { return p.Cost.Monthly.Text() },
	} {
		cell := figure(l.after)
		if before := figure(l.base); before != cell {
			cell = before + " -> " + cell
		}
		row = append(row, cell)
	}
	return row
}

// consolidatedText describes the consolidation.
func consolidatedText(head Result, before *Result) string {
	s := head.Consolidated
	if s == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n")
	if s.Left > 0 {
		fmt.Fprintf(&b, "Then %d of %s are removed. ", s.Left, text.Count(head.Asked, "pod"))
	}
	if len(s.Steps) == 0 {
		b.WriteString("Karpenter does not change the nodes.\n")
	} else {
		fmt.Fprintf(&b, "Karpenter consolidates the nodes in %s. A step starts no earlier than consolidate_after after the "+
			"previous change:\n", text.Count(len(s.Steps), "step"))
	}
	var base *Result
	if before != nil && before.Consolidated != nil {
		base = before.Consolidated.result()
	}
	s.write(&b, base, head.Total)
	return b.String()
}

// changeText describes the effect of the change on the nodes of the base.
func (r Report) changeText() string {
	s := r.Change
	if s == nil {
		return ""
	}
	var b strings.Builder
	if len(s.Steps) == 0 {
		fmt.Fprintf(&b, "\nThe change does not affect the nodes of %s.\n", r.Base)
	} else {
		fmt.Fprintf(&b, "\nThe change replaces nodes of %s in %s, within the disruption budgets of the pools:\n",
			r.Base, text.Count(len(s.Steps), "step"))
	}
	base := r.Before.Consolidated.result()
	s.write(&b, base, base.Total)
	return b.String()
}

// write writes the steps and the result, compared with the result of a base. was is the cost of the nodes at the
// start.
func (s *Consolidated) write(b *strings.Builder, base *Result, was Cost) {
	for i, m := range s.Steps {
		fmt.Fprintf(b, "%4d. %s\n", i+1, m)
	}
	if len(s.Steps) > 0 {
		fmt.Fprintf(b, "\n%s", alignRows(tableOf(*s.result(), base)))
		fmt.Fprintf(b, "\nThat %s. During these steps, all nodes cost at most %s an hour.\n", savingText(was.Less(s.Total)),
			moneyText(s.Peak.Hourly))
	}
	if s.Refused > 0 {
		fmt.Fprintf(b, "At the end, %s unschedulable.\n", text.CountAre(s.Refused, "pod"))
	}
	if len(s.Held) > 0 {
		b.WriteString("\nWhy the other nodes stay:\n")
	}
	for _, h := range s.Held {
		fmt.Fprintf(b, "  pool %s, %s: %s.\n", h.Pool, text.Count(len(h.Nodes), "node"), h.Text)
	}
	for _, n := range s.Notes {
		b.WriteString("Note: " + n + "\n")
	}
}

// result returns the final nodes as a Result, for its table.
func (s *Consolidated) result() *Result { return &Result{Plans: s.Plans, Total: s.Total} }

// Move is one step: nodes are removed, and others may replace them.
type Move struct {
	Kind   disrupt.Kind `json:"kind"`
	Reason string       `json:"reason"` // as budgets name it
	Gone   []NodeRef    `json:"gone"`
	Made   []NodeRef    `json:"made"`
	Pods   int          `json:"pods"`  // that move
	Saved  Cost         `json:"saved"` // negative if it costs more
}

// NodeRef names a node.
type NodeRef struct {
	Name string `json:"name"`
	Pool string `json:"pool"`
	Plan string `json:"plan"`
}

// Kept is nodes that stay for the same reason.
type Kept struct {
	Pool  string   `json:"pool"`
	Text  string   `json:"text"`
	Nodes []string `json:"nodes"`
}

// stepReasons are the reasons of steps.
var stepReasons = map[disrupt.Kind]string{
	disrupt.Empty:       "empty",
	disrupt.StaticDrift: "drifted",
	disrupt.Drift:       "drifted",
	disrupt.Multi:       "underutilized together",
	disrupt.Single:      "underutilized",
	disrupt.Replicas:    "beyond replicas",
}

// String describes a step.
func (m Move) String() string {
	text := fmt.Sprintf("%s, %s: removed", refsText(m.Gone), stepReasons[m.Kind])
	switch {
	case len(m.Gone) == 0:
		text = refsText(m.Made) + ": new, for replicas"
	case len(m.Made) > 0:
		text = fmt.Sprintf("%s, %s -> %s", refsText(m.Gone), stepReasons[m.Kind], refsText(m.Made))
	}
	if m.Pods > 0 {
		text += fmt.Sprintf("; %s", podsMove(m.Pods))
	}
	return text + "; " + savingText(m.Saved)
}

func podsMove(n int) string {
	if n == 1 {
		return "1 pod moves"
	}
	return fmt.Sprintf("%d pods move", n)
}

// savingText describes the saved amount, or the additional cost if it is negative.
func savingText(c Cost) string {
	switch {
	case c.Monthly == 0 && c.Hourly == 0:
		return "costs the same"
	case c.Monthly < 0:
		return fmt.Sprintf("costs %s a month more", (-c.Monthly).Text())
	}
	return fmt.Sprintf("saves %s a month", c.Monthly.Text())
}

// refsText counts nodes by pool and plan type: general 2 g6-standard-4, 1 g6-standard-8.
func refsText(nodes []NodeRef) string {
	var pools []string
	plans, counts := map[string][]string{}, map[NodeRef]int{}
	for _, n := range nodes {
		if !slices.Contains(pools, n.Pool) {
			pools = append(pools, n.Pool)
		}
		n.Name = ""
		if counts[n] == 0 {
			plans[n.Pool] = append(plans[n.Pool], n.Plan)
		}
		counts[n]++
	}
	slices.Sort(pools)
	for i, pool := range pools {
		slices.Sort(plans[pool])
		var texts []string
		for _, plan := range plans[pool] {
			texts = append(texts, fmt.Sprintf("%d %s", counts[NodeRef{Pool: pool, Plan: plan}], plan))
		}
		pools[i] = pool + " " + strings.Join(texts, ", ")
	}
	return strings.Join(pools, ", ")
}

// Cost is the cost of nodes. A node costs at most its monthly price per month.
type Cost struct {
	Hourly  catalog.Money `json:"hourly"`
	Monthly catalog.Money `json:"monthly"`
}

// Add adds another cost.
func (c *Cost) Add(other Cost) {
	c.Hourly += other.Hourly
	c.Monthly += other.Monthly
}

// Less returns the cost without another.
func (c Cost) Less(other Cost) Cost {
	return Cost{Hourly: c.Hourly - other.Hourly, Monthly: c.Monthly - other.Monthly}
}

// alignRows writes rows with aligned columns: the first two are names, the others figures.
func alignRows(rows [][]string) string {
	return strings.Join(text.Columns(rows, 2, 3, 4, 5, 6, 7), "\n") + "\n"
}

// breaks are line breaks, and the marker that a GitHub runner interprets anywhere in a line.
var breaks = strings.NewReplacer("\n", `\u000a`, "\r", `\u000d`, "\u2028", `\u2028`, "##[", `\u0023#[`)

// escapeLine escapes text so that it stays on its line and a GitHub runner does not take it for a command, even at
// the start of a line.
func escapeLine(text string) string {
	text = breaks.Replace(text)
	if rest := strings.TrimLeft(text, " \t"); strings.HasPrefix(rest, "::") {
		return `\u003a` + rest[1:]
	}
	return text
}

// moneyText writes an amount with three decimals: $0.036.
func moneyText(m catalog.Money) string { return fmt.Sprintf("$%.3f", m.Float64()) }
