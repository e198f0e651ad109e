package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/linode/sim"
)

// boot are flags of a sandbox whose machines take a while.
func boot(instance, join string, more ...string) []string {
	return append([]string{"--instance-delay", instance, "--join-delay", join, "--ccm-delay", "1s", "--delete-delay",
		"2s", "--node-gone-delay", "1s"}, more...)
}

// BenchmarkCapacity measures bursts of pods of 1 CPU on plan types of 4: how long they
// wait beyond the boot time of machines, when NodeClaims come how far, how many Linode
// calls and API server requests they take, and what the controller uses. A run with
// one machine too many, or with a rate-limited call, fails.
func BenchmarkCapacity(b *testing.B) {
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

// BenchmarkFullCluster is BenchmarkCapacity with the 500 nodes that LKE lets a cluster of its
// Enterprise tier have. It wants a machine for itself: API server, kubelets and all take what
// they can get.
func BenchmarkFullCluster(b *testing.B) {
	for b.Loop() {
		measure(b, 2000, 11*time.Second, startSandbox(b, boot("2s", "8s", "--tier", "enterprise", "--rate-limit",
			"documented")...))
	}
}

func measure(b *testing.B, pods int, boot time.Duration, s *sandbox) {
	nodes := (pods + 3) / 4
	s.installCRDs()
	s.addSystemNode()
	c := s.startController()
	s.run("lkeplan", "apply", "--yes", "testdata/four")
	s.applyAll(file(b, "inflate.yaml"))
	s.until("the controller is at rest", time.Minute, func(s state) bool { return len(s.nodes) == 0 })
	s.resetStats()
	seen := s.watch()
	all, ours := s.requests(c)
	began := c.used(b)
	started := time.Now()
	s.scale(pods)
	most := 0
	up := s.until("all pods run", boot+10*time.Minute, func(s state) bool {
		most = max(most, len(s.claims))
		return s.running == pods && s.matched()
	})
	b.ReportMetric((time.Since(started) - boot).Seconds(), "s-beyond-boot")
	b.ReportMetric(s.firstWrite().Sub(started).Seconds(), "s-to-first-create")
	if up.linode.Made != nodes || most != nodes || up.linode.ByStatus[http.StatusTooManyRequests] > 0 {
		b.Errorf("%d machines and up to %d NodeClaims for %d nodes; calls by status: %v", up.linode.Made, most, nodes,
			up.linode.ByStatus)
	}
	seen.report(b, started)
	allNow, oursNow := s.requests(c)
	b.ReportMetric((allNow-all)/float64(nodes), "api-requests/node")
	b.ReportMetric((oursNow-ours)/float64(nodes), "our-api-requests/node")
	b.ReportMetric(c.requeued(), "requeues")
	b.ReportMetric(float64(up.linode.Calls)/float64(nodes), "calls/node-up")
	peak := c.used(b)
	b.ReportMetric(float64(peak.rss)/(1<<20), "MiB")
	b.ReportMetric((peak.cpu - began.cpu).Seconds(), "cpu-s")
	s.deleteDeployments("inflate")
	down := s.until("nothing is left", 10*time.Minute, state.empty)
	b.ReportMetric(float64(down.linode.Calls-up.linode.Calls)/float64(nodes), "calls/node-down")
}

// BenchmarkArrival measures pods of 1 CPU that come one after another, 100 each
// second, to a pool of all sizes: when the first machine is requested, and what the
// nodes cost on which they end up. Karpenter plans for a part of them at a time.
func BenchmarkArrival(b *testing.B) {
	const pods = 1000
	for _, longest := range []string{"10s", "5s", "2s", "1s"} {
		b.Run("batches of "+longest+" at most", func(b *testing.B) {
			for b.Loop() {
				s := startSandbox(b)
				s.installCRDs()
				s.addSystemNode()
				s.startController("--batch-max-duration", longest)
				s.run("lkeplan", "apply", "--yes", sizes(b))
				s.resetStats()
				started := time.Now()
				tick := time.NewTicker(time.Second / 10)
				for n := range pods / 10 {
					<-tick.C
					for i := range 10 {
						if err := s.client.Create(b.Context(), onePod(10*n+i)); err != nil {
							b.Fatal(err)
						}
					}
				}
				tick.Stop()
				b.ReportMetric(time.Since(started).Seconds(), "s-of-arrival")
				up := s.until("all pods run", 5*time.Minute, func(now state) bool {
					return now.running == pods && now.matched()
				})
				b.ReportMetric(time.Since(started).Seconds(), "s-until-all-run")
				b.ReportMetric(s.firstWrite().Sub(started).Seconds(), "s-to-first-create")
				b.ReportMetric(float64(len(up.nodes)), "nodes")
				b.ReportMetric(up.linode.HourlyCost.Float64(), "dollars/hour")
			}
		})
	}
}

// sizes is a directory with a pool that takes all sizes of shared plan types.
func sizes(b *testing.B) string {
	b.Helper()
	dir := b.TempDir()
	text := "cluster {\n  name   = \"sandbox\"\n  region = \"us-ord\"\n}\n\nnode_class \"default\" {}\n\n" +
		"pool \"general\" {\n  node_class   = node_class.default\n  requirements = { class = \"standard\" }\n\n" +
		"  disruption {\n    consolidate_after = \"Never\"\n  }\n}\n"
	if err := os.WriteFile(filepath.Join(dir, "main.lke.hcl"), []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
	return dir
}

func onePod(n int) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod-" + strconv.Itoa(n), Namespace: "default"}}
	pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "registry.k8s.io/pause:3.10",
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}}}
	return pod
}

// systemNode is a node that every cluster has: LKE's own pods run there.
const systemNode = "system"

// firstWrite is the time of the first call that changes something.
func (s *sandbox) firstWrite() time.Time {
	s.t.Helper()
	resp, err := http.Get(s.env["LINODE_URL"] + "/simulator/calls")
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	var calls []sim.Call
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
