package e2e

import (
	"net/http"
	"slices"
)

// rounds counts how often something has looked at the whole cluster and decided what to do.
type rounds struct {
	what  string
	count func() int
	next  func() // asks for one more; nil if they come without
}

// disruption is Karpenter's search for nodes to disrupt. It tries one method after another,
// and the next one only if none before found a node; a round is over when each has ended.
func (c *controller) disruption() rounds {
	const name = "karpenter_voluntary_disruption_decision_evaluation_duration_seconds_count{"
	return rounds{what: "Karpenter's disruption", count: func() int {
		each := c.series(name)
		if len(each) < 4 { // emptiness, drift, and consolidation of several nodes and of one
			return 0
		}
		return int(slices.Min(each))
	}}
}

// provisioning is Karpenter's search for nodes for pods.
func (c *controller) provisioning() rounds {
	const name = `karpenter_scheduler_scheduling_duration_seconds_count{controller="provisioner"}`
	return rounds{what: "Karpenter's provisioning", count: func() int {
		return int(sum(c.series(name)))
	}}
}

// series are the values of the controller's metrics whose lines begin so; none if it does
// not serve them yet.
func (c *controller) series(prefix string) (values []float64) {
	c.t.Helper()
	resp, err := http.Get("http://" + c.metrics + "/metrics")
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	return valuesOf(c.t, resp.Body, prefix)
}
