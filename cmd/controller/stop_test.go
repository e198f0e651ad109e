package main

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestAControllerThatDoesNotStopEnds, within the time that Kubernetes gives a pod, and says why. One that runs does not.
func TestAControllerThatDoesNotStopEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, signal := context.WithCancel(t.Context())
		var said strings.Builder
		var ended []time.Duration
		began := time.Now()
		go endLate(ctx, &said, func(code int) {
			if code != 1 {
				t.Errorf("it ends with %d", code)
			}
			ended = append(ended, time.Since(began))
		})
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(ended) > 0 {
			t.Fatal("it has ended, and no signal has come")
		}
		signal()
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if len(ended) != 1 || ended[0] >= time.Hour+30*time.Second || !strings.Contains(said.String(), "may not list") {
			t.Errorf("ended after %v: %s", ended, said.String())
		}
	})
}
