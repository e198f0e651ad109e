package fleet

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/lkeapi"
)

// metrics are what a Fleet counts. They are labelled by plan type, of which a cluster
// has few.
type metrics struct {
	machines, hourly, monthly, waiting, since, listed *prometheus.GaugeVec

	refused *prometheus.CounterVec
	bound   *prometheus.HistogramVec

	plans map[string]bool // that the gauges show; the loop's own
}

func newMetrics() *metrics {
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	}
	return &metrics{
		machines: gauge("lkeplan_machines", "Slots of the LKE pools that NodeClaims are served from: bound to one, unowned "+
			"(there is a machine that no NodeClaim has) or coming (LKE has made no machine yet).", "plan", "state"),
		hourly: gauge("lkeplan_machines_hourly_cost_dollars", "What the machines of those LKE pools cost in an hour, in US "+
			"dollars by the price list, with or without a NodeClaim.", "plan"),
		monthly: gauge("lkeplan_machines_monthly_cost_dollars",
			"What the machines of those LKE pools cost in a month if they all stay, in US dollars.", "plan"),
		waiting: gauge("lkeplan_claims_waiting", "NodeClaims that wait for a machine.", "plan"),
		since: gauge("lkeplan_claims_waiting_since_timestamp_seconds",
			"When the NodeClaim was made that has waited longest for a machine; absent where none waits.", "plan"),
		listed: gauge("lkeplan_lke_listed_timestamp_seconds",
			"When LKE was last asked for its pools and answered; the gauges about machines are from then."),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lkeplan_lke_refusals_total",
			Help: "Times that LKE did not give what NodeClaims wait for, by reason: no-capacity, account-limit, validation, " +
				"auth, busy or unknown, as the API answered, or timeout where a slot stayed without a machine.",
		}, []string{"plan", "reason"}),
		bound: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "lkeplan_bind_duration_seconds",
			Help:    "From the creation of a NodeClaim until it has its machine.",
			Buckets: []float64{1, 2, 5, 10, 20, 30, 60, 120, 240, 480, 960},
		}, []string{"plan"}),
		plans: map[string]bool{},
	}
}

// Metrics are what the Fleet counts, to be registered.
func (f *Fleet) Metrics() []prometheus.Collector {
	m := f.metrics
	return []prometheus.Collector{m.machines, m.hourly, m.monthly, m.waiting, m.since, m.listed, m.refused, m.bound}
}

// timedOut is the reason where a slot stayed without a machine.
const timedOut = "timeout"

// refusals are the reasons for which claims do not get what they wait for.
var refusals = []string{
	string(lkeapi.ClassNoCapacity), string(lkeapi.ClassAccountLimit), string(lkeapi.ClassValidation),
	string(lkeapi.ClassAuth), string(lkeapi.ClassBusy), string(lkeapi.ClassUnknown), timedOut,
}

// census is what there is of one plan type.
type census struct {
	bound, unowned, coming int
	waiting                int
	since                  time.Time // the oldest of those that wait was made; zero where none waits
}

// take counts what there is of each plan type. Pools of the cluster that NodeClaims are not
// served from are somebody else's.
func take(view capacity.View) map[string]census {
	rows := map[string]census{}
	owned := map[int]bool{}
	for _, c := range view.Claims {
		if c.Instance != 0 {
			owned[c.Instance] = true
			continue
		}
		if c.Leaving {
			continue
		}
		row := rows[c.Group.Plan]
		if row.waiting++; row.since.IsZero() || c.Created.Before(row.since) {
			row.since = c.Created
		}
		rows[c.Group.Plan] = row
	}
	for _, p := range view.Pools {
		if p.Group == "" && !p.Adopted {
			continue
		}
		row := rows[p.Plan]
		row.coming += max(0, p.Count-len(p.Slots)) // Enterprise lists them late
		for _, s := range p.Slots {
			switch {
			case s.Instance == 0:
				row.coming++
			case owned[s.Instance]:
				row.bound++
			default:
				row.unowned++
			}
		}
		rows[p.Plan] = row
	}
	return rows
}

// show has the gauges show a view. Plan types that are gone are removed.
func (f *Fleet) show(view capacity.View) {
	m, rows := f.metrics, take(view)
	for plan, row := range rows {
		price, billed := f.cfg.Types.Price(plan), float64(row.bound+row.unowned)
		m.machines.WithLabelValues(plan, "bound").Set(float64(row.bound))
		m.machines.WithLabelValues(plan, "unowned").Set(float64(row.unowned))
		m.machines.WithLabelValues(plan, "coming").Set(float64(row.coming))
		m.hourly.WithLabelValues(plan).Set(billed * price.Hourly.Float64())
		m.monthly.WithLabelValues(plan).Set(billed * price.PerMonth().Float64())
		m.waiting.WithLabelValues(plan).Set(float64(row.waiting))
		if row.since.IsZero() {
			m.since.DeleteLabelValues(plan)
		} else {
			m.since.WithLabelValues(plan).Set(float64(row.since.Unix()))
		}
		for _, reason := range refusals { // from zero on, or the first would be no increase
			m.refused.WithLabelValues(plan, reason)
		}
		m.plans[plan] = true
	}
	for plan := range m.plans {
		if _, there := rows[plan]; !there {
			for _, gauge := range []*prometheus.GaugeVec{m.machines, m.hourly, m.monthly, m.waiting, m.since} {
				gauge.DeletePartialMatch(prometheus.Labels{"plan": plan})
			}
			delete(m.plans, plan)
		}
	}
	m.listed.WithLabelValues().Set(float64(view.Asked.Unix()))
}
