package cluster

import (
	"testing"
	"time"
)

// TestWhoWorks: a Lease without a holder was given back, and one that is not renewed is of
// a process that has ended.
func TestWhoWorks(t *testing.T) {
	for _, tt := range []struct {
		is    Controller
		works bool
		says  string
	}{
		{Controller{"ns", "lkeplan-controller", "", time.Hour}, false, "ns/lkeplan-controller is stopped"},
		{Controller{"ns", "lkeplan-controller", "pod", 2 * time.Second}, true, "ns/lkeplan-controller works"},
		{Controller{"ns", "lkeplan-gitops", "pod", time.Minute}, false, "ns/lkeplan-gitops has not reported for 1m0s"},
	} {
		if tt.is.Works() != tt.works || tt.is.String() != tt.says {
			t.Errorf("%+v: %v, %q", tt.is, tt.is.Works(), tt.is)
		}
	}
}
