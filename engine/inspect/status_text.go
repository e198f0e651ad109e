package inspect

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/costs"
	"github.com/lkeplan/lkeplan/engine/nodeplan"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// StatusView is how a status is written.
type StatusView struct {
	Width int  // columns
	All   bool // list pools with nothing to report, each waiting workload, and each node
}

// quiet is the largest number of pools with nothing to report, and of nodes, that are listed one by one.
const quiet = 20

// Text writes a status for people.
func (s Status) Text(v StatusView) string {
	p := page{Page: diag.Page{Width: max(v.Width, 40)}, now: s.now}
	if s.Stopped != "" {
		p.Paragraph(0, "Warning: disruption is %s. Until then, no node is consolidated, replaced or repaired. To end the stop: "+
			"lkeplan resume", s.Stopped)
	}
	p.Paragraph(0, "%s", s.headline())
	for _, note := range s.Notes {
		p.Paragraph(0, "%s", note)
	}
	for _, c := range s.Classes {
		p.Break()
		p.Line(0, "LinodeNodeClass %s, used by %s:", c.Name, text.Count(c.Pools, "pool"))
		p.remarks(c.Says)
	}
	p.pools(s.Pools, v.All)
	p.limits(s.Limits)
	if v.All {
		p.waiting(s.Waiting)
	} else {
		p.waiting(foldWorkloads(s.Waiting))
	}
	p.nodePlans(s.NodePlans)
	p.nodes(s.NodeList, v.All)
	p.costs(s)
	return p.String()
}

// headline returns the totals.
func (s Status) headline() string {
	declared := filterList(s.Pools, func(p PoolStatus) bool { return p.Name != "" })
	nodes := text.Count(s.Nodes, "node")
	if s.Coming > 0 {
		nodes += fmt.Sprintf(" (%d not joined yet)", s.Coming)
	}
	sentence := fmt.Sprintf("%s in %s, %s", nodes, text.Count(len(declared), "pool"), costText(s.Cost, s.Unpriced))
	if s.Place != "" {
		sentence = s.Place + ": " + sentence
	}
	pods := 0
	for _, w := range s.Waiting {
		pods += w.Pods
	}
	if pods == 0 {
		return sentence + "; no pod is waiting for a node"
	}
	return sentence + "; " + text.CountAre(pods, "pod") + " waiting for a node"
}

// page is a text that is being written.
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

// ago returns how long ago a moment was.
func (p *page) ago(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return text.Age(p.now.Sub(*t))
}

// costText writes the cost of nodes, and of how many it is unknown.
func costText(cost catalog.Price, unpriced int) string {
	sentence := fmt.Sprintf("$%s an hour, %s a month", cost.Hourly, cost.Monthly.Text())
	if unpriced > 0 {
		sentence = fmt.Sprintf("at least %s: the price of %s is unknown", sentence, text.Count(unpriced, "node"))
	}
	return sentence
}

// pools writes a line for each pool, and below it what there is to report.
func (p *page) pools(pools []PoolStatus, all bool) {
	rows := [][]string{{"POOL", "NODES", "STATE", "MONTHLY COST", "LIMITS"}}
	silent := len(filterList(pools, PoolStatus.quiet))
	folded, nodes, unpriced, cost := 0, 0, 0, catalog.Money(0) // of the pools that are left out
	var shown []PoolStatus
	for _, pool := range pools {
		if !all && silent > quiet && pool.quiet() {
			folded++
			nodes += pool.Nodes
			cost += pool.Cost.Monthly
			unpriced += pool.Unpriced
			continue
		}
		shown = append(shown, pool)
		rows = append(rows, []string{cmp.Or(pool.Name, "(none)"), fmt.Sprint(pool.Nodes), statesText(pool.States),
			totals{nodes: pool.Nodes, cost: pool.Cost, unpriced: pool.Unpriced}.monthly(), amountsText(pool.Limits)})
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
			text.Count(folded, "pool"), text.Count(nodes, "node"), more, cost.Text())
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
			of = text.Count(n, "pool")
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
	p.table(rows, func(i int) { p.Words(2, loads[i].Message) }, 1, 2)
	if len(loads) > 0 {
		p.Paragraph(0, "lkeplan why pod NAMESPACE/NAME shows why a pod waits.")
	}
}

func (p *page) nodePlans(plans []NodePlanStatus) {
	rows := [][]string{{"NODEPLAN", "STATE", "SINCE", "APPLIED", "OUTDATED", "WINDOW"}}
	for _, n := range plans {
		outdated, window := "-", "-"
		if n.Outdated != nil {
			outdated = fmt.Sprint(*n.Outdated)
		}
		if n.NextWindow != nil {
			window = text.Time(*n.NextWindow)
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
		p.Words(2, n.Message)
	}, 4)
}

// leastName is the length to which the names of nodes may be shortened: names of LKE's nodes differ at their ends.
const leastName = 16

// nodes writes a table of the nodes of each pool. Many nodes are summed up by pool and plan type.
func (p *page) nodes(nodes []Node, all bool) {
	if len(nodes) > quiet && !all {
		p.nodeSums(nodes)
		return
	}
	for len(nodes) > 0 {
		pool := nodes[0].Pool
		rows := [][]string{{"NODES OF " + cmp.Or(pool, "NO POOL"), "PLAN TYPE", "STATE", "AGE", "CPU", "MEMORY", "MONTHLY"}}
		for len(nodes) > 0 && nodes[0].Pool == pool {
			n := nodes[0]
			rows = append(rows, []string{n.Name, cmp.Or(n.Plan, "?"), string(n.State), p.ago(timeOrNil(n.Created)), n.CPU.percent(),
				n.Memory.percent(), totalsOf(nodes[:1]).monthly()})
			nodes = nodes[1:]
		}
		if wide := widestLine(diag.Columns(rows, 3, 4, 5, 6)) - p.Width; wide > 0 {
			shortenNames(rows, wide)
		}
		p.table(rows, func(int) {}, 3, 4, 5, 6)
	}
}

func widestLine(lines []string) (n int) {
	for _, line := range lines {
		n = max(n, utf8.RuneCountInString(line))
	}
	return n
}

// shortenNames makes the longest names in the first column shorter by some characters, at their beginning.
func shortenNames(rows [][]string, by int) {
	var names []string
	for _, row := range rows {
		names = append(names, row[0])
	}
	most := max(leastName, widestLine(names)-by)
	for _, row := range rows {
		if name := []rune(row[0]); len(name) > most {
			row[0] = "…" + string(name[len(name)-most+1:])
		}
	}
}

// costs writes what each namespace or value of a label pays.
func (p *page) costs(s Status) {
	if s.Costs == nil {
		return
	}
	rows := s.Costs.Table(nil)
	for i, heading := range rows[0] {
		rows[0][i] = strings.ToUpper(heading)
	}
	p.table(rows, func(int) {}, 1, 2, 3)
	p.Paragraph(0, "%s", costs.Legend)
	if s.Unpriced > 0 {
		p.Paragraph(0, "Nodes whose price is unknown are not included.")
	}
}

// nodeSums writes a line for the nodes of a pool and plan type.
func (p *page) nodeSums(nodes []Node) {
	rows := [][]string{{"POOL", "PLAN TYPE", "NODES", "CPU", "MEMORY", "MONTHLY"}}
	key := func(n Node) [2]string { return [2]string{n.Pool, n.Plan} }
	of := map[[2]string][]Node{}
	for _, n := range nodes {
		of[key(n)] = append(of[key(n)], n)
	}
	for _, k := range slices.SortedFunc(maps.Keys(of), func(a, b [2]string) int {
		return cmp.Or(falseFirst(a[0] == "", b[0] == ""), strings.Compare(a[0], b[0]), strings.Compare(a[1], b[1]))
	}) {
		sum := totalsOf(of[k])
		rows = append(rows, []string{cmp.Or(k[0], "(none)"), cmp.Or(k[1], "?"), fmt.Sprint(sum.nodes), sum.cpu.percent(),
			sum.memory.percent(), sum.monthly()})
	}
	p.table(rows, func(int) {}, 2, 3, 4, 5)
	p.Paragraph(0, "CPU and MEMORY are what pods request of what is allocatable. --all lists each node.")
}

// percent returns the requested share of what is allocatable.
func (u Use) percent() string {
	if u.Allocatable.Sign() <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", 100*u.Requested.AsApproximateFloat64()/u.Allocatable.AsApproximateFloat64())
}

// table writes rows in columns, with the heading first; nothing if there is only a heading. If the rows are wider
// than the page, the last columns move below each row. There, below writes additional lines about a row.
func (p *page) table(rows [][]string, below func(row int), right ...int) {
	if len(rows) == 1 {
		return
	}
	heading, lines := rows[0], diag.Columns(rows, right...)
	columns := len(heading)
	for columns > 1 && widestLine(lines) > p.Width {
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
