package otlp

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"

	"github.com/lkeplan/lkeplan/engine/trace"
)

var noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// tree is a trace with a step that has failed.
func tree() trace.Span {
	return trace.Span{
		Name: trace.Reconcile, From: noon, To: noon.Add(time.Minute), Error: "broken \xff text",
		Attributes: []trace.Attribute{{Key: trace.Reason, Value: "A\xff"}, {Key: trace.LeftOut, Value: 3}},
		Links:      []trace.Link{{To: trace.OfClaim("a")}},
		Children:   []trace.Span{{Name: trace.Fetch, From: noon.Add(time.Second), To: noon.Add(2 * time.Second)}},
	}
}

// TestSpansAreExported as they were gathered, under the ids that others can derive.
func TestSpansAreExported(t *testing.T) {
	memory := tracetest.NewInMemoryExporter()
	e := newExporter(sdk.WithSyncer(memory))
	revision, claim := trace.OfRevision("uid", "main@sha1:1"), trace.OfClaim("uid")
	e.Take(revision, tree())
	e.Take(revision, tree())
	e.Take(claim, trace.Span{Name: trace.Claim})
	e.Take(trace.ID{}, trace.Span{Name: trace.Reconcile})
	spans := memory.GetSpans()
	child, root := spans[0], spans[1]
	if child.Name != trace.Fetch || child.Parent.SpanID() != root.SpanContext.SpanID() || root.Parent.IsValid() {
		t.Errorf("%s has the parent %v", child.Name, child.Parent)
	}
	if [16]byte(root.SpanContext.TraceID()) != revision.Trace || [16]byte(child.SpanContext.TraceID()) != revision.Trace {
		t.Errorf("the trace is %s and %s", root.SpanContext.TraceID(), child.SpanContext.TraceID())
	}
	if !child.StartTime.Equal(noon.Add(time.Second)) || !root.EndTime.Equal(noon.Add(time.Minute)) {
		t.Errorf("from %s, to %s", child.StartTime, root.EndTime)
	}
	if root.Status.Code != codes.Error || root.Status.Description != "broken ? text" || child.Status.Code == codes.Error {
		t.Errorf("status: %v, %v", root.Status, child.Status)
	}
	var attributes []string
	for _, a := range root.Attributes {
		attributes = append(attributes, string(a.Key)+"="+a.Value.String())
	}
	if diff := cmp.Diff([]string{"lkeplan.reason=A?", "lkeplan.steps_left_out=3"}, attributes); diff != "" {
		t.Error(diff)
	}
	if to := root.Links[0].SpanContext; [8]byte(to.SpanID()) != trace.OfClaim("a").First || !to.IsValid() {
		t.Errorf("it links to %v", to)
	}
	if again := spans[3]; again.SpanContext.SpanID() == root.SpanContext.SpanID() ||
		again.SpanContext.TraceID() != root.SpanContext.TraceID() {
		t.Errorf("another reconciliation: %v after %v", again.SpanContext, root.SpanContext)
	}
	if is := spans[4].SpanContext; [16]byte(is.TraceID()) != claim.Trace || [8]byte(is.SpanID()) != claim.First {
		t.Errorf("a NodeClaim: %v", is)
	}
	if is := spans[5].SpanContext; !is.IsValid() {
		t.Errorf("a separate trace: %v", is)
	}
}

// TestSamplingKeepsTracesComplete: each part of a trace is decided on by the id that all have.
func TestSamplingKeepsTracesComplete(t *testing.T) {
	t.Setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
	t.Setenv("OTEL_TRACES_SAMPLER_ARG", "0.5")
	memory := tracetest.NewInMemoryExporter()
	e := newExporter(sdk.WithSyncer(memory))
	kept := 0
	for i := range 100 {
		memory.Reset()
		for range 3 {
			e.Take(trace.OfClaim(strings.Repeat("a", i)), tree())
		}
		switch n := len(memory.GetSpans()); n {
		case 6:
			kept++
		case 0:
		default:
			t.Errorf("%d of 6 spans of a trace", n)
		}
	}
	if kept < 25 || kept > 75 {
		t.Errorf("%d of 100 traces", kept)
	}
}

func TestBadEndpoints(t *testing.T) {
	for _, endpoint := range []string{
		"collector:4317", "grpc://collector:4317", "http://", "http://user:hunter22@collector:4317",
		"http://collector:4318/v1/traces", "http://user:hunter22@\x7f", "%",
	} {
		_, err := New(t.Context(), Options{Endpoint: endpoint}, slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), "must be the URL of a collector") ||
			strings.Contains(err.Error(), "hunter22") {
			t.Errorf("%s: %v", endpoint, err)
		}
	}
}

// received is a collector.
type received struct {
	collector.UnimplementedTraceServiceServer
	requests chan *collector.ExportTraceServiceRequest
}

func (r received) Export(
	_ context.Context, req *collector.ExportTraceServiceRequest,
) (*collector.ExportTraceServiceResponse, error) {
	r.requests <- req
	return &collector.ExportTraceServiceResponse{}, nil
}

// TestCollectorGetsTraces over the wire, what is left at the end included.
func TestCollectorGetsTraces(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, got := grpc.NewServer(), received{requests: make(chan *collector.ExportTraceServiceRequest, 1)}
	collector.RegisterTraceServiceServer(server, got)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "k8s.cluster.name=prod")
	o := Options{Endpoint: "http://" + listener.Addr().String(), Service: "lkeplan-gitops", Version: "v1.2.3"}
	e, err := New(t.Context(), o, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	e.Take(trace.OfClaim("a"), tree())
	e.End()
	request := (<-got.requests).ResourceSpans[0]
	if n := len(request.ScopeSpans[0].Spans); n != 2 {
		t.Errorf("%d spans", n)
	}
	about := request.Resource.String()
	for _, want := range []string{"lkeplan-gitops", "v1.2.3", "k8s.cluster.name"} {
		if !strings.Contains(about, want) {
			t.Errorf("no %s in %s", want, about)
		}
	}
}

// TestCollectorDoesNotBlock: it is away, and the process ends in time. The log has one
// line.
func TestCollectorDoesNotBlock(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") // which answers nothing
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "1") // a batch each millisecond
	var log page
	o := Options{Endpoint: "http://" + listener.Addr().String()}
	e, err := New(t.Context(), o, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for range 5000 { // more than the queue has room for
		e.Take(trace.ID{}, tree())
	}
	if took := time.Since(began); took > endTimeout {
		t.Errorf("taking 5000 traces took %s", took)
	}
	began = time.Now()
	if e.End(); time.Since(began) > 2*endTimeout {
		t.Errorf("the end took %s", time.Since(began))
	}
	if text := log.String(); strings.Count(text, "\n") > 2 {
		t.Errorf("it says:\n%s", text)
	}
}

// page is a log that several write.
type page struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *page) Write(line []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(line)
}

func (p *page) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// fails is an exporter that fails as often as it says.
type fails struct {
	sdk.SpanExporter
	times *int
}

func (f fails) ExportSpans(context.Context, []sdk.ReadOnlySpan) error {
	if *f.times > 0 {
		*f.times--
		return errors.New("connection refused")
	}
	return nil
}

// TestUnavailableCollectorIsLoggedOnce, and once that it is back.
func TestUnavailableCollectorIsLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	c := &quietExporter{
		SpanExporter: fails{times: new(3)}, endpoint: "http://collector:4317", log: slog.New(slog.NewTextHandler(&log, nil)),
	}
	for range 6 {
		if err := c.ExportSpans(t.Context(), nil); err != nil {
			t.Error(err)
		}
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "dropped until") || !strings.Contains(lines[1], "accepts spans again") {
		t.Errorf("%s", &log)
	}
}
