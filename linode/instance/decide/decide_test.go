package decide

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var start = time.Unix(1_800_000_000, 0)

// tale is a process that decides again and again.
type tale struct {
	t      *testing.T
	memory Memory
	now    time.Time
}

// sees decides on a view some time later, and renders the decision.
func (s *tale) sees(later time.Duration, view View) (told []string) {
	s.t.Helper()
	s.now = s.now.Add(later)
	view.Asked = s.now
	d := Decide(view, s.memory, modelPolicy, s.now)
	s.memory = d.Memory
	for _, c := range d.Creates {
		told = append(told, "create "+c.UID)
	}
	for _, b := range d.Binds {
		told = append(told, fmt.Sprintf("bind %s to %d", b.UID, b.Machine))
	}
	for _, l := range d.Looks {
		told = append(told, fmt.Sprintf("look for %d of %s", l.Machine, l.UID))
	}
	for _, order := range d.Deletes {
		word := map[bool]string{false: "delete", true: "delete orphan"}[order.UID == ""]
		told = append(told, fmt.Sprintf("%s %d", word, order.Machine))
	}
	for _, drain := range d.Drains {
		told = append(told, "drain "+drain.Node)
	}
	for word, uids := range map[string][]string{"lost": d.Lost, "taken": d.Taken, "out of stock": d.OutOfStock} {
		for _, uid := range uids {
			told = append(told, uid+" "+word)
		}
	}
	for _, id := range d.Kept {
		told = append(told, fmt.Sprintf("keep %d", id))
	}
	return told
}

func (s *tale) want(what string, got []string, want ...string) {
	s.t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		s.t.Fatalf("%s: -want +got\n%s", what, diff)
	}
}

func begin(t *testing.T) *tale { return &tale{t: t, now: start} }

func waits(uid string) Claim { return Claim{UID: uid, Kind: "g6-standard-4", Created: start} }

func has(uid string, machine int) Claim {
	c := waits(uid)
	c.Machine = machine
	return c
}

func of(uid string, id int) Machine { return Machine{ID: id, Label: Label(modelPolicy.Cluster, uid)} }

// TestALabelIsAskedForAgain: after a call without an answer, and bound where it was done.
func TestALabelIsAskedForAgain(t *testing.T) {
	s, a := begin(t), waits("a")
	s.want("it waits", s.sees(0, View{Claims: []Claim{a}}), "create a")
	s.want("the call is under way", s.sees(time.Minute, View{Claims: []Claim{a}}))
	s.memory.Made(a, 0, Unknown, modelPolicy, s.now)
	s.want("at once", s.sees(time.Second, View{Claims: []Claim{a}}))
	s.want("after a while", s.sees(5*time.Second, View{Claims: []Claim{a}}), "create a")
	s.memory.Made(a, 7, Done, modelPolicy, s.now)
	s.want("it was done before", s.sees(0, View{Claims: []Claim{a}}), "bind a to 7")
	s.memory.Bound(Bind{UID: "a", Machine: 7}, s.now)
	s.want("the cache lags", s.sees(time.Second, View{Claims: []Claim{a}, Machines: []Machine{of("a", 7)}}))
	s.want("it was overwritten", s.sees(10*time.Second, View{Claims: []Claim{a}, Machines: []Machine{of("a", 7)}}),
		"bind a to 7")
}

// TestAClaimEndsWithEachOfItsMachines: with the one that an unanswered call makes after the
// first was deleted, too.
func TestAClaimEndsWithEachOfItsMachines(t *testing.T) {
	s, a := begin(t), waits("a")
	s.sees(0, View{Claims: []Claim{a}})
	s.memory.Made(a, 0, Unknown, modelPolicy, s.now)
	s.sees(5*time.Second, View{Claims: []Claim{a}})
	s.memory.Made(a, 7, Done, modelPolicy, s.now)
	a.Machine = 7
	s.memory.Release("a", s.now)
	s.want("released", s.sees(time.Second, View{Claims: []Claim{a}, Machines: []Machine{of("a", 7)}}), "delete 7")
	s.memory.Deleted(Delete{Machine: 7}, Done, s.now)
	s.want("deleted", s.sees(time.Second, View{Claims: []Claim{a}}))
	s.want("made again", s.sees(time.Minute, View{Claims: []Claim{a}, Machines: []Machine{of("a", 8)}}), "delete 8")
	s.memory.Deleted(Delete{Machine: 8}, Done, s.now)
	s.want("nothing can come", s.sees(time.Minute, View{Claims: []Claim{a}}), "look for 0 of a")
	s.memory.Looked(Look{UID: "a", Label: "prod-a"}, false, true, s.now)
	if s.sees(time.Second, View{Claims: []Claim{a}}); !s.memory.Release("a", s.now) {
		t.Error("the claim has not ended")
	}
}

// TestUnlistedMachineDoesNotEndItsClaim: a list may lack a machine that is there. Linode is asked
// for the label unless one machine is all that the claim can have had, and is gone.
func TestUnlistedMachineDoesNotEndItsClaim(t *testing.T) {
	look := Look{UID: "a", Label: Label(modelPolicy.Cluster, "a")}
	lists := func(c Claim, all ...Machine) View { return View{Claims: []Claim{c}, Machines: all} }
	unlisted, stored := lists(waits("a")), lists(has("a", 7))
	released := func() *tale { // after a restart, or a claim that was away
		s := begin(t)
		s.memory.Release("a", s.now)
		return s
	}
	ends := func(what string, s *tale, view View, want bool) {
		t.Helper()
		s.want(what, s.sees(time.Second, view))
		if got := s.memory.Release("a", s.now); got != want {
			t.Errorf("%s: the claim has ended: %v, want %v", what, got, want)
		}
	}

	s := released()
	s.want("a machine that is not stored", s.sees(time.Second, lists(waits("a"), of("a", 7))), "delete 7")
	s.memory.Deleted(Delete{Machine: 7}, Unknown, s.now)
	s.want("it is not listed", s.sees(time.Second, unlisted), "look for 0 of a")
	s.memory.Looked(look, true, true, s.now)
	ends("it is there", s, unlisted, false)
	s.want("again", s.sees(10*time.Second, unlisted), "look for 0 of a")
	s.memory.Looked(look, false, true, s.now)
	ends("it is gone", s, unlisted, true)

	s = released()
	s.want("none was ever listed", s.sees(time.Second, unlisted), "look for 0 of a")

	s = released()
	s.want("a machine that is stored", s.sees(time.Second, stored), "delete 7")
	s.memory.Deleted(Delete{Machine: 7}, Done, s.now)
	s.want("an earlier process may have made another", s.sees(time.Second, stored), "look for 0 of a")
	s.memory.Looked(look, false, true, s.now)
	ends("it has not", s, stored, true)

	made := func() *tale {
		s := begin(t)
		s.sees(0, unlisted)
		s.memory.Made(waits("a"), 7, Done, modelPolicy, s.now)
		s.memory.Release("a", s.now)
		s.want("released", s.sees(time.Second, stored), "delete 7")
		s.memory.Deleted(Delete{Machine: 7}, Done, s.now)
		return s
	}
	ends("it was the only one", made(), stored, true)

	s = made()
	s.want("another of its label", s.sees(time.Second, lists(has("a", 7), of("a", 8))), "delete 8")
	s.memory.Deleted(Delete{Machine: 8}, Unknown, s.now)
	s.want("that is not listed", s.sees(time.Second, stored), "look for 0 of a")

	s = begin(t) // a restart, after which a stale cache shows the claim without the machine that it has lost
	s.want("it seems to have none", s.sees(0, unlisted), "create a")
	s.memory.Made(waits("a"), 8, Done, modelPolicy, s.now)
	s.want("another is stored", s.sees(time.Second, lists(has("a", 7), of("a", 8))), "look for 7 of a")
	s.memory.Looked(Look{UID: "a", Machine: 7}, false, true, s.now)
	s.want("that is gone", s.sees(time.Second, stored), "a lost")
	s.memory.Release("a", s.now)
	s.want("each of the two may be there", s.sees(time.Second, stored), "delete 7")
	s.memory.Deleted(Delete{Machine: 7}, Done, s.now)
	s.want("the other is not listed", s.sees(time.Second, stored), "look for 0 of a")
	s.memory.Looked(look, true, true, s.now)
	ends("it is there", s, stored, false)
	s.want("it is listed", s.sees(time.Second, lists(has("a", 7), of("a", 8))), "delete 8")

	s = begin(t)
	s.sees(0, unlisted)
	s.memory.Made(waits("a"), 0, Unknown, modelPolicy, s.now)
	s.sees(5*time.Second, unlisted)
	s.memory.Made(waits("a"), 7, Done, modelPolicy, s.now)
	s.memory.Release("a", s.now)
	s.sees(time.Second, stored)
	s.memory.Deleted(Delete{Machine: 7}, Done, s.now)
	ends("a call without an answer may be done", s, stored, false)
	s.want("it was", s.sees(modelPolicy.Late, stored), "look for 0 of a")
}

// TestAMachineIsLost if Linode confirms it for that machine.
func TestAMachineIsLost(t *testing.T) {
	s, view := begin(t), View{Claims: []Claim{has("a", 7)}}
	look := Look{UID: "a", Machine: 7}
	s.want("not listed", s.sees(0, view), "look for 7 of a")
	s.memory.Looked(look, false, false, s.now)
	s.want("no answer", s.sees(time.Second, view))
	s.want("again", s.sees(10*time.Second, view), "look for 7 of a")
	s.memory.Looked(look, true, true, s.now)
	s.want("it is there", s.sees(10*time.Second, view), "look for 7 of a")
	s.memory.Looked(look, false, true, s.now)
	s.want("it is not", s.sees(time.Second, view), "a lost")
}

// TestMachinesOfManyReadyNodesAreKept: an account that knows none of them is rather another one, and
// what has no Node any more is lost.
func TestMachinesOfManyReadyNodesAreKept(t *testing.T) {
	for _, tc := range []struct {
		name              string
		gone, nodes, left int // machines that do not exist, those of them with a Node, machines that are listed
		held              int
	}{
		{"a few of many", 3, 3, 1, 0}, {"more than a few", 4, 4, 1, 4}, {"all of two", 2, 2, 0, 2}, {"the only " +
			"one", 1, 1, 0, 0},
		{"their Nodes are gone", 5, 0, 1, 0}, {"most of their Nodes are", 5, 3, 1, 0},
	} {
		s, view := begin(t), View{Nodes: map[int]Node{}}
		for i := range tc.gone + tc.left {
			uid := fmt.Sprint("c", i)
			view.Claims = append(view.Claims, has(uid, i+1))
			if i < tc.nodes || i >= tc.gone {
				view.Nodes[i+1] = Node{Name: uid}
			}
			if i >= tc.gone {
				view.Machines = append(view.Machines, of(uid, i+1))
			}
		}
		s.sees(0, view)
		for i := range tc.gone {
			s.memory.Looked(Look{UID: fmt.Sprint("c", i), Machine: i + 1}, false, true, s.now)
		}
		view.Asked = s.now.Add(time.Second)
		d := Decide(view, s.memory, modelPolicy, view.Asked)
		if len(d.Unconfirmed) != tc.held || len(d.Lost) != tc.gone-tc.held {
			t.Errorf("%s: %v are held and %v lost", tc.name, d.Unconfirmed, d.Lost)
		}
	}
}

// TestAccountLimitIsNotTreatedAsRateLimit: no claim has its time again while the account
// may not have more.
func TestAccountLimitIsNotTreatedAsRateLimit(t *testing.T) {
	s, a, b := begin(t), waits("a"), waits("b")
	s.sees(0, View{Claims: []Claim{a}})
	s.memory.Made(a, 0, NoRoom, modelPolicy, s.now)
	for range 8 {
		s.now = s.now.Add(5 * time.Second)
		d := Decide(View{Claims: []Claim{a, b}, Asked: s.now}, s.memory, modelPolicy, s.now)
		if s.memory = d.Memory; len(d.Queued) > 0 {
			t.Errorf("%v are said to wait for the rate", d.Queued)
		}
	}
}

// TestUnownedMachines goes after two looks and ten minutes, and with its Node drained.
func TestUnownedMachines(t *testing.T) {
	s := begin(t)
	var view View
	for i, label := range []string{Label("prod", "x"), "prod-web", Label("staging", "x"), "prod-ABCDEF0123456789abcd"} {
		view.Machines = append(view.Machines, Machine{ID: i, Label: label})
	}
	s.want("at first", s.sees(0, view))
	s.want("soon", s.sees(9*time.Minute, view))
	s.want("later", s.sees(time.Minute, view), "delete orphan 0")
	s.memory.Deleted(Delete{Machine: 0}, Unknown, s.now)
	view.Nodes = map[int]Node{0: {Name: "n0"}}
	s.want("pods may run on it", s.sees(time.Minute, view), "drain n0")
	view.Nodes = map[int]Node{}
	for i := range 4 {
		m := of(fmt.Sprint("y", i), 100+i)
		view.Machines, view.Nodes[m.ID] = append(view.Machines, m), Node{Name: fmt.Sprint("n", m.ID)}
	}
	s.sees(time.Minute, view)
	s.want("many", s.sees(10*time.Minute, view), "keep 100", "keep 101", "keep 102", "keep 103")
	view.Nodes[101] = Node{Name: "n101", MayBeDeleted: true}
	view.Machines = view.Machines[1:]
	s.want("one may go, so three are left", s.sees(time.Minute, view),
		"drain n100", "drain n101", "drain n102", "drain n103")
}

// TestFailureDelaysNextAttempt its own kind of claim, or all that the account is for.
func TestFailureDelaysNextAttempt(t *testing.T) {
	for _, tt := range []struct {
		outcome Outcome
		then    []string // five seconds later
	}{
		{NoStock, []string{"create b", "a out of stock"}},
		{Taken, []string{"create b", "create c", "a taken"}},
		{Refused, []string{"create a", "create b"}},
		{NoRoom, []string{"create a"}},
	} {
		s := begin(t)
		a, b, c := waits("a"), waits("b"), waits("c")
		b.Kind = "g6-dedicated-8"
		s.sees(0, View{Claims: []Claim{a}})
		s.memory.Made(a, 0, tt.outcome, modelPolicy, s.now)
		c.Created = start.Add(time.Second)
		if tt.outcome != Taken {
			c = a
		}
		s.sees(0, View{Claims: []Claim{a}})
		view := View{Claims: slices.Compact([]Claim{a, c, b})}
		s.want(fmt.Sprint("after ", tt.outcome), s.sees(5*time.Second, view), tt.then...)
	}
}

// TestABurst: 20 creates within 15 seconds, kinds in turn, and it is said how long the
// rest waits.
func TestABurst(t *testing.T) {
	var view View
	for i := range 250 {
		c := waits(fmt.Sprintf("%03d", i))
		if i >= 200 {
			c.Kind = "g6-dedicated-8"
		}
		view.Claims = append(view.Claims, c)
	}
	view.Asked = start
	d := Decide(view, Memory{}, modelPolicy, start)
	if len(d.Creates) != 20 || len(d.Queued) != 230 || d.Queue != 180*time.Second || d.PollIn != modelPolicy.Quick {
		t.Errorf("%d creates, %d wait for %s; next in %s", len(d.Creates), len(d.Queued), d.Queue, d.PollIn)
	}
	if d.Creates[0].UID != "000" || d.Creates[1].UID != "200" || d.Creates[19].UID != "209" {
		t.Errorf("the order is %v", d.Creates)
	}
	if d = Decide(view, d.Memory, modelPolicy, start.Add(14*time.Second)); len(d.Creates) != 0 {
		t.Errorf("%d creates after 14 s", len(d.Creates))
	}
}

// TestLabels are what Linode takes: 64 characters at most.
func TestLabels(t *testing.T) {
	name := strings.Repeat("a", 43)
	got := Label(name, "6f7a")
	if len(got) != 64 || got != Label(name, "6f7a") || got == Label(name, "6f7b") {
		t.Errorf("the label is %s", got)
	}
	if !Ours(name, got) || Ours(name[1:], got) {
		t.Errorf("whose is %s?", got)
	}
}
