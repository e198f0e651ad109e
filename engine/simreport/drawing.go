package simreport

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/simulate"
)

//go:embed drawing.html
var drawingHTML string

// section has the contents of a page about a simulation, as text that the template escapes.
type section struct {
	Keys     []key
	Pictures []picture
}

// Picture draws the nodes of a simulation as a part of the HTML report of a plan, with the classes of its style
// sheet.
func Picture(r simulate.Report) (template.HTML, error) {
	page, err := template.New("drawing").Parse(drawingHTML)
	if err != nil {
		return "", fmt.Errorf("parse the page: %w", err)
	}
	var b strings.Builder
	err = page.Execute(&b, sectionOf(r))
	return template.HTML(diag.Visible(b.String())), err // the template has escaped it
}

func sectionOf(r simulate.Report) section {
	results := []*simulate.Result{&r.Head}
	if r.Before != nil {
		results = append(results, r.Before)
	}
	d, keys := drawingOf(results...)
	if r.Before != nil {
		return section{keys, []picture{d.picture("Before", *r.Before), d.picture("After", r.Head)}}
	}
	return section{keys, []picture{d.picture("Nodes", r.Head)}}
}

const (
	colors   = 8   // of workloads; those with the least have the last one together
	mostBars = 120 // of one pool
	tallest  = 96  // pixels, of the largest node
	shortest = 14
)

// picture is the nodes of a result, with a row for each pool.
type picture struct {
	Title string
	Rows  []row
}

// row is the nodes of a pool in a picture.
type row struct {
	Pool, Text string
	Bars       []bar
	More       int // nodes that are not drawn
}

// bar is a node, or several identical nodes in succession, drawn from the bottom up.
type bar struct {
	Label, Text string
	Height      int // of the box
	Parts       []part
}

// part is the pods of one workload on a bar, in pixels from the top.
type part struct {
	Class  string
	Y, Tip string
	Height string
}

// key is the meaning of a color.
type key struct{ Class, Name string }

// drawing has the colors and the scale that all pictures of a page share.
type drawing struct {
	color   map[string]int // by workload
	largest int64          // thousandths of a CPU
}

func drawingOf(results ...*simulate.Result) (drawing, []key) {
	d := drawing{color: map[string]int{}}
	cpu, names, daemons := map[string]int64{}, []string{}, false
	for _, r := range results {
		for _, n := range r.Nodes {
			d.largest = max(d.largest, n.CPU.Allocatable)
			left := n.CPU.Requested
			for _, s := range n.Pods {
				if _, seen := cpu[s.Workload]; !seen {
					names = append(names, s.Workload)
				}
				cpu[s.Workload] += s.CPU
				left -= s.CPU
			}
			daemons = daemons || left > 0
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(cpu[b], cpu[a]) })
	var keys []key
	for i, name := range names {
		d.color[name] = min(i, colors-1)
		switch {
		case i < colors-1 || len(names) == colors:
			keys = append(keys, key{fmt.Sprintf("w%d", i), name})
		case i == colors-1:
			keys = append(keys, key{fmt.Sprintf("w%d", i), fmt.Sprintf("%d others", len(names)-i)})
		}
	}
	if daemons {
		keys = append(keys, key{"agents", "DaemonSets"})
	}
	return d, keys
}

func (d drawing) picture(title string, r simulate.Result) picture {
	p := picture{Title: title}
	at := map[string]int{}
	for _, plan := range r.Plans {
		i, known := at[plan.Pool]
		if !known {
			i = len(p.Rows)
			at[plan.Pool] = i
			p.Rows = append(p.Rows, row{Pool: plan.Pool})
		}
		line := fmt.Sprintf("%d × %s, %s a month", plan.Nodes, plan.Plan, monthlyDollars(plan.Cost))
		p.Rows[i].Text = strings.TrimPrefix(p.Rows[i].Text+"; "+line, "; ")
	}
	drawn := map[string]bool{}
	counts := map[string]int{}
	for _, n := range r.Nodes {
		row := &p.Rows[at[n.Pool]]
		text := describeNode(n)
		same := n.Pool + "\x00" + text
		counts[same]++
		if counts[same] > 1 {
			if !drawn[same] {
				row.More++
			}
			continue
		}
		if len(row.Bars) == mostBars {
			row.More++
			continue
		}
		row.Bars, drawn[same] = append(row.Bars, d.bar(n, text)), true
	}
	for i := range p.Rows {
		for j := range p.Rows[i].Bars {
			b := &p.Rows[i].Bars[j]
			if n := counts[p.Rows[i].Pool+"\x00"+b.Text]; n > 1 {
				b.Label = fmt.Sprintf("×%d", n)
				b.Text = fmt.Sprintf("%d nodes, each: %s", n, b.Text)
			}
		}
	}
	return p
}

func describeNode(n simulate.Node) string {
	text := fmt.Sprintf("%s, %s a month, CPU %d%%, memory %d%%", n.Plan, monthlyDollars(n.Cost), n.CPU.Percent(),
		n.Memory.Percent())
	for _, s := range n.Pods {
		text += fmt.Sprintf(", %d of %s", s.Pods, s.Workload)
	}
	return text
}

// bar draws a node. Its filling shows CPUs or memory, whichever is scarcer.
func (d drawing) bar(n simulate.Node, text string) bar {
	use, of := n.CPU, func(s simulate.Share) int64 { return s.CPU }
	if n.Memory.Percent() > n.CPU.Percent() {
		use, of = n.Memory, func(s simulate.Share) int64 { return s.Memory }
	}
	b := bar{Text: text, Height: shortest}
	if d.largest > 0 {
		b.Height = max(shortest, int(int64(tallest)*n.CPU.Allocatable/d.largest))
	}
	filled, rest := int64(0), use.Requested
	add := func(class, tip string, amount int64) {
		amount = max(0, min(amount, use.Allocatable-filled))
		filled += amount
		if amount == 0 || use.Allocatable == 0 {
			return
		}
		scale := func(v int64) float64 { return float64(b.Height) * float64(v) / float64(use.Allocatable) }
		b.Parts = append(b.Parts, part{
			Class: class, Tip: tip, Y: fmt.Sprintf("%.1f", float64(b.Height)-scale(filled)),
			Height: fmt.Sprintf("%.1f", scale(amount)),
		})
	}
	for _, s := range n.Pods {
		rest -= of(s)
		add(fmt.Sprintf("w%d", d.color[s.Workload]), fmt.Sprintf("%d of %s", s.Pods, s.Workload), of(s))
	}
	add("agents", "DaemonSets", rest)
	return b
}
