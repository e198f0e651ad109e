package e2e

import (
	"bufio"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// milestones are the times at which each NodeClaim reached each state, as seen by a watch of
// the API server.
type milestones struct {
	mu      sync.Mutex
	reached map[string]map[string]time.Time // by milestone and by NodeClaim, or by Node where it has joined
	nodes   map[string]string               // of NodeClaims
}

// watch starts to record what NodeClaims and Nodes do, until the test ends.
func (s *sandbox) watch() *milestones {
	s.t.Helper()
	m := &milestones{reached: map[string]map[string]time.Time{}, nodes: map[string]string{}}
	s.follow(&karpv1.NodeClaimList{}, func(o client.Object, _ bool) { m.see(o.(*karpv1.NodeClaim)) })
	s.follow(&corev1.NodeList{}, func(o client.Object, _ bool) { m.mark("joined", o.GetName()) })
	return m
}

func (m *milestones) see(nc *karpv1.NodeClaim) {
	m.mark("created", nc.Name)
	if strings.HasPrefix(nc.Status.ProviderID, "linode://") {
		m.mark("bound", nc.Name)
	}
	for name, condition := range map[string]string{
		"launched": karpv1.ConditionTypeLaunched, "registered": karpv1.ConditionTypeRegistered,
		"initialized": karpv1.ConditionTypeInitialized,
	} {
		for _, c := range nc.Status.Conditions {
			if c.Type == condition && c.IsTrue() {
				m.mark(name, nc.Name)
			}
		}
	}
	if nc.Status.NodeName != "" {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.nodes[nc.Name] = nc.Status.NodeName
	}
}

func (m *milestones) mark(milestone, name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reached[milestone] == nil {
		m.reached[milestone] = map[string]time.Time{}
	}
	if _, again := m.reached[milestone][name]; !again {
		m.reached[milestone][name] = time.Now()
	}
}

// report adds to a benchmark the median and the 99th percentile of each milestone
// since a time, and of what comes after a Node has joined.
func (m *milestones) report(b *testing.B, since time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range []string{"created", "launched", "bound", "joined", "registered", "initialized"} {
		var took []time.Duration
		for _, at := range m.reached[name] {
			if at.After(since) {
				took = append(took, at.Sub(since))
			}
		}
		reportTimes(b, name, took)
	}
	for _, name := range []string{"registered", "initialized"} {
		var took []time.Duration
		for claim, at := range m.reached[name] {
			if joined, ok := m.reached["joined"][m.nodes[claim]]; ok {
				took = append(took, at.Sub(joined))
			}
		}
		reportTimes(b, "join-to-"+name, took)
	}
}

func reportTimes(b *testing.B, name string, took []time.Duration) {
	if len(took) == 0 {
		return
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2].Seconds(), "s-"+name+"-p50")
	b.ReportMetric(took[len(took)*99/100].Seconds(), "s-"+name+"-p99")
}

// requests is how many requests the API server has had from anybody, and from a controller.
func (s *sandbox) requests(c *controller) (all, ours float64) {
	s.t.Helper()
	text := strings.NewReader(s.kube("", "get", "--raw", "/metrics"))
	return sum(valuesOf(s.t, text, "apiserver_request_total{")), sum(c.series("rest_client_requests_total{"))
}

// requeued is how often Karpenter has tried a NodeClaim again, which its own rate
// limit of ten a second may delay.
func (c *controller) requeued() float64 {
	c.t.Helper()
	const reconciled = `controller_runtime_reconcile_total{controller="nodeclaim.lifecycle",result=`
	return sum(c.series(reconciled+`"requeue"`)) + sum(c.series(reconciled+`"error"`))
}

// valuesOf are the values of the metrics whose lines begin so.
func valuesOf(t testing.TB, text io.Reader, prefix string) (values []float64) {
	t.Helper()
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), prefix) {
			continue
		}
		value, err := strconv.ParseFloat(lines.Text()[strings.LastIndex(lines.Text(), " ")+1:], 64)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, value)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return values
}

func sum(values []float64) (total float64) {
	for _, v := range values {
		total += v
	}
	return total
}
