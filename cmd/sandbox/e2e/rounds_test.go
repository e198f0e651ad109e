package e2e

import (
	"net/http"
	"slices"
	"time"

	"github.com/lkeplan/lkeplan/linode/lkesim"
)

// rounds counts how often something has looked at the whole cluster and decided what to do.
type rounds struct {
	what  string
	count func() int
	next  func() // asks for one more; nil if they come without
}

// never polls the state, and fails the test if it holds before each of the rounds has come
// twice more: something that looked twice and did nothing does nothing later either. The
// first of the two may have begun before the call.
func (s *sandbox) never(what string, holds func(state) bool, of ...rounds) {
	s.t.Helper()
	if len(of) == 0 {
		s.t.Fatalf("never %q: no rounds to wait for", what)
	}
	started := time.Now()
	for _, r := range of {
		for range 2 {
			before := r.count()
			if r.next != nil {
				r.next()
			}
			for deadline := time.Now().Add(patience * time.Minute); r.count() <= before; time.Sleep(200 * time.Millisecond) {
				if now := s.state(); holds(now) {
					s.t.Fatalf("%s, which must not happen: %s", what, now)
				}
				if time.Now().After(deadline) {
					s.t.Fatalf("timed out waiting for another round of %s, in which it must not happen that %s", r.what, what)
				}
			}
		}
	}
	if now := s.state(); holds(now) {
		s.t.Fatalf("%s, which must not happen: %s", what, now)
	}
	s.t.Logf("for %s it did not happen that %s", time.Since(started).Round(100*time.Millisecond), what)
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

// reconciliation is that of a NodePlan, which is asked for.
func (s *sandbox) reconciliation(nodePlan string) rounds {
	handled := 0
	var asked string
	return rounds{
		what: "NodePlan " + nodePlan,
		next: func() {
			asked = time.Now().Format(time.RFC3339Nano)
			s.kube("", "annotate", "--overwrite", "nodeplan", nodePlan, "reconcile.fluxcd.io/requestedAt="+asked)
		},
		count: func() int {
			if asked != "" && s.nodePlan(nodePlan).Status.LastHandledReconcileAt == asked {
				asked = ""
				handled++
			}
			return handled
		},
	}
}

// refusals are calls of the Linode API that a fault of the simulator answers.
func (s *sandbox) refusals() rounds {
	return rounds{what: "calls that Linode refuses", count: func() int {
		return len(slices.DeleteFunc(s.calls(), func(call lkesim.Call) bool { return call.Fault == "" }))
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
