// Package trace says where a commit and a NodeClaim spend their time: what a trace is, which
// spans it has, and how the steps of a piece of work are gathered while it is done.
//
// It knows nothing of OpenTelemetry and sends nothing: package otlp does. Where nobody wants
// traces there is no Sink, and a step costs one look into its context.
package trace

import (
	"crypto/sha256"
	"time"
)

// Span is a stretch of time in which something was done, or waited for.
type Span struct {
	Name       string // one of Kinds
	From, To   time.Time
	Attributes []Attribute
	Error      string // why it has failed; "" where it has not
	Links      []Link // to other traces
	Children   []Span
}

// Attribute is a fact about a span. The value is a string, an int or a float64.
type Attribute struct {
	Key   string
	Value any
}

// Link leads to the first span of another trace.
type Link struct {
	To         ID
	Attributes []Attribute
}

// ID is what a trace is found by, and the id of its first span; that one is left to chance
// where it is zero. The zero ID is a trace of its own.
type ID struct {
	Trace [16]byte
	First [8]byte
}

// Sink takes traces.
type Sink interface {
	// Take takes a span with all below it, for a trace that may have more of them. It does
	// not wait.
	Take(of ID, root Span)
}

// OfRevision is the trace of a revision of a NodePlan, whichever process works at it.
func OfRevision(uid, revision string) ID {
	id := derived("nodeplan " + uid + " " + revision)
	id.First = [8]byte{} // each reconciliation is another
	return id
}

// OfClaim is the trace of a NodeClaim.
func OfClaim(uid string) ID { return derived("nodeclaim " + uid) }

// derived takes both ids from the front of a digest: kube/observability/traces.md says how a
// shell does.
func derived(from string) (id ID) {
	sum := sha256.Sum256([]byte(from))
	copy(id.Trace[:], sum[:])
	copy(id.First[:], sum[len(id.Trace):])
	return id
}
