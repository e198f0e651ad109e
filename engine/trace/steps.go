package trace

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/lkeplan/lkeplan/config/diag"
)

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
	return w.root.shown(New(w.secrets))
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
