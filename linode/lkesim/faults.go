package lkesim

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// faults is the list of what goes wrong, with how often each was met.
type faults struct {
	list []*injected
}

// injected is a fault and its counters: how many calls or nodes matched it, and how many it hit.
type injected struct {
	Fault Fault `json:"fault"`
	Seen  int   `json:"seen"`
	Hit   int   `json:"hit"`
}

// meet counts a match and says whether the fault is due for it.
func (f *injected) meet() bool {
	f.Seen++
	if f.Seen <= f.Fault.After || (f.Fault.Count > 0 && f.Hit >= f.Fault.Count) {
		return false
	}
	f.Hit++
	return true
}

// call returns the fault for a call, or one that does nothing.
func (l *faults) call(method, path string) Fault {
	return l.first(func(f Fault) bool { return f.NoCapacity == "" && f.matches(method, path) })
}

// capacity returns the fault by which a plan cannot be had in that way, or one that does nothing.
func (l *faults) capacity(way, plan, region string) Fault {
	return l.first(func(f Fault) bool {
		return f.NoCapacity == way && (f.Plan == "" || f.Plan == plan) && (f.Region == "" || f.Region == region)
	})
}

// first counts a match of all faults that match, and returns the first that is due.
func (l *faults) first(matches func(Fault) bool) (due Fault) {
	found := false
	for _, f := range l.list {
		if matches(f.Fault) && f.meet() && !found {
			due, found = f.Fault, true
		}
	}
	return due
}

// starve says whether a new slot of the plan stays without an instance.
func (l *faults) starve(plan, region string) bool {
	return l.capacity(NullSlots, plan, region).NoCapacity != ""
}

// refuse returns why no more of the plan can be had; "" where it can.
func (l *faults) refuse(plan, region string) string {
	f := l.capacity(Refuse, plan, region)
	if f.NoCapacity == "" {
		return ""
	}
	// Nobody recorded the real text; this is what the existing provider's own test double says.
	return cmp.Or(f.Body, "Insufficient capacity for instance type "+plan+" in region "+region)
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
	case f.NoCapacity != "" && f.NoCapacity != Refuse && f.NoCapacity != NullSlots:
		return fmt.Errorf("no_capacity %q: want %s or %s", f.NoCapacity, Refuse, NullSlots)
	case f.After < 0 || f.Count < 0 || f.Delay.Duration < 0:
		return errors.New("after, count and delay cannot be negative")
	case f.idle():
		return errors.New("a fault without an effect: give status, lost, delay, hang, header or no_capacity")
	}
	return nil
}

func (f *Fault) idle() bool {
	return f.Status == 0 && !f.Lost && f.Delay.Duration == 0 && !f.Hang && len(f.Header) == 0 && f.NoCapacity == ""
}
