package lke

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	"github.com/lkeplan/lkeplan/linode/sim"
)

// asked is how often a path was requested.
func (r *rig) asked(path string) (n int) {
	for _, call := range r.sim.Calls() {
		if strings.Contains(call.Path, path) {
			n++
		}
	}
	return n
}

// TestAFailureOfLKEIsKnownWithinSeconds if the token may read events, also if LKE's clock is not ours. Else, and if
// there is no event, a slot without an instance ends as before, and refusals are few.
func TestAFailureOfLKEIsKnownWithinSeconds(t *testing.T) {
	const events = "/account/events"
	for name, tt := range map[string]struct {
		cfg     sim.Config
		faults  []sim.Fault
		way     string
		from    time.Duration // the claims are deleted after that, and within ten seconds of it
		most    int           // requests for events in an hour
		because string
	}{
		"at once": {
			way: sim.NodeEvent, from: 30 * time.Second, most: 2, because: "lke_node_create",
		},
		"LKE's clock is ahead": {
			cfg: sim.Config{ClockAhead: 90 * time.Minute}, way: sim.NodeEvent, from: 30 * time.Second, most: 2,
			because: "lke_node_create",
		},
		"LKE's clock is behind": {
			cfg: sim.Config{ClockAhead: -90 * time.Minute}, way: sim.NodeEvent, from: 30 * time.Second, most: 2,
			because: "lke_node_create",
		},
		"listed late": {
			cfg: sim.Config{EventDelay: time.Minute}, way: sim.NodeEvent, from: time.Minute, most: 12,
			because: "lke_node_create",
		},
		"no event": {
			way: sim.NullSlots, from: 4 * time.Minute, most: 40, because: "in time",
		},
		"the token lacks the scope": {
			cfg: sim.Config{Scopes: "lke:read_write"}, way: sim.NodeEvent, from: 4 * time.Minute, most: 1,
			because: "in time",
		},
		"the role of its user does not allow it": {
			faults: []sim.Fault{{Path: events, Status: 403}}, way: sim.NodeEvent, from: 4 * time.Minute, most: 1,
			because: "in time",
		},
		"no answer": {
			faults: []sim.Fault{{Path: events, Hang: true}}, way: sim.NodeEvent, from: 4 * time.Minute, most: 4,
			because: "in time",
		},
		"slow": {
			faults: []sim.Fault{{Path: events, Delay: metav1.Duration{Duration: 3 * time.Second}}}, way: sim.NodeEvent,
			from: 30 * time.Second, most: 2, because: "lke_node_create",
		},
		"answers without a date": {
			faults: []sim.Fault{{Header: map[string]string{"Date": ""}}}, way: sim.NodeEvent, from: 4 * time.Minute,
			because: "in time",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt.cfg.Tier = "standard"
				r := newRig(t, tt.cfg)
				defer r.kill()
				for _, f := range append(tt.faults, sim.Fault{NoCapacity: tt.way, Plan: "g6-standard-4"}) {
					if err := r.sim.Inject(f); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(time.Minute)
				start := time.Now()
				r.want(3)
				r.until("the claims are deleted", func() bool { return len(r.seen().unserved) == 3 })
				if took := time.Since(start); took < tt.from || took > tt.from+10*time.Second {
					t.Errorf("deleted after %s, want %s", took, tt.from)
				}
				for uid, why := range r.seen().unserved {
					if !strings.Contains(why, tt.because) {
						t.Errorf("%s is deleted as %q", uid, why)
					}
				}
				if r.offered("g6-standard-4") {
					t.Error("the plan type is still offered")
				}
				r.release(3)
				time.Sleep(50 * time.Minute)
				if n := r.asked(events); n > tt.most || n == 0 && tt.most > 0 {
					t.Errorf("%d requests for events, want at most %d", n, tt.most)
				}
				if len(r.seen().warned) > 0 {
					t.Errorf("warnings: %v", r.seen().warned)
				}
			})
		})
	}
}

// TestFailureOfAnotherPoolEndsNoClaim: nor does an old one of the same pool, nor one of a slot that was filled.
func TestFailureOfAnotherPoolEndsNoClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, sim.Config{Tier: "standard"})
		defer r.kill()
		r.want(2)
		r.until("the claims have machines", r.bound)
		r.sim.NoteUnmade(r.sim.Pools()[0].ID)
		time.Sleep(time.Minute)
		if err := r.sim.Inject(sim.Fault{NoCapacity: sim.NullSlots}); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		r.want(1)
		for len(r.seen().unserved) == 0 && time.Since(start) < time.Hour {
			r.sim.NoteUnmade(r.sim.Pools()[0].ID + 1)
			time.Sleep(10 * time.Second)
		}
		if took := time.Since(start); took < 4*time.Minute || took > 5*time.Minute {
			t.Errorf("deleted after %s", took)
		}
	})
}

// TestOneRequestReadsTheFailuresOfAllPools: of three pools with slots that stay empty.
func TestOneRequestReadsTheFailuresOfAllPools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, sim.Config{Tier: "standard"})
		defer r.kill()
		if err := r.sim.Inject(sim.Fault{NoCapacity: sim.NodeEvent}); err != nil {
			t.Fatal(err)
		}
		for _, pool := range []string{"web", "batch", "jobs"} {
			r.wantOf(pool, 5)
		}
		r.until("the claims are deleted", func() bool { return len(r.seen().unserved) == 15 })
		if n := r.asked("/account/events"); n != 1 {
			t.Errorf("%d requests", n)
		}
	})
}

// join has the machines of claims join that are not offline.
func (r *rig) join() {
	off := map[int]bool{}
	for _, i := range r.sim.Instances() {
		off[i.ID] = i.Status == "offline"
	}
	r.book.mu.Lock()
	defer r.book.mu.Unlock()
	for _, c := range r.book.claims {
		if c.Instance != 0 && !off[c.Instance] {
			r.book.nodes[c.Instance] = nodeclaim.Node{Name: fmt.Sprint(c.Instance), NodePool: "web", Ready: true}
		}
	}
}

// TestALinodeThatStaysOfflineIsReplaced: after five minutes, if the token may read Linodes. One that a person powers
// off after it has joined is not, nor one that boots late.
func TestALinodeThatStaysOfflineIsReplaced(t *testing.T) {
	const linodes = "/linode/instances"
	for name, tt := range map[string]struct {
		cfg    sim.Config
		faults []sim.Fault
		during func(r *rig)  // after the claims have their machines
		ended  time.Duration // then; 0: never, in fourteen minutes
		most   int           // requests for Linodes
	}{
		"it never boots": {
			faults: []sim.Fault{{StaysOffline: true, Count: 1}}, ended: 7 * time.Minute, most: 9,
		},
		"while others wait": {
			faults: []sim.Fault{{StaysOffline: true, Count: 1}, {NoCapacity: sim.NullSlots, After: 2}},
			during: func(r *rig) { r.want(1) }, ended: 7 * time.Minute, most: 9,
		},
		"it boots after four minutes": {
			faults: []sim.Fault{{StaysOffline: true, Count: 1}}, most: 16,
			during: func(r *rig) {
				time.Sleep(4 * time.Minute)
				r.sim.Power(r.sim.Instances()[0].ID, true)
			},
		},
		"it never joins": {
			faults: []sim.Fault{{NeverJoins: true, Count: 1}}, most: 16,
			during: func(r *rig) {
				r.book.mu.Lock()
				defer r.book.mu.Unlock()
				delete(r.book.nodes, r.sim.Instances()[0].ID)
			},
		},
		"a user powers it off after it has joined": {
			during: func(r *rig) { r.sim.Power(r.sim.Instances()[0].ID, false) },
		},
		"the token lacks the scope": {
			cfg: sim.Config{Scopes: "lke:read_write"}, faults: []sim.Fault{{StaysOffline: true, Count: 1}}, most: 1,
		},
		"the role of its user does not allow it": {
			faults: []sim.Fault{{StaysOffline: true, Count: 1}, {Path: linodes, Status: 403}}, most: 1,
		},
		"no answer": {
			faults: []sim.Fault{{StaysOffline: true, Count: 1}, {Path: linodes, Hang: true}}, most: 15,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt.cfg.Tier = "standard"
				r := newRig(t, tt.cfg)
				defer r.kill()
				for _, f := range tt.faults {
					if err := r.sim.Inject(f); err != nil {
						t.Fatal(err)
					}
				}
				r.want(2)
				r.until("the claims have machines", r.bound)
				r.join()
				time.Sleep(2 * time.Second)
				start, first := time.Now(), r.sim.Instances()[0].ID
				if tt.during != nil {
					tt.during(r)
				}
				for len(r.seen().ended) == 0 && time.Since(start) < 14*time.Minute {
					time.Sleep(time.Second)
				}
				if took, ended := time.Since(start), r.seen().ended; tt.ended == 0 && len(ended) > 0 ||
					tt.ended > 0 && (len(ended) != 1 || took < 5*time.Minute || took > tt.ended) {
					t.Errorf("ended after %s: %v", took, ended)
				}
				if n := r.asked(linodes); n > tt.most {
					t.Errorf("%d requests for Linodes, want at most %d", n, tt.most)
				}
				if tt.ended == 0 {
					return
				}
				if c := r.seen().claims[r.seen().ended[0]]; c.Instance != first {
					t.Errorf("the claim of Linode %d was ended, and not that of %d", c.Instance, first)
				}
				r.until("its machine goes", func() bool { return r.drop(r.seen().ended[0]) })
				if slots := r.sim.Stats().Slots; slots != 1 {
					t.Errorf("%d slots are left", slots)
				}
			})
		})
	}
}

// TestUnansweredEventListBlocksNoMachine for more than some seconds, and once a minute.
func TestUnansweredEventListBlocksNoMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, sim.Config{Tier: "standard"})
		defer r.kill()
		for _, f := range []sim.Fault{{Path: "/account/events", Hang: true}, {NoCapacity: sim.NullSlots, Count: 1}} {
			if err := r.sim.Inject(f); err != nil {
				t.Fatal(err)
			}
		}
		r.want(1)
		time.Sleep(25 * time.Second)
		var worst, all time.Duration
		for range 30 {
			began := time.Now()
			r.wantOf("batch", 1)
			r.until("the claim has its machine", func() bool {
				waiting := 0
				for _, c := range r.seen().claims {
					if c.Instance == 0 {
						waiting++
					}
				}
				return waiting == 1
			})
			worst, all = max(worst, time.Since(began)), all+time.Since(began)
			time.Sleep(3 * time.Second)
		}
		if worst > 8*time.Second || all > 60*time.Second {
			t.Errorf("a claim waited for %s, all together for %s", worst, all)
		}
	})
}
