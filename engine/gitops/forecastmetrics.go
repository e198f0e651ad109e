package gitops

import (
	"math"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/engine/forecast"
	"github.com/lkeplan/lkeplan/linode/catalog"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// forecastMetrics are the forecast of the current revision of each NodePlan, and what was measured:
// in total, and for the pools that its status lists. A nil pointer records nothing.
type forecastMetrics struct{ foretold, replaced, bounds, cost *prometheus.GaugeVec }

// newForecastMetrics returns metrics that are registered.
func newForecastMetrics(to prometheus.Registerer) *forecastMetrics {
	m := &forecastMetrics{
		foretold: gauge("forecast_replaced_nodes", "Nodes that the plan of the current revision was to replace, by pool; "+
			"without a pool for all. Absent if unknown.", "pool"),
		replaced: gauge("replaced_nodes", "Nodes that were replaced because of the current revision, by pool; without a "+
			"pool for all.", "pool"),
		bounds: gauge("forecast_cost_dollars", "Monthly cost according to the plan of the current revision, by pool, "+
			"without a pool for all, and by bound: floor, ceiling (+Inf if nothing limits it) or applied (of the nodes that "+
			"existed when it was applied). Absent if unknown.", "pool", "bound"),
		cost: gauge("cost_dollars", "Monthly cost of the nodes, by pool; without a pool for all pools that the current "+
			"revision declares. Absent while a price is unknown.", "pool"),
	}
	to.MustRegister(m.foretold, m.replaced, m.bounds, m.cost)
	return m
}

// Record records the open entry of a NodePlan, and its pools as they are.
func (m *forecastMetrics) Record(np client.ObjectKey, e lkeplanv1alpha1.RevisionForecast, now forecast.Sample) {
	if m == nil {
		return
	}
	m.Forget(np)
	m.row(np, e.Total, now.Total())
	for _, row := range forecast.Bounded([]lkeplanv1alpha1.RevisionForecast{e})[0].Pools {
		if p, ok := now[row.Name]; ok {
			m.row(np, row, p)
		}
	}
}

func (m *forecastMetrics) row(np client.ObjectKey, row lkeplanv1alpha1.ForecastRow, now forecast.Pool) {
	of := []string{np.Namespace, np.Name, row.Name}
	if n := row.Forecast.Replaced; n != nil && *n >= 0 {
		m.foretold.WithLabelValues(of...).Set(float64(*n))
	}
	m.replaced.WithLabelValues(of...).Set(float64(max(row.Actual.Replaced, 0)))
	f := row.Forecast
	for bound, text := range map[string]string{"floor": f.CostFloor, "ceiling": f.CostCeiling, "applied": f.Cost} {
		if amount, err := catalog.ParseMoney(text); err == nil && amount >= 0 {
			m.bounds.WithLabelValues(append(of, bound)...).Set(amount.Float64())
		}
	}
	if f.Unlimited {
		m.bounds.WithLabelValues(append(of, "ceiling")...).Set(math.Inf(1))
	}
	if now.Cost != nil {
		m.cost.WithLabelValues(of...).Set(now.Cost.Float64())
	}
}

// Forget drops the metrics of a NodePlan.
func (m *forecastMetrics) Forget(np client.ObjectKey) {
	if m == nil {
		return
	}
	for _, gauges := range []*prometheus.GaugeVec{m.foretold, m.replaced, m.bounds, m.cost} {
		gauges.DeletePartialMatch(prometheus.Labels{"namespace": np.Namespace, "name": np.Name})
	}
}
