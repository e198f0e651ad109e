package forecast

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/linode/catalog"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// Finding is one difference between a forecast and what happened.
type Finding struct {
	Pool    string `json:"pool,omitempty"` // "" for all pools
	Outside bool   `json:"outside"`        // the forecast was wrong, or something else has changed the pool
	Text    string `json:"text"`           // one sentence, with the reason if it is known
}

// Findings explains the differences of an entry. drift are the fields that others have set; only the
// open entry can be explained by them.
func Findings(e lkeplanv1alpha1.RevisionForecast, drift []lkeplanv1alpha1.DriftStatus) (all []Finding) {
	if e.Closed != nil {
		drift = nil
	}
	rows := append([]lkeplanv1alpha1.ForecastRow{e.Total}, e.Pools...)
	if len(e.Pools) == 1 && e.PoolsLeftOut == 0 { // the total has the same numbers
		rows = rows[1:]
	}
	for i, row := range rows {
		found := cost(row, drift)
		if i == 0 {
			found = append(replaced(row, e.Closed != nil), found...)
		}
		if row.Name != "" {
			found = append(found, size(row)...)
		}
		for _, f := range found {
			f.Pool = row.Name
			all = append(all, f)
		}
	}
	return all
}

// Outside reports whether one of the findings is that the forecast was wrong.
func Outside(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Outside })
}

func replaced(row lkeplanv1alpha1.ForecastRow, closed bool) []Finding {
	f, a := row.Forecast, row.Actual
	if !counted(f.Replaced) || !counted(&a.Replaced) || f.Outdated != nil && !counted(f.Outdated) {
		return nil
	}
	more, left := a.Replaced-*f.Replaced, 0
	if counted(a.Outdated) {
		left = *a.Outdated
	}
	switch {
	case more > 0 && f.Outdated != nil && more <= *f.Outdated:
		return one(false, "%s had already been outdated because of an earlier revision.", diag.Counted(more, "replaced node"))
	case more > 0:
		return one(true, "%s more than in the forecast: pods requested nodes while the revision was applied, or a "+
			"manual change made nodes outdated.", number(more, "node was replaced", "nodes were replaced"))
	case left > 0 && closed:
		return one(false, "%s to be replaced when another revision was applied.",
			number(left, "node was still", "nodes were still"))
	case left > 0:
		return one(false, "%s still to be replaced.", number(left, "node is", "nodes are"))
	case more < 0 && a.Outdated != nil && !a.ReplacedAtLeast:
		return one(false, "%s removed for another reason before Karpenter could replace them, or while the controller did "+
			"not run.", number(-more, "node was", "nodes were"))
	}
	return nil
}

func cost(row lkeplanv1alpha1.ForecastRow, drift []lkeplanv1alpha1.DriftStatus) (all []Finding) {
	f, a := row.Forecast, row.Actual
	if ceiling, known := money(f.CostCeiling); known && a.CostHighest != "" {
		switch highest := amount(a.CostHighest); {
		case highest > ceiling:
			all = one(true, "the nodes cost up to %s a month; the forecast was at most %s. Cause: %s.", highest.Text(),
				ceiling.Text(), above(row, ceiling, drift))
		case highest == ceiling && ceiling > 0:
			all = one(false, "the nodes cost up to %s a month, the maximum of the forecast: a limit was reached.",
				highest.Text())
		}
	}
	if floor, known := money(f.CostFloor); known && a.CostSeconds > 0 && amount(a.CostMean) < floor {
		all = append(all, one(true, "the nodes cost %s a month on average; the forecast was at least %s. Cause: nodes of "+
			"static pools were missing.", amount(a.CostMean).Text(), floor.Text())...)
	}
	if unknown := a.Seconds - a.CostSeconds; a.CostSeconds >= 0 && unknown > 0 {
		all = append(all, one(false, "the cost is unknown for %s: the price of a plan type is unknown, or the controller "+
			"had not read the price catalogue yet.", Span(unknown))...)
	}
	return all
}

// above explains why the cost was above the maximum.
func above(row lkeplanv1alpha1.ForecastRow, ceiling catalog.Money, drift []lkeplanv1alpha1.DriftStatus) string {
	for _, d := range drift {
		name, pool := strings.CutPrefix(d.Object, "NodePool ")
		if pool && (name == row.Name || row.Name == "") && strings.HasPrefix(d.Path, "spec.limits") {
			owners := cmp.Or(strings.Join(d.Owners[:min(len(d.Owners), 3)], ", "), "another user")
			return fmt.Sprintf("%s has set %s of pool %s", readable(owners), readable(d.Path), diag.Name(name))
		}
	}
	if was, known := money(row.Forecast.Cost); known && was > ceiling {
		return fmt.Sprintf("they cost %s when the revision was applied, and Karpenter does not remove nodes because of a "+
			"lower limit", was.Text())
	}
	return "unknown"
}

// size explains that a pool has another number of nodes than when the revision was applied.
func size(row lkeplanv1alpha1.ForecastRow) []Finding {
	f, a := row.Forecast, row.Actual
	if !counted(f.Nodes) || a.Seconds <= 0 {
		return nil
	}
	mean, was := amount(a.NodesMean), catalog.Money(*f.Nodes)*catalog.Dollar
	const text = "the pool had %s when the revision was applied, and %s on average since: pods, buffers or replicas " +
		"requested %s."
	switch {
	case mean >= was+catalog.Dollar:
		return one(false, text, diag.Counted(*f.Nodes, "node"), NodesText(a.NodesMean), "more")
	case mean <= was-catalog.Dollar:
		return one(false, text, diag.Counted(*f.Nodes, "node"), NodesText(a.NodesMean), "fewer")
	}
	return nil
}

// number returns a number of things with their verb.
func number(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}

func one(outside bool, format string, args ...any) []Finding {
	return []Finding{{Outside: outside, Text: fmt.Sprintf(format, args...)}}
}

// mostCounted is the largest number of nodes that is believed: a user who can write the status can write any number.
const mostCounted = 1_000_000

// counted reports whether a number of nodes is known and possible.
func counted(n *int) bool { return n != nil && *n >= 0 && *n <= mostCounted }

// readable is text of a status in one line of a bounded length.
func readable(text string) string { return diag.Shorten(diag.OneLine(text), 100) }

// money reads an amount of a status; false if it is absent, or no amount of at least zero.
func money(text string) (catalog.Money, bool) {
	m, err := catalog.ParseMoney(text)
	return m, err == nil && m >= 0 && m <= maxAmount
}

// NodesText is a mean number of nodes with one decimal: 2.5; "unknown" if it was not measured.
func NodesText(mean string) string {
	m, known := money(mean)
	if !known {
		return "unknown"
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", m.Float64()), ".0")
}

// CostText is a monthly cost in dollars; "unknown" if it is absent.
func CostText(text string) string {
	m, known := money(text)
	if !known {
		return "unknown"
	}
	return m.Text()
}

// RangeText is the range of a forecast, in whole dollars: $0-$192. "unknown" stands for what is
// absent.
func RangeText(f lkeplanv1alpha1.NodeForecast) string {
	low, high := "unknown", "unknown"
	if m, known := money(f.CostFloor); known {
		low = (m / catalog.Dollar * catalog.Dollar).Text()
	}
	if m, known := money(f.CostCeiling); known {
		high = ((m + catalog.Dollar - 1) / catalog.Dollar * catalog.Dollar).Text()
	}
	switch {
	case f.Unlimited:
		return low + " or more"
	case low == "unknown" && high == "unknown":
		return "unknown"
	}
	return low + "-" + high
}

// Progress compares in one sentence what the plan of a revision foretold for a pool, or for all pools, with what has
// happened so far: commit 3f2a1c9b forecast 4 replaced nodes and $0-$120 a month; so far 3 replaced nodes and $90 a
// month on average.
func Progress(e lkeplanv1alpha1.RevisionForecast, row lkeplanv1alpha1.ForecastRow,
	drift []lkeplanv1alpha1.DriftStatus) string {
	nodes := func(n *int) string {
		if !counted(n) {
			return "an unknown number of replaced nodes"
		}
		return diag.Counted(*n, "replaced node")
	}
	text := fmt.Sprintf("the forecast of commit %s was %s and %s a month; so far %s and %s a month on average", CommitText(e),
		nodes(row.Forecast.Replaced), RangeText(row.Forecast), nodes(&row.Actual.Replaced), CostText(row.Actual.CostMean))
	if row.Actual.Seconds <= 0 {
		text = fmt.Sprintf("the forecast of commit %s was %s and %s a month; nothing is measured yet", CommitText(e),
			nodes(row.Forecast.Replaced), RangeText(row.Forecast))
	}
	if slices.ContainsFunc(Findings(e, drift), func(f Finding) bool {
		return f.Outside && (row.Name == "" || f.Pool == row.Name)
	}) {
		text += "; this is outside of the forecast: see lkeplan history"
	}
	return text
}

// CommitText is a revision with the first eight digits of its commit, without the branch.
func CommitText(e lkeplanv1alpha1.RevisionForecast) string {
	name := diag.OneLine(diag.Shorten(cmp.Or(e.Commit, e.Revision), 200))
	if i := strings.LastIndexByte(name, ':'); i >= 0 {
		name = name[i+1:]
	}
	runes := []rune(name)
	return diag.Name(string(runes[:min(len(runes), 8)]))
}

// Bounded returns the entries of a status with at most MaxEntries entries of MaxPools pools: another user may have
// written more.
func Bounded(all []lkeplanv1alpha1.RevisionForecast) []lkeplanv1alpha1.RevisionForecast {
	all = slices.Clone(all[:min(len(all), MaxEntries)])
	for i := range all {
		if more := len(all[i].Pools) - MaxPools; more > 0 {
			all[i].Pools, all[i].PoolsLeftOut = all[i].Pools[:MaxPools], min(max(all[i].PoolsLeftOut, 0), mostCounted)+more
		}
	}
	return all
}

// ReplacedText is how many nodes were replaced, of how many that the plan foretold: 2 of 3.
func ReplacedText(row lkeplanv1alpha1.ForecastRow) string {
	text := "unknown"
	if counted(&row.Actual.Replaced) {
		text = fmt.Sprint(row.Actual.Replaced)
	}
	if row.Actual.ReplacedAtLeast {
		text = ">=" + text
	}
	if !counted(row.Forecast.Replaced) {
		return text + " of unknown"
	}
	return fmt.Sprintf("%s of %d", text, *row.Forecast.Replaced)
}

// MeasuredText is for how long the nodes were counted, of the time since a revision was applied until
// the next one, or until now: 20h of 26h.
func MeasuredText(e lkeplanv1alpha1.RevisionForecast, now time.Time) string {
	until := now
	if e.Closed != nil {
		until = e.Closed.Time
	}
	if m := e.MeasuredUntil; m != nil && m.After(until) { // the clocks differ
		until = m.Time
	}
	return Span(e.Total.Actual.Seconds) + " of " + Span(max(int64(until.Sub(e.Applied.Time)/time.Second),
		e.Total.Actual.Seconds))
}

// Span writes seconds with one unit: 45s, 20m, 26h, 12d.
func Span(seconds int64) string {
	seconds = min(max(seconds, 0), maxSeconds)
	switch {
	case seconds < 100:
		return fmt.Sprintf("%ds", seconds)
	case seconds < 100*60:
		return fmt.Sprintf("%dm", seconds/60)
	case seconds < 100*3600:
		return fmt.Sprintf("%dh", seconds/3600)
	}
	return fmt.Sprintf("%dd", seconds/86400)
}
