// Package trace shows where a commit or a NodeClaim spends its time. It defines traces and their
// spans, and collects the steps of a piece of work.
//
// It does not use OpenTelemetry and sends nothing: package otlp does. If tracing is off there is no
// Sink, and a step costs one lookup in its context.
package trace

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lkeplan/lkeplan/config/diag"
)

// Span is a period in which something was done or waited for.
type Span struct {
	Name       string // one of Kinds
	From, To   time.Time
	Attributes []Attribute
	Error      string // why it has failed; "" if it has not
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

// ID identifies a trace and its first span. If First is zero, the ID of the first span is random. The
// zero ID is a new trace.
type ID struct {
	Trace [16]byte
	First [8]byte
}

// Sink takes traces.
type Sink interface {
	// Take takes a span with all spans below it, for a trace that may contain further spans. It
	// does not wait.
	Take(of ID, root Span)
}

// OfRevision is the trace of a revision of a NodePlan. It is the same in each process.
func OfRevision(uid, revision string) ID {
	id := derived("nodeplan " + uid + " " + revision)
	id.First = [8]byte{} // each reconciliation has a different one
	return id
}

// OfClaim is the trace of a NodeClaim.
func OfClaim(uid string) ID { return derived("nodeclaim " + uid) }

// derived takes both IDs from the start of a digest. kube/observability/traces.md shows how to do
// that in a shell.
func derived(from string) (id ID) {
	sum := sha256.Sum256([]byte(from))
	copy(id.Trace[:], sum[:])
	copy(id.First[:], sum[len(id.Trace):])
	return id
}

// Work collects the steps of a piece of work. They are kept until all of it is done, because only
// then it is known which secrets to hide in them, and whether to show them.
type Work struct {
	mu      sync.Mutex
	root    *step
	steps   int
	left    int // number of steps that were dropped
	secrets []string
}

// step is a span that collects children until it ends.
type step struct {
	span     Span
	children []*step
}

// mostSteps is the maximum number of steps of a piece of work, which may apply thousands of objects.
const mostSteps = 500

// place is the step of a piece of work that a context belongs to.
type place struct {
	work *Work
	step *step
}

type placeKey struct{}

// Begin starts a piece of work. Steps in the returned context belong to it.
func Begin(ctx context.Context, name string) (context.Context, *Work) {
	w := &Work{root: &step{span: Span{Name: name, From: time.Now()}}}
	return context.WithValue(ctx, placeKey{}, place{w, w.root}), w
}

// Step starts a step of the work in a context. It returns the context of the step, and a function that
// ends the step, with its error and further attributes. Without any work it does nothing.
func Step(ctx context.Context, name string, about ...Attribute) (context.Context, func(error, ...Attribute)) {
	at, ok := ctx.Value(placeKey{}).(place)
	if !ok || !at.work.room() {
		return ctx, func(error, ...Attribute) {}
	}
	s := &step{span: Span{Name: name, From: time.Now(), Attributes: about}}
	return context.WithValue(ctx, placeKey{}, place{at.work, s}), func(err error, more ...Attribute) {
		s.end(err, more)
		at.work.mu.Lock()
		defer at.work.mu.Unlock()
		at.step.children = append(at.step.children, s)
	}
}

// Hide hides texts everywhere in the work of a context.
func Hide(ctx context.Context, secrets []string) {
	if at, ok := ctx.Value(placeKey{}).(place); ok {
		at.work.mu.Lock()
		defer at.work.mu.Unlock()
		at.work.secrets = append(at.work.secrets, secrets...)
	}
}

func (w *Work) room() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.steps == mostSteps {
		w.left++
		return false
	}
	w.steps++
	return true
}

// End ends the work, and returns it with all steps that have ended, without the hidden texts.
func (w *Work) End(err error, about ...Attribute) Span {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left > 0 {
		about = append(about, Attribute{LeftOut, w.left})
	}
	w.root.end(err, about)
	return w.root.shown(NewRedactor(w.secrets))
}

func (s *step) end(err error, about []Attribute) {
	s.span.To = time.Now()
	s.span.Attributes = append(s.span.Attributes, about...)
	if err != nil {
		s.span.Error = err.Error()
	}
}

func (s *step) shown(hidden *strings.Replacer) Span {
	span := s.span
	span.Error = Shorten(hidden.Replace(span.Error))
	span.Attributes = nil
	for _, a := range s.span.Attributes {
		if text, ok := a.Value.(string); ok {
			a.Value = Shorten(hidden.Replace(text))
		}
		span.Attributes = append(span.Attributes, a)
	}
	for _, child := range s.children {
		span.Children = append(span.Children, child.shown(hidden))
	}
	return span
}

// maxText is the maximum length of a text in a span, in bytes: there may be many spans, and conditions
// and events contain the complete text.
const maxText = 1024

// Shorten truncates a text of a span. Hide secrets in the text first, because half a secret would not
// be found.
func Shorten(text string) string { return diag.Shorten(text, maxText) }

// NewRedactor returns a replacer of secrets by stars. The longest forms come first, so that no rest
// remains of a secret that starts with another one.
func NewRedactor(secrets []string) *strings.Replacer {
	var forms []string
	for _, secret := range secrets {
		forms = append(forms, spellings(secret)...)
	}
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	var pairs []string
	for _, form := range slices.Compact(forms) {
		pairs = append(pairs, form, "***")
	}
	return strings.NewReplacer(pairs...)
}

// The minimum lengths of texts that are replaced, in bytes. Shorter texts occur in every message. A
// line is only a part of a secret, and short lines are common.
const (
	shortestSecret = 4
	shortestLine   = 8
)

// spellings are the forms of a secret in a text: unchanged, without the line break at the end, line by
// line, and each of these in quotes.
func spellings(secret string) (forms []string) {
	add := func(text string, shortest int) {
		if len(text) < shortest {
			return
		}
		forms = append(forms, text)
		if quoted, err := json.Marshal(text); err == nil {
			forms = append(forms, string(quoted[1:len(quoted)-1]))
		}
	}
	add(secret, shortestSecret)
	add(strings.TrimSpace(secret), shortestSecret)
	if strings.Contains(strings.TrimSpace(secret), "\n") {
		for line := range strings.Lines(secret) {
			add(strings.TrimSpace(line), shortestLine)
		}
	}
	return forms
}
