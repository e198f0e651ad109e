package instance

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/linode/sim"
)

// TestUnneededPlacementGroupIsDeleted: not one with Linodes in it, one of another cluster, or any while the
// needed groups are unknown.
func TestUnneededPlacementGroupIsDeleted(t *testing.T) {
	label := Label(prod, web)
	remove := sim.Fault{Method: "DELETE", Path: path + "/*", Count: 1}
	with := func(set func(*sim.Fault)) []sim.Fault {
		f := remove
		set(&f)
		return []sim.Fault{f}
	}
	for name, tc := range map[string]struct {
		label  string // of the group that is there; "" for that of web
		needed []PoolGroup
		silent bool
		member bool
		faults []sim.Fault
		stays  bool
		sent   int // deletes
	}{
		"not needed":             {needed: []PoolGroup{batch}, sent: 1},
		"needed":                 {needed: []PoolGroup{batch, web}, stays: true},
		"another policy":         {needed: []PoolGroup{{Pool: "web", Policy: "flexible"}}, sent: 1},
		"Linodes of others":      {member: true, stays: true},
		"unknown":                {silent: true, stays: true},
		"another cluster's":      {label: Label("lkeplan-id=another", web), stays: true},
		"somebody's":             {label: "lkeplan-web", stays: true},
		"deleted without answer": {faults: with(func(f *sim.Fault) { f.Lost = true }), sent: 1},
		"not deleted":            {faults: with(func(f *sim.Fault) { f.Status = 500 }), sent: 2},
		"deleted late": {
			faults: with(func(f *sim.Fault) { f.Status, f.Late = 504, metav1.Duration{Duration: time.Minute} }), sent: 1,
		},
		"said to be deleted": {faults: with(func(f *sim.Fault) { f.Ignored = true }), sent: 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newGroupWorld(t, tc.faults...)
				is := label
				if tc.label != "" {
					is = tc.label
				}
				id := w.put(sim.Placement{Label: is})
				if tc.member {
					if _, err := w.buy("somebody", id); err != nil {
						t.Fatal(err)
					}
				}
				w.silent = tc.silent
				w.need(tc.needed...)
				stop := w.run()
				time.Sleep(keep - time.Second)
				if !slices.Contains(w.labels(), is) {
					t.Error("it is gone too early")
				}
				time.Sleep(2 * keep)
				if slices.Contains(w.labels(), is) != tc.stays {
					t.Errorf("in the end there are %v", w.labels())
				}
				if got := w.sent("DELETE placement/groups/{}"); got != tc.sent {
					t.Errorf("%d calls delete it, want %d", got, tc.sent)
				}
				stop()
			})
		})
	}
}

// run has a leader sweep until stop is called.
func (w *groupWorld) run() (stop func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.leader().Run(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

// TestPlacementGroupNeededAgainIsKept: its idle time starts again.
func TestPlacementGroupNeededAgainIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newGroupWorld(t)
		id := w.put(sim.Placement{Label: Label(prod, web)})
		stop := w.run()
		for range 4 {
			time.Sleep(7 * time.Minute)
			w.need(web)
			time.Sleep(5 * time.Minute)
			w.need()
		}
		if got, err := w.leader().Ensure(t.Context(), region, web); err != nil || got != id {
			t.Errorf("group %d, want %d: %v", got, id, err)
		}
		stop()
	})
}

// TestFirstOfTwoGroupsWithOneLabelIsUsed, should Linode ever make two.
func TestFirstOfTwoGroupsWithOneLabelIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newGroupWorld(t)
		id := w.put(sim.Placement{ID: 51, Label: Label(prod, web)})
		w.put(sim.Placement{ID: 50_000, Label: Label(prod, web)})
		w.need(web)
		stop := w.run()
		time.Sleep(2 * keep)
		stop()
		if got, err := w.leader().Ensure(t.Context(), region, web); err != nil || got != id || len(w.labels()) != 1 {
			t.Errorf("group %d of %v: %v", got, w.labels(), err)
		}
	})
}

// TestANodePoolThatIsMadeAgainHasAGroup: also where the old one goes at that very moment.
func TestANodePoolThatIsMadeAgainHasAGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := metav1.Duration{Duration: 20 * time.Second}
		w := newGroupWorld(t, sim.Fault{Method: "DELETE", Path: path + "/*", Count: 1, Status: 504, Late: late})
		old := w.put(sim.Placement{Label: Label(prod, web)})
		stop := w.run()
		time.Sleep(keep + time.Second) // a call that deletes it is under way
		w.need(web)
		g := w.leader()
		if id, err := g.Ensure(t.Context(), region, web); err != nil || id != old {
			t.Errorf("group %d, want %d: %v", id, old, err)
		}
		time.Sleep(late.Duration)
		id, err := g.Ensure(t.Context(), region, web)
		if err != nil || id == old {
			t.Errorf("group %d: %v", id, err)
		}
		if _, err := w.buy("prod-a", id); err != nil {
			t.Error(err)
		}
		time.Sleep(3 * keep)
		if d := cmp.Diff([]string{Label(prod, web)}, w.labels()); d != "" {
			t.Error(d)
		}
		stop()
	})
}

// TestLatePlacementGroupOfDeletedNodePoolIsDeleted.
func TestLatePlacementGroupOfDeletedNodePoolIsDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := metav1.Duration{Duration: time.Minute}
		w := newGroupWorld(t, sim.Fault{Method: "POST", Path: path, Count: 1, Status: 504, Late: late})
		stop := w.run()
		if _, err := w.leader().Ensure(t.Context(), region, web); err == nil {
			t.Error("it is there already")
		}
		time.Sleep(late.Duration)
		if len(w.labels()) != 1 {
			t.Errorf("%v", w.labels())
		}
		time.Sleep(3 * keep)
		if len(w.labels()) != 0 {
			t.Errorf("%v", w.labels())
		}
		stop()
	})
}
