package sim

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// faults is the list of what goes wrong, with how often each was met.
type faults struct {
	list []*injected
	rng  *rand.Rand
}

// newFaults returns the list that an account starts with: those of the configured rate.
func newFaults(cfg Config) faults {
	l := faults{rng: rand.New(rand.NewPCG(cfg.Seed, 0x6661756c74))}
	if cfg.FaultRate == 0 {
		return l
	}
	third, late := cfg.FaultRate/3, metav1.Duration{Duration: 20 * time.Second}
	for _, f := range []Fault{
		{Name: "refused at random", Chance: third, Status: http.StatusServiceUnavailable},
		{Name: "done and failed at random", Chance: third, Status: http.StatusInternalServerError, AfterWork: true},
		{Name: "done later at random", Chance: third, Status: http.StatusGatewayTimeout, Late: late},
	} {
		l.list = append(l.list, &injected{Fault: f})
	}
	return l
}

// injected is a fault and its counters: how many calls or nodes matched it, how many it hit, and how many nodes it left
// room for.
type injected struct {
	Fault            Fault
	Seen, Hit, Given int
}

// isDue counts a match and reports whether the fault is due for it.
func (f *injected) isDue(rng *rand.Rand) bool {
	f.Seen++
	if f.Seen <= f.Fault.After || (f.Fault.Count > 0 && f.Hit >= f.Fault.Count) {
		return false
	}
	if f.Fault.Chance > 0 && rng.Float64() >= f.Fault.Chance {
		return false
	}
	f.Hit++
	return true
}

// call returns the fault for a call, or one that does nothing.
func (l *faults) call(method, path string) Fault {
	f := l.firstDue(func(f *injected) bool { return !f.Fault.ofMachines() && f.Fault.matches(method, path) })
	if f == nil {
		return Fault{}
	}
	return f.Fault
}

// capacity returns the fault by which so many nodes of a plan cannot be had in that way; nil if they can.
func (l *faults) capacity(way, plan, region string, nodes int) *injected {
	return l.firstDue(func(f *injected) bool { return f.Fault.empties(way, plan, region) && f.room() < nodes })
}

// firstDue counts a match of all faults that match, and returns the first that is due.
func (l *faults) firstDue(matches func(*injected) bool) (due *injected) {
	for _, f := range l.list {
		if matches(f) && f.isDue(l.rng) && due == nil {
			due = f
		}
	}
	return due
}

// room returns how many nodes can still be had in spite of the fault.
func (f *injected) room() int { return max(0, f.Fault.Room-f.Given) }

// countMade counts new nodes against the number that a fault of capacity still allows.
func (l *faults) countMade(plan, region string, nodes int) {
	for _, f := range l.list {
		if f.Fault.empties(Refuse, plan, region) || f.Fault.empties(Clamp, plan, region) {
			f.Given += min(nodes, f.room())
		}
	}
}

// lacks reports whether a new slot of the plan stays without an instance in that way.
func (l *faults) lacks(way, plan, region string) bool { return l.capacity(way, plan, region, 1) != nil }

// meets reports whether a new machine of the plan meets a fault of a kind.
func (l *faults) meets(plan, region string, kind func(*Fault) bool) bool {
	return l.firstDue(func(f *injected) bool { return kind(&f.Fault) && f.Fault.empties("", plan, region) }) != nil
}

// applyTo has a new Linode meet the faults that are for it: each of them, not only the first.
func (l *faults) applyTo(made *Linode) {
	for _, f := range l.list {
		if f.Fault.RegisterAs == "" && !f.Fault.NeverJoins || !f.Fault.empties("", made.Type, made.Region) || !f.isDue(l.rng) {
			continue
		}
		made.Idle = made.Idle || f.Fault.NeverJoins
		made.RegisterAs = cmp.Or(made.RegisterAs, f.Fault.RegisterAs)
	}
}

// refuse returns why so many more of the plan cannot be had; nil if they can.
func (l *faults) refuse(plan, region string, nodes int) error {
	f := l.capacity(Refuse, plan, region, nodes)
	if f == nil {
		return nil
	}
	// The real text was never recorded; this is the text of the existing provider's own test double.
	reason := cmp.Or(f.Fault.Body, "Insufficient capacity for instance type "+plan+" in region "+region)
	return refusalError(http.StatusBadRequest, f.Fault.Field, reason)
}

// clamp returns how many of so many more nodes are created.
func (l *faults) clamp(plan, region string, nodes int) int {
	if f := l.capacity(Clamp, plan, region, nodes); f != nil {
		return f.room()
	}
	return nodes
}

// empties reports whether a fault takes a plan away in that way.
func (f *Fault) empties(way, plan, region string) bool {
	return f.NoCapacity == way && (f.Plan == "" || f.Plan == plan) && (f.Region == "" || f.Region == region)
}

// ofMachines reports whether a fault is matched against machines, and not against calls.
func (f *Fault) ofMachines() bool {
	return f.NoCapacity != "" || f.NeverJoins || f.StaysOffline || f.RegisterAs != ""
}

func (f *Fault) matches(method, path string) bool {
	if f.Method != "" && !strings.EqualFold(f.Method, method) {
		return false
	}
	return f.Path == "" || matchPath(strings.Split(f.Path, "/"), strings.Split(path, "/"))
}

func matchPath(pattern, path []string) bool {
	for n, want := range pattern {
		if want == "**" {
			return true
		}
		if n >= len(path) || (want != "*" && want != path[n]) {
			return false
		}
	}
	return len(pattern) == len(path)
}

// check refuses what could never match or do anything.
func (f *Fault) check() error {
	switch {
	case f.Status != 0 && (f.Status < 200 || f.Status > 599):
		return fmt.Errorf("status %d: want 200 to 599", f.Status)
	case f.Path != "" && !strings.HasPrefix(f.Path, "/"):
		return fmt.Errorf("path %q: want it to start with / and without /v4", f.Path)
	case strings.HasPrefix(f.Path, "/v4"):
		return fmt.Errorf("path %q: leave out /v4 and /v4beta", f.Path)
	case f.NoCapacity != "" && !slices.Contains([]string{Refuse, NullSlots, NodeEvent, Hidden, Clamp}, f.NoCapacity):
		return fmt.Errorf("no_capacity %q: want %s, %s, %s, %s or %s", f.NoCapacity, Refuse, NullSlots, NodeEvent,
			Hidden, Clamp)
	case f.NoCapacity != "" && (f.NeverJoins || f.StaysOffline || f.RegisterAs != ""):
		return errors.New("never_joins and the like: a machine that is not there cannot join; leave out no_capacity")
	case f.After < 0 || f.Count < 0 || f.Room < 0 || f.Delay.Duration < 0 || f.Late.Duration < 0:
		return errors.New("after, count, room, delay and late cannot be negative")
	case f.Chance < 0 || f.Chance > 1:
		return fmt.Errorf("chance %v: want 0 to 1", f.Chance)
	case f.Room > 0 && f.NoCapacity != Refuse && f.NoCapacity != Clamp:
		return fmt.Errorf("room %d: give no_capacity %s or %s with it", f.Room, Refuse, Clamp)
	case f.Field != "" && f.NoCapacity != Refuse:
		return fmt.Errorf("field %q: give no_capacity %s with it", f.Field, Refuse)
	case f.Late.Duration > 0 && f.Status < 400 && !f.Lost && !f.Hang:
		return errors.New("late: give a status from 400, lost or hang with it; who gets an answer does not wait")
	case f.Ignored && !strings.EqualFold(f.Method, "DELETE"):
		return fmt.Errorf("ignored: want the method DELETE; for the others use no_capacity %s", Clamp)
	case f.idle():
		return errors.New("a fault without an effect: give status, lost, delay, hang, header, ignored, no_capacity, " +
			"never_joins, stays_offline or register_as")
	}
	return nil
}

func (f *Fault) idle() bool {
	return f.Status == 0 && !f.Lost && f.Delay.Duration == 0 && !f.Hang && len(f.Header) == 0 && !f.Ignored &&
		!f.ofMachines()
}
