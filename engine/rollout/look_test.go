package rollout_test

import (
	"testing"
	"time"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/rollout"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// TestReadyIsWhatWasSeenReady: a node that was not ready between two looks begins anew, and of a
// long time without a check, one minute counts.
func TestReadyIsWhatWasSeenReady(t *testing.T) {
	began := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	s := rollout.Begin(lkeplanv1alpha1.RolloutSpec{}, []lkeplanv1alpha1.RolloutPool{{Name: "web"}}, true, "", began)
	for _, look := range []struct {
		at    time.Duration // of the clock of who looks
		since time.Time     // by the clock of the cluster
		want  time.Duration
	}{
		{10 * time.Second, began.Add(time.Hour), 0},
		{20 * time.Second, began.Add(time.Hour), 10 * time.Second},
		{30 * time.Second, began.Add(time.Hour), 20 * time.Second},
		{40 * time.Second, began.Add(time.Hour + 5*time.Second), 0},
		{24 * time.Hour, began.Add(time.Hour + 5*time.Second), time.Minute},
		{time.Hour, began.Add(time.Hour + 5*time.Second), time.Minute},
	} {
		s = stored(t, s)
		pools := []rollout.Pool{{Name: "web", New: []rollout.Node{{Name: "web-1", State: cluster.NodeReady, Since: look.since}}}}
		if rollout.Observe(s, pools, began.Add(look.at)); pools[0].New[0].For != look.want {
			t.Errorf("after %s it is ready for %s, want %s", look.at, pools[0].New[0].For, look.want)
		}
	}
}
