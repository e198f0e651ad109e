package limits

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// limitGauges are the metrics of CapacityLimits.
type limitGauges struct {
	most, used, reached *prometheus.GaugeVec
}

// limitMetrics registers the metrics of CapacityLimits, once in a process.
var limitMetrics = sync.OnceValue(func() limitGauges {
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return promauto.With(crmetrics.Registry).NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	}
	const units = " Units: nodes, CPUs, bytes, US dollars a month."
	return limitGauges{
		most: gauge("lkeplan_capacity_limit_max", "Maximum that a CapacityLimit allows."+units, "limit", "resource"),
		used: gauge("lkeplan_capacity_limit_used",
			"Capacity that the nodes of a CapacityLimit's pools use, including nodes on order."+units, "limit", "resource"),
		reached: gauge("lkeplan_capacity_limit_reached",
			"1 if a CapacityLimit has no capacity for any node that its pools could create.", "limit"),
	}
})

// refusals counts the NodeClaims that a limit has refused.
var refusals = sync.OnceValue(func() *prometheus.CounterVec {
	return promauto.With(crmetrics.Registry).NewCounterVec(prometheus.CounterOpts{
		Name: "lkeplan_limit_refusals_total",
		Help: "NodeClaims that got no machine because of a CapacityLimit or the limits of their NodePool.",
	}, []string{"kind", "name"})
})

// forget removes a deleted limit.
func (g limitGauges) forget(limit string) {
	for _, gauge := range []*prometheus.GaugeVec{g.most, g.used, g.reached} {
		gauge.DeletePartialMatch(prometheus.Labels{"limit": limit})
	}
}

// set shows a limit. A resource that it no longer caps is removed.
func (g limitGauges) set(limit string, most, used Amounts, reached bool) {
	for _, resource := range []string{Nodes, CPU, Memory, MonthlyCost} {
		if m, capped := most[resource]; capped {
			g.most.WithLabelValues(limit, resource).Set(inMetric(resource, m))
		} else {
			g.most.DeleteLabelValues(limit, resource)
		}
		g.used.WithLabelValues(limit, resource).Set(inMetric(resource, used[resource]))
	}
	value := 0.0
	if reached {
		value = 1
	}
	g.reached.WithLabelValues(limit).Set(value)
}

// inMetric converts an amount to the base unit of metrics.
func inMetric(resource string, n int64) float64 {
	switch resource {
	case CPU:
		return float64(n) / 1000
	case MonthlyCost:
		return float64(n) / 1e6
	}
	return float64(n)
}
