package forecast_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/engine/forecast"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/catalog"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

var began = time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)

// process is one controller. Two of them can be leaders at the same time, and its clock differs from
// the real time.
type process struct {
	watch *forecast.Watch
	clock time.Duration
}

// modelled is the API server, the nodes of the pool web, and the removed nodes of its class.
type modelled struct {
	t        *testing.T
	rng      *rand.Rand
	now      time.Time // the real time
	stored   lkeplanv1alpha1.RevisionForecast
	nodes    int
	outdated int
	replaced int // because of the revision
	gone     []linodev1alpha1.GoneNode
	serial   int
}

func (m *modelled) sample() forecast.Sample {
	outdated, cost := m.outdated, catalog.Money(m.nodes)*24*catalog.Dollar
	s := forecast.Sample{"web": {Nodes: m.nodes, Outdated: &outdated, Cost: &cost}}
	if m.rng.IntN(10) == 0 { // the price is unknown
		s["web"] = forecast.Pool{Nodes: m.nodes, Outdated: &outdated}
	}
	return s
}

// remove removes a node for a reason, and lists the latest ones as the class does.
func (m *modelled) remove(reason, nodePlan, revision string) {
	m.serial++
	m.gone = slices.Insert(m.gone, 0, linodev1alpha1.GoneNode{
		Time: metav1.NewTime(m.now.Truncate(time.Second)), NodeClaim: fmt.Sprintf("web-%d", m.serial), NodePool: "web",
		Reason: reason, NodePlan: nodePlan, Revision: revision,
	})
	m.gone = m.gone[:min(len(m.gone), linodev1alpha1.MostGone)]
}

// write writes what a process has measured, as the forecaster does: unless another one has written.
func (m *modelled) write(p *process) {
	if p.watch == nil || !p.watch.Follows(m.stored) {
		p.watch = forecast.NewWatch(owner, m.stored)
		return
	}
	m.stored = through(m.t, p.watch.Entry())
	if m.rng.IntN(10) == 0 { // the answer is lost
		return
	}
	p.watch.Written(m.now.Add(p.clock))
}

// through is an entry after it was written and read.
func through(t *testing.T, e lkeplanv1alpha1.RevisionForecast) (read lkeplanv1alpha1.RevisionForecast) {
	raw, err := json.Marshal(e)
	if err == nil {
		err = json.Unmarshal(raw, &read)
	}
	if err != nil {
		t.Fatal(err)
	}
	return read
}

var owner = forecast.Owner{Namespace: "infra", Name: "prod"}

// TestModelOfMeasurements: regardless of restarts, of two leaders, of lost answers, of clocks that
// jump, and of lists that lack older nodes, no time and no node is counted twice, and what is missing
// is known to be missing.
func TestModelOfMeasurements(t *testing.T) {
	complete := 0
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 31))
		m := &modelled{t: t, rng: rng, now: began, nodes: 3 + rng.IntN(30)}
		m.outdated = rng.IntN(m.nodes)
		np := &lkeplanv1alpha1.NodePlan{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "prod"}}
		for range rng.IntN(5) { // nodes that the revision replaced when it was applied earlier
			m.remove("Drifted", "infra/prod", "main@sha1:2")
		}
		revision := forecast.Revision{Name: "main@sha1:2", Objects: "b"}
		forecast.Open(np, forecast.Foretell(revision, plan.Plan{}, forecast.Pools{Sample: m.sample()}, began),
			[][]linodev1alpha1.GoneNode{m.gone})
		m.stored = np.Status.Forecasts[0]
		leaders := []*process{{}, {clock: time.Duration(rng.Int64N(int64(4*time.Hour))) - 2*time.Hour}}
		low, high, seconds := m.nodes, m.nodes, int64(0)
		for range 200 {
			m.now = m.now.Add(time.Duration(rng.Int64N(int64(4 * time.Minute))))
			switch rng.IntN(8) {
			case 0:
				m.nodes += rng.IntN(3)
			case 1:
				m.nodes = max(1, m.nodes-rng.IntN(3))
				m.remove("Empty", "", "")
			case 2:
				if m.outdated > 0 {
					m.outdated, m.replaced = m.outdated-1, m.replaced+1
					m.remove("Drifted", "infra/prod", "main@sha1:2")
				}
			case 3:
				m.remove("Drifted", "infra/prod", "main@sha1:1")
				m.remove("Drifted", "infra/other", "main@sha1:2")
			}
			low, high = min(low, m.nodes), max(high, m.nodes)
			p := leaders[rng.IntN(2)]
			switch rng.IntN(30) {
			case 0:
				p.watch = nil // it restarts
			case 1:
				p.clock += []time.Duration{-time.Hour, time.Hour}[rng.IntN(2)]
			case 2:
				m.now = m.now.Add(2 * time.Hour) // no controller runs
				leaders[0].watch, leaders[1].watch = nil, nil
				if m.outdated > 0 && rng.IntN(8) == 0 { // the list of removed nodes loses one that was replaced
					m.outdated, m.replaced = m.outdated-1, m.replaced+1
					m.remove("Drifted", "infra/prod", "main@sha1:2")
					m.now = m.now.Add(time.Minute)
					for range linodev1alpha1.MostGone {
						m.remove("Empty", "", "")
					}
				}
			}
			if p.watch == nil {
				p.watch = forecast.NewWatch(owner, m.stored)
			}
			p.watch.Look(m.sample(), [][]linodev1alpha1.GoneNode{m.gone}, m.now.Add(p.clock))
			if rng.IntN(4) == 0 {
				m.write(p)
			}
			a := m.stored.Total.Actual
			if a.Seconds < seconds {
				t.Fatalf("seed %d: %d measured seconds, and there were %d", seed, a.Seconds, seconds)
			}
			seconds = a.Seconds
			checkMeasured(t, seed, m, low, high)
		}
		last := &process{}
		m.write(last)
		last.watch.Look(m.sample(), [][]linodev1alpha1.GoneNode{m.gone}, m.now)
		m.write(last)
		a := m.stored.Total.Actual
		if a.Replaced != m.replaced && !a.ReplacedAtLeast {
			t.Fatalf("seed %d: %d nodes are counted as replaced, and %d were", seed, a.Replaced, m.replaced)
		}
		if a.Replaced == m.replaced && m.replaced > 0 {
			complete++
		}
	}
	if complete < 300 {
		t.Errorf("all replaced nodes are counted in %d of 500 runs: the model hides too much", complete)
	}
}

func checkMeasured(t *testing.T, seed uint64, m *modelled, low, high int) {
	t.Helper()
	for _, row := range append([]lkeplanv1alpha1.ForecastRow{m.stored.Total}, m.stored.Pools...) {
		a := row.Actual
		if most := int64(m.now.Sub(began) / time.Second); a.Seconds > most {
			t.Fatalf("seed %d: %d of %d seconds are measured", seed, a.Seconds, most)
		}
		if a.CostSeconds > a.Seconds {
			t.Fatalf("seed %d: the cost is measured for %d seconds, the nodes for %d", seed, a.CostSeconds, a.Seconds)
		}
		if a.Replaced > m.replaced {
			t.Fatalf("seed %d: %d nodes are counted as replaced, and %d were", seed, a.Replaced, m.replaced)
		}
		if a.Seconds == 0 {
			continue
		}
		mean, err := catalog.ParseMoney(a.NodesMean)
		if err != nil || mean < catalog.Money(low)*catalog.Dollar || mean > catalog.Money(high)*catalog.Dollar {
			t.Fatalf("seed %d: %s nodes on average, between %d and %d (%v)", seed, a.NodesMean, low, high, err)
		}
	}
}
