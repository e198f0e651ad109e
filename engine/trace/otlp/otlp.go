// Package otlp sends traces to a collector, with OTLP over gRPC. It is a separate package because it
// is the only one that imports OpenTelemetry.
//
// No caller waits for the collector: if it does not accept spans, they are dropped, which is logged
// once.
package otlp

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/lkeplan/lkeplan/engine/trace"
)

// Options configure where traces go, and the name of the program in them.
type Options struct {
	Endpoint string // the URL of a collector, such as http://otel-collector.observability:4317
	Service  string // the name of the program; OTEL_SERVICE_NAME overrides it
	Version  string
}

// Exporter sends traces. It is a trace.Sink.
type Exporter struct {
	provider *sdk.TracerProvider
	tracer   oteltrace.Tracer
}

// endTimeout is how long the last traces can delay the end of the process.
const endTimeout = 3 * time.Second

// New returns an Exporter, which End stops. It connects when there is something to send. Except for
// the endpoint, the environment variables of OpenTelemetry's SDK apply, such as
// OTEL_EXPORTER_OTLP_HEADERS and OTEL_TRACES_SAMPLER.
func New(ctx context.Context, o Options, log *slog.Logger) (*Exporter, error) {
	u, err := url.Parse(o.Endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" {
		return nil, fmt.Errorf("the endpoint of traces must be the URL of a collector for OTLP over gRPC, such as "+
			"http://otel-collector.observability:4317, without a path or password; it is %q", masked(u, o.Endpoint))
	}
	sender, err := otlptracegrpc.New(ctx, otlptracegrpc.WithEndpointURL(o.Endpoint))
	if err != nil {
		return nil, fmt.Errorf("send traces to %s: %w", o.Endpoint, err)
	}
	from, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithHost(), resource.WithAttributes(
		attribute.String("service.name", o.Service), attribute.String("service.version", o.Version)), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("read OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	log.Info("sending traces", "endpoint", o.Endpoint)
	quiet := &quietExporter{SpanExporter: sender, endpoint: o.Endpoint, log: log}
	return newExporter(sdk.WithBatcher(quiet), sdk.WithResource(from)), nil
}

// masked is a URL without its password; "" if it is not a URL.
func masked(u *url.URL, text string) string {
	switch {
	case u != nil:
		return u.Redacted()
	case strings.Contains(text, "@"):
		return "***"
	}
	return text
}

func newExporter(options ...sdk.TracerProviderOption) *Exporter {
	provider := sdk.NewTracerProvider(append(options, sdk.WithIDGenerator(ids{}))...)
	return &Exporter{provider: provider, tracer: provider.Tracer("github.com/lkeplan/lkeplan")}
}

// End sends the remaining spans if the collector accepts them in time.
func (e *Exporter) End() {
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	_ = e.provider.Shutdown(ctx) // the log already reports that the collector is unavailable
}

// Take implements trace.Sink. If the queue is full, spans are dropped.
func (e *Exporter) Take(of trace.ID, root trace.Span) {
	e.put(context.WithValue(context.Background(), idKey{}, of), root)
}

func (e *Exporter) put(ctx context.Context, s trace.Span) {
	options := []oteltrace.SpanStartOption{
		oteltrace.WithTimestamp(s.From), oteltrace.WithAttributes(attributes(s.Attributes)...),
	}
	for _, l := range s.Links {
		to := oteltrace.NewSpanContext(oteltrace.SpanContextConfig{TraceID: l.To.Trace, SpanID: l.To.First})
		options = append(options, oteltrace.WithLinks(oteltrace.Link{SpanContext: to, Attributes: attributes(l.Attributes)}))
	}
	ctx, span := e.tracer.Start(ctx, s.Name, options...)
	if s.Error != "" {
		span.SetStatus(codes.Error, strings.ToValidUTF8(s.Error, "?"))
	}
	for _, child := range s.Children {
		e.put(ctx, child)
	}
	span.End(oteltrace.WithTimestamp(s.To))
}

// attributes converts the attributes of a span. A text that is not UTF-8 would prevent sending
// everything in the same batch.
func attributes(all []trace.Attribute) (list []attribute.KeyValue) {
	for _, a := range all {
		switch value := a.Value.(type) {
		case int:
			list = append(list, attribute.Int(a.Key, value))
		case float64:
			list = append(list, attribute.Float64(a.Key, value))
		default:
			list = append(list, attribute.String(a.Key, strings.ToValidUTF8(fmt.Sprint(value), "?")))
		}
	}
	return list
}

// quietExporter is an exporter that logs only once that the collector is unavailable, and once that it
// is available again.
type quietExporter struct {
	sdk.SpanExporter
	endpoint string
	log      *slog.Logger
	away     atomic.Bool
}

// ExportSpans implements sdk.SpanExporter. It never returns an error, because the SDK would log each
// one.
func (c *quietExporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := c.SpanExporter.ExportSpans(ctx, spans)
	if away := err != nil; c.away.Swap(away) == away {
		return nil
	}
	if err != nil {
		c.log.Warn("the trace collector does not accept spans; they are dropped until it does", "endpoint", c.endpoint,
			"error", err)
	} else {
		c.log.Info("the trace collector accepts spans again", "endpoint", c.endpoint)
	}
	return nil
}

// ids generates the IDs that traces define.
type ids struct{}

type idKey struct{}

// NewIDs implements sdk.IDGenerator.
func (g ids) NewIDs(ctx context.Context) (oteltrace.TraceID, oteltrace.SpanID) {
	of, _ := ctx.Value(idKey{}).(trace.ID)
	id, first := oteltrace.TraceID(of.Trace), oteltrace.SpanID(of.First)
	if !id.IsValid() {
		_, _ = rand.Read(id[:])
	}
	if !first.IsValid() {
		first = g.NewSpanID(ctx, id)
	}
	return id, first
}

// NewSpanID implements sdk.IDGenerator.
func (ids) NewSpanID(context.Context, oteltrace.TraceID) (id oteltrace.SpanID) {
	_, _ = rand.Read(id[:])
	return id
}
