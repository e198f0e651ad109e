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
	declared := keep(s.Pools, func(p PoolStatus) bool { return p.Name != "" })
	text := diag.Counted(len(declared), "pool")
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
	}
	return text + "; " + are(pods, "pod") + " waiting for a node"
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
	rows := [][]string{{"POOL", "NODES", "STATE", "MONTHLY COST", "LIMITS"}}
	silent := len(keep(pools, PoolStatus.quiet))
	folded, nodes, unpriced, cost := 0, 0, 0, catalog.Money(0) // of the pools that are left out
	var shown []PoolStatus
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
			row[1], row[2] = fmt.Sprint(*pool.Nodes), statesText(pool.States)
			row[3] = Row{Count: *pool.Nodes, Cost: *pool.Cost, Unpriced: pool.Unpriced}.monthly()
		}
		rows = append(rows, row)
	}
	p.table(rows, func(i int) { p.remarks(shown[i].Says) }, 1, 3)
	if folded > 0 {
		if len(shown) == 0 {
			p.Break()
		}
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
	return cmp.Or(strings.Join(texts, ", "), "-")
}

func amountsText(amounts []Amount) string {
	texts := make([]string, len(amounts))
	for i, a := range amounts {
		texts[i] = fmt.Sprintf("%s %s of %s", a.Resource, a.used(), a.most())
	}
	return strings.Join(texts, ", ")
}

func (p *page) limits(limits []LimitStatus) {
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
	p.table(rows, func(i int) { p.remarks(limits[i].Says) })
}

func (p *page) waiting(loads []Workload) {
	rows := [][]string{{"WAITING PODS", "PODS", "AGE"}}
	for _, w := range loads {
		rows = append(rows, []string{w.Namespace + "/" + w.Owner, fmt.Sprint(w.Pods), p.ago(w.Since)})
	}
	p.table(rows, func(i int) {
		for _, reason := range loads[i].Reasons {
			p.Paragraph(2, "%s", reason)
		}
	}, 1, 2)
}

func (p *page) nodePlans(plans []NodePlanStatus) {
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
	p.table(rows, func(i int) {
		n := plans[i]
		if n.Tried != "" {
			p.Paragraph(2, "last attempted: %s", nodeplan.Short(n.Tried))
		}
		if n.Forecast != "" {
			p.Paragraph(2, "%s", n.Forecast)
		}
		p.Words(2, n.Message)
	}, 4)
}

// table writes rows in columns, the heading first; nothing if there is only a heading. If the rows are wider than the page,
// the last columns move below each row. There, below writes what else there is about a row.
func (p *page) table(rows [][]string, below func(row int), right ...int) {
	if len(rows) == 1 {
		return
	}
	heading, lines := rows[0], diag.Columns(rows, right...)
	columns := len(heading)
	for columns > 1 && slices.ContainsFunc(lines, func(line string) bool { return length(line) > p.Width }) {
		columns--
		narrow := make([][]string, len(rows))
		for i, row := range rows {
			narrow[i] = row[:columns]
		}
		lines = diag.Columns(narrow, right...)
	}
	p.Break()
	p.Line(0, "%s", lines[0])
	for i, row := range rows[1:] {
		p.Line(0, "%s", lines[i+1])
		for j, value := range row[columns:] {
			if value != "" && value != "-" {
				p.Paragraph(2, "%s: %s", strings.ToLower(heading[columns+j]), value)
			}
		}
		below(i)
	}
}
