package controller

import (
	"context"
	"log/slog"
)

// routine are lines that controller-runtime writes for each controller and each kind that
// it watches, at every start and end: more than two hundred in all.
var routine = map[string]bool{
	"Starting EventSource": true, "Starting Controller": true, "Starting workers": true,
	"Shutdown signal received, waiting for all workers to finish": true, "All workers finished": true,
}

// calm is a handler of log lines for which what is routine is detail.
type calm struct{ slog.Handler }

// Handle implements slog.Handler.
func (c calm) Handle(ctx context.Context, line slog.Record) error {
	if line.Level == slog.LevelInfo && routine[line.Message] {
		if line.Level = slog.LevelDebug; !c.Enabled(ctx, line.Level) {
			return nil
		}
	}
	return c.Handler.Handle(ctx, line)
}

// WithAttrs implements slog.Handler.
func (c calm) WithAttrs(attrs []slog.Attr) slog.Handler { return calm{c.Handler.WithAttrs(attrs)} }

// WithGroup implements slog.Handler.
func (c calm) WithGroup(name string) slog.Handler { return calm{c.Handler.WithGroup(name)} }
