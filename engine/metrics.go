package engine

import (
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/lkeplan/lkeplan/linode/lkeapi"
)

// linodeMetrics are the metrics of the Linode API, registered when they are
// first needed.
var linodeMetrics = sync.OnceValue(func() (m struct {
	duration *prometheus.HistogramVec
	waited   *prometheus.CounterVec
}) {
	m.duration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "lkeplan_linode_request_duration_seconds",
		Help:    "How long requests to the Linode API took, by method, route and status (0: no answer).",
		Buckets: prometheus.ExponentialBuckets(0.02, 2, 11),
	}, []string{"method", "route", "status"})
	m.waited = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "lkeplan_linode_rate_limit_wait_seconds_total",
		Help: "How long requests to the Linode API were held back by its rate limits.",
	}, []string{"route"})
	crmetrics.Registry.MustRegister(m.duration, m.waited)
	return m
})

// observeLinode counts one request.
func observeLinode(call lkeapi.Call) {
	m := linodeMetrics()
	m.duration.WithLabelValues(call.Method, call.Route, strconv.Itoa(call.Status)).Observe(call.Duration.Seconds())
	m.waited.WithLabelValues(call.Route).Add(call.Waited.Seconds())
}
