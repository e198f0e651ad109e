package capacity

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	now    = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	policy = Policy{
		Grace: time.Minute, Keep: 10 * time.Minute, SlotTimeout: 4 * time.Minute, PoolSize: 100, ClusterSize: 250,
		Quick: 2 * time.Second, Idle: time.Minute,
	}
	web   = Group{NodePool: "web", Plan: "g6-standard-4"}
	batch = Group{NodePool: "batch", Plan: "g6-standard-4"}
)

func waits(uid string) Claim { return Claim{UID: uid, Group: web, Created: now} }

func has(uid string, instance int) Claim {
	return Claim{UID: uid, Group: web, Instance: instance, Created: now}
}

func released(c Claim) Claim {
	c.Leaving, c.released = true, true
	return c
}

// pool is a pool of the group web with its slots; count is what LKE counts,
// which may be more than it lists.
func pool(id, count int, slots ...Slot) Pool {
	return Pool{ID: id, Group: web.Key(), Count: count, Slots: slots}
}

// since is a memory of slots that are unowned and without an instance for so
// long, while the claims a and z have waited.
func since(age time.Duration, slots ...string) Memory {
	waited := asking{key: web.Key(), since: now.Add(-age)}
	m := Memory{
		unownedSince: map[string]time.Time{}, emptySince: map[string]time.Time{},
		asking: map[string]asking{"a": waited, "z": waited},
	}
	for _, s := range slots {
		m.unownedSince[s], m.emptySince[s] = now.Add(-age), now.Add(-age)
	}
	return m
}

// decide decides on what LKE and the API server show now. The process has run for an hour.
func decide(claims []Claim, pools []Pool, memory Memory) Decision {
	memory.started = now.Add(-time.Hour)
	for _, c := range claims {
		if c.released {
			memory.Release(c.UID, now)
		}
	}
	return Decide(View{Claims: claims, Pools: pools, Asked: now.Add(time.Millisecond)}, memory, policy, now)
}

func TestDecide(t *testing.T) {
	foreign := Pool{ID: 9, Count: 2, Slots: []Slot{{ID: "9-a", Instance: 90}, {ID: "9-b", Instance: 91}}}
	tests := []struct {
		name   string
		claims []Claim
		pools  []Pool
		memory Memory
		want   []string
	}{{
		name: "nothing to do without claims and pools",
	}, {
		name:   "the first claims make one pool in one call",
		claims: []Claim{waits("a"), waits("b"), waits("c")},
		want:   []string{"web: make a pool of 3 for a b c", "wait"},
	}, {
		name:   "further claims raise the count of the pool in one call",
		claims: []Claim{has("a", 10), waits("b"), waits("c")},
		pools:  []Pool{pool(1, 1, Slot{"1-a", 10})},
		want:   []string{"web: grow pool 1 to 3 for b c", "wait"},
	}, {
		name:   "slots on their way are waited for, not asked for again",
		claims: []Claim{waits("a"), waits("b")},
		pools:  []Pool{pool(1, 2, Slot{"1-a", 0}, Slot{"1-b", 0})},
		want:   []string{"wait"},
	}, {
		name:   "slots that LKE counts and does not list are waited for",
		claims: []Claim{waits("a"), waits("b")},
		pools:  []Pool{pool(1, 2)},
		want:   []string{"wait"},
	}, {
		name:   "an unowned instance is bound, to the oldest claim first",
		claims: []Claim{{UID: "young", Group: web, Created: now}, {UID: "old", Group: web, Created: now.Add(-time.Second)}},
		pools:  []Pool{pool(1, 2, Slot{"1-a", 10}, Slot{"1-b", 0})},
		want:   []string{"bind old to 10", "wait"},
	}, {
		name:   "an instance of another group is not bound",
		claims: []Claim{{UID: "a", Group: batch, Created: now}},
		pools:  []Pool{pool(1, 1, Slot{"1-a", 10})},
		want:   []string{"batch: make a pool of 1 for a", "wait"},
	}, {
		name:   "an instance of a pool that is not ours is not bound and not deleted",
		pools:  []Pool{foreign},
		memory: since(time.Hour, "9-a", "9-b"),
	}, {
		name:   "a full pool is followed by a second one",
		claims: append(ownersOf(99), waits("a"), waits("b"), waits("c")),
		pools:  []Pool{pool(1, 99, slotsOf(99)...)},
		want:   []string{"web: grow pool 1 to 100 for a b c", "web: make a pool of 2 for a b c", "wait"},
	}, {
		name:   "a released claim's slot goes and its neighbour stays",
		claims: []Claim{released(has("a", 10)), has("b", 11)},
		pools:  []Pool{pool(1, 2, Slot{"1-a", 10}, Slot{"1-b", 11})},
		want:   []string{"web: delete slot 1-a"},
	}, {
		name:   "the pool goes with its last slot",
		claims: []Claim{released(has("a", 10)), released(has("b", 11))},
		pools:  []Pool{pool(1, 2, Slot{"1-a", 10}, Slot{"1-b", 11})},
		want:   []string{"web: delete pool 1"},
	}, {
		name:   "a pool that hides a slot never goes whole",
		claims: []Claim{released(has("a", 10))},
		pools:  []Pool{pool(1, 2, Slot{"1-a", 10})},
		want:   []string{"web: delete slot 1-a"},
	}, {
		name:   "a pool that grows loses its slots one by one",
		claims: []Claim{released(has("a", 10)), waits("b")},
		pools:  []Pool{pool(1, 1, Slot{"1-a", 10})},
		want:   []string{"web: grow pool 1 to 2 for b", "web: delete slot 1-a", "wait"},
	}, {
		name:   "a released claim's slot goes from a pool that is not ours",
		claims: []Claim{released(has("a", 90))},
		pools:  []Pool{foreign},
		want:   []string{"foreign: delete slot 9-a"},
	}, {
		name:   "a pool that is not ours goes with its last slot where all were claims'",
		claims: []Claim{released(has("a", 90)), released(has("b", 91))},
		pools:  []Pool{foreign},
		want:   []string{"foreign: delete pool 9"},
	}, {
		name:   "a claim that is deleted and not drained keeps its slot",
		claims: []Claim{{UID: "a", Group: web, Instance: 10, Leaving: true}},
		pools:  []Pool{pool(1, 1, Slot{"1-a", 10})},
	}, {
		name:  "an unowned slot is kept at first",
		pools: []Pool{pool(1, 1, Slot{"1-a", 10})},
	}, {
		name:   "an unowned slot is deleted after the grace period",
		pools:  []Pool{pool(1, 2, Slot{"1-a", 10}, Slot{"1-b", 11})},
		memory: since(10*time.Minute, "1-a"),
		want:   []string{"web: delete slot 1-a"},
	}, {
		name:   "an overdue slot that a claim can take is bound instead",
		claims: []Claim{waits("a")},
		pools:  []Pool{pool(1, 1, Slot{"1-a", 10})},
		memory: since(time.Hour, "1-a"),
		want:   []string{"bind a to 10"},
	}, {
		name:   "a deleted waiting claim frees one slot immediately, an empty one first",
		claims: []Claim{released(waits("a")), has("c", 12)},
		pools:  []Pool{pool(1, 3, Slot{"1-a", 10}, Slot{"1-b", 0}, Slot{"1-c", 12})},
		want:   []string{"web: delete slot 1-b"},
	}, {
		name:   "a slot without an instance for too long ends the youngest claim",
		claims: []Claim{waits("a"), {UID: "z", Group: web, Created: now.Add(time.Second)}},
		pools:  []Pool{pool(1, 2, Slot{"1-a", 0}, Slot{"1-b", 0})},
		memory: since(4*time.Minute, "1-b"),
		want:   []string{"web: delete slot 1-b", "web: end z", "wait"},
	}, {
		name:   "nothing is asked for until the cache shows another plan type of a claim",
		claims: []Claim{waits("a"), {UID: "z", Group: web, Created: now.Add(time.Second)}, has("c", 12)},
		pools:  []Pool{pool(1, 2, Slot{"1-b", 0}, Slot{"1-c", 12})},
		memory: since(4*time.Minute, "1-b"),
		want:   []string{"web: delete slot 1-b", "web: end z", "wait"},
	}, {
		name:   "the pool goes with its last slot while its group must not grow",
		claims: []Claim{waits("a"), {UID: "z", Group: web, Created: now.Add(time.Second)}},
		pools:  []Pool{pool(1, 1, Slot{"1-b", 0})},
		memory: since(4*time.Minute, "1-b"),
		want:   []string{"web: delete pool 1", "web: end z", "wait"},
	}, {
		name:   "the pool goes with its last slot while another one grows",
		claims: append(ownersOf(99), released(has("a", 10)), waits("b")),
		pools:  []Pool{pool(1, 99, slotsOf(99)...), pool(2, 1, Slot{"2-a", 10})},
		want:   []string{"web: grow pool 1 to 100 for b", "web: delete pool 2", "wait"},
	}, {
		name:   "of pending slots only the surplus is deleted",
		claims: []Claim{waits("a"), has("c", 12)},
		pools:  []Pool{pool(1, 4, Slot{"1-a", 0}, Slot{"1-b", 0}, Slot{"1-c", 12}, Slot{"1-d", 0})},
		memory: since(time.Minute, "1-a", "1-b", "1-d"),
		want:   []string{"web: delete slot 1-a", "web: delete slot 1-b", "wait"},
	}, {
		name:   "a claim that is being deleted gets no machine",
		claims: []Claim{{UID: "a", Group: web, Created: now, Leaving: true}, waits("b")},
		pools:  []Pool{pool(1, 1, Slot{"1-a", 10})},
		want:   []string{"bind b to 10"},
	}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := render(decide(tt.claims, tt.pools, tt.memory))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
		})
	}
}

// render writes a decision as one line for each thing to do.
func render(d Decision) []string {
	var lines []string
	for _, b := range d.Binds {
		lines = append(lines, fmt.Sprintf("bind %s to %d", b.UID, b.Instance))
	}
	for _, uid := range d.Lost {
		lines = append(lines, "lost "+uid)
	}
	for _, uid := range d.Offline {
		lines = append(lines, "offline "+uid)
	}
	for _, uid := range d.Full {
		lines = append(lines, "full for "+uid)
	}
	for _, n := range d.Drains {
		lines = append(lines, "drain "+n.Node)
	}
	for _, k := range d.Kept {
		lines = append(lines, fmt.Sprintf("keep %d", k.Instance))
	}
	name := map[string]string{web.Key(): "web", batch.Key(): "batch", "": "foreign", web.Key() + closed: "closed"}
	for _, w := range d.Works {
		add := func(format string, args ...any) {
			lines = append(lines, name[w.Key]+": "+fmt.Sprintf(format, args...))
		}
		for _, m := range w.Corrections {
			add("correct %s of pool %d", strings.Join(m.Fields, " "), m.Pool)
		}
		for _, g := range w.Grow {
			add("grow pool %d to %d for %s", g.Pool, g.Count, strings.Join(w.For, " "))
		}
		for _, n := range w.Create {
			add("make a pool of %d for %s", n, strings.Join(w.For, " "))
		}
		for _, s := range w.DeleteSlots {
			add("delete slot %s", s)
		}
		for _, p := range w.DeletePools {
			add("delete pool %d", p)
		}
		for _, u := range w.Unserved {
			add("end %s", u)
		}
	}
	if d.Waiting {
		lines = append(lines, "wait")
	}
	return lines
}

// slotsOf and ownersOf are n slots and the claims that own them.
func slotsOf(n int) []Slot {
	slots := make([]Slot, n)
	for i := range slots {
		slots[i] = Slot{ID: fmt.Sprintf("1-%03d", i), Instance: 1000 + i}
	}
	return slots
}

func ownersOf(n int) []Claim {
	claims := make([]Claim, n)
	for i := range claims {
		claims[i] = has(fmt.Sprintf("owner%03d", i), 1000+i)
	}
	return claims
}

func TestKeyIsTheIdentity(t *testing.T) {
	base := Group{
		NodePool: "web", Plan: "g6-standard-4", Taints: []Taint{
			{Key: "a", Effect: "NoSchedule"}, {Key: "b", Effect: "NoExecute"},
		},
	}
	same := base
	same.Taints = slices.Clone(base.Taints)
	slices.Reverse(same.Taints)
	same.Tags = []string{"env:prod"}
	if base.Key() != same.Key() {
		t.Error("the order of taints or a tag changed the identity")
	}
	others := []Group{
		{NodePool: "web", Plan: "g6-standard-4"},
		{NodePool: "api", Plan: base.Plan, Taints: base.Taints},
		{NodePool: "web", Plan: "g6-standard-6", Taints: base.Taints},
		{NodePool: "web", Plan: base.Plan, Taints: base.Taints, Labels: map[string]string{"a": "b"}},
		{NodePool: "web", Plan: base.Plan, Taints: base.Taints, DiskEncryption: "enabled"},
		{NodePool: "web", Plan: base.Plan, Taints: base.Taints, FirewallID: 1},
		{NodePool: "web", Plan: base.Plan, Taints: base.Taints, Version: "v1.33.4+lke2"},
	}
	seen := map[string]bool{base.Key(): true}
	for _, g := range others {
		if seen[g.Key()] {
			t.Errorf("%+v has the key of another group", g)
		}
		seen[g.Key()] = true
	}
	back, err := DecodeGroup(base.Encode())
	if diff := cmp.Diff(base, back); err != nil || diff != "" {
		t.Errorf("a group does not survive encoding: %v\n%s", err, diff)
	}
}
