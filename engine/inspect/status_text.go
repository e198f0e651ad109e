package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/nodeplan"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// StatusView is how a status is written.
type StatusView struct {
	Width int  // columns
	All   bool // list pools with nothing to report, and each waiting workload
}

// quiet is how many pools with nothing to report are listed.
const quiet = 20

// Text writes a status for people.
func (s Status) Text(v StatusView) string {
	p := page{Page: diag.Page{Width: max(v.Width, 40)}, now: s.now}
	p.Paragraph(0, "%s", s.headline())
	for _, note := range s.Notes {
		p.Paragraph(0, "%s", note)
	}
	for _, c := range s.Classes {
		p.Break()
		p.Line(0, "LinodeNodeClass %s, used by %s:", c.Name, diag.Counted(c.Pools, "pool"))
		p.remarks(c.Says)
	}
	p.pools(s.Pools, v.All)
	p.limits(s.Limits)
	if v.All {
		p.waiting(s.Waiting)
	} else {
		p.waiting(fold(s.Waiting))
	}
	p.nodePlans(s.NodePlans)
	return p.String()
}

// headline is the totals.
func (s Status) headline() string {
	text := diag.Counted(s.declared(), "pool")
	if s.Nodes == nil {
		text += "; the number of nodes is unknown"
	} else {
		nodes := diag.Counted(*s.Nodes, "node")
		if s.Coming != nil && *s.Coming > 0 {
			nodes += fmt.Sprintf(" (%d not joined yet)", *s.Coming)
		}
		text = fmt.Sprintf("%s in %s, %s", nodes, text, costText(*s.Cost, s.Unpriced))
	}
	if s.Place != "" {
		text = s.Place + ": " + text
	}
	pods := 0
	for _, w := range s.Waiting {
		pods += w.Pods
	}
	switch {
	case s.Waiting == nil:
		return text + "; whether pods are pending is unknown"
	case pods == 0:
		return text + "; no pod is waiting for a node"
	case pods == 1:
		return text + "; 1 pod is waiting for a node"
	}
	return text + fmt.Sprintf("; %d pods are waiting for a node", pods)
}

func (s Status) declared() (n int) {
	for _, p := range s.Pools {
		if p.Name != "" {
			n++
		}
	}
	return n
}

// page is what is being written.
type page struct {
	diag.Page
	now time.Time
}

// remarks writes remarks. Quoted ones have a mark.
func (p *page) remarks(says []Remark) {
	for _, r := range says {
		text := r.Text
		if r.Since != nil {
			text += " (for " + p.ago(r.Since) + ")"
		}
		if r.quoted {
			p.Words(2, text)
			continue
		}
		p.Paragraph(2, "%s", text)
	}
}

// ago is how long ago a moment was.
func (p *page) ago(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return Age(p.now.Sub(*t))
}

// costText writes the cost of nodes, and of how many it is unknown.
func costText(cost catalog.Price, unpriced int) string {
	text := fmt.Sprintf("$%s an hour, %s a month", cost.Hourly, cost.Monthly.Text())
	if unpriced > 0 {
		text = fmt.Sprintf("at least %s: the price of %s is unknown", text, diag.Counted(unpriced, "node"))
	}
	return text
}

// pools writes a line for each pool, and below it what there is to report.
func (p *page) pools(pools []PoolStatus, all bool) {
	if len(pools) == 0 {
		return
	}
	rows := [][]string{{"POOL", "NODES", "STATE", "MONTHLY COST", "LIMITS"}}
	silent, nodes, unpriced, cost := 0, 0, 0, catalog.Money(0) // of the pools that are left out
	for _, pool := range pools {
		if pool.quiet() {
			silent++
		}
	}
	var shown []PoolStatus
	folded := 0
	for _, pool := range pools {
		if !all && silent > quiet && pool.quiet() && pool.Nodes != nil {
			folded++
			nodes += *pool.Nodes
			cost += pool.Cost.Monthly
			unpriced += pool.Unpriced
			continue
		}
		shown = append(shown, pool)
		row := []string{cmp.Or(pool.Name, "(none)"), "?", "?", "?", amountsText(pool.Limits)}
		if pool.Nodes != nil {
			row[1], row[2], row[3] = fmt.Sprint(*pool.Nodes), statesText(pool.States), pool.Cost.Monthly.Text()
			switch pool.Unpriced {
			case 0:
			case *pool.Nodes:
				row[3] = "?"
			default:
				row[3] += "+?"
			}
		}
		rows = append(rows, row)
	}
	p.Break()
	lines := p.grid(rows, 1, 3)
	lines.write(p, 0)
	for i, pool := range shown {
		lines.write(p, i+1)
		p.remarks(pool.Says)
	}
	if folded > 0 {
		more := ""
		if unpriced > 0 {
			more = "at least "
		}
		p.Line(0, "and %s with nothing to report: %s, %s%s a month (--all lists them)",
			diag.Counted(folded, "pool"), diag.Counted(nodes, "node"), more, cost.Text())
	}
}

// quiet reports whether there is nothing to report about a pool, or nothing more than about its class.
func (p PoolStatus) quiet() bool {
	return !slices.ContainsFunc(p.Says, func(r Remark) bool { return r.What != RemarkClass })
}

func statesText(states []Count) string {
	texts := make([]string, len(states))
	for i, c := range states {
		texts[i] = fmt.Sprintf("%d %s", c.Nodes, c.State)
	}
	return dash(strings.Join(texts, ", "))
}

func amountsText(amounts []Amount) string {
	texts := make([]string, len(amounts))
	for i, a := range amounts {
		texts[i] = fmt.Sprintf("%s %s of %s", a.Resource, a.used(), a.most())
	}
	return strings.Join(texts, ", ")
}

func (p *page) limits(limits []LimitStatus) {
	if len(limits) == 0 {
		return
	}
	rows := [][]string{{"LIMIT", "OF", "USED", "LEFT"}}
	for _, l := range limits {
		left := make([]string, len(l.Amounts))
		for i, a := range l.Amounts {
			left[i] = a.Resource + " " + a.left()
		}
		of := "all pools"
		if n := len(l.Pools); n > 2 {
			of = diag.Counted(n, "pool")
		} else if n > 0 {
			of = strings.Join(l.Pools, ", ")
		}
		rows = append(rows, []string{l.Name, of, amountsText(l.Amounts), strings.Join(left, ", ")})
	}
	p.Break()
	lines := p.grid(rows)
	lines.write(p, 0)
	for i, l := range limits {
		lines.write(p, i+1)
		p.remarks(l.Says)
	}
}

func (p *page) waiting(loads []Workload) {
	if len(loads) == 0 {
		return
	}
	rows := [][]string{{"WAITING PODS", "PODS", "AGE"}}
	for _, w := range loads {
		rows = append(rows, []string{w.Namespace + "/" + w.Owner, fmt.Sprint(w.Pods), p.ago(w.Since)})
	}
	p.Break()
	lines := p.grid(rows, 1, 2)
	lines.write(p, 0)
	for i, w := range loads {
		lines.write(p, i+1)
		for _, reason := range w.Reasons {
			p.Paragraph(2, "%s", reason)
		}
	}
}

func (p *page) nodePlans(plans []NodePlanStatus) {
	if len(plans) == 0 {
		return
	}
	rows := [][]string{{"NODEPLAN", "STATE", "SINCE", "APPLIED", "OUTDATED", "WINDOW"}}
	for _, n := range plans {
		outdated, window := "-", "-"
		if n.Outdated != nil {
			outdated = fmt.Sprint(*n.Outdated)
		}
		if n.NextWindow != nil {
			window = n.NextWindow.Format("2006-01-02 15:04 UTC")
		}
		rows = append(rows, []string{
			n.Namespace + "/" + n.Name, n.State, p.ago(n.Since), nodeplan.Short(n.Applied), outdated, window,
		})
	}
	p.Break()
	lines := p.grid(rows, 4)
	lines.write(p, 0)
	for i, n := range plans {
		lines.write(p, i+1)
		if n.Tried != "" {
			p.Paragraph(2, "last attempted: %s", nodeplan.Short(n.Tried))
		}
		for _, line := range n.Settings {
			p.Paragraph(2, "%s", line)
		}
		if n.NextSwitch != nil {
			p.Paragraph(2, "next switch of values: %s", n.NextSwitch.Format("2006-01-02 15:04 UTC"))
		}
		if n.Forecast != "" {
			p.Paragraph(2, "%s", n.Forecast)
		}
		p.Words(2, n.Message)
	}
}

// grid is rows in columns, the heading first. Columns that do not fit are below their row.
type grid struct {
	lines []string
	below [][]string // "column: value"
}

// grid aligns rows. If they are wider than the page, the last columns move below each row.
func (p *page) grid(rows [][]string, right ...int) grid {
	heading := rows[0]
	for n := len(heading); ; n-- {
		narrow := make([][]string, len(rows))
		for i, row := range rows {
			narrow[i] = row[:n]
		}
		g := grid{lines: diag.Columns(narrow, right...), below: make([][]string, len(rows))}
		if n > 1 && slices.ContainsFunc(g.lines, func(line string) bool { return length(line) > p.Width }) {
			continue
		}
		for i, row := range rows[1:] {
			for j, value := range row[n:] {
				if value != "" && value != "-" {
					g.below[i+1] = append(g.below[i+1], strings.ToLower(heading[n+j])+": "+value)
				}
			}
		}
		return g
	}
}

// write writes a row, and what is below it.
func (g grid) write(p *page, row int) {
	p.Line(0, "%s", g.lines[row])
	for _, text := range g.below[row] {
		p.Paragraph(2, "%s", text)
	}
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
