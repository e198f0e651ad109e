// Package trace says where a commit and a NodeClaim spend their time: what a trace is, which
// spans it has, and how the steps of a piece of work are gathered while it is done.
//
// It knows nothing of OpenTelemetry and sends nothing: package otlp does. Where nobody wants
// traces there is no Sink, and a step costs one look into its context.
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

// Work gathers the steps of a piece of work. They are kept until all of it is done: only
// then is it known what has to be hidden in them, and whether they are worth showing.
type Work struct {
	mu      sync.Mutex
	root    *step
	steps   int
	left    int // steps that were too many
	secrets []string
}

// step is a span that has children while it lasts.
type step struct {
	span     Span
	children []*step
}

// mostSteps bounds a piece of work: one may apply thousands of objects.
const mostSteps = 500

// place is where in which work a context is.
type place struct {
	work *Work
	step *step
}

type placeKey struct{}

// Begin begins a piece of work. Its steps are those of the context that it returns.
func Begin(ctx context.Context, name string) (context.Context, *Work) {
	w := &Work{root: &step{span: Span{Name: name, From: time.Now()}}}
	return context.WithValue(ctx, placeKey{}, place{w, w.root}), w
}

// Step begins a step of the work in a context, and returns the context for what is done in
// it and what ends it: with the error that it ended by, and what is known by then. Without
// any work it does nothing.
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

// Hide has texts shown nowhere in the work of a context.
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

// End ends the work, and returns it with all steps that have ended. Nothing is left in it of
// what is to be hidden.
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

// maxText bounds a text of a span, in bytes: there may be many, and conditions and events
// have all of it.
const maxText = 1024

// Shorten cuts a text of a span. It is for texts that have nothing to hide any more: half a
// secret would not be found.
func Shorten(text string) string { return diag.Shorten(text, maxText) }

// NewRedactor returns what replaces secrets by stars. The longest form is first, so that no end is
// left of one that begins like another.
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

// The lengths from which texts are replaced, in bytes. Shorter ones are in every
// message. A line is only a part of a secret, and short lines are common.
const (
	shortestSecret = 4
	shortestLine   = 8
)

// spellings are the forms of a secret in a text: as it is, without the line break
// at the end, line by line, and each of them in quotes.
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
