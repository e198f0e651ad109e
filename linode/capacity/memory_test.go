package capacity

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestGroupWithPendingCallIsNotChanged: the view does not show what a work has done until
// LKE is asked after the work was finished.
func TestGroupWithPendingCallIsNotChanged(t *testing.T) {
	view := View{Claims: []Claim{waits("a")}, Asked: now}
	first := Decide(view, Memory{}, policy, now)
	if diff := cmp.Diff([]string{"web: make a pool of 1 for a", "wait"}, render(first)); diff != "" {
		t.Fatal(diff)
	}
	memory := first.Memory
	other := View{Claims: []Claim{waits("a"), {UID: "b", Group: batch, Created: now}}, Asked: now}
	if got := render(Decide(other, memory, policy, now)); !cmp.Equal(got,
		[]string{"batch: make a pool of 1 for b", "wait"}) {
		t.Errorf("while the work is under way: %v", got)
	}
	memory.Finish(web.Key(), now.Add(2*time.Second))
	made := View{Claims: []Claim{waits("a")}, Pools: []Pool{pool(1, 1, Slot{"1-a", 10})}, Asked: now.Add(time.Second)}
	made.Claims = append(made.Claims, waits("c"))
	want := []string{"bind a to 10", "wait"}
	if got := render(Decide(made, memory, policy, now.Add(3*time.Second))); !cmp.Equal(got, want) {
		t.Errorf("by a view older than the end of the work: %v", got)
	}
	made.Asked = now.Add(4 * time.Second)
	if got := render(Decide(made, memory, policy, now.Add(4*time.Second))); len(got) != 3 {
		t.Errorf("by a view from after it: %v", got)
	}
}

// TestBackoffStopsGroupFromGrowing and from nothing else.
func TestBackoffStopsGroupFromGrowing(t *testing.T) {
	memory := Memory{started: now.Add(-time.Hour)}
	if hold, _ := memory.GrowthFailed(web.Key(), 1, Busy, now.Add(-2*time.Second)); hold != 3*time.Second {
		t.Errorf("a hold of %s", hold)
	}
	view := View{Claims: []Claim{released(has("a", 10)), waits("b")}, Pools: []Pool{pool(1, 2, Slot{"1-a", 10},
		Slot{"1-c", 12})}}
	view.Claims = append(view.Claims, has("c", 12))
	memory.Release("a", now)
	if got := render(Decide(view, memory, policy, now)); !cmp.Equal(got, []string{"web: delete slot 1-a", "wait"}) {
		t.Errorf("on hold: %v", got)
	}
	if got := render(Decide(view, memory, policy, now.Add(time.Second))); len(got) != 3 {
		t.Errorf("after the hold: %v", got)
	}
	holds := []time.Duration{}
	for range 3 {
		hold, _ := memory.GrowthFailed(web.Key(), 1, Refused, now)
		holds = append(holds, hold)
	}
	memory.Grown(web.Key())
	hold, _ := memory.GrowthFailed(web.Key(), 1, Refused, now)
	want := []time.Duration{20 * time.Second, 40 * time.Second, 80 * time.Second, 10 * time.Second}
	if diff := cmp.Diff(want, append(holds, hold)); diff != "" {
		t.Errorf("holds (-want +got):\n%s", diff)
	}
}

// TestAReleasedMachineIsGoneWhenLKEShowsIt: not by what LKE showed before.
func TestAReleasedMachineIsGoneWhenLKEShowsIt(t *testing.T) {
	claims := []Claim{{UID: "a", Group: web, Instance: 10, Leaving: true}}
	var memory Memory
	if first, gone := memory.Release("a", now); !first || gone {
		t.Errorf("Release = %v, %v", first, gone)
	}
	for _, tt := range []struct {
		name  string
		pools []Pool
		asked time.Duration
		gone  bool
	}{
		{"asked before the release", nil, -time.Second, false},
		{"it is there", []Pool{pool(1, 1, Slot{"1-a", 10})}, time.Second, false},
		{"a slot is not listed", []Pool{pool(1, 2, Slot{"1-b", 11})}, time.Second, false},
		{"it is not there", []Pool{pool(1, 1, Slot{"1-b", 11})}, time.Second, true},
	} {
		d := Decide(View{Claims: claims, Pools: tt.pools, Asked: now.Add(tt.asked)}, memory, policy, now)
		if first, gone := d.Memory.Release("a", now); first || gone != tt.gone {
			t.Errorf("%s: Release = %v, %v; want gone: %v", tt.name, first, gone, tt.gone)
		}
		if quick := d.PollIn == policy.Quick; quick == tt.gone && len(d.Works) == 0 {
			t.Errorf("%s: the next poll is in %s", tt.name, d.PollIn)
		}
	}
}

// TestAClaimThatEndsWhileItsMachineIsMade stays until that is deleted.
func TestAClaimThatEndsWhileItsMachineIsMade(t *testing.T) {
	view := View{Claims: []Claim{waits("a")}, Asked: now}
	memory := Decide(view, Memory{}, policy, now).Memory
	memory.Release("a", now)
	for _, tt := range []struct {
		made bool // the call has been answered
		want []string
		gone bool
	}{{false, nil, false}, {true, []string{"web: delete pool 1"}, false}, {true, nil, true}} {
		view.Asked, view.Pools = view.Asked.Add(10*time.Second), nil
		if tt.made && memory.moving(web.Key(), view.Asked) {
			memory.Made(web.Key(), 1, 1, Done, view.Asked.Add(-time.Second))
			memory.Finish(web.Key(), view.Asked.Add(-time.Second))
			view.Pools = []Pool{pool(1, 1, Slot{"1-a", 0})}
		}
		d := Decide(view, memory, policy, view.Asked)
		if diff := cmp.Diff(tt.want, render(d)); diff != "" {
			t.Errorf("decision (-want +got):\n%s", diff)
		}
		memory = d.Memory
		if _, gone := memory.Release("a", view.Asked); gone != tt.gone {
			t.Errorf("after %v the claim is gone: %v", tt.want, gone)
		}
		for _, w := range d.Works {
			memory.PoolDeleted(1, Done, view.Asked)
			memory.Finish(w.Key, view.Asked)
		}
	}
}

// TestPollsGetRarer: polls are frequent while a claim waits, rare otherwise.
func TestPollsGetRarer(t *testing.T) {
	view := View{Claims: []Claim{waits("a")}, Pools: []Pool{pool(1, 1, Slot{"1-a", 0})}, Asked: now}
	var memory Memory
	for _, tt := range []struct{ after, want time.Duration }{
		{0, policy.Quick}, {29 * time.Second, policy.Quick}, {time.Minute, 2 * policy.Quick},
		{3 * time.Minute, 5 * policy.Quick},
	} {
		d := Decide(view, memory, policy, now.Add(tt.after))
		if memory = d.Memory; d.PollIn != tt.want {
			t.Errorf("after %s the next poll is in %s, want %s", tt.after, d.PollIn, tt.want)
		}
	}
	if d := Decide(View{Asked: now}, memory, policy, now); d.PollIn != policy.Idle {
		t.Errorf("the next poll is in %s though no claim waits", d.PollIn)
	}
}

// TestBindCountsBeforeListShowsIt: the caches lag behind.
func TestBindCountsBeforeListShowsIt(t *testing.T) {
	view := View{Claims: []Claim{waits("a")}, Pools: []Pool{pool(1, 1, Slot{"1-a", 10})}, Asked: now}
	d := Decide(view, Memory{}, policy, now)
	d.Memory.Bound(d.Binds[0], now)
	again := Decide(view, d.Memory, policy, now)
	if got := render(again); !slices.Equal(got, []string{"wait"}) || again.Memory.Assigned("a") != 10 {
		t.Errorf("decided %v; assigned is %d", got, again.Memory.Assigned("a"))
	}
	if again = Decide(View{Asked: now}, again.Memory, policy, now); again.Memory.Assigned("a") != 0 {
		t.Error("a claim that is gone is remembered")
	}
}

// TestRunningBindIsNotRepeated, and its instance is no other claim's.
func TestRunningBindIsNotRepeated(t *testing.T) {
	view := View{Claims: []Claim{waits("b")}, Pools: []Pool{pool(1, 1, Slot{"1-a", 10})}, Asked: now}
	d := Decide(view, Memory{started: now.Add(-time.Hour)}, policy, now)
	view.Claims = []Claim{waits("a"), waits("b")}
	got := render(Decide(view, d.Memory, policy, now.Add(time.Second)))
	if diff := cmp.Diff([]string{"web: grow pool 1 to 2 for a", "wait"}, got); diff != "" {
		t.Errorf("decision (-want +got):\n%s", diff)
	}
}

// BenchmarkDecide decides on 1,000 machines of ten groups, at rest.
func BenchmarkDecide(b *testing.B) {
	var view View
	for g := range 10 {
		spec := Group{NodePool: fmt.Sprint("pool-", g), Plan: "g6-standard-4", Labels: map[string]string{"team": "web"}}
		p := Pool{ID: 1 + g, Group: spec.Key(), Count: 100, Traits: traits(spec)}
		for n := range 100 {
			instance := 1000*(1+g) + n
			view.Claims = append(view.Claims, Claim{UID: fmt.Sprint(instance), Group: spec, Instance: instance, Created: now})
			p.Slots = append(p.Slots, Slot{ID: fmt.Sprintf("%d-%03d", p.ID, n), Instance: instance})
		}
		view.Pools = append(view.Pools, p)
	}
	view.Asked = now
	var memory Memory
	for b.Loop() {
		memory = Decide(view, memory, policy, now).Memory
	}
}
