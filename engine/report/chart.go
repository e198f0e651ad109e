package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// mostBars keeps a chart of many pools readable.
const mostBars = 12

// share is a fraction of a chart's width, in percent.
type share string

func shareOf(part, whole float64) share {
	if whole <= 0 {
		return "0"
	}
	return share(fmt.Sprintf("%.2f", min(100, max(0, 100*part/whole))))
}

// costChart compares monthly costs before and after.
type costChart struct {
	Bars []costBar
	More int // number of pools that it leaves out
}

// costBar is the cost of a pool before and after, from minimum to maximum, and the cost of its live nodes.
type costBar struct {
	Name          string
	Text          string // the amounts in words
	Before, After *span
	Now           share // "" if unknown
	Total, First  bool  // all pools together; the first of single pools
}

// span is a bar from zero to the maximum. It is solid up to the minimum.
type span struct {
	Floor, Ceiling share
	Endless        bool // there is no limit, or it is unknown
}

// costChartOf shows the sum of all pools, and the pools whose cost changes most.
func costChartOf(r Report) *costChart {
	var changed []plan.Change
	for _, c := range r.Changes {
		if ceilingsText(c.Before, c.After) != "" && !sameCost(c.Before, c.After) {
			changed = append(changed, c)
		}
	}
	if len(changed) == 0 && r.Current == nil && sameCost(&r.Before, &plan.Cost{}) && sameCost(&r.After, &plan.Cost{}) {
		return nil
	}
	slices.SortStableFunc(changed, func(a, b plan.Change) int { return cmp.Compare(costShift(b), costShift(a)) })
	chart := &costChart{More: max(0, len(changed)-mostBars)}
	total := chartScale(plan.Change{Before: &r.Before, After: &r.After, Current: r.Current})
	bar := barOf("All pools together", &r.Before, &r.After, r.Current, total)
	bar.Total = true
	chart.Bars = append(chart.Bars, bar)
	changed = changed[:min(len(changed), mostBars)]
	each := chartScale(changed...)
	for i, c := range changed {
		bar := barOf(plainText(c.Addr), c.Before, c.After, c.Current, each)
		bar.First = i == 0
		chart.Bars = append(chart.Bars, bar)
	}
	return chart
}

func sameCost(a, b *plan.Cost) bool {
	return a != nil && b != nil && a.Floor == b.Floor && a.FloorUnknown == b.FloorUnknown && a.Ceiling == b.Ceiling
}

// costShift returns by how much the cost of a pool changes, for the order of the chart. A cost without a limit, or
// an unknown one, comes first.
func costShift(c plan.Change) catalog.Money {
	before, after := ptr.Deref(c.Before, plan.Cost{}), ptr.Deref(c.After, plan.Cost{})
	if !before.Ceiling.Known() || !after.Ceiling.Known() {
		return 1 << 62
	}
	ceiling, floor := after.Ceiling.Monthly-before.Ceiling.Monthly, after.Floor-before.Floor
	return max(ceiling, -ceiling, floor, -floor)
}

// chartScale returns the amount that the whole width of the chart stands for. If a cost is unlimited, its bar takes
// the whole width, and the others at most two thirds.
func chartScale(changes ...plan.Change) (most float64) {
	endless := false
	for _, change := range changes {
		most = max(most, ptr.Deref(change.Current, 0).Float64())
		for _, cost := range []*plan.Cost{change.Before, change.After} {
			c := ptr.Deref(cost, plan.Cost{})
			most = max(most, c.Floor.Float64())
			endless = endless || !c.Ceiling.Known()
			if !c.Ceiling.Unlimited {
				most = max(most, c.Ceiling.Monthly.Float64())
			}
		}
	}
	if endless {
		most *= 1.5
	}
	return most
}

func barOf(name string, before, after *plan.Cost, current *catalog.Money, most float64) costBar {
	b := costBar{Name: name, Text: ceilingsText(before, after), Before: spanOf(before, most), After: spanOf(after, most)}
	if current != nil {
		b.Now = shareOf(current.Float64(), most)
		b.Text += ", now " + current.Text()
	}
	return b
}

func spanOf(c *plan.Cost, most float64) *span {
	switch {
	case c == nil:
		return nil
	case !c.Ceiling.Known():
		return &span{Floor: shareOf(c.Floor.Float64(), most), Ceiling: "100", Endless: true}
	}
	return &span{Floor: shareOf(c.Floor.Float64(), most), Ceiling: shareOf(c.Ceiling.Monthly.Float64(), most)}
}

// weekChart shows when the budgets allow to replace the nodes of the pools that roll.
type weekChart struct {
	Days []day
	Rows []weekRow
	More int // number of pools that it leaves out
}

type day struct {
	X          share
	Name, Date string // "" if it does not fit
}

// weekRow is one pool, or several whose budgets allow disruptions at the same times.
type weekRow struct {
	Name, Text string
	Windows    []windowBar

	others int // number of further pools
	rolled int // nodes of all of them
	impact *plan.Impact
}

// windowBar is a span in which budgets allow disruptions. Its height shows how many.
type windowBar struct {
	X, Width, Middle share
	Y, Height        int
	Nodes            string // "" if they are not counted, or the bar is too narrow for the number
	Text             string
}

// The height of a row, and of the lowest bar in it that has room for a number,
// in pixels.
const weekHeight, leastHeight = 26, 15

func weekChartOf(r Report) *weekChart {
	chart := &weekChart{}
	drawn := map[string]int{} // indexes of rows by their bars
	var from, until time.Time
	for _, c := range r.Changes {
		if c.Effect != plan.Roll || c.Impact == nil || c.Impact.Pace == nil || len(c.Impact.Pace.Windows) == 0 {
			continue
		}
		windows := c.Impact.Pace.Windows
		if from.IsZero() {
			from, until = windows[0].From, windows[len(windows)-1].Until
		}
		bars := barsOf(c.Impact, from, until)
		row := weekRow{Name: plainText(c.Addr), Windows: bars, impact: c.Impact, rolled: c.Impact.Rolled}
		key := fmt.Sprint(row.Windows)
		if i, same := drawn[key]; same {
			chart.Rows[i].others++
			chart.Rows[i].rolled += row.rolled
			continue
		}
		drawn[key] = len(chart.Rows)
		chart.Rows = append(chart.Rows, row)
	}
	if len(chart.Rows) == 0 {
		return nil
	}
	for i := range chart.Rows {
		chart.Rows[i].describe()
		if i >= mostBars {
			chart.More += 1 + chart.Rows[i].others
		}
	}
	chart.Rows = chart.Rows[:min(len(chart.Rows), mostBars)]
	for at := from.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1); at.Before(until); at = at.AddDate(0, 0, 1) {
		d := day{X: shareOf(float64(at.Sub(from)), float64(until.Sub(from)))}
		if until.Sub(at) > 12*time.Hour {
			d.Name, d.Date = at.Format("Mon"), at.Format(" 2")
		}
		chart.Days = append(chart.Days, d)
	}
	return chart
}

// describe sets the texts of a row.
func (r *weekRow) describe() {
	r.Text = plainText.consequence(r.impact)
	if r.others > 0 {
		r.Name += fmt.Sprintf(" and %d more", r.others)
		r.Text = r.impact.Pace.Waiting(plainText)
		if r.rolled > 0 {
			sentence := fmt.Sprintf("%s replaced in %d pools; %s", text.Count(r.rolled, "node"), 1+r.others, r.Text)
			r.Text = strings.TrimSuffix(sentence, "; ")
		}
	}
	if r.Text == "" {
		r.Text = "the budgets allow disruptions now"
	}
}

// barsOf returns the windows of a pool.
func barsOf(im *plan.Impact, from, until time.Time) (bars []windowBar) {
	most := 0
	for _, w := range im.Pace.Windows {
		most = max(most, w.Nodes)
	}
	whole := float64(until.Sub(from))
	for _, w := range im.Pace.Windows {
		if w.Nodes == 0 {
			continue
		}
		begin, length := float64(w.From.Sub(from)), float64(w.Until.Sub(w.From))
		bar := windowBar{
			X: shareOf(begin, whole), Width: shareOf(length, whole), Middle: shareOf(begin+length/2, whole),
		}
		bar.Height = leastHeight + (weekHeight-leastHeight)*w.Nodes/most
		bar.Y = weekHeight - bar.Height
		if im.Known && length/whole > 0.05 {
			bar.Nodes = fmt.Sprint(w.Nodes)
		}
		bar.Text = text.SoonTime(w.From) + " to " + text.SoonTime(w.Until)
		if im.Known {
			bar.Text += ": " + text.Count(w.Nodes, "node") + " at a time"
		}
		bars = append(bars, bar)
	}
	return bars
}
