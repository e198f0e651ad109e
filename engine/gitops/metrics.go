package gitops

import (
	"math"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/linode/catalog"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// reconcilerMetrics are the metrics of NodePlans: how long they compile and apply, what their plans
// would do, and which guards refuse them. Package fluxcd/pkg/runtime provides the metrics that Flux
// has for its own objects. A nil pointer counts nothing.
type reconcilerMetrics struct {
	compile, apply              *prometheus.HistogramVec
	objects, nodes, guard, pool *prometheus.GaugeVec
	ready, ceiling              *prometheus.GaugeVec
	source, interval            *prometheus.GaugeVec
}

// newGauge returns a metric with labels in addition to those of a NodePlan.
func newGauge(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "lkeplan_nodeplan_" + name, Help: help},
		append([]string{"namespace", "name"}, labels...))
}

// newMetrics creates and registers the metrics.
func newMetrics(to prometheus.Registerer) *reconcilerMetrics {
	durations := func(name, help string, least float64) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "lkeplan_nodeplan_" + name, Help: help, Buckets: prometheus.ExponentialBuckets(least, 2, 11),
		}, []string{"outcome"})
	}
	m := &reconcilerMetrics{
		compile: durations("compile_duration_seconds", "Duration of compilations, by outcome: compiled, errors "+
			"(in the configuration) or failed.", 0.05),
		apply: durations("apply_duration_seconds", "Duration of requests that apply an object, by outcome: created, "+
			"changed, unchanged or failed.", 0.005),
		objects: newGauge("plan_objects", "Objects that the plan in the status changes, by action: create, update or delete.",
			"action"),
		nodes: newGauge("plan_nodes", "Nodes that the plan in the status affects, by action: roll (replace), delete or "+
			"may_remove.",
			"action"),
		guard: newGauge("guards", "Guards and policies that did not pass the plan without restrictions, by status: blocked, allowed, "+
			"waiting or unknown.", "guard", "status"),
		pool:  newGauge("nodes", "Nodes of the pools, by state: outdated or current.", "state"),
		ready: newGauge("ready", "1 if the NodePlan is ready, otherwise 0, with the reason of its condition Ready.", "reason"),
		ceiling: newGauge("cost_ceiling_dollars", "Maximum monthly cost of all pools according to the plan in the status, in "+
			"US dollars; +Inf if nothing limits it or there was no plan yet. Absent in the mode PlanOnly."),
		source: newGauge("source_checked_timestamp_seconds", "When the source was last known to be up to date: a ConfigMap was "+
			"read, or source-controller reported that it could fetch it."),
		interval: newGauge("interval_seconds",
			"Maximum time between two checks of the source; absent if the NodePlan is suspended."),
	}
	to.MustRegister(m.compile, m.apply, m.objects, m.nodes, m.guard, m.pool, m.ready, m.ceiling, m.source,
		m.interval)
	return m
}

// NodePlan records the status of a NodePlan.
func (m *reconcilerMetrics) NodePlan(np *lkeplanv1alpha1.NodePlan) {
	if m == nil {
		return
	}
	m.forgetStatus(np.Namespace, np.Name)
	if c := conditions.Get(np, meta.ReadyCondition); c != nil {
		ready := 0.0
		if c.Status == metav1.ConditionTrue {
			ready = 1
		}
		m.ready.WithLabelValues(np.Namespace, np.Name, c.Reason).Set(ready)
	}
	if np.Spec.Mode != lkeplanv1alpha1.ModePlanOnly {
		m.ceiling.WithLabelValues(np.Namespace, np.Name).Set(costCeiling(np.Status.Plan))
	}
	if !np.Spec.Suspend {
		m.interval.WithLabelValues(np.Namespace, np.Name).Set(np.Spec.Interval.Seconds())
	}
	if p := np.Status.Plan; p != nil {
		for action, n := range map[string]int{"create": p.Create, "update": p.Update, "delete": p.Delete} {
			m.objects.WithLabelValues(np.Namespace, np.Name, action).Set(float64(n))
		}
		m.nodes.WithLabelValues(np.Namespace, np.Name, "roll").Set(float64(p.NodesRolled))
		m.nodes.WithLabelValues(np.Namespace, np.Name, "delete").Set(float64(p.NodesDeleted))
		m.nodes.WithLabelValues(np.Namespace, np.Name, "may_remove").Set(float64(p.NodesRemovable))
	}
	for _, g := range np.Status.Guards {
		m.guard.WithLabelValues(np.Namespace, np.Name, g.Guard, g.Status).Inc()
	}
	for _, p := range np.Status.Pools {
		m.pool.WithLabelValues(np.Namespace, np.Name, "outdated").Add(float64(p.Outdated))
		m.pool.WithLabelValues(np.Namespace, np.Name, "current").Add(float64(p.Nodes - p.Outdated))
	}
}

// Forget drops the metrics of a NodePlan.
func (m *reconcilerMetrics) Forget(namespace, name string) {
	if m == nil {
		return
	}
	m.forgetStatus(namespace, name)
	m.source.DeleteLabelValues(namespace, name)
}

func (m *reconcilerMetrics) forgetStatus(namespace, name string) {
	for _, gauges := range []*prometheus.GaugeVec{m.objects, m.nodes, m.guard, m.pool, m.ready, m.ceiling, m.interval} {
		gauges.DeletePartialMatch(prometheus.Labels{"namespace": namespace, "name": name})
	}
}

// SourceChecked records when the source of a NodePlan was known to be up to date.
func (m *reconcilerMetrics) SourceChecked(namespace, name string, now time.Time) {
	if m != nil {
		m.source.WithLabelValues(namespace, name).Set(float64(now.Unix()))
	}
}

// costCeiling returns the maximum monthly cost of a plan, in dollars.
func costCeiling(p *lkeplanv1alpha1.PlanSummary) float64 {
	if p == nil {
		return math.Inf(1)
	}
	most, err := catalog.ParseMoney(p.CostCeiling)
	if err != nil { // the price is empty
		return math.Inf(1)
	}
	return most.Float64()
}

// Applied counts a request that applies an object.
func (m *reconcilerMetrics) Applied(outcome string, took time.Duration) {
	if m != nil {
		m.apply.WithLabelValues(outcome).Observe(took.Seconds())
	}
}
