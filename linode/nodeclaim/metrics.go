package nodeclaim

// The metrics show existing machines and waiting NodeClaims by plan type. Both modes use them, so one
// dashboard and one set of alerts serve both.

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// Row has the numbers of one plan type.
type Row struct {
	Bound   int // machines with a NodeClaim
	Unowned int // machines without a NodeClaim
	Coming  int // requested machines that do not exist yet
	Waiting int // NodeClaims that wait for a machine

	Since time.Time // creation time of the oldest waiting NodeClaim; zero if none is waiting
}

// Wait counts a waiting NodeClaim with its creation time.
func (r *Row) Wait(created time.Time) {
	r.Waiting++
	if r.Since.IsZero() || created.Before(r.Since) {
		r.Since = created
	}
}

// Rows are the rows of all plan types.
type Rows map[string]*Row

// Of returns the row of a plan type.
func (r Rows) Of(plan string) *Row {
	if r[plan] == nil {
		r[plan] = &Row{}
	}
	return r[plan]
}

// Metrics are the metrics of Rows. Their label is the plan type, of which a cluster has few.
type Metrics struct {
	machines, hourly, monthly, waiting, since *prometheus.GaugeVec

	listed  *prometheus.GaugeVec // absent before the machines were listed
	refused *prometheus.CounterVec
	kept    *prometheus.CounterVec
	bound   *prometheus.HistogramVec

	reasons Reasons
	plans   map[string]bool // plan types that the gauges show
}

// Reasons are the reasons with which something can be refused.
type Reasons struct{ Making, Deleting []string }

// NewMetrics returns the Metrics of machines that can be refused for these reasons. listed and help describe the
// gauge with the time of the last list.
func NewMetrics(listed, help string, reasons Reasons) *Metrics {
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	}
	return &Metrics{
		listed: gauge(listed, help),
		machines: gauge("lkeplan_machines", "Machines by state: bound (to a NodeClaim), unowned (without a NodeClaim) or "+
			"coming (ordered, and not yet created by Linode).", "plan", "state"),
		hourly: gauge("lkeplan_machines_hourly_cost_dollars", "Hourly cost of all existing machines, with or without a "+
			"NodeClaim, in US dollars by the price list.", "plan"),
		monthly: gauge("lkeplan_machines_monthly_cost_dollars",
			"Monthly cost of all existing machines if they all stay, in US dollars.", "plan"),
		waiting: gauge("lkeplan_claims_waiting", "NodeClaims waiting for a machine.", "plan"),
		since: gauge("lkeplan_claims_waiting_since_timestamp_seconds",
			"Creation time of the NodeClaim that has waited longest for a machine; absent if none waits.", "plan"),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lkeplan_lke_refusals_total",
			Help: "Machines that LKE, or Linode in instance mode, did not create for NodeClaims, by reason: no-capacity, " +
				"account-limit, validation, auth, busy or unknown, as the API answered; timeout if a slot of LKE stayed without " +
				"a machine; label-taken if another Linode has the label in instance mode.",
		}, []string{"plan", "reason"}),
		kept: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "lkeplan_delete_refusals_total",
			Help: "Deletions of a machine that LKE, or Linode in instance mode, did not carry out, by reason: locked, auth, " +
				"validation, busy or unknown, as the API answered; changed if both the label and the tag of the Linode were " +
				"changed in instance mode.",
		}, []string{"plan", "reason"}),
		bound: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "lkeplan_bind_duration_seconds",
			Help:    "Time from the creation of a NodeClaim until it has its machine.",
			Buckets: []float64{1, 2, 5, 10, 20, 30, 60, 120, 240, 480, 960},
		}, []string{"plan"}),
		reasons: reasons, plans: map[string]bool{},
	}
}

// Collectors returns the metrics to register.
func (m *Metrics) Collectors() []prometheus.Collector {
	return []prometheus.Collector{m.machines, m.hourly, m.monthly, m.waiting, m.since, m.refused, m.kept, m.bound, m.listed}
}

// Listed sets the time of the request for the last list of machines.
func (m *Metrics) Listed(asked time.Time) {
	m.listed.WithLabelValues().Set(float64(asked.UnixMilli()) / 1000)
}

// Refused counts a refused machine of a plan type.
func (m *Metrics) Refused(plan, reason string) { m.refused.WithLabelValues(plan, reason).Inc() }

// NotDeleted counts that a machine of a plan type was not deleted.
func (m *Metrics) NotDeleted(plan, reason string) { m.kept.WithLabelValues(plan, reason).Inc() }

// Bound counts a NodeClaim that has got its machine, and how long it waited.
func (m *Metrics) Bound(plan string, waited time.Duration) {
	m.bound.WithLabelValues(plan).Observe(waited.Seconds())
}

// Show sets the gauges to rows, and removes plan types that are gone. Calls must not be concurrent.
func (m *Metrics) Show(rows Rows, price func(plan string) catalog.Price) {
	for plan, row := range rows {
		costs, billed := price(plan), float64(row.Bound+row.Unowned)
		m.machines.WithLabelValues(plan, "bound").Set(float64(row.Bound))
		m.machines.WithLabelValues(plan, "unowned").Set(float64(row.Unowned))
		m.machines.WithLabelValues(plan, "coming").Set(float64(row.Coming))
		if costs.Known() {
			m.hourly.WithLabelValues(plan).Set(billed * costs.Hourly.Float64())
			m.monthly.WithLabelValues(plan).Set(billed * costs.PerMonth().Float64())
		} else {
			m.hourly.DeleteLabelValues(plan)
			m.monthly.DeleteLabelValues(plan)
		}
		m.waiting.WithLabelValues(plan).Set(float64(row.Waiting))
		if row.Since.IsZero() {
			m.since.DeleteLabelValues(plan)
		} else {
			m.since.WithLabelValues(plan).Set(float64(row.Since.Unix()))
		}
		for _, reason := range m.reasons.Making { // counters start from zero, because otherwise the first refusal would not be an increase
			m.refused.WithLabelValues(plan, reason)
		}
		for _, reason := range m.reasons.Deleting {
			m.kept.WithLabelValues(plan, reason)
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
}
