package instances

import "github.com/prometheus/client_golang/prometheus"

// newShown is when Linode showed the Linodes last; absent before it has.
func newShown() *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "lkeplan_linodes_listed_timestamp_seconds",
		Help: "In instance mode: when Linode was last asked for the cluster's Linodes and answered.",
	}, nil)
}

// Metrics are what the Instances count, to be registered.
func (i *Instances) Metrics() []prometheus.Collector { return []prometheus.Collector{i.shown} }
