package capacity

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// story decides again and again, and answers each call.
type story struct {
	*testing.T
	at     time.Time
	memory Memory
	nodes  map[int]Node

	failures []Failure    // that LKE lists
	offline  map[int]bool // machines that were checked, if they were to be
	silent   bool         // LKE does not say when it answers
}

// ahead is how far LKE's clock is before ours.
const ahead = -3 * time.Hour

func begin(t *testing.T) *story {
	return &story{T: t, at: now, memory: Memory{started: now.Add(-time.Hour)}}
}

// sees decides after a while, and answers all calls of the decision with the outcome. A
// pool that is made gets the id 0: the answer is not known.
func (s *story) sees(after time.Duration, o Outcome, claims []Claim, pools []Pool) []string {
	s.at = s.at.Add(after)
	for _, c := range claims {
		if c.released {
			s.memory.Release(c.UID, s.at.Add(-time.Millisecond))
		}
	}
	view := View{Claims: claims, Pools: pools, Nodes: s.nodes, Asked: s.at}
	if !s.silent {
		view.Shown = s.at.Add(ahead)
	}
	if since, ask := s.memory.Doubts(s.at); ask {
		view.Failures = slices.DeleteFunc(slices.Clone(s.failures), func(f Failure) bool { return f.At.Before(since) })
	}
	for _, instance := range s.memory.Unjoined(s.at) {
		if offline, looked := s.offline[instance]; looked {
			put(&view.Offline, instance, offline)
		}
	}
	d := Decide(view, s.memory, policy, s.at)
	s.memory = d.Memory
	for _, b := range d.Binds {
		s.memory.Bound(b, s.at)
	}
	for _, w := range d.Works {
		s.answer(w, o)
	}
	return render(d)
}

func (s *story) answer(w Work, o Outcome) {
	for _, g := range w.Grow {
		s.memory.Grew(g, o, s.at)
	}
	for _, n := range w.Create {
		s.memory.Made(w.Key, n, 0, o, s.at)
	}
	for _, slot := range w.DeleteSlots {
		s.memory.SlotDeleted(slot, o, s.at)
	}
	for _, p := range w.DeletePools {
		s.memory.PoolDeleted(p, o, s.at)
	}
	switch grows := len(w.Grow)+len(w.Create) > 0; {
	case grows && o == Done:
		s.memory.Grown(w.Key)
	case grows:
		s.memory.GrowthFailed(w.Key, len(w.For), o, s.at)
	}
	s.memory.Finish(w.Key, s.at)
}

func (s *story) want(what string, got []string, want ...string) {
	s.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		s.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// waiting are n claims that wait, after those that have the machines of slotsOf(have).
func waiting(have, n int) []Claim {
	claims := ownersOf(have)
	for i := range n {
		claims = append(claims, Claim{UID: fmt.Sprintf("w%d", i), Group: web, Created: now.Add(time.Duration(i))})
	}
	return claims
}

// TestAfterAPutWithoutAnswer only the same count is asked of the pool, for two minutes:
// the call may still come, and would lower a higher one. Further demand goes elsewhere.
func TestAfterAPutWithoutAnswer(t *testing.T) {
	s := begin(t)
	ten := []Pool{pool(1, 10, slotsOf(10)...)}
	s.want("at first", s.sees(0, Unknown, waiting(10, 1), ten), "web: grow pool 1 to 11 for w0", "wait")
	s.want("before the next try", s.sees(time.Second, Done, waiting(10, 1), ten), "wait")
	s.want("then", s.sees(5*time.Second, Unknown, waiting(10, 3), ten),
		"web: grow pool 1 to 11 for w0 w1 w2", "web: make a pool of 2 for w0 w1 w2", "wait")
	s.want("when both have come", s.sees(15*time.Second, Done, waiting(10, 5),
		[]Pool{pool(1, 11, append(slotsOf(10), Slot{"1-x", 0})...), pool(2, 2, Slot{"2-a", 0}, Slot{"2-b", 0})}),
		"web: grow pool 2 to 4 for w3 w4", "wait")
	s.want("two minutes later", s.sees(2*time.Minute, Done, waiting(10, 6),
		[]Pool{pool(1, 11, append(slotsOf(10), Slot{"1-x", 0})...), pool(2, 4, Slot{"2-a", 0}, Slot{"2-b", 0})}),
		"web: grow pool 1 to 12 for w5", "wait")
}

// TestVisiblePutIsFinished: nothing is left that could come late.
func TestVisiblePutIsFinished(t *testing.T) {
	s := begin(t)
	s.sees(0, Unknown, waiting(1, 1), []Pool{pool(1, 1, slotsOf(1)...)})
	s.want("", s.sees(10*time.Second, Done, waiting(1, 2), []Pool{pool(1, 2, append(slotsOf(1), Slot{"1-x", 0})...)}),
		"web: grow pool 1 to 3 for w1", "wait")

	s = begin(t)
	three := []Pool{pool(1, 3, slotsOf(3)...)}
	s.sees(0, Unknown, waiting(3, 1), three)
	leaves := waiting(3, 1)
	leaves[2] = released(leaves[2])
	s.want("a slot is deleted meanwhile", s.sees(time.Second, Done, leaves, three), "web: delete slot 1-002", "wait")
	one := []Pool{pool(1, 3, append(slotsOf(2), Slot{"1-x", 0})...)}
	s.want("so the count is one less", s.sees(5*time.Second, Done, waiting(2, 1), one), "wait")
	s.want("and the pool grows", s.sees(2*time.Minute, Done, waiting(2, 2), one), "web: grow pool 1 to 4 for w1", "wait")
}

// TestAPostWithoutAnswerCounts as supply until it shows, or two minutes have passed.
func TestAPostWithoutAnswerCounts(t *testing.T) {
	s := begin(t)
	s.want("at first", s.sees(0, Unknown, waiting(0, 2), nil), "web: make a pool of 2 for w0 w1", "wait")
	s.want("meanwhile", s.sees(90*time.Second, Done, waiting(0, 2), nil), "wait")
	s.want("more", s.sees(time.Second, Done, waiting(0, 3), nil), "web: make a pool of 1 for w2", "wait")
	both := []Pool{pool(1, 2, Slot{"1-a", 0}, Slot{"1-b", 0}), pool(2, 1, Slot{"2-a", 0})}
	s.want("one shows", s.sees(time.Second, Done, waiting(0, 3), both[:1]), "wait")
	s.want("both show", s.sees(time.Second, Done, waiting(0, 3), both), "wait")
	s.want("and are not waited for any more", s.sees(time.Second, Done, waiting(0, 4), both),
		"web: grow pool 1 to 3 for w3", "wait")

	s = begin(t)
	s.sees(0, Unknown, waiting(0, 2), nil)
	s.want("it never came", s.sees(2*time.Minute, Done, waiting(0, 2), nil), "web: make a pool of 2 for w0 w1", "wait")
}

// TestADeletionWithoutAnswer may come late: its slot is neither given away nor counted on.
func TestADeletionWithoutAnswer(t *testing.T) {
	s := begin(t)
	three := []Pool{pool(1, 3, slotsOf(3)...)}
	s.sees(0, Done, ownersOf(2), three)
	s.want("the surplus goes", s.sees(10*time.Minute, Unknown, ownersOf(2), three), "web: delete slot 1-002")
	s.want("no claim gets it", s.sees(6*time.Second, Unknown, waiting(2, 1), three),
		"web: grow pool 1 to 4 for w0", "web: delete slot 1-002", "wait")
	s = begin(t)
	s.sees(0, Done, nil, three[:1])
	s.want("a whole pool", s.sees(10*time.Minute, Unknown, nil, three), "web: delete pool 1")
	s.want("is left alone, too", s.sees(time.Second, Done, waiting(0, 1), three), "web: make a pool of 1 for w0", "wait")
	s = begin(t)
	all := []Claim{released(ownersOf(3)[0]), released(ownersOf(3)[1]), released(ownersOf(3)[2])}
	s.want("of released claims", s.sees(0, Unknown, all, three), "web: delete pool 1")
	s.want("takes its slots with it", s.sees(time.Second, Unknown, all, three))
}

// TestSuccessWithoutEffect is asked for less and less often, and then not of that pool.
func TestSuccessWithoutEffect(t *testing.T) {
	calls := func(s *story, claims []Claim, pools []Pool, d time.Duration) (n int) {
		for end := s.at.Add(d); s.at.Before(end); {
			n += len(s.sees(2*time.Second, Done, claims, pools)) - 1
		}
		return n
	}
	s := begin(t)
	if n := calls(s, waiting(2, 1), []Pool{pool(1, 2, slotsOf(2)...)}, time.Minute); n > 4 {
		t.Errorf("a PUT that is clamped: %d calls in a minute", n)
	}
	if n := calls(s, waiting(2, 1), []Pool{pool(1, 2, slotsOf(2)...)}, 10*time.Minute); n > 20 {
		t.Errorf("and nothing else helps: %d calls in ten minutes", n)
	}
	s = begin(t)
	two := []Pool{pool(1, 2, slotsOf(2)...)}
	calls(s, waiting(2, 1), two, 2*time.Minute)
	s.want("then the plan is left alone", s.sees(2*time.Second, Done, waiting(2, 1), two), "web: end w0")
	s.want("and the pool", s.sees(10*time.Second, Done, waiting(2, 1), two), "web: make a pool of 1 for w0", "wait")
	s = begin(t)
	claims := append(ownersOf(1), released(has("z", 1001)))
	if n := calls(s, claims, []Pool{pool(1, 2, slotsOf(2)...)}, 10*time.Minute); n > 2*12 {
		t.Errorf("a slot that stays listed: %d calls in ten minutes", n)
	}
}

// TestSlotsThatAreNeverListed are counted and never listed: they time out as slots without an instance do.
func TestSlotsThatAreNeverListed(t *testing.T) {
	s := begin(t)
	pools := []Pool{pool(1, 2)}
	s.want("at first", s.sees(0, Done, waiting(0, 2), pools), "wait")
	s.want("in time", s.sees(3*time.Minute, Done, waiting(0, 2), pools), "wait")
	s.want("then", s.sees(time.Minute, Done, waiting(0, 2), pools),
		"web: delete pool 1", "web: end w1", "web: end w0")
	s.want("once", s.sees(10*time.Second, Done, waiting(0, 2), nil), "web: make a pool of 2 for w0 w1", "wait")

	s = begin(t)
	pools = []Pool{pool(1, 3, slotsOf(2)...)}
	s.sees(0, Done, waiting(2, 1), pools)
	s.want("beside machines", s.sees(4*time.Minute, Done, waiting(2, 1), pools), "web: end w0")
	s.want("the pool stays", s.sees(10*time.Second, Done, waiting(2, 1), pools), "web: grow pool 1 to 4 for w0", "wait")
	s.want("two are not listed", s.sees(time.Second, Done, waiting(2, 1), []Pool{pool(1, 4, slotsOf(2)...)}), "wait")
	listed := []Pool{pool(1, 4, append(slotsOf(2), Slot{"1-x", 0})...)}
	s.want("the one that is late never is", s.sees(time.Second, Done, waiting(2, 2), listed),
		"web: grow pool 1 to 5 for w1", "wait")
}

// TestUndeletableEmptySlotEndsOneClaim.
func TestUndeletableEmptySlotEndsOneClaim(t *testing.T) {
	s := begin(t)
	pools := []Pool{pool(1, 3, append(slotsOf(2), Slot{"1-x", 0})...)}
	ended := 0
	for minute := range 60 {
		for _, line := range s.sees(time.Minute, Unknown, waiting(2, 1+minute%3), pools) {
			if strings.HasPrefix(line, "web: end") {
				ended++
			}
		}
	}
	if ended != 1 {
		t.Errorf("%d claims were ended", ended)
	}
}

// TestAForeignPoolWithAHiddenSlot stops nothing.
func TestAForeignPoolWithAHiddenSlot(t *testing.T) {
	s := begin(t)
	foreign := Pool{ID: 9, Count: 3, Slots: []Slot{{ID: "9-a", Instance: 90}}}
	pools := []Pool{pool(1, 2, slotsOf(2)...), foreign}
	claims := append(ownersOf(1), released(has("owner001", 1001)))
	s.sees(0, Done, claims, pools)
	pools[0] = pool(1, 1, slotsOf(1)...)
	s.sees(time.Second, Done, claims, pools)
	if _, gone := s.memory.Release("owner001", s.at); !gone {
		t.Error("a released machine is not gone")
	}
	s.sees(time.Second, Done, ownersOf(1), []Pool{foreign})
	s.want("", s.sees(time.Minute, Done, ownersOf(1), []Pool{foreign}), "lost owner000")

	s = begin(t)
	foreign.Slots = nil
	s.sees(0, Done, nil, []Pool{foreign})
	s.want("it lists no slot", s.sees(time.Hour, Done, nil, []Pool{foreign}))
	foreign.Count = 0
	s.want("it has none", s.sees(time.Hour, Done, nil, []Pool{foreign}))
}

// TestALostMachine is reported when two lists lack it, and again where the claim stays.
func TestALostMachine(t *testing.T) {
	s := begin(t)
	two := []Pool{pool(1, 2, slotsOf(2)...)}
	s.sees(0, Done, ownersOf(2), two)
	one := []Pool{pool(1, 2, slotsOf(2)[0], Slot{"1-001", 0})}
	s.want("first", s.sees(time.Second, Done, ownersOf(2), one))
	s.want("second", s.sees(10*time.Second, Done, ownersOf(2), one), "lost owner001")
	s.want("third", s.sees(10*time.Second, Done, ownersOf(2), one))
	s.want("later", s.sees(time.Minute, Done, ownersOf(2), one), "lost owner001", "web: delete slot 1-001")
	s = begin(t)
	s.sees(0, Done, ownersOf(2), two)
	s.sees(time.Second, Done, ownersOf(2), nil)
	s.want("no pool is listed", s.sees(50*time.Second, Done, ownersOf(2), nil))
	s.want("for a minute", s.sees(10*time.Second, Done, ownersOf(2), nil), "lost owner000", "lost owner001")
	s = begin(t)
	s.sees(0, Done, []Claim{{UID: "theirs", Instance: 7}}, two)
	s.want("a machine outside of LKE", s.sees(time.Hour, Done, []Claim{{UID: "theirs", Instance: 7}}, two),
		"web: delete pool 1")
	hides := []Pool{pool(1, 2, slotsOf(2)[0])}
	s = begin(t)
	s.sees(0, Done, ownersOf(2), two)
	s.sees(time.Second, Done, ownersOf(2), hides)
	s.want("its pool hides a slot", s.sees(time.Minute, Done, ownersOf(2), hides))
	s.want("for too long", s.sees(4*time.Minute, Done, ownersOf(2), hides))
	s.want("", s.sees(10*time.Second, Done, ownersOf(2), hides), "lost owner001")
}

// TestARecycledMachineIsOfferedFirst, and kept for ten minutes.
func TestARecycledMachineIsOfferedFirst(t *testing.T) {
	recycled := []Pool{pool(1, 2, Slot{"1-000", 2000}, Slot{"1-001", 2001})}
	s := begin(t)
	s.sees(0, Done, ownersOf(2), []Pool{pool(1, 2, slotsOf(2)...)})
	s.sees(time.Second, Done, ownersOf(2), recycled)
	s.want("", s.sees(10*time.Second, Done, ownersOf(2), recycled), "lost owner000", "lost owner001")
	ended := []Claim{released(has("owner000", 1000)), released(has("owner001", 1001)), waits("w")}
	s.want("", s.sees(5*time.Second, Done, ended, recycled), "bind w to 2000")
	w := has("w", 2000)
	s.want("", s.sees(9*time.Minute, Done, []Claim{w}, recycled))
	s.want("", s.sees(time.Minute, Done, []Claim{w}, recycled), "web: delete slot 1-001")
}

// TestAProviderIDThatIsPendingAgain is stored again.
func TestAProviderIDThatIsPendingAgain(t *testing.T) {
	s := begin(t)
	one := []Pool{pool(1, 1, slotsOf(1)...)}
	s.want("", s.sees(0, Done, []Claim{waits("a")}, one), "bind a to 1000")
	s.want("the cache lags", s.sees(5*time.Second, Done, []Claim{waits("a")}, one), "wait")
	s.want("it was overwritten", s.sees(5*time.Second, Done, []Claim{waits("a")}, one), "bind a to 1000")
	s.memory.Release("a", s.at)
	s.want("it is given back", s.sees(10*time.Second, Done, []Claim{waits("a")}, one), "web: delete pool 1")
	s = begin(t)
	s.sees(0, Done, []Claim{waits("a")}, one)
	other := waits("a")
	other.Group.Plan = "g6-dedicated-4"
	s.want("it wants another plan type now", s.sees(time.Second, Done, []Claim{other}, one),
		": make a pool of 1 for a", "wait")
	s = begin(t)
	s.sees(0, Done, []Claim{waits("a")}, one)
	s.sees(time.Second, Done, []Claim{has("a", 1000)}, one)
	s.want("its machine is gone meanwhile", s.sees(10*time.Second, Done, []Claim{waits("a")}, nil),
		"web: make a pool of 1 for a", "wait")
}

// TestPartialCapacity: half as many are requested after each refusal, until one is too many.
func TestPartialCapacity(t *testing.T) {
	const wanted = 32
	for _, room := range []int{31, 20, 7, 1} {
		for _, refusal := range []Outcome{NoStock, NoRoom} {
			s, have, calls := begin(t), 0, 0
			for range 40 {
				if have == room {
					break // what is asked for then fails, and has another plan type
				}
				var pools []Pool
				if have > 0 {
					pools = []Pool{pool(1, have, slotsOf(have)...)}
				}
				d := Decide(View{Claims: waiting(have, wanted-have), Pools: pools, Asked: s.at}, s.memory, policy, s.at)
				s.memory = d.Memory
				for _, w := range d.Works {
					n := 0
					for _, g := range w.Grow {
						n = g.By
					}
					for _, c := range w.Create {
						n = c
					}
					if calls++; have+n <= room {
						s.answer(w, Done)
						have += n
					} else {
						s.answerSize(w, refusal, n)
					}
				}
				s.at = s.at.Add(time.Second)
			}
			if have != room || calls > 10 {
				t.Errorf("outcome %d: %d machines in %d calls where there is room for %d", refusal, have, calls, room)
			}
		}
	}
}

func (s *story) answerSize(w Work, o Outcome, n int) {
	for _, g := range w.Grow {
		s.memory.Grew(g, o, s.at)
	}
	for _, c := range w.Create {
		s.memory.Made(w.Key, c, 0, o, s.at)
	}
	s.memory.GrowthFailed(w.Key, n, o, s.at)
	s.memory.Finish(w.Key, s.at)
}

// TestTheClusterIsFull: what it has room for is made, and the rest is said.
func TestTheClusterIsFull(t *testing.T) {
	s := begin(t)
	pools := []Pool{pool(1, 90, slotsOf(90)...), {ID: 9, Count: 158}}
	s.want("", s.sees(0, Refused, waiting(90, 4), pools), "full for w2", "full for w3", "web: grow pool 1 to 92 for w0 w1",
		"wait")
	s.want("said once", s.sees(10*time.Second, Refused, waiting(90, 4), pools), "web: grow pool 1 to 92 for w0 w1", "wait")

	s = begin(t)
	jobs := func(n int) (claims []Claim) {
		for i := range n {
			claims = append(claims, Claim{UID: fmt.Sprint("b", i), Group: batch, Created: now})
		}
		return claims
	}
	s.want("of two groups", s.sees(0, Unknown, append(waiting(90, 2), jobs(1)...), pools), "full for w1",
		"batch: make a pool of 1 for b0", "web: grow pool 1 to 91 for w0", "wait")
	s.want("what is on its way counts", s.sees(time.Second, Done, append(waiting(90, 3), jobs(2)...), pools), "full for b1",
		"full for w2", "wait")
}

// TestARefusedDeletionIsAskedForAgainLater, and not at each decision.
func TestARefusedDeletionIsAskedForAgainLater(t *testing.T) {
	s := begin(t)
	three := []Pool{pool(1, 3, slotsOf(3)...)}
	s.sees(0, Done, ownersOf(2), three)
	s.want("the surplus goes", s.sees(10*time.Minute, Refused, ownersOf(2), three), "web: delete slot 1-002")
	s.want("it is refused", s.sees(9*time.Second, Refused, ownersOf(2), three))
	s.want("again", s.sees(time.Second, Refused, ownersOf(2), three), "web: delete slot 1-002")
}

// TestManySlotsAreDeletedSomeAtATime, as the group does not grow meanwhile.
func TestManySlotsAreDeletedSomeAtATime(t *testing.T) {
	s, claims := begin(t), ownersOf(40)
	for i := range 30 {
		claims[i] = released(claims[i])
	}
	pools := []Pool{pool(1, 40, slotsOf(40)...)}
	if n := len(s.sees(0, Done, claims, pools)); n != deletionsAtOnce {
		t.Errorf("%d slots are deleted at once", n)
	}
	pools = []Pool{pool(1, 16, slotsOf(40)[deletionsAtOnce:]...)}
	if n := len(s.sees(time.Second, Done, claims, pools)); n != 30-deletionsAtOnce {
		t.Errorf("%d slots are deleted then", n)
	}
}

// TestAfterARestartPoolsThatWereThereAreNotGrown: a PUT of the last process may still come.
func TestAfterARestartPoolsThatWereThereAreNotGrown(t *testing.T) {
	s := begin(t)
	s.memory = Memory{}
	ten := []Pool{pool(1, 10, slotsOf(10)...)}
	s.want("", s.sees(0, Refused, waiting(10, 1), ten), "web: make a pool of 1 for w0", "wait")
	s.memory.groups[web.Key()] = motion{}
	s.want("", s.sees(2*time.Minute, Done, waiting(10, 1), ten), "web: grow pool 1 to 11 for w0", "wait")

	s = begin(t)
	s.memory = Memory{}
	s.want("without an answer", s.sees(0, Unknown, waiting(10, 1), ten), "web: make a pool of 1 for w0", "wait")
	s.want("it is none of the pools that were there", s.sees(10*time.Second, Done, waiting(10, 1), ten), "wait")
}

// TestMachinesWhoseClaimsAreGone are drained first; more than a few stay until a user allows their deletion.
func TestMachinesWhoseClaimsAreGone(t *testing.T) {
	node := func(i int) Node { return Node{Name: fmt.Sprintf("n%d", i), NodePool: "web"} }
	s := begin(t)
	s.nodes = map[int]Node{1000: node(0), 1001: node(1), 1002: node(2), 1003: node(3)}
	four := []Pool{pool(1, 4, slotsOf(4)...)}
	s.sees(0, Done, ownersOf(4), four)
	s.sees(time.Second, Done, nil, four)
	s.want("a minute later", s.sees(time.Minute, Done, nil, four), "keep 1000", "keep 1001", "keep 1002", "keep 1003")
	s.want("an hour later", s.sees(time.Hour, Done, []Claim{waits("a")}, four), "web: grow pool 1 to 5 for a", "wait")
	mayGo := node(0)
	mayGo.MayBeDeleted = true
	s.nodes[1000] = mayGo
	five := []Pool{pool(1, 5, append(slotsOf(4), Slot{"1-x", 2000})...)}
	s.want("one is let go, and the others stay", s.sees(time.Second, Done, []Claim{has("a", 2000)}, five), "drain n0")
	for i := range 4 {
		n := node(i)
		n.Leaving = true
		s.nodes[1000+i] = n
	}
	s.want("while they drain", s.sees(time.Second, Done, []Claim{has("a", 2000)}, five))
	delete(s.nodes, 1001)
	s.want("drained", s.sees(time.Second, Done, []Claim{has("a", 2000), waits("b")}, five),
		"web: grow pool 1 to 6 for b", "web: delete slot 1-001", "wait")

	s = begin(t)
	s.nodes = map[int]Node{1000: node(0), 1001: node(1)}
	two := []Pool{pool(1, 2, slotsOf(2)...)}
	s.want("a few", s.sees(time.Second, Done, nil, two))
	s.want("soon", s.sees(59*time.Second, Done, nil, two))
	s.want("a minute later", s.sees(time.Second, Done, nil, two), "drain n0", "drain n1")
}

// TestLinodesOfTheExistingProvider that no claim owns are reported, and stay.
func TestLinodesOfTheExistingProvider(t *testing.T) {
	s := begin(t)
	old := []Pool{{ID: 9, Count: 2, Adopted: true, Slots: []Slot{{"9-a", 90}, {"9-b", 91}}}}
	s.sees(0, Done, []Claim{has("a", 90)}, old)
	s.want("", s.sees(10*time.Minute, Done, []Claim{has("a", 90)}, old), "keep 91")
	s.want("once", s.sees(time.Hour, Done, []Claim{has("a", 90)}, old))
}

// TestPoolWithoutItsTag is reported with what it costs.
func TestPoolWithoutItsTag(t *testing.T) {
	s := begin(t)
	untagged := []Pool{{ID: 9, Count: 1, NodePool: "web", Slots: []Slot{{"9-a", 90}}}, {ID: 10, Count: 1, Slots: []Slot{{"10-a", 91}}}}
	s.sees(0, Done, nil, untagged)
	s.want("", s.sees(10*time.Minute, Done, nil, untagged), "keep 90")
}

// TestListThatLacksExistingMachines ends no claim and deletes no slot while their Nodes
// are ready, and what was drained meanwhile is not given to anybody.
func TestListThatLacksExistingMachines(t *testing.T) {
	s := begin(t)
	s.nodes = map[int]Node{}
	for i, slot := range slotsOf(3) {
		s.nodes[1000+i] = Node{Name: fmt.Sprint("n", i), NodePool: "web", Slot: slot.ID, Ready: true}
	}
	whole, null := []Pool{pool(1, 3, slotsOf(3)...)}, []Pool{pool(1, 3, slotsOf(3)...)}
	for i := range null[0].Slots {
		null[0].Slots[i].Instance = 0
	}
	s.sees(0, Done, ownersOf(3), whole)
	for range 30 {
		s.want("with null instances", s.sees(time.Minute, Done, ownersOf(3), null))
		s.want("without pools", s.sees(time.Minute, Done, ownersOf(3), nil))
	}
	died := s.nodes[1000]
	died.Ready = false
	s.nodes[1000] = died
	s.want("one is not ready any more", s.sees(time.Second, Done, ownersOf(3), nil), "lost owner000")
	delete(s.nodes, 1000)
	s.sees(time.Second, Done, ownersOf(3)[1:], nil)
	s.want("its Linode is listed again", s.sees(time.Second, Done, append(ownersOf(3)[1:], waits("a")), whole),
		"web: grow pool 1 to 4 for a", "web: delete slot 1-000", "wait")
}

// TestOnlyClaimsThatHaveWaitedEnd: a slot that its machine has left empty, or that was asked for a claim which has
// left, counts only against claims that have waited as long. The others get another slot.
func TestOnlyClaimsThatHaveWaitedEnd(t *testing.T) {
	full, left := []Pool{pool(1, 2, slotsOf(2)...)}, []Pool{pool(1, 2, slotsOf(1)[0], Slot{"1-001", 0})}
	late := Claim{UID: "late", Group: web, Created: now}

	s := begin(t)
	s.want("at first", s.sees(0, Done, ownersOf(2), full))
	s.want("a machine is gone", s.sees(time.Minute, Done, ownersOf(2), left))
	s.want("and lost", s.sees(lostAfter, Done, ownersOf(2), left), "lost owner001")
	next := append(ownersOf(1), late)
	s.want("the next claim waits for its slot", s.sees(30*time.Second, Done, next, left), "wait")
	s.want("as long as a slot may", s.sees(3*time.Minute, Done, next, left), "wait")
	s.want("then it gets another", s.sees(20*time.Second, Done, next, left),
		"web: grow pool 1 to 3 for late", "web: delete slot 1-001", "wait")
	another := []Pool{pool(1, 2, slotsOf(1)[0], Slot{"1-x", 0})}
	s.want("which it waits for as long", s.sees(time.Second, Done, next, another), "wait")
	s.want("until then", s.sees(policy.SlotTimeout-time.Second, Done, next, another), "wait")
	s.want("and then it ends", s.sees(time.Second, Done, next, another), "web: delete slot 1-x", "web: end late")

	s = begin(t)
	s.want("a slot is not listed", s.sees(0, Done, waiting(1, 1), []Pool{pool(1, 2, slotsOf(1)...)}), "wait")
	s.want("and its claim leaves", s.sees(3*time.Minute, Done, ownersOf(1), []Pool{pool(1, 2, slotsOf(1)...)}))
	s.want("for another", s.sees(30*time.Second, Done, next, []Pool{pool(1, 2, slotsOf(1)...)}), "wait")
	s.want("which gets another, too", s.sees(30*time.Second, Done, next, []Pool{pool(1, 2, slotsOf(1)...)}),
		"web: grow pool 1 to 3 for late", "wait")

	s = begin(t)
	one := []Pool{pool(1, 1, slotsOf(1)...)}
	s.want("a call is answered", s.sees(0, Done, waiting(1, 1), one), "web: grow pool 1 to 2 for w0", "wait")
	s.want("another claim comes", s.sees(110*time.Second, Done, next, one), "web: grow pool 1 to 2 for late", "wait")
	s.want("and does not end for that call", s.sees(10*time.Second, Done, next, one), "web: make a pool of 1 for late", "wait")
}
