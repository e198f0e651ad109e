package maintenance

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	nodes  *prometheus.GaugeVec
	listed prometheus.Gauge
}

func newMetrics() *metrics {
	return &metrics{
		nodes: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lkeplan_nodes_upcoming_maintenance",
			Help: "Nodes whose hosts Linode has announced maintenance for, by NodePool.",
		}, []string{"nodepool"}),
		listed: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "lkeplan_linode_maintenance_listed",
			Help: "1 if Linode listed the maintenance of hosts when it was last asked; 0 if it did not, as without the scope " +
				"account:read_only.",
		}),
	}
}

func (m *metrics) set(pools map[string]float64) {
	m.nodes.Reset()
	for pool, n := range pools {
		m.nodes.WithLabelValues(pool).Set(n)
	}
}

func (m *metrics) answered(err error) {
	if err != nil {
		m.listed.Set(0)
	} else {
		m.listed.Set(1)
	}
}
