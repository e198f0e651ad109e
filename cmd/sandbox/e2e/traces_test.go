package e2e

import (
	"context"
	"encoding/hex"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"

	"github.com/lkeplan/lkeplan/engine/trace"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// traces are a collector of traces.
type traces struct {
	collector.UnimplementedTraceServiceServer

	mu    sync.Mutex
	spans []*tracepb.Span
	said  strings.Builder // all that was received, as text
}

// Export implements the server of OTLP.
func (c *traces) Export(
	_ context.Context, req *collector.ExportTraceServiceRequest,
) (*collector.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said.WriteString(req.String())
	for _, resource := range req.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// collectTraces starts a collector, and returns its URL.
func collectTraces(t *testing.T) (*traces, string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c, server := &traces{}, grpc.NewServer()
	collector.RegisterTraceServiceServer(server, c)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return c, "http://" + listener.Addr().String()
}

// of are the names of the spans of a trace, and those that its spans link to.
func (c *traces) of(id trace.ID) (names map[string]int, links []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	names = map[string]int{}
	for _, s := range c.spans {
		if [16]byte(s.TraceId) == id.Trace {
			names[s.Name]++
			for _, l := range s.Links {
				links = append(links, hex.EncodeToString(l.TraceId))
			}
		}
	}
	return names, links
}

// TestTracesConnectCommitToNode: of a revision that replaces nodes each step is
// there, and it leads to the NodeClaims of the new nodes, each with its own. The token is
// nowhere.
func TestTracesConnectCommitToNode(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	c, url := collectTraces(t)
	s.env["OTEL_EXPORTER_OTLP_ENDPOINT"], s.env["OTEL_BSP_SCHEDULE_DELAY"] = url, "200"
	s.startController()
	s.source("fleet", webFleet("", ""))
	s.kube(strings.ReplaceAll(nodePlanOfConfigMap, "NAME", "fleet"), "apply", "-f", "-")
	first := s.untilPlan("fleet", "it is ready", because(lkeplanv1alpha1.ReasonSucceeded))
	s.applyAll(workload("web", 2))
	before := s.until("two pods run on two nodes", time.Minute, func(now state) bool {
		return now.running == 2 && now.matched() && len(now.nodes) == 2
	})
	s.source("fleet", webFleet("", "  labels = { tier = \"web\" }\n"))
	rolled := s.untilWithin("fleet", "no node is outdated", 3*time.Minute, func(np *lkeplanv1alpha1.NodePlan) bool {
		return np.Status.LastAppliedRevision != first.Status.LastAppliedRevision && np.Status.Outdated != nil &&
			*np.Status.Outdated == 0
	})

	id := trace.OfRevision(string(rolled.UID), rolled.Status.LastAppliedRevision)
	var names map[string]int
	var links []string
	s.until("the trace of the revision has all of it", time.Minute, func(state) bool {
		names, links = c.of(id)
		return names[trace.Roll] > 0 && names[trace.Reconcile] > 0
	})
	steps := []string{trace.Find, trace.Fetch, trace.Compile, trace.Plan, trace.Judge, trace.Apply, trace.ApplyObject}
	for _, name := range steps {
		if names[name] == 0 {
			t.Errorf("the trace of the revision has no %s: %v", name, names)
		}
	}
	after := s.until("the new nodes are there", time.Minute, func(now state) bool {
		return now.matched() && len(now.claims) == 2
	})
	for _, nc := range after.claims {
		of := trace.OfClaim(string(nc.UID))
		s.until("the trace of the NodeClaim is there", time.Minute, func(state) bool {
			names, _ = c.of(of)
			return names[trace.Claim] > 0
		})
		for _, name := range []string{trace.Choose, trace.Machine, trace.Call, trace.Join, trace.Initialize} {
			if names[name] == 0 {
				t.Errorf("the trace of NodeClaim %s has no %s: %v", nc.Name, name, names)
			}
		}
		if !strings.Contains(strings.Join(links, " "), hex.EncodeToString(of.Trace[:])) {
			t.Errorf("no link to NodeClaim %s in %v", nc.Name, links)
		}
	}
	for _, nc := range before.claims {
		of := trace.OfClaim(string(nc.UID))
		if strings.Contains(strings.Join(links, " "), hex.EncodeToString(of.Trace[:])) {
			t.Errorf("a link to NodeClaim %s, which was there before", nc.Name)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if token := s.env["LINODE_TOKEN"]; token == "" || strings.Contains(c.said.String(), token) {
		t.Errorf("the token %q is in a trace", token)
	}
}
