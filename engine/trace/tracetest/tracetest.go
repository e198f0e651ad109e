// Package tracetest is for tests: it records traces, and shows them as text.
package tracetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lkeplan/lkeplan/engine/trace"
)

// Sink keeps the spans that it takes. Each span has to match trace.Kinds.
type Sink struct {
	T         testing.TB
	Durations bool // show durations, in seconds; they have to be the same each time

	mu    sync.Mutex
	lines []string
	ids   []trace.ID
}

// Take implements trace.Sink.
func (s *Sink) Take(of trace.ID, root trace.Span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids = append(s.ids, of)
	s.show("", root)
}

// Taken returns the spans taken since the last call, with a line for each span, below its parent; and
// the IDs of the traces.
func (s *Sink) Taken() (text string, ids []trace.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, ids = strings.Join(s.lines, "\n"), s.ids
	s.lines, s.ids = nil, nil
	return text, ids
}

func (s *Sink) show(indent string, span trace.Span) {
	at := slices.IndexFunc(trace.Kinds(), func(k trace.Kind) bool { return k.Name == span.Name })
	if at < 0 {
		s.T.Errorf("there is no kind of spans called %s", span.Name)
		return
	}
	if span.From.IsZero() || span.To.Before(span.From) {
		s.T.Errorf("%s is from %s to %s", span.Name, span.From, span.To)
	}
	line := indent + span.Name
	if s.Durations {
		line += fmt.Sprintf(" %gs", span.To.Sub(span.From).Round(time.Millisecond).Seconds())
	}
	for _, a := range span.Attributes {
		if !slices.Contains(trace.Kinds()[at].Attributes, a.Key) {
			s.T.Errorf("%s has the attribute %s, which its kind does not list", span.Name, a.Key)
		}
		if a.Value != "" && a.Key != trace.UID {
			line += fmt.Sprintf(" %s=%v", a.Key[strings.LastIndexAny(a.Key, ".")+1:], a.Value)
		}
	}
	for _, l := range span.Links {
		line += fmt.Sprintf(" -> %v", l.Attributes[0].Value)
	}
	if span.Error != "" {
		line += " ! " + strings.ReplaceAll(span.Error, "\n", " ")
	}
	s.lines = append(s.lines, line)
	for _, child := range span.Children {
		s.show(indent+"  ", child)
	}
}
