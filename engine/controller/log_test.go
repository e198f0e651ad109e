package controller

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// logged is a log, and what was written to it, without times.
func logged(level slog.Level) (logr.Logger, *bytes.Buffer) {
	var out bytes.Buffer
	text := slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
	return logr.FromSlogHandler(newLogHandler(text)), &out
}

// TestRoutineLinesAreLoggedAtDebugLevel: that a controller has started is not a decision.
func TestRoutineLinesAreLoggedAtDebugLevel(t *testing.T) {
	for level, want := range map[slog.Level]string{
		slog.LevelInfo:  "level=INFO msg=decided\n",
		slog.LevelDebug: "level=DEBUG msg=\"Starting Controller\" controller=nodeplan\nlevel=INFO msg=decided\n",
	} {
		log, out := logged(level)
		log.WithValues("controller", "nodeplan").Info("Starting Controller")
		log.Info("decided")
		if got := out.String(); got != want {
			t.Errorf("at %s:\n%swant\n%s", level, got, want)
		}
	}
}

// TestUnschedulablePodsAreLoggedOncePerReason: Karpenter logs each of them as an error each time it plans.
func TestUnschedulablePodsAreLoggedOncePerReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, out := logged(slog.LevelInfo)
		full, none := errors.New("all available instance types exceed limits"), errors.New("no instance type has enough resources")
		plan := func(why error, pods ...string) {
			for _, pod := range pods {
				// As the scheduler writes it: each pass has a separate logger.
				log.WithValues("reconcileID", time.Now().Format(time.TimeOnly)).
					WithValues("Pod", klog.KRef("shop", pod)).Error(why, "could not schedule pod")
			}
			time.Sleep(10 * time.Second)
		}
		for range 100 { // longer than a reason is remembered
			plan(full, "a", "b")
		}
		plan(none, "a")
		plan(full, "a", "c")
		time.Sleep(time.Hour)
		plan(full, "b") // a pod of the same name, or the same pod again
		var got []string
		for line := range strings.Lines(out.String()) {
			_, line, _ = strings.Cut(line, " reconcileID=")
			got = append(got, line[len("00:00:00 "):])
		}
		want := `Pod.name=a Pod.namespace=shop err="all available instance types exceed limits"
Pod.name=b Pod.namespace=shop err="all available instance types exceed limits"
Pod.name=a Pod.namespace=shop err="no instance type has enough resources"
Pod.name=c Pod.namespace=shop err="all available instance types exceed limits"
Pod.name=b Pod.namespace=shop err="all available instance types exceed limits"
`
		if strings.Join(got, "") != want || strings.Contains(out.String(), "level=ERROR") {
			t.Errorf("%s\nwant\n%s", out, want)
		}
	})
}

// TestOtherErrorsAreLoggedEachTime: only lines that are known to be repeated are detail.
func TestOtherErrorsAreLoggedEachTime(t *testing.T) {
	log, out := logged(slog.LevelInfo)
	for range 3 {
		log.WithValues("Pod", "a").Error(errors.New("refused"), "cannot bind pod")
	}
	if got := strings.Count(out.String(), "level=ERROR"); got != 3 {
		t.Errorf("%d errors:\n%s", got, out)
	}
}
