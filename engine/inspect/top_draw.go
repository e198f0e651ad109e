package inspect

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/schedule"
	"github.com/lkeplan/lkeplan/schemas"
)

// ScreenView is how a screen is drawn.
type ScreenView struct {
	Width  int // columns; 0: no limit
	Height int // lines; 0: no limit
	Place  string
	Now    time.Time
	At     int  // the node that is chosen; -1: none
	ASCII  bool // only ASCII
	// Paint colors a piece of text; nil: no colors.
	Paint func(Ink, string) string
}

// Ink is the meaning of a color.
type Ink int

// The inks.
const (
	InkPlain  Ink = iota
	InkFaint      // of headings
	InkGood       // of bars with capacity left
	InkFull       // of bars with little capacity left
	InkAlarm      // of what needs attention
	InkChange     // of what is about to change
	InkChosen     // of the line under the cursor
)

func (v ScreenView) paint(ink Ink, text string) string {
	if v.Paint == nil || ink == InkPlain || text == "" {
		return text
	}
	return v.Paint(ink, text)
}

// wrap is a text in lines of the width of the screen. Only a word that is too long is shortened.
func (v ScreenView) wrap(ink Ink, text string) (lines []string) {
	text = diag.Cell(text)
	if v.Width <= 0 {
		return []string{v.paint(ink, text)}
	}
	for _, line := range diag.Wrap(text, v.Width) {
		lines = append(lines, v.paint(ink, cut(line, v.Width)))
	}
	return lines
}

// Draw draws a screen: the totals, the pools, and as many nodes as fit
// around the one that is chosen.
func (s Screen) Draw(v ScreenView) string {
	lines := s.head(v)
	for _, note := range s.Notes {
		lines = append(lines, v.wrap(InkAlarm, note)...)
	}
	if len(s.Pools) > 0 {
		lines = append(lines, "")
		lines = append(lines, s.known(s.poolTable(v)).draw(v, -1)...)
	}
	if len(s.Nodes) > 0 {
		room := len(s.Nodes)
		if v.Height > 0 && v.Height < len(lines)+2+room { // with a line for their number
			room = max(3, v.Height-len(lines)-3)
		}
		from, to := window(len(s.Nodes), room, v.At)
		lines = append(lines, "")
		lines = append(lines, s.known(s.nodeTable(v, from, to)).draw(v, v.At-from)...)
		if to-from < len(s.Nodes) {
			lines = append(lines, v.paint(InkFaint, fmt.Sprintf("nodes %d to %d of %d", from+1, to, len(s.Nodes))))
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// window is which of n lines are shown if only some fit, with one of them in the middle.
func window(n, room, at int) (from, to int) {
	if n <= room {
		return 0, n
	}
	from = min(max(0, at-room/2), n-room)
	return from, from + room
}

// leastPlace is the fewest columns that distinguish clusters.
const leastPlace = 12

// head is the totals.
func (s Screen) head(v ScreenView) []string {
	t := s.Total
	pods := diag.Counted(int(t.Pods.N), "pod")
	if s.podless() {
		pods = "pods unknown"
	}
	first := fmt.Sprintf("%s, %s, %s", diag.Counted(t.Count, "node"), pods, t.cost())
	place := v.Place
	if room := v.Width - length(first) - 2; v.Width > 0 && length(place) > room {
		place = cut(place, room) // before the rest
		if room < leastPlace {
			place = ""
		}
	}
	if place != "" {
		first = place + ": " + first
	}
	lines := v.wrap(InkPlain, first)
	var notes []string
	for _, n := range []struct {
		n    int
		what string
	}{{int(t.Coming.N), "coming"}, {int(t.Rolls.N), "outdated or being removed"}, {s.unready(), "not ready"}} {
		if n.n > 0 {
			notes = append(notes, fmt.Sprintf("%d %s", n.n, n.what))
		}
	}
	if n := int(s.Wait.N); n > 0 {
		notes = append(notes, diag.Counted(n, "pod")+" waiting for a node")
	}
	if s.claimless() {
		notes = append(notes, "the number of coming and outdated nodes is unknown")
	}
	if len(notes) > 0 {
		lines = append(lines, v.wrap(InkChange, strings.Join(notes, ", "))...)
	}
	if t.Count == 0 || s.podless() {
		return lines
	}
	room := 60
	if v.Width > 0 {
		room = min(max(v.Width-40, 10), room)
	}
	return append(lines, v.bars(t, room)...)
}

// bars are lines with the requested shares of CPU and memory.
func (v ScreenView) bars(r Row, width int) []string {
	return []string{
		"CPU    " + v.bar(r.CPU, width) + fmt.Sprintf("  %s of %s", cores(r.CPU.Requested.N), cores(r.CPU.Allocatable)),
		"Memory " + v.bar(r.Memory, width) +
			fmt.Sprintf("  %s of %s", schemas.Bytes(r.Memory.Requested.N), schemas.Bytes(r.Memory.Allocatable)),
	}
}

// podless reports whether the pods are unknown. Then the use of nodes is unknown, too.
func (s Screen) podless() bool {
	return slices.Contains(s.NotListed, "Pods")
}

// claimless reports whether the NodeClaims are unknown. Then the nodes on the way are unknown, and so are the outdated
// ones, except those that are being deleted.
func (s Screen) claimless() bool { return slices.Contains(s.NotListed, "NodeClaims") }

// known is a table without the columns that need the pods.
func (s Screen) known(t table) table {
	if !s.podless() {
		return t
	}
	return t.without(func(c column) bool { return c.bar || c.title == "PODS" })
}

func (s Screen) unready() (n int) {
	for _, node := range s.Nodes {
		if node.State == StateNotReady {
			n++
		}
	}
	return n
}

func (s Screen) poolTable(v ScreenView) table {
	t := table{columns: []column{
		{title: "POOL", least: 8}, {title: "NODES", right: true}, {title: "ROLLING", right: true, spare: 4},
		{title: "CPU", bar: true, spare: 3}, {title: "MEMORY", bar: true, spare: 2}, {title: "MONTHLY", right: true},
		{title: "LIMITS", spare: 1},
	}}
	for _, p := range s.Pools {
		nodes := strconv.Itoa(p.Count)
		if p.Coming.N > 0 || p.Coming.Unknown {
			nodes = fmt.Sprintf("%d+%s", p.Count-int(p.Coming.N), p.Coming)
		}
		limits := strings.Join(p.Limits, " ")
		if slices.Contains(s.NotListed, "NodePools") {
			limits = "?"
		}
		rolling := cell{text: p.Rolls.String()}
		if p.Rolls.N > 0 {
			rolling.ink = InkChange
		}
		t.rows = append(t.rows, []cell{
			{text: cmp.Or(p.Name, "-")}, {text: nodes}, rolling, {use: p.CPU}, {use: p.Memory}, {text: p.monthly()},
			{text: limits, ink: InkFaint},
		})
	}
	return t
}

func (s Screen) nodeTable(v ScreenView, from, to int) table {
	t := table{columns: []column{
		{title: "NODE", least: 13, ends: true}, {title: "POOL", least: 6, spare: 5}, {title: "PLAN", least: 13},
		{title: "CPU", bar: true, spare: 3}, {title: "MEMORY", bar: true, spare: 2}, {title: "PODS", right: true, spare: 1},
		{title: "MONTHLY", right: true, spare: 6}, {title: "AGE", right: true, spare: 4},
		{title: "STATE", least: 9, words: true},
	}}
	for _, n := range s.Nodes[from:to] {
		t.rows = append(t.rows, []cell{
			{text: n.Name}, {text: cmp.Or(n.Pool, "-")}, {text: cmp.Or(n.Plan, "-")}, {use: n.CPU}, {use: n.Memory},
			{text: n.Pods.String()}, {text: n.monthly()}, {text: Age(v.Now.Sub(n.Created))},
			{text: strings.TrimSpace(string(n.State) + " " + n.Why), ink: n.State.ink()},
		})
	}
	return t
}

func (s State) ink() Ink {
	switch s {
	case StateNotReady:
		return InkAlarm
	case StateReady:
		return InkPlain
	}
	return InkChange
}

// bar draws the used share, with its percentage.
func (v ScreenView) bar(u Use, width int) string {
	share := u.Share()
	filled := min(int(math.Round(share*float64(width))), width)
	full, empty := "█", "░"
	if v.ASCII {
		full, empty = "#", "."
	}
	ink := InkGood
	if share >= 0.9 {
		ink = InkFull
	}
	return v.paint(ink, strings.Repeat(full, filled)) + v.paint(InkFaint, strings.Repeat(empty, width-filled)) +
		fmt.Sprintf("%4d%%", int(math.Round(share*100)))
}

// DrawDetail draws everything about a node.
func (d Detail) DrawDetail(v ScreenView) string {
	lines := append(v.wrap(InkPlain, fmt.Sprintf("%s: %s", d.Name, strings.TrimSpace(string(d.State)+" "+d.Why))),
		v.wrap(InkPlain, fmt.Sprintf("pool %s, plan type %s, %s, %s old", cmp.Or(d.Pool, "-"), cmp.Or(d.Plan, "-"), d.cost(),
			Age(v.Now.Sub(d.Created))))...)
	if d.podless {
		lines = append(lines, "Its pods are unknown: they could not be listed.")
	} else {
		lines = append(lines, v.bars(d.Row, 20)...)
	}
	lines = append(lines, "")
	for _, fact := range d.Facts {
		lines = append(lines, cut(fmt.Sprintf("%-14s %s", fact[0], fact[1]), v.Width))
	}
	t := table{columns: []column{
		{title: "POD", least: 20}, {title: "CPU", right: true}, {title: "MEMORY", right: true}, {title: "AGE", right: true},
		{title: "", least: 0},
	}}
	for _, p := range d.Pods {
		held := ""
		if p.Held {
			held = "do-not-disrupt"
		}
		t.rows = append(t.rows, []cell{{text: p.Name}, {text: cores(p.CPU)}, {text: schemas.Bytes(p.Memory)},
			{text: Age(v.Now.Sub(p.Created))}, {text: held, ink: InkChange}})
	}
	lines = append(append(lines, ""), t.draw(v, -1)...)
	if v.Height > 0 && len(lines) > v.Height {
		hidden := len(lines) - v.Height + 1
		lines = append(slices.Clip(lines[:v.Height-1]), v.paint(InkFaint, fmt.Sprintf("and %d more lines", hidden)))
	}
	return strings.Join(lines, "\n") + "\n"
}

// Age writes a duration in its largest unit, and in the next one if there are few of that: 1m4s, 28m, 1h30m, 3d.
func Age(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < 10*time.Minute:
		d = d.Truncate(time.Second)
	case d < 10*time.Hour:
		d = d.Truncate(time.Minute)
	case d < 48*time.Hour:
		d = d.Truncate(time.Hour)
	default:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
	return schedule.WriteDuration(d)
}

// cores writes an amount of CPU with one decimal at most.
func cores(millis int64) string {
	return strconv.FormatFloat(math.Round(float64(millis)/100)/10, 'f', -1, 64)
}

// cost is the cost of nodes, and of how many it is unknown.
func (r Row) cost() string {
	switch {
	case r.Unpriced == 0:
		return fmt.Sprintf("$%s an hour, %s a month", r.Cost.Hourly, r.Cost.Monthly.Text())
	case r.Unpriced == r.Count:
		return "price unknown"
	}
	return fmt.Sprintf("$%s an hour, %s a month and %s of unknown price", r.Cost.Hourly, r.Cost.Monthly.Text(),
		diag.Counted(r.Unpriced, "node"))
}

// monthly is the cell with the monthly cost of nodes.
func (r Row) monthly() string {
	switch {
	case r.Unpriced == 0:
		return r.Cost.Monthly.Text()
	case r.Unpriced == r.Count:
		return "?"
	}
	return r.Cost.Monthly.Text() + "+?"
}
