package controller

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/go-logr/logr"
)

// TestRoutineIsDetail: what says that a controller has started is no decision.
func TestRoutineIsDetail(t *testing.T) {
	for level, want := range map[slog.Level]string{
		slog.LevelInfo:  "level=INFO msg=decided\n",
		slog.LevelDebug: "level=DEBUG msg=\"Starting Controller\" controller=nodeplan\nlevel=INFO msg=decided\n",
	} {
		var out bytes.Buffer
		text := slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}})
		log := logr.FromSlogHandler(routineHandler{text})
		log.WithValues("controller", "nodeplan").Info("Starting Controller")
		log.Info("decided")
		if got := out.String(); got != want {
			t.Errorf("at %s:\n%swant\n%s", level, got, want)
		}
	}
}
