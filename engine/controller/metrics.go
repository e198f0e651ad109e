package controller

import (
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/lkeplan/lkeplan/linode/api"
)

// linodeMetrics are the metrics of the Linode API, registered when they are
// first needed.
var linodeMetrics = sync.OnceValue(func() (m struct {
	duration *prometheus.HistogramVec
	waited   *prometheus.CounterVec
	refused  *prometheus.CounterVec
	left     *prometheus.GaugeVec
	limit    *prometheus.GaugeVec
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
	m.refused = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "lkeplan_linode_rate_limited_total",
		Help: "Requests that the Linode API answered with 429.",
	}, []string{"route"})
	m.left = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "lkeplan_linode_rate_limit_remaining",
		Help: "What the Linode API said was left of its rate limit when it last answered.",
	}, []string{"method", "route"})
	m.limit = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "lkeplan_linode_rate_limit",
		Help: "Requests that the Linode API allows in a minute, as it said when it last answered.",
	}, []string{"method", "route"})
	crmetrics.Registry.MustRegister(m.duration, m.waited, m.refused, m.left, m.limit)
	return m
})

// observeLinode counts one request, and says in the log when the API wants no more.
func observeLinode(log *slog.Logger, call api.Call) {
	if call.Optional && call.Class == api.ClassAuth {
		return // a token can do without it, and the alert about refused tokens goes by these metrics
	}
	m := linodeMetrics()
	m.duration.WithLabelValues(call.Method, call.Route, strconv.Itoa(call.Status)).Observe(call.Duration.Seconds())
	m.waited.WithLabelValues(call.Route).Add(call.Waited.Seconds())
	if call.Status == http.StatusTooManyRequests {
		m.refused.WithLabelValues(call.Route).Inc()
		log.Warn("the Linode API wants to be left alone; until then only what is known of LKE is used",
			"route", call.Route, "asked", call.Asked.String(), "heeded", call.Paused.String())
	}
	if call.Left >= 0 {
		m.left.WithLabelValues(call.Method, call.Route).Set(float64(call.Left))
	}
	if call.Limit > 0 {
		m.limit.WithLabelValues(call.Method, call.Route).Set(float64(call.Limit))
	}
}

// registerMetrics registers what counts the machines of one cluster.
func registerMetrics(cfg Config, counters ...prometheus.Collector) error {
	if cfg.Karpenter.Quiet {
		return nil
	}
	for _, c := range counters {
		if err := crmetrics.Registry.Register(c); err != nil {
			return fmt.Errorf("register a metric: %w", err)
		}
	}
	return nil
}
