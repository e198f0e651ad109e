package forecast

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/catalog"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

const (
	// WriteEvery is how often what was measured is written while no count changes.
	WriteEvery = 15 * time.Minute
	// WriteAtMost is the time between two writes while counts change.
	WriteAtMost = 30 * time.Second
	// maxGap is the longest time between two looks that is measured. A process that was
	// suspended for longer does not know what happened meanwhile.
	maxGap = 2 * WriteEvery
	// maxAmount bounds amounts, so that their product with maxGap fits into 64 bits.
	maxAmount = 1_000_000_000 * catalog.Dollar
	// maxSeconds bounds the measured time: 300 years.
	maxSeconds = 10_000_000_000
)

// Pool is a pool at one moment.
type Pool struct {
	Nodes    int
	Outdated *int           // nodes that are still to be replaced; nil if unknown
	Cost     *catalog.Money // monthly; nil if the price of a node is unknown
	Draining bool           // it is no longer declared
}

// Sample is the pools of a NodePlan at one moment, by name.
type Sample map[string]Pool

// SampleOf returns the pools of a NodePlan. Nodes of other pools, and of none, are left out. A node
// without a plan type costs nothing yet. If price is nil, no price is known.
func SampleOf(
	pools []lkeplanv1alpha1.PoolStatus, nodes []plan.Node, price func(planType string) (catalog.Money, bool),
) Sample {
	s := Sample{}
	for _, p := range pools {
		pool := Pool{Outdated: &p.Outdated, Draining: p.Condemned != nil}
		if price != nil {
			pool.Cost = new(catalog.Money)
		}
		s[p.Name] = pool
	}
	for _, n := range nodes {
		p, ours := s[n.Pool]
		if !ours {
			continue
		}
		p.Nodes++
		if planType := n.Labels[corev1.LabelInstanceTypeStable]; planType != "" && p.Cost != nil {
			if monthly, known := price(planType); known {
				*p.Cost = min(*p.Cost+monthly, maxAmount)
			} else {
				p.Cost = nil
			}
		}
		s[n.Pool] = p
	}
	return s
}

// row is a pool; without nodes if it does not exist yet.
func (s Sample) row(name string) Pool {
	if p, ok := s[name]; ok {
		return p
	}
	return Pool{Outdated: new(int), Cost: new(catalog.Money)}
}

// Total sums up the declared pools.
func (s Sample) Total() Pool {
	t := Pool{Outdated: new(int), Cost: new(catalog.Money)}
	for _, p := range s {
		if p.Draining {
			continue
		}
		t.Nodes += p.Nodes
		if p.Outdated == nil || t.Outdated == nil {
			t.Outdated = nil
		} else {
			*t.Outdated += *p.Outdated
		}
		if p.Cost == nil || t.Cost == nil {
			t.Cost = nil
		} else {
			*t.Cost = min(*t.Cost+*p.Cost, maxAmount)
		}
	}
	return t
}

// Owner is the name of a NodePlan.
type Owner struct{ Namespace, Name string }

// replaced reports whether a node was replaced because of a revision.
func (o Owner) replaced(e lkeplanv1alpha1.RevisionForecast, g linodev1alpha1.GoneNode) bool {
	return g.Reason == string(karpv1.DisruptionReasonDrifted) && g.NodePlan == o.Namespace+"/"+o.Name &&
		g.Revision == cmp.Or(e.Commit, e.Revision)
}

// Watch measures the open entry of a NodePlan in one process. What it has measured since the last
// write is lost with the process: a time without measurements is unknown.
type Watch struct {
	owner   Owner
	stored  lkeplanv1alpha1.RevisionForecast // as in the API server
	now     lkeplanv1alpha1.RevisionForecast // with what was measured since
	at      time.Time                        // of the last look, by the clock of the process
	last    Sample
	written time.Time
	news    bool // a count has changed since the last write
}

// NewWatch starts to measure an entry as it is stored. Nothing is measured before the first look.
func NewWatch(owner Owner, stored lkeplanv1alpha1.RevisionForecast) *Watch {
	return &Watch{owner: owner, stored: *stored.DeepCopy(), now: *stored.DeepCopy()}
}

// Of reports whether the watch measures an entry, whose measurements may be older.
func (w *Watch) Of(e lkeplanv1alpha1.RevisionForecast) bool { return Same(w.stored, e) }

// Follows reports whether an entry in the API server is the one that the watch has read or written
// last. Otherwise another process has measured, too, and what this one has measured is dropped.
func (w *Watch) Follows(live lkeplanv1alpha1.RevisionForecast) bool { return equal(w.stored, live) }

// Entry is the entry with everything that was measured.
func (w *Watch) Entry() lkeplanv1alpha1.RevisionForecast { return *w.now.DeepCopy() }

// Last are the pools at the last look; nil before it.
func (w *Watch) Last() Sample { return w.last }

// Look adds what a process sees. The pools at the previous look count for the time since then. The
// clock must be monotonic, or may jump: time that did not pass, or too much of it, is not measured.
func (w *Watch) Look(s Sample, removed [][]linodev1alpha1.GoneNode, now time.Time) {
	passed := now.Sub(w.at)
	if w.at.IsZero() {
		w.written = now
	}
	if !w.at.IsZero() && passed >= time.Second && passed <= maxGap {
		span := int64(passed / time.Second)
		add(&w.now.Total.Actual, w.last.Total(), span)
		for i := range w.now.Pools {
			if p, ok := w.last[w.now.Pools[i].Name]; ok {
				add(&w.now.Pools[i].Actual, p, span)
			}
		}
		w.at = w.at.Add(time.Duration(span) * time.Second) // the rest counts in the next look
	} else if passed < 0 || passed > maxGap || w.at.IsZero() {
		w.at = now
	}
	if w.now.MeasuredUntil == nil || now.After(w.now.MeasuredUntil.Time) {
		until := stamp(now)
		w.now.MeasuredUntil = &until
	}
	before := *w.now.DeepCopy()
	see(&w.now.Total.Actual, s.Total())
	for i := range w.now.Pools {
		if p, ok := s[w.now.Pools[i].Name]; ok {
			see(&w.now.Pools[i].Actual, p)
		}
	}
	w.count(s, removed)
	sameSize := func(a, b Pool) bool { return a.Nodes == b.Nodes }
	w.news = w.news || !equal(before, w.now) || w.last != nil && !maps.EqualFunc(w.last, s, sameSize)
	w.last = s
}

// add adds a span of seconds in which a pool did not change.
func add(a *lkeplanv1alpha1.NodeActual, p Pool, span int64) {
	a.Seconds, a.CostSeconds = min(max(a.Seconds, 0), maxSeconds), min(max(a.CostSeconds, 0), maxSeconds)
	a.NodesMean = mean(a.NodesMean, a.Seconds, catalog.Money(min(p.Nodes, 1_000_000))*catalog.Dollar, span)
	a.Seconds += span
	if p.Cost != nil {
		a.CostMean = mean(a.CostMean, a.CostSeconds, *p.Cost, span)
		a.CostSeconds += span
	}
}

// mean adds an amount for a span to a mean over seconds.
func mean(of string, seconds int64, value catalog.Money, span int64) string {
	old := max(0, min(amount(of), maxAmount))
	if seconds <= 0 {
		return value.String()
	}
	return (old + (value-old)*catalog.Money(span)/catalog.Money(seconds+span)).String()
}

// see updates the lowest and the highest values.
func see(a *lkeplanv1alpha1.NodeActual, p Pool) {
	a.Outdated = p.Outdated
	if a.NodesLowest == nil || p.Nodes < *a.NodesLowest {
		a.NodesLowest = &p.Nodes
	}
	if a.NodesHighest == nil || p.Nodes > *a.NodesHighest {
		a.NodesHighest = &p.Nodes
	}
	if p.Cost == nil {
		return
	}
	if a.CostLowest == "" || *p.Cost < amount(a.CostLowest) {
		a.CostLowest = p.Cost.String()
	}
	if a.CostHighest == "" || *p.Cost > amount(a.CostHighest) {
		a.CostHighest = p.Cost.String()
	}
}

// count counts nodes that were replaced because of the revision, each once.
func (w *Watch) count(s Sample, removed [][]linodev1alpha1.GoneNode) {
	e, listed := &w.now, map[string]bool{}
	for _, list := range removed {
		if w.lost(s, list) {
			e.Total.Actual.ReplacedAtLeast = true
			for i := range e.Pools {
				e.Pools[i].Actual.ReplacedAtLeast = true
			}
		}
		for _, g := range list {
			listed[g.NodeClaim] = true
			if !w.owner.replaced(*e, g) || slices.Contains(e.Counted, g.NodeClaim) {
				continue
			}
			e.Counted = append(e.Counted, g.NodeClaim)
			replacedOne(&e.Total.Actual, g)
			for i := range e.Pools {
				if e.Pools[i].Name == g.NodePool {
					replacedOne(&e.Pools[i].Actual, g)
				}
			}
		}
	}
	for i := 0; i < len(e.Counted) && len(e.Counted) > maxCounted; {
		if listed[e.Counted[i]] {
			i++
			continue
		}
		e.Counted = slices.Delete(e.Counted, i, i+1)
	}
	e.RemovedUntil = latest(e.RemovedUntil, removed)
}

// lost reports whether a list of removed nodes, which has the latest ones only, may lack nodes of
// the pools that were removed since the last look.
func (w *Watch) lost(s Sample, list []linodev1alpha1.GoneNode) bool {
	if len(list) < linodev1alpha1.MostGone {
		return false
	}
	ours := false
	for _, g := range list {
		if until := w.now.RemovedUntil; until != nil && !g.Time.After(until.Time) {
			return false
		}
		_, of := s[g.NodePool]
		ours = ours || of
	}
	return ours
}

func replacedOne(a *lkeplanv1alpha1.NodeActual, g linodev1alpha1.GoneNode) {
	a.Replaced++
	if a.LastReplaced == nil || g.Time.After(a.LastReplaced.Time) {
		at := stamp(g.Time.Time)
		a.LastReplaced = &at
	}
}

// latest is the time of the latest removed node.
func latest(until *metav1.Time, removed [][]linodev1alpha1.GoneNode) *metav1.Time {
	for _, list := range removed {
		for _, g := range list {
			if until == nil || g.Time.After(until.Time) {
				at := stamp(g.Time.Time)
				until = &at
			}
		}
	}
	return until
}

// Due is the time until the entry has to be written; 0 if it is due now.
func (w *Watch) Due(now time.Time) time.Duration {
	wait := WriteEvery
	if w.news {
		wait = WriteAtMost
	}
	if passed := now.Sub(w.written); passed >= 0 {
		return max(0, wait-passed)
	}
	return 0
}

// Written records that the entry was written as it is.
func (w *Watch) Written(now time.Time) {
	w.stored, w.written, w.news = *w.now.DeepCopy(), now, false
}
