// Package forecast compares what the plan of a revision foretold with what happened after it was
// applied: which nodes were replaced, and what the pools cost.
//
// It is pure: it turns a plan into an entry of a NodePlan's status (Foretell), adds entries to the
// status (Open), adds what was seen (Watch, in measure.go), and explains differences (explain.go).
// It must not know how nodes are read and how a status is written.
package forecast

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/catalog"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// The bounds of a status. An entry with ten pools has about 6 kB.
const (
	MaxEntries = 10
	MaxPools   = 10
	maxCounted = 4 * linodev1alpha1.MostGone
)

// Revision is a revision that is about to be applied.
type Revision struct {
	Name    string // of the source
	Commit  string // that the source was built from; "" if unknown
	Objects string // the digest of its objects
}

// Pools is what is known of the pools of a NodePlan before a revision is applied.
type Pools struct {
	Costs  map[string]plan.Cost // of the declared pools, by name; nil if unknown
	Sample Sample               // the live pools
}

// Foretell returns the entry of a revision from the plan that the guards have evaluated. What the
// plan does not know is absent.
func Foretell(r Revision, p plan.Plan, pools Pools, now time.Time) lkeplanv1alpha1.RevisionForecast {
	entry := lkeplanv1alpha1.RevisionForecast{
		Revision: r.Name, Commit: r.Commit, Objects: r.Objects, Applied: stamp(now),
	}
	rows := map[string]*lkeplanv1alpha1.ForecastRow{}
	row := func(name string) *lkeplanv1alpha1.ForecastRow {
		if rows[name] == nil {
			rows[name] = &lkeplanv1alpha1.ForecastRow{Name: name, Forecast: lkeplanv1alpha1.NodeForecast{
				Replaced: new(int), Deleted: new(int), Removable: new(int),
			}}
			pools.Sample.row(name).writeTo(&rows[name].Forecast)
		}
		return rows[name]
	}
	for name, c := range pools.Costs {
		writeCost(&row(name).Forecast, c)
	}
	for _, c := range p.Changes {
		if c.Kind != "NodePool" {
			continue
		}
		f := &row(c.Name).Forecast
		if c.After != nil {
			writeCost(f, *c.After)
		}
		switch {
		case c.Impact == nil: // it has no nodes, or they stay
		case !c.Impact.Known:
			f.Replaced, f.Deleted, f.Removable = nil, nil, nil
		case c.Prune == plan.StartRemoval:
			f.Deleted = &c.Impact.Rolled
		default:
			f.Replaced, f.Deleted, f.Removable = &c.Impact.Rolled, &c.Impact.Deleted, &c.Impact.Removable
		}
	}
	s := p.Summary()
	total := &entry.Total.Forecast
	total.Replaced, total.Removable = s.NodesRolled.Number(), s.NodesRemovable.Number()
	total.Deleted = s.NodesDeleted.Plus(s.NodesDrained).Number()
	pools.Sample.Total().writeTo(total)
	if pools.Costs != nil {
		writeCost(total, p.After)
	}
	for _, r := range rows {
		entry.Pools = append(entry.Pools, *r)
	}
	slices.SortFunc(entry.Pools, func(a, b lkeplanv1alpha1.ForecastRow) int {
		return cmp.Or(cmp.Compare(affected(b.Forecast), affected(a.Forecast)),
			cmp.Compare(amount(b.Forecast.Cost), amount(a.Forecast.Cost)), strings.Compare(a.Name, b.Name))
	})
	if left := len(entry.Pools) - MaxPools; left > 0 {
		entry.Pools, entry.PoolsLeftOut = entry.Pools[:MaxPools], left
	}
	return entry
}

// affected counts the nodes that a forecast is about; unknown numbers come first.
func affected(f lkeplanv1alpha1.NodeForecast) (n int) {
	for _, of := range []*int{f.Replaced, f.Deleted, f.Removable} {
		if of == nil {
			return 1 << 30
		}
		n += *of
	}
	return n
}

// amount is an amount of dollars; 0 if it is unknown.
func amount(text string) catalog.Money {
	m, err := catalog.ParseMoney(text)
	if err != nil {
		return 0
	}
	return m
}

func writeCost(f *lkeplanv1alpha1.NodeForecast, c plan.Cost) {
	f.CostFloor, f.CostCeiling, f.Unlimited = "", "", c.Ceiling.Unlimited
	if !c.FloorUnknown {
		f.CostFloor = c.Floor.String()
	}
	if c.Ceiling.Known() {
		f.CostCeiling = c.Ceiling.Monthly.String()
	}
}

// writeTo writes the state before a revision.
func (p Pool) writeTo(f *lkeplanv1alpha1.NodeForecast) {
	f.Nodes, f.Outdated = &p.Nodes, p.Outdated
	if p.Cost != nil {
		f.Cost = p.Cost.String()
	}
}

// Changes reports whether applying a revision opens an entry: it declares other objects than the
// entry that is open, and than was last applied (before; "" if that is unknown or nothing was).
func Changes(np *lkeplanv1alpha1.NodePlan, r Revision, before string) bool {
	if before == r.Objects || before == "" && np.Status.LastAppliedRevision == r.Name {
		return false
	}
	open := Current(np)
	return open == nil || open.Objects != r.Objects
}

// Current is the open entry of a NodePlan; nil if none is.
func Current(np *lkeplanv1alpha1.NodePlan) *lkeplanv1alpha1.RevisionForecast {
	if all := np.Status.Forecasts; len(all) > 0 && all[0].Closed == nil {
		return &all[0]
	}
	return nil
}

// Open closes the open entry of a NodePlan, and adds another one. removed are the lists of removed
// nodes in the status of node classes: those that already name the revision are not counted.
func Open(np *lkeplanv1alpha1.NodePlan, entry lkeplanv1alpha1.RevisionForecast, removed [][]linodev1alpha1.GoneNode) {
	if open := Current(np); open != nil {
		open.Closed, open.Counted, open.RemovedUntil = &entry.Applied, nil, nil
	}
	own := Owner{Namespace: np.Namespace, Name: np.Name}
	for _, list := range removed {
		for _, g := range list {
			if own.replaced(entry, g) {
				entry.Counted = append(entry.Counted, g.NodeClaim)
			}
		}
	}
	entry.RemovedUntil = latest(nil, removed)
	others := np.Status.Forecasts[:min(len(np.Status.Forecasts), MaxEntries-1)]
	np.Status.Forecasts = append([]lkeplanv1alpha1.RevisionForecast{entry}, others...)
}

// RollBack closes the open entry of a NodePlan, whose first wave has failed, and opens one for the
// previous revision. No plan foretold what the rollback does to nodes: that is unknown. The range
// of the cost is the one that the previous revision had.
func RollBack(np *lkeplanv1alpha1.NodePlan, previous Revision, pools Pools, removed [][]linodev1alpha1.GoneNode,
	now time.Time) {
	open := Current(np)
	if open == nil || open.Objects == previous.Objects {
		return
	}
	open.RolledBack = true
	entry := Foretell(previous, plan.Plan{}, pools, now)
	entry.Rollback = true
	unknown := func(f *lkeplanv1alpha1.NodeForecast) { f.Replaced, f.Deleted, f.Removable = nil, nil, nil }
	for i := range entry.Pools {
		unknown(&entry.Pools[i].Forecast)
	}
	unknown(&entry.Total.Forecast)
	total := &entry.Total.Forecast
	total.CostFloor, total.CostCeiling, total.Unlimited = "", "", false
	for _, e := range np.Status.Forecasts {
		if e.Objects == previous.Objects {
			was := e.Total.Forecast
			total.CostFloor, total.CostCeiling, total.Unlimited = was.CostFloor, was.CostCeiling, was.Unlimited
			break
		}
	}
	Open(np, entry, removed)
}

// Measured returns entries with what was measured until now according to the live entries of the
// same NodePlan. Another writer may have added that since the entries were read.
func Measured(entries, live []lkeplanv1alpha1.RevisionForecast) []lkeplanv1alpha1.RevisionForecast {
	for i := range entries {
		for _, l := range live {
			if Same(entries[i], l) && longer(l, entries[i]) {
				closed, rolledBack := entries[i].Closed, entries[i].RolledBack
				l.DeepCopyInto(&entries[i])
				if entries[i].Closed, entries[i].RolledBack = closed, rolledBack; closed != nil {
					entries[i].Counted, entries[i].RemovedUntil = nil, nil
				}
			}
		}
	}
	return entries
}

// longer reports whether more was measured for a than for b.
func longer(a, b lkeplanv1alpha1.RevisionForecast) bool {
	m, n := a.Total.Actual, b.Total.Actual
	return cmp.Or(cmp.Compare(m.Seconds, n.Seconds), cmp.Compare(m.Replaced, n.Replaced)) > 0
}

// Same reports whether two entries are about the same application of a revision.
func Same(a, b lkeplanv1alpha1.RevisionForecast) bool {
	return a.Revision == b.Revision && a.Objects == b.Objects && a.Applied.Equal(&b.Applied)
}

// equal reports whether two entries have the same content.
func equal(a, b lkeplanv1alpha1.RevisionForecast) bool { return equality.Semantic.DeepEqual(a, b) }

func stamp(t time.Time) metav1.Time { return metav1.NewTime(t.UTC().Truncate(time.Second)) }
