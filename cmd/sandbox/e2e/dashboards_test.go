package e2e

import (
	"context"
	"io"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// seldomFilled are panels that show something only when something is wrong, with what
// that is.
var seldomFilled = map[string]string{
	"Errors of controllers": "a reconciler that returns an error",
}

// TestEachPanelOfTheDashboardsIsFilled: what the controller exports while nodes come, roll,
// are refused and wait for approval is something to show for each query of each panel.
func TestEachPanelOfTheDashboardsIsFilled(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, "--rate-limit", "documented")
	s.installCRDs()
	c := s.startController("--unavailable-offerings-ttl", "5s")
	seen := record(t, c.metrics)
	s.eventful()
	times := seen.end()
	all, err := readDashboards(observability + "/dashboards")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				filled := seen.fills(target.over("10s"), times)
				if !filled && seldomFilled[p.Title] == "" {
					t.Errorf("%s: %s: there was nothing to show of %s", d.Title, p.Title, target.Expr)
				}
				t.Logf("%5t %s: %s: %s", filled, d.Title, p.Title, target.Expr)
			}
		}
	}
}

// eventful is a short life of a cluster, of which there is something of each kind to see.
func (s *sandbox) eventful() {
	s.t.Helper()
	const limited = "\nlimits \"all\" {\n  nodes        = 20\n  monthly_cost = 5000\n}\n"
	pools := strings.ReplaceAll(fleet(limited, "a", "b", "c"), "weight       = 10", "limits       = { cpu = 40 }")
	s.source("fleet", pools)
	s.kube(strings.ReplaceAll(nodePlanOfConfigMap, "NAME", "fleet"), "apply", "-f", "-")
	s.untilPlan("fleet", "it is ready", because(lkeplanv1alpha1.ReasonSucceeded))
	running := 0
	for _, pods := range []struct {
		pool string
		n    int
	}{{"a", 3}, {"b", 1}} { // one after the other: there is a rate where a later scrape shows more
		s.kube(strings.ReplaceAll(workload(pods.pool, pods.n), `"cpu":"3"`, `"cpu":"3","memory":"1Gi"`), "apply", "-f", "-")
		running += pods.n
		s.until("pods run", time.Minute, func(now state) bool { return now.running == running && now.matched() })
	}

	s.inject(`{"no_capacity":"refuse","plan":"g6-standard-4"}`)
	s.kube(workload("c", 1)+"\n---\n"+strings.Replace(workload("huge", 1), `"cpu":"3"`, `"cpu":"300"`, 1), "apply", "-f", "-")
	s.until("LKE has refused", time.Minute, func(state) bool { return len(s.poolsAskedFor()) > 2 })
	s.clearFaults()
	s.deleteDeployments("c", "huge")

	s.source("fleet", strings.Replace(pools, "limits       =", "labels       = { tier = \"web\" }\n  limits       =", 1))
	s.until("they are replaced", 2*time.Minute, func(now state) bool {
		old := 0
		for _, n := range now.nodes {
			if n.Labels["karpenter.sh/nodepool"] == "a" && n.Labels["tier"] != "web" {
				old++
			}
		}
		return old == 0 && now.running == 4 && now.matched()
	})
	s.source("fleet", fleet(limited, "a"))
	s.untilPlan("fleet", "it waits for approval", awaitsApproval)
}

// recorded is what a controller has exported, second by second.
type recorded struct {
	*series
	t       testing.TB
	address string
	stop    context.CancelFunc
	done    sync.WaitGroup
	times   []time.Time
}

// record scrapes metrics each second until its end.
func record(t testing.TB, address string) *recorded {
	ctx, stop := context.WithCancel(t.Context())
	r := &recorded{series: newSeries(), t: t, address: address, stop: stop}
	r.done.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for ctx.Err() == nil {
			r.scrape(ctx, address)
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	})
	return r
}

// scrape asks once; a controller that is being started does not answer.
func (r *recorded) scrape(ctx context.Context, address string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		r.t.Error(err)
		return
	}
	at := time.Now()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return
	}
	if err := r.Scrape(text, at); err != nil {
		r.t.Error(err)
	}
	r.times = append(r.times, at)
}

// end scrapes a last time, and returns when it has scraped.
func (r *recorded) end() []time.Time {
	r.t.Helper()
	r.stop()
	r.done.Wait()
	r.scrape(r.t.Context(), r.address)
	if len(r.times) < 10 {
		r.t.Fatalf("the controller has exported metrics only %d times", len(r.times))
	}
	return r.times
}

// fills reports whether a query had a number at one of the times.
func (r *recorded) fills(expr string, times []time.Time) bool {
	r.t.Helper()
	for _, at := range times {
		vector, err := r.Query(r.t.Context(), expr, at)
		if err != nil {
			r.t.Error(err)
			return false
		}
		if anyNumber(vector) {
			return true
		}
	}
	return false
}

func anyNumber(vector promql.Vector) bool {
	for _, sample := range vector {
		if !math.IsNaN(sample.F) {
			return true
		}
	}
	return false
}
