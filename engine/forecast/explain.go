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
	if f.Replaced == nil {
		return nil
	}
	more, left := a.Replaced-*f.Replaced, 0
	if a.Outdated != nil {
		left = *a.Outdated
	}
	switch {
	case more > 0 && f.Outdated != nil && more <= *f.Outdated:
		return one(false, "%s had already been outdated because of an earlier revision.", diag.Counted(more, "replaced node"))
	case more > 0:
		return one(true, "%s more than the plan foretold: pods requested nodes while the revision was applied, or a "+
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
			all = one(true, "the nodes cost up to %s a month, and the forecast was at most %s: %s.", highest.Text(), ceiling.Text(),
				above(row, ceiling, drift))
		case highest == ceiling && ceiling > 0:
			all = one(false, "the nodes cost up to %s a month, the maximum of the forecast: a limit was reached.", highest.Text())
		}
	}
	if floor, known := money(f.CostFloor); known && a.CostSeconds > 0 && amount(a.CostMean) < floor {
		all = append(all, one(true, "the nodes cost %s a month on average, and the forecast was at least %s: nodes of static "+
			"pools were missing.", amount(a.CostMean).Text(), floor.Text())...)
	}
	if unknown := a.Seconds - a.CostSeconds; unknown > 0 {
		all = append(all, one(false, "the cost is unknown for %s: the price of a plan type is unknown, or the controller had "+
			"not read the price catalogue yet.", Span(unknown))...)
	}
	return all
}

// above explains why the cost was above the maximum.
func above(row lkeplanv1alpha1.ForecastRow, ceiling catalog.Money, drift []lkeplanv1alpha1.DriftStatus) string {
	for _, d := range drift {
		name, pool := strings.CutPrefix(d.Object, "NodePool ")
		if pool && (name == row.Name || row.Name == "") && strings.HasPrefix(d.Path, "spec.limits") {
			return fmt.Sprintf("%s has set %s of pool %s", cmp.Or(strings.Join(d.Owners, ", "), "another user"), d.Path, name)
		}
	}
	if was, known := money(row.Forecast.Cost); known && was > ceiling {
		return fmt.Sprintf("they cost %s when the revision was applied, and Karpenter does not remove nodes because of a lower "+
			"limit", was.Text())
	}
	return "the reason is unknown"
}

// size explains that a pool has another number of nodes than when the revision was applied.
func size(row lkeplanv1alpha1.ForecastRow) []Finding {
	f, a := row.Forecast, row.Actual
	if f.Nodes == nil || a.Seconds == 0 {
		return nil
	}
	mean, was := amount(a.NodesMean), catalog.Money(*f.Nodes)*catalog.Dollar
	const text = "the pool had %s when the revision was applied, and %s on average since: pods, buffers or replicas requested %s."
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

func money(text string) (catalog.Money, bool) {
	m, err := catalog.ParseMoney(text)
	return m, err == nil
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

// ReplacedText is how many nodes were replaced, of how many that the plan foretold: 2 of 3.
func ReplacedText(row lkeplanv1alpha1.ForecastRow) string {
	text := fmt.Sprint(row.Actual.Replaced)
	if row.Actual.ReplacedAtLeast {
		text = ">=" + text
	}
	if row.Forecast.Replaced == nil {
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
	return Span(e.Total.Actual.Seconds) + " of " + Span(max(int64(until.Sub(e.Applied.Time)/time.Second), e.Total.Actual.Seconds))
}

// Span writes seconds with one unit: 45s, 20m, 26h, 12d.
func Span(seconds int64) string {
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
