package forecast_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/engine/forecast"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/catalog"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

const dollar = catalog.Dollar

func pools(nodes int) forecast.Sample {
	cost := catalog.Money(nodes) * 24 * dollar
	return forecast.Sample{"web": {Nodes: nodes, Outdated: new(int), Cost: &cost}}
}

// started is a watch of a new entry after its first look.
func started(s forecast.Sample) *forecast.Watch {
	np := &lkeplanv1alpha1.NodePlan{}
	forecast.Open(np, forecast.Foretell(forecast.Revision{Name: "r", Objects: "a"}, plan.Plan{}, forecast.Pools{Sample: s},
		began), nil)
	w := forecast.NewWatch(owner, np.Status.Forecasts[0])
	w.Look(s, nil, began)
	return w
}

func TestMeanIsWeightedByTime(t *testing.T) {
	w := started(pools(2))
	w.Look(pools(8), nil, began.Add(15*time.Minute)) // 2 nodes for 15 minutes
	w.Look(pools(8), nil, began.Add(20*time.Minute)) // 8 nodes for 5 minutes
	a := w.Entry().Total.Actual
	got := fmt.Sprint(a.Seconds, " ", a.NodesMean, " ", *a.NodesLowest, " ", *a.NodesHighest, " ", a.CostMean, " ",
		a.CostLowest, " ",
		a.CostHighest)
	if want := "1200 3.5 2 8 84 48 192"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestTimeThatDidNotPassIsNotMeasured(t *testing.T) {
	for name, test := range map[string]struct {
		looks []time.Duration // since the first look
		want  int64
	}{
		"every second": {[]time.Duration{time.Second, 2 * time.Second, 3 * time.Second}, 3},
		"twice in a second": {[]time.Duration{600 * time.Millisecond, 1200 * time.Millisecond,
			1800 * time.Millisecond}, 1},
		"the clock jumps back":      {[]time.Duration{time.Minute, -time.Hour, -time.Hour + time.Minute}, 120},
		"the process was suspended": {[]time.Duration{time.Minute, 10 * time.Hour, 10*time.Hour + time.Minute}, 120},
		"the clock jumps ahead and back": {[]time.Duration{time.Minute, 10 * time.Hour, 2 * time.Minute, 3 * time.Minute},
			120},
	} {
		t.Run(name, func(t *testing.T) {
			w := started(pools(2))
			for _, at := range test.looks {
				w.Look(pools(2), nil, began.Add(at))
			}
			if a := w.Entry().Total.Actual; a.Seconds != test.want || a.CostMean != "48" {
				t.Errorf("%d seconds at $%s, want %d at $48", a.Seconds, a.CostMean, test.want)
			}
		})
	}
}

func TestUnknownPriceIsNotZero(t *testing.T) {
	unknown := pools(2)
	unknown["web"] = forecast.Pool{Nodes: 2, Outdated: new(int)}
	w := started(unknown)
	w.Look(pools(2), nil, began.Add(10*time.Minute))
	w.Look(pools(2), nil, began.Add(20*time.Minute))
	e := w.Entry()
	if a := e.Total.Actual; a.Seconds != 1200 || a.CostSeconds != 600 || a.CostMean != "48" || a.CostLowest != "48" {
		t.Errorf("%+v", a)
	}
	if e.Total.Forecast.Cost != "" {
		t.Errorf("the forecast knows the cost of nodes without a price: %s", e.Total.Forecast.Cost)
	}
	if got := texts(forecast.Findings(e, nil)); !strings.Contains(got, "the cost is unknown for 10m") {
		t.Errorf("findings:\n%s", got)
	}
}

func TestSampleLeavesOutNodesOfOtherPools(t *testing.T) {
	node := func(pool, planType string) plan.Node {
		return plan.Node{Pool: pool, Labels: map[string]string{"node.kubernetes.io/instance-type": planType}}
	}
	price := func(planType string) (catalog.Money, bool) { return 24 * dollar, planType == "g6-standard-2" }
	status := []lkeplanv1alpha1.PoolStatus{
		{Name: "web", Outdated: 1}, {Name: "gpu"}, {Name: "old", Condemned: &lkeplanv1alpha1.CondemnedStatus{}},
	}
	s := forecast.SampleOf(status, []plan.Node{
		node("web", "g6-standard-2"), node("web", ""), node("", "g6-standard-2"), node("other", "g6-standard-2"),
		node("gpu", "new-plan"), node("old", "g6-standard-2"),
	}, price)
	if p := s["web"]; p.Nodes != 2 || *p.Outdated != 1 || *p.Cost != 24*dollar {
		t.Errorf("pool web: %+v", p)
	}
	if p := s["gpu"]; p.Nodes != 1 || p.Cost != nil {
		t.Errorf("pool gpu: %+v", p)
	}
	if p := s.Total(); p.Nodes != 3 || p.Cost != nil {
		t.Errorf("total: %+v", p)
	}
	if p := forecast.SampleOf(status, nil, nil).Total(); p.Cost != nil {
		t.Errorf("without prices the cost is %v", p.Cost)
	}
}

func TestForetellKeepsWhatThePlanForetold(t *testing.T) {
	change := func(pool string, im plan.Impact) plan.Change {
		return plan.Change{Addr: "pool." + pool, Kind: "NodePool", Name: pool, Effect: plan.Roll, Action: plan.Update,
			Impact: &im}
	}
	drained := change("old", plan.Impact{Known: true, Rolled: 2})
	drained.Prune = plan.StartRemoval
	class := plan.Change{Kind: "LinodeNodeClass", Name: "default", Loosens: true, Action: plan.Update}
	unlimited := plan.Cost{Ceiling: plan.Ceiling{Unlimited: true}}
	p := plan.Plan{Counted: true, Changes: []plan.Change{change("web", plan.Impact{Known: true, Rolled: 2}), drained,
		class}}
	p.After = plan.Cost{Ceiling: plan.Ceiling{Monthly: 72 * dollar}}
	e := forecast.Foretell(forecast.Revision{Name: "r", Commit: "c", Objects: "a"}, p, forecast.Pools{
		Costs: map[string]plan.Cost{
			"web": {Floor: 24 * dollar, Ceiling: plan.Ceiling{Monthly: 72 * dollar}}, "batch": unlimited,
			"gpu": {FloorUnknown: true, Ceiling: plan.Ceiling{AtLeast: true}},
		},
		Sample: pools(2),
	}, began)
	var got []string
	for _, row := range append(e.Pools, e.Total) {
		f := row.Forecast
		removable := "unknown"
		if f.Removable != nil {
			removable = fmt.Sprint(*f.Removable)
		}
		got = append(got, fmt.Sprintf("%s: replaced %d deleted %d removable %s nodes %d cost %s", row.Name, *f.Replaced,
			*f.Deleted,
			removable, *f.Nodes, forecast.RangeText(f)))
	}
	want := []string{
		"web: replaced 2 deleted 0 removable 0 nodes 2 cost $24-$72", "old: replaced 0 deleted 2 removable 0 nodes 0 cost " +
			"unknown",
		"batch: replaced 0 deleted 0 removable 0 nodes 0 cost $0 or more", "gpu: replaced 0 deleted 0 removable 0 nodes 0 " +
			"cost unknown",
		": replaced 2 deleted 2 removable unknown nodes 2 cost $0-$72",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestStatusIsBounded(t *testing.T) {
	np, costs := &lkeplanv1alpha1.NodePlan{}, map[string]plan.Cost{}
	for i := range 40 {
		costs[fmt.Sprintf("pool-%02d", i)] = plan.Cost{}
	}
	for i := range 30 {
		r := forecast.Revision{Name: fmt.Sprint(i), Objects: fmt.Sprint(i)}
		forecast.Open(np, forecast.Foretell(r, plan.Plan{}, forecast.Pools{Costs: costs},
			began.Add(time.Duration(i)*time.Hour)), nil)
	}
	all := np.Status.Forecasts
	if len(all) != forecast.MaxEntries || len(all[0].Pools) != forecast.MaxPools || all[0].PoolsLeftOut != 30 {
		t.Errorf("%d entries with %d pools, %d left out", len(all), len(all[0].Pools), all[0].PoolsLeftOut)
	}
	if all[0].Revision != "29" || all[0].Closed != nil || all[1].Closed == nil || !all[1].Closed.Equal(&all[0].Applied) {
		t.Errorf("entries %+v and %+v", all[0], all[1])
	}
	w := forecast.NewWatch(owner, all[0])
	for i := range 1000 { // one class after another is read, with other nodes
		var gone []linodev1alpha1.GoneNode
		for j := range linodev1alpha1.MostGone {
			gone = append(gone, linodev1alpha1.GoneNode{NodeClaim: fmt.Sprint(i, "-", j), Reason: "Drifted",
				NodePlan: "infra/prod", Revision: "29"})
		}
		w.Look(nil, [][]linodev1alpha1.GoneNode{gone}, began)
	}
	if n := len(w.Entry().Counted); n > 4*linodev1alpha1.MostGone {
		t.Errorf("%d names are kept", n)
	}
}

// TestAStaleListCountsNoNodeAgain: after a restart, a cache can be older than the last measurement.
func TestAStaleListCountsNoNodeAgain(t *testing.T) {
	w := started(pools(2))
	var gone []linodev1alpha1.GoneNode
	for i := range 30 {
		gone = append(gone, linodev1alpha1.GoneNode{NodeClaim: fmt.Sprint("web-", i), NodePool: "web", Reason: "Drifted",
			NodePlan: "infra/prod", Revision: "r", Time: metav1.NewTime(began.Add(time.Duration(i) * time.Minute))})
	}
	for _, n := range []int{10, 30, 5, 30, 0, 30} {
		w = forecast.NewWatch(owner, through(t, w.Entry()))
		w.Look(pools(2), [][]linodev1alpha1.GoneNode{gone[:n]}, began)
	}
	if a := w.Entry().Total.Actual; a.Replaced != 30 || a.ReplacedAtLeast ||
		!a.LastReplaced.Time.Equal(began.Add(29*time.Minute)) {
		t.Errorf("%+v", a)
	}
}

func TestRevisionsThatOpenAnEntry(t *testing.T) {
	at := func(applied string, open ...lkeplanv1alpha1.RevisionForecast) *lkeplanv1alpha1.NodePlan {
		np := &lkeplanv1alpha1.NodePlan{}
		np.Status.LastAppliedRevision, np.Status.Forecasts = applied, open
		return np
	}
	closed := metav1.NewTime(began)
	two := forecast.Revision{Name: "2", Objects: "b"}
	for name, test := range map[string]struct {
		np     *lkeplanv1alpha1.NodePlan
		before string
		want   bool
	}{
		"the first": {at(""), "", true},
		"another": {at("1", lkeplanv1alpha1.RevisionForecast{Revision: "1", Objects: "a"}),
			"a", true},
		"it changes no object": {at("1", lkeplanv1alpha1.RevisionForecast{Revision: "1", Objects: "b"}),
			"b", false},
		"it is retried": {at("1", lkeplanv1alpha1.RevisionForecast{Revision: "2", Objects: "b"}),
			"a", false},
		"it was applied by an earlier release":    {at("2"), "b", false},
		"it was applied and its record was lost":  {at("2"), "", false},
		"the record of the previous one was lost": {at("1"), "", true},
		"it was rolled back, and is applied again": {at("1", lkeplanv1alpha1.RevisionForecast{Revision: "1", Objects: "a"},
			lkeplanv1alpha1.RevisionForecast{Revision: "2", Objects: "b", Closed: &closed}), "a", true},
		"the same revision with another variable": {at("2", lkeplanv1alpha1.RevisionForecast{Revision: "2", Objects: "a"}),
			"a", true},
	} {
		if got := forecast.Changes(test.np, two, test.before); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestRollbackClosesTheEntryAndOpensAnother(t *testing.T) {
	np := &lkeplanv1alpha1.NodePlan{}
	one, two := forecast.Revision{Name: "1", Objects: "a"}, forecast.Revision{Name: "2", Objects: "b"}
	cost := plan.Plan{After: plan.Cost{Ceiling: plan.Ceiling{Monthly: 72 * dollar}}}
	all := forecast.Pools{Costs: map[string]plan.Cost{"web": cost.After}, Sample: pools(2)}
	forecast.Open(np, forecast.Foretell(one, cost, all, began), nil)
	forecast.Open(np, forecast.Foretell(two, cost, all, began.Add(time.Hour)), nil)
	forecast.RollBack(np, one, all, nil, began.Add(2*time.Hour))
	forecast.RollBack(np, one, all, nil, began.Add(3*time.Hour)) // it is recorded once
	var got []string
	for _, e := range np.Status.Forecasts {
		got = append(got, fmt.Sprint(e.Revision, " ", e.Closed != nil, " ", e.RolledBack, " ", e.Rollback, " ",
			forecast.ReplacedText(e.Total), " ",
			forecast.RangeText(e.Total.Forecast)))
	}
	want := []string{"1 false false true 0 of unknown $0-$72", "2 true true false 0 of 0 $0-$72",
		"1 true false false 0 of 0 $0-$72"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

// TestAWriterKeepsWhatAnotherHasMeasured: a reconciliation writes the status that it has read before,
// with a new entry.
func TestAWriterKeepsWhatAnotherHasMeasured(t *testing.T) {
	np := &lkeplanv1alpha1.NodePlan{}
	forecast.Open(np, forecast.Foretell(forecast.Revision{Name: "1", Objects: "a"}, plan.Plan{},
		forecast.Pools{Sample: pools(2)}, began), nil)
	w := forecast.NewWatch(owner, np.Status.Forecasts[0])
	w.Look(pools(2), nil, began)
	w.Look(pools(2), nil, began.Add(10*time.Minute))
	live := []lkeplanv1alpha1.RevisionForecast{w.Entry()}
	forecast.Open(np, forecast.Foretell(forecast.Revision{Name: "2", Objects: "b"}, plan.Plan{}, forecast.Pools{},
		began.Add(time.Hour)), nil)
	all := forecast.Measured(slices.Clone(np.Status.Forecasts), live)
	if all[1].Total.Actual.Seconds != 600 || all[1].Closed == nil || all[0].Total.Actual.Seconds != 0 ||
		all[0].Closed != nil {
		t.Errorf("%+v", all)
	}
}

func TestFindings(t *testing.T) {
	n := func(n int) *int { return &n }
	row := func(f lkeplanv1alpha1.NodeForecast, a lkeplanv1alpha1.NodeActual) lkeplanv1alpha1.RevisionForecast {
		r := lkeplanv1alpha1.ForecastRow{Name: "web", Forecast: f, Actual: a}
		return lkeplanv1alpha1.RevisionForecast{Total: r, Pools: []lkeplanv1alpha1.ForecastRow{r}}
	}
	limits := []lkeplanv1alpha1.DriftStatus{
		{Object: "NodePool other", Path: "spec.limits.nodes", Owners: []string{"helm"}},
		{Object: "NodePool web", Path: "spec.limits.nodes", Owners: []string{"kubectl-edit"}},
	}
	range72 := lkeplanv1alpha1.NodeForecast{CostFloor: "0", CostCeiling: "72"}
	for name, test := range map[string]struct {
		e       lkeplanv1alpha1.RevisionForecast
		drift   []lkeplanv1alpha1.DriftStatus
		outside bool
		want    string
	}{
		"as foretold": {row(lkeplanv1alpha1.NodeForecast{Replaced: n(2), CostFloor: "0", CostCeiling: "72"},
			lkeplanv1alpha1.NodeActual{Replaced: 2, Outdated: n(0), CostHighest: "48"}), nil, false, ""},
		"one is left": {row(lkeplanv1alpha1.NodeForecast{Replaced: n(2)}, lkeplanv1alpha1.NodeActual{Replaced: 1,
			Outdated: n(1)}), nil, false,
			"1 node is still to be replaced."},
		"one has gone": {row(lkeplanv1alpha1.NodeForecast{Replaced: n(2)}, lkeplanv1alpha1.NodeActual{Replaced: 1,
			Outdated: n(0)}), nil, false,
			"1 node was removed for another reason before Karpenter could replace them, or while the controller did not run."},
		"it is unknown how many are left": {row(lkeplanv1alpha1.NodeForecast{Replaced: n(2)}, lkeplanv1alpha1.NodeActual{}),
			nil, false, ""},
		"more": {row(lkeplanv1alpha1.NodeForecast{Replaced: n(2)}, lkeplanv1alpha1.NodeActual{Replaced: 3}), nil, true,
			"1 node was replaced more than in the forecast: pods requested nodes while the revision was applied, or a " +
				"manual change " +
				"made nodes outdated."},
		"of an earlier revision": {row(lkeplanv1alpha1.NodeForecast{Replaced: n(2), Outdated: n(1)},
			lkeplanv1alpha1.NodeActual{Replaced: 3}), nil,
			false, "1 replaced node had already been outdated because of an earlier revision."},
		"the limit is reached": {row(range72, lkeplanv1alpha1.NodeActual{CostHighest: "72"}), nil, false,
			"the nodes cost up to $72 a month, the maximum of the forecast: a limit was reached."},
		"a manual change": {row(range72, lkeplanv1alpha1.NodeActual{CostHighest: "96"}), limits, true,
			"the nodes cost up to $96 a month; the forecast was at most $72. Cause: kubectl-edit has set spec.limits.nodes of " +
				"pool web."},
		"a lower limit": {row(lkeplanv1alpha1.NodeForecast{Cost: "96", CostFloor: "0", CostCeiling: "72"},
			lkeplanv1alpha1.NodeActual{CostHighest: "96"}), nil, true,
			"the nodes cost up to $96 a month; the forecast was at most $72. Cause: they cost $96 when the revision was applied, " +
				"and " +
				"Karpenter does not remove nodes because of a lower limit."},
		"unlimited": {row(lkeplanv1alpha1.NodeForecast{CostFloor: "0", Unlimited: true},
			lkeplanv1alpha1.NodeActual{CostHighest: "9600"}), nil,
			false, ""},
		"more pods": {row(lkeplanv1alpha1.NodeForecast{Nodes: n(2)}, lkeplanv1alpha1.NodeActual{Seconds: 60, CostSeconds: 60,
			NodesMean: "4.5"}),
			nil, false, "the pool had 2 nodes when the revision was applied, and 4.5 on average since: pods, buffers or " +
				"replicas requested more."},
	} {
		found := forecast.Findings(test.e, test.drift)
		if got := texts(found); got != test.want || forecast.Outside(found) != test.outside {
			t.Errorf("%s: %q, outside: %v, want %q", name, got, forecast.Outside(found), test.want)
		}
	}
}

func texts(found []forecast.Finding) string {
	var all []string
	for _, f := range found {
		all = append(all, f.Text)
	}
	return strings.Join(all, "\n")
}

// TestAnEditedStatusEndsInNoOverflow: a user who can write the status can write any number.
func TestAnEditedStatusEndsInNoOverflow(t *testing.T) {
	w := started(pools(2))
	e := w.Entry()
	e.Total.Actual = lkeplanv1alpha1.NodeActual{Seconds: 1<<63 - 1, CostSeconds: -1 << 63, NodesMean: "999999999999",
		CostMean: "-999999999999"}
	w = forecast.NewWatch(owner, e)
	w.Look(pools(2), nil, began)
	w.Look(pools(2), nil, began.Add(15*time.Minute))
	a := w.Entry().Total.Actual
	if a.Seconds <= 0 || a.CostSeconds != 900 || a.CostMean != "48" || strings.HasPrefix(a.NodesMean, "-") {
		t.Errorf("%+v", a)
	}
}
