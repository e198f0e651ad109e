package main

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestControllerExitsIfItDoesNotStop: within the time that Kubernetes gives a pod, and with the reason. Without a signal, it
// runs on.
func TestControllerExitsIfItDoesNotStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, signal := context.WithCancel(t.Context())
		var printed strings.Builder
		var ended []time.Duration
		began := time.Now()
		go endLate(ctx, &printed, func(code int) {
			if code != 1 {
				t.Errorf("exit code %d", code)
			}
			ended = append(ended, time.Since(began))
		})
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(ended) > 0 {
			t.Fatal("it exited without a signal")
		}
		signal()
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if len(ended) != 1 || ended[0] >= time.Hour+30*time.Second || !strings.Contains(printed.String(), "cannot list") {
			t.Errorf("ended after %v: %s", ended, printed.String())
		}
	})
}
