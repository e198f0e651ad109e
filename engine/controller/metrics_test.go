package controller

import (
	"log/slog"
	"testing"

	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/linodetest"
)

// TestOptionalRefusalsAreNotCounted: the alert about a refused token goes by requests with the status 401 or
// 403.
func TestOptionalRefusalsAreNotCounted(t *testing.T) {
	call := api.Call{Method: "GET", Route: "account/events", Status: 403, Class: api.ClassAuth, Left: -1}
	for optional, want := range map[bool]float64{true: 0, false: 1} {
		counted := func() float64 {
			values, err := linodetest.Gathered(crmetrics.Registry)
			if err != nil {
				t.Fatal(err)
			}
			return values["lkeplan_linode_request_duration_seconds"]
		}
		call.Optional = optional
		before := counted()
		if observeLinode(slog.New(slog.DiscardHandler), call); counted() != before+want {
			t.Errorf("optional: %v; %v are counted, want %v", optional, counted()-before, want)
		}
	}
}
