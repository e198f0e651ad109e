package controller

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"
)

// routine are lines that controller-runtime writes for each controller and each kind that
// it watches, at every start and end: more than two hundred in all.
var routine = map[string]bool{
	"Starting EventSource": true, "Starting Controller": true, "Starting workers": true,
	"Shutdown signal received, waiting for all workers to finish": true, "All workers finished": true,
}

// repeated are lines that Karpenter writes each time it plans, every few seconds, for each pod and pool that gets no
// node, with the level of the first such line. The other lines of the same pod or pool with the same reason are detail.
var repeated = map[string]slog.Level{
	"could not schedule pod": slog.LevelInfo, // Karpenter calls it an error; it is what limits and requirements are for
	"skipping, nodepool requirements filtered out all instance types": slog.LevelInfo,
	"skipping, no resolved instance types found":                      slog.LevelInfo,
	"skipping, unable to resolve instance types":                      slog.LevelError,
}

// forgetAfter is how long a line has to be absent until it counts as a new decision.
const forgetAfter = 10 * time.Minute

// logHandler is a handler of log lines that leaves one line for each decision: routine and repeated lines become
// detail.
type logHandler struct {
	slog.Handler
	subject string // the pod or pool that the lines are about
	seen    *seenLines
}

func newLogHandler(to slog.Handler) logHandler {
	return logHandler{Handler: to, seen: &seenLines{last: map[seenLine]time.Time{}}}
}

// Handle implements slog.Handler.
func (h logHandler) Handle(ctx context.Context, line slog.Record) error {
	level := line.Level
	if first, ok := repeated[line.Message]; ok && level >= slog.LevelInfo {
		level = first
		if h.seen.seenBefore(h.lineOf(line), line.Time) {
			level = slog.LevelDebug
		}
	} else if routine[line.Message] && level == slog.LevelInfo {
		level = slog.LevelDebug
	}
	if level < line.Level && !h.Enabled(ctx, level) {
		return nil
	}
	line.Level = level
	return h.Handler.Handle(ctx, line)
}

// lineOf returns what a repeated line says.
func (h logHandler) lineOf(line slog.Record) seenLine {
	l := seenLine{message: line.Message, subject: h.subject}
	line.Attrs(func(a slog.Attr) bool {
		if a.Key == "err" {
			l.reason = a.Value.String()
		}
		l.subject += subjectOf(a)
		return true
	})
	return l
}

// subjectOf returns the pod or pool that an attribute names; "" if it names none.
func subjectOf(a slog.Attr) string {
	if a.Key == "Pod" || a.Key == "NodePool" {
		return a.Key + " " + a.Value.String() + " "
	}
	return ""
}

// WithAttrs implements slog.Handler.
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.Handler = h.Handler.WithAttrs(attrs)
	for _, a := range attrs {
		h.subject += subjectOf(a)
	}
	return h
}

// WithGroup implements slog.Handler.
func (h logHandler) WithGroup(name string) slog.Handler {
	h.Handler = h.Handler.WithGroup(name)
	return h
}

// seenLine is a line without its time.
type seenLine struct{ message, subject, reason string }

// seenLines are the repeated lines of the last minutes. It is safe for concurrent use.
type seenLines struct {
	mu     sync.Mutex
	last   map[seenLine]time.Time
	forgot time.Time
}

// seenBefore reports whether a line was there before, and remembers it.
func (s *seenLines) seenBefore(line seenLine, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.forgot) > forgetAfter/10 {
		s.forgot = now
		maps.DeleteFunc(s.last, func(_ seenLine, at time.Time) bool { return now.Sub(at) > forgetAfter })
	}
	before, seen := s.last[line]
	s.last[line] = now
	return seen && now.Sub(before) <= forgetAfter
}
