package forecast

import (
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// FuzzForgedStatus writes a status as a user who can edit NodePlans can: each text is one line of bounded length, and
// what is measured later continues.
func FuzzForgedStatus(f *testing.F) {
	for _, amount := range []string{"", "NaN", "-5", "-1.5", "999999999999", "999999999999.999999", "1e400", "Inf",
		strings.Repeat("9", 1000)} {
		f.Add(amount, math.MinInt64, math.MaxInt64, int64(math.MinInt64), "main@sha1:"+strings.Repeat("a", 100_000))
		f.Add(amount, math.MaxInt64, math.MinInt64, int64(math.MaxInt64), "\x1b[31m\nfake: line")
		f.Add(amount, 1, -1, int64(5), "a:b:\u202e")
	}
	f.Fuzz(func(t *testing.T, amount string, m, n int, seconds int64, text string) {
		now := time.Date(2026, 11, 27, 8, 0, 0, 0, time.UTC)
		row := lkeplanv1alpha1.ForecastRow{Name: text, Forecast: lkeplanv1alpha1.NodeForecast{
			Replaced: &m, Deleted: &n, Removable: &m, Nodes: &n, Outdated: &m, Cost: amount, CostFloor: amount,
			CostCeiling: amount,
		}, Actual: lkeplanv1alpha1.NodeActual{
			Replaced: n, Outdated: &m, Seconds: seconds, CostSeconds: seconds, NodesMean: amount, CostMean: amount,
			CostLowest:  amount,
			CostHighest: amount, NodesLowest: &m, NodesHighest: &n,
		}}
		e := lkeplanv1alpha1.RevisionForecast{Revision: text, Commit: text, Objects: text, Total: row, PoolsLeftOut: n}
		for range 2 * MaxPools {
			e.Pools = append(e.Pools, row)
			e.Counted = append(e.Counted, text)
		}
		var entries []lkeplanv1alpha1.RevisionForecast
		for range 2 * MaxEntries {
			entries = append(entries, e)
		}
		drift := []lkeplanv1alpha1.DriftStatus{{Object: "NodePool " + text, Path: "spec.limits" + text, Owners: []string{text,
			text}}}
		bounded := Bounded(entries)
		if len(bounded) != MaxEntries || len(bounded[0].Pools) != MaxPools || bounded[0].PoolsLeftOut < MaxPools {
			t.Errorf("%d entries with %d pools, and %d left out", len(bounded), len(bounded[0].Pools), bounded[0].PoolsLeftOut)
		}
		if strings.HasPrefix(amount, "-") && CostText(amount) != "unknown" {
			t.Errorf("a cost of %q is %s", amount, CostText(amount))
		}
		for _, e := range bounded {
			texts := []string{CommitText(e), MeasuredText(e, now), Progress(e, e.Total, drift), Progress(e, e.Pools[0], drift),
				ReplacedText(e.Total), RangeText(e.Total.Forecast), CostText(e.Total.Actual.CostMean),
				NodesText(e.Total.Actual.NodesMean)}
			for _, found := range Findings(e, drift) {
				texts = append(texts, found.Text)
			}
			for _, line := range texts {
				if len(line) > 2000 || !utf8.ValidString(line) || strings.ContainsAny(line, "\n\r\x1b\u202e") ||
					strings.Contains(line, "$-") {
					t.Fatalf("%q", line)
				}
			}
		}
		np := &lkeplanv1alpha1.NodePlan{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b"}}
		np.Status.Forecasts = entries
		watch := NewWatch(Owner{"a", "b"}, *Current(np))
		for i := range 3 {
			watch.Look(Sample{text: Pool{Nodes: 2}}, [][]linodev1alpha1.GoneNode{nil}, now.Add(time.Duration(i)*time.Minute))
		}
		if a := watch.Entry().Total.Actual; a.Seconds < 120 || a.Seconds > maxSeconds+120 {
			t.Errorf("%d seconds are measured", a.Seconds)
		}
	})
}
