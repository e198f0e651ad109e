package e2e

import (
	"encoding/json"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/lkeplan/lkeplan/linode/lkesim"
)

// BenchmarkCapacity measures bursts of pods of 1 CPU on plan types of 4: how long they
// wait beyond the boot time of machines, how many Linode calls they take, and what the
// controller uses. A run with one machine too many, or with a rate-limited call,
// fails.
func BenchmarkCapacity(b *testing.B) {
	boot := func(instance, join string, more ...string) []string {
		return append([]string{"--instance-delay", instance, "--join-delay", join, "--ccm-delay", "1s", "--delete-delay",
			"2s", "--node-gone-delay", "1s"}, more...)
	}
	tests := []struct {
		name  string
		pods  int
		boot  time.Duration
		flags []string
	}{
		{"1 node", 4, 11 * time.Second, boot("2s", "8s")},
		{"25 nodes", 100, 11 * time.Second, boot("2s", "8s")},
		{"25 nodes, instances after 10 s", 100, 19 * time.Second, boot("10s", "8s")},
		{"25 nodes, enterprise, lists 30 s late", 100, 11 * time.Second,
			boot("2s", "8s", "--tier", "enterprise", "--list-delay", "30s")},
		{"25 nodes, three minutes to join", 100, 183 * time.Second, boot("2s", "180s")},
		{"250 nodes, documented rate limits", 1000, 11 * time.Second, boot("2s", "8s", "--tier", "enterprise", "--rate-limit",
			"documented")},
	}
	for _, tt := range tests {
		b.Run(tt.name, func(b *testing.B) {
			for b.Loop() {
				measure(b, tt.pods, tt.boot, startSandbox(b, tt.flags...))
			}
		})
	}
}

func measure(b *testing.B, pods int, boot time.Duration, s *sandbox) {
	nodes := (pods + 3) / 4
	s.installCRDs()
	s.addSystemNode()
	c := s.startController()
	s.run("lkeplan", "apply", "testdata/four")
	s.kube(file(b, "inflate.yaml"), "apply", "-f", "-")
	s.until("the controller is at rest", time.Minute, func(s state) bool { return len(s.nodes) == 0 })
	s.resetStats()
	began := c.used(b)
	started := time.Now()
	s.kube("", "scale", "deployment", "inflate", "--replicas", strconv.Itoa(pods))
	most := 0
	up := s.until("all pods run", boot+5*time.Minute, func(s state) bool {
		most = max(most, len(s.claims))
		return s.running == pods && s.matched()
	})
	b.ReportMetric((time.Since(started) - boot).Seconds(), "s-beyond-boot")
	b.ReportMetric(s.firstWrite().Sub(started).Seconds(), "s-to-first-create")
	if up.linode.Made != nodes || most != nodes || up.linode.ByStatus[http.StatusTooManyRequests] > 0 {
		b.Errorf("%d machines and up to %d NodeClaims for %d nodes; calls by status: %v", up.linode.Made, most, nodes,
			up.linode.ByStatus)
	}
	b.ReportMetric(float64(up.linode.Calls)/float64(nodes), "calls/node-up")
	peak := c.used(b)
	b.ReportMetric(float64(peak.rss)/(1<<20), "MiB")
	b.ReportMetric((peak.cpu - began.cpu).Seconds(), "cpu-s")
	s.kube("", "delete", "deployment", "inflate")
	down := s.until("nothing is left", 5*time.Minute, state.empty)
	b.ReportMetric(float64(down.linode.Calls-up.linode.Calls)/float64(nodes), "calls/node-down")
}

// systemNode is a node that every cluster has: LKE's own pods run there.
const systemNode = "system"

// addSystemNode gives the cluster its system node, which is full. Without any node
// kube-scheduler assumes an error of its own: it retries the pod after up to ten
// seconds, and not when a node joins.
func (s *sandbox) addSystemNode() {
	s.t.Helper()
	s.kube(`{"apiVersion":"v1","kind":"Node",
		"metadata":{"name":"`+systemNode+`","annotations":{"kwok.x-k8s.io/node":"fake"}},
		"spec":{"taints":[{"key":"CriticalAddonsOnly","effect":"NoSchedule"}]},
		"status":{"capacity":{"cpu":"1","memory":"1Gi","pods":"10"},"allocatable":{"cpu":"1","memory":"1Gi","pods":"10"}}}`,
		"apply", "-f", "-")
}

// firstWrite is the time of the first call that changes something.
func (s *sandbox) firstWrite() time.Time {
	s.t.Helper()
	resp, err := http.Get(s.env["LINODE_URL"] + "/simulator/calls")
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	var calls []lkesim.Call
	if err := json.NewDecoder(resp.Body).Decode(&calls); err != nil {
		s.t.Fatal(err)
	}
	for _, call := range calls {
		if call.Method != http.MethodGet {
			return call.At
		}
	}
	s.t.Fatal("no call has changed anything")
	return time.Time{}
}
