package instance

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/linode/sim"
)

// TestALabelIsOfOneClusterOneNodePoolAndOnePolicy, and is known again.
func TestALabelIsOfOneClusterOneNodePoolAndOnePolicy(t *testing.T) {
	flexible := PoolGroup{Pool: "web", Policy: "flexible"}
	const staging = "lkeplan-id=0123456789abcdee"
	labels := []string{Label(prod, web), Label(prod, batch), Label(prod, flexible), Label(staging, web)}
	for k, label := range labels {
		if len(label) != 31 || slices.Contains(labels[:k], label) {
			t.Errorf("%q has %d characters, or is there twice", label, len(label))
		}
		if got := isLabelOf(prod, label); got != (k < 3) {
			t.Errorf("%q is ours: %v", label, got)
		}
	}
	cut := labels[0][:30]
	for _, label := range []string{"", "lkeplan-", labels[0] + "0", cut, cut + "z", cut + "A"} {
		if isLabelOf(prod, label) {
			t.Errorf("%q is ours", label)
		}
	}
}

// TestPlacementGroupIsCreatedOnce, for each result of the call that creates it.
func TestPlacementGroupIsCreatedOnce(t *testing.T) {
	late := func(d time.Duration) metav1.Duration { return metav1.Duration{Duration: d} }
	post := func(f sim.Fault) []sim.Fault {
		f.Method, f.Path, f.Count = "POST", path, max(1, f.Count)
		return []sim.Fault{f}
	}
	for name, tc := range map[string]struct {
		faults []sim.Fault
		within int // attempts, 10 seconds apart
		posts  int // at most
	}{
		"answered":       {nil, 1, 1},
		"lost":           {post(sim.Fault{Lost: true}), 1, 1},
		"no answer":      {post(sim.Fault{Hang: true, AfterWork: true}), 1, 1},
		"late":           {post(sim.Fault{Status: 504, Late: late(5 * time.Second)}), 2, 1},
		"very late":      {post(sim.Fault{Status: 504, Late: late(119 * time.Second)}), 2, 2},
		"failed":         {post(sim.Fault{Status: 500, Count: 3}), 4, 4},
		"refused":        {post(sim.Fault{Status: 400, Body: "No more placement groups", Count: 2}), 3, 3},
		"too many calls": {post(sim.Fault{Status: 429, Header: map[string]string{"Retry-After": "15"}}), 2, 2},
		"no list":        {[]sim.Fault{{Method: "GET", Path: path, Count: 1, Status: 500}}, 2, 1},
		"lost, and no list": {append(post(sim.Fault{Lost: true}),
			sim.Fault{Method: "GET", Path: path, After: 1, Count: 1, Status: 500}), 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newGroupWorld(t, tc.faults...)
				g, id := w.leader(), 0
				for n := 1; id == 0 && n <= 20; n++ {
					var err error
					if id, err = g.Ensure(t.Context(), region, web); (err == nil) != (n >= tc.within) {
						t.Errorf("attempt %d: %v", n, err)
					}
					time.Sleep(10 * time.Second)
				}
				posts := w.sent("POST placement/groups")
				time.Sleep(3 * time.Minute)
				again, err := w.leader().Ensure(t.Context(), region, web)
				if err != nil || again != id || id == 0 || posts > tc.posts {
					t.Errorf("group %d, then %d after %d calls: %v", id, again, posts, err)
				}
				if d := cmp.Diff([]string{Label(prod, web)}, w.labels()); d != "" {
					t.Error(d)
				}
			})
		})
	}
}

// TestManyMachinesAskForAGroupOnce: and two leaders that make it at the same time make one.
func TestManyMachinesAskForAGroupOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := metav1.Duration{Duration: 2 * time.Second}
		w := newGroupWorld(t, sim.Fault{Method: "POST", Path: path, Count: 2, Delay: slow})
		leaders := []*placementGroups{w.leader(), w.leader()}
		ids := make([]int, 20)
		var all sync.WaitGroup
		for n := range ids {
			all.Go(func() {
				var err error
				if ids[n], err = leaders[n%2].Ensure(t.Context(), region, web); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if made := slices.Compact(ids); len(made) != 1 || len(w.labels()) != 1 {
			t.Errorf("groups %v and %v", made, w.labels())
		}
		if posts, lists := w.sent("POST placement/groups"), w.sent("GET placement/groups"); posts != 2 || lists > 5 {
			t.Errorf("%d calls make it, and %d look for it", posts, lists)
		}
	})
}

// TestARefusalCountsForTheOtherMachinesOfANodePool, for a moment.
func TestARefusalCountsForTheOtherMachinesOfANodePool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newGroupWorld(t, sim.Fault{Method: "POST", Path: path, Count: 2, Status: 400, Body: "No more placement groups"})
		g := w.leader()
		for range 20 {
			if _, err := g.Ensure(t.Context(), region, web); !contains(err, "placement group of NodePool web: ") ||
				!contains(err, "No more placement groups") {
				t.Errorf("%v", err)
			}
		}
		if posts := w.sent("POST placement/groups"); posts != 1 {
			t.Errorf("asked %d times", posts)
		}
		time.Sleep(refusalCounts)
		if _, err := g.Ensure(t.Context(), region, batch); err == nil {
			t.Error("the second is not refused")
		}
		if _, err := g.Ensure(t.Context(), region, web); err != nil {
			t.Error(err)
		}
	})
}

// TestNoMachineIsMadeInAGroupThatIsWrong: it waits, and the group is not changed.
func TestNoMachineIsMadeInAGroupThatIsWrong(t *testing.T) {
	for _, tc := range []struct {
		name   string
		policy string
		others int // its Linodes of other owners
		want   string
	}{
		{"as it should be", "strict", 4, ""},
		{"another policy", "flexible", 0, "with the policy flexible, not strict"},
		{"full", "strict", 5, "is full: it has the maximum of 5 Linodes, ["},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newGroupWorld(t)
			id := w.put(sim.Placement{Label: Label(prod, web), Policy: tc.policy})
			for n := range tc.others {
				if _, err := w.buy(fmt.Sprint("somebody-", n), id); err != nil {
					t.Fatal(err)
				}
			}
			got, err := w.leader().Ensure(t.Context(), region, web)
			if ok := tc.want == ""; ok != (err == nil) || ok != (got == id) || !ok && !contains(err, tc.want) {
				t.Errorf("%s: group %d, %v", tc.name, got, err)
			}
			if len(w.labels()) != 1 || w.sent("POST placement/groups") > 0 {
				t.Errorf("%s: %v", tc.name, w.labels())
			}
		})
	}
}

// TestDeletedPlacementGroupIsRecreated: no machine is created outside of it meanwhile.
func TestDeletedPlacementGroupIsRecreated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newGroupWorld(t)
		g := w.leader()
		id, err := g.Ensure(t.Context(), region, web)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.api.DeletePlacementGroup(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		stale, err := g.Ensure(t.Context(), region, web)
		if err != nil || stale != id {
			t.Errorf("group %d: %v", stale, err)
		}
		if _, err := w.buy("prod-a", stale); !contains(err, "placement_group.id") {
			t.Errorf("a machine is made outside of its group: %v", err)
		}
		time.Sleep(listCounts)
		again, err := g.Ensure(t.Context(), region, web)
		if err != nil || again == id {
			t.Errorf("group %d, then %d: %v", id, again, err)
		}
		if _, err := w.buy("prod-a", again); err != nil {
			t.Error(err)
		}
	})
}
