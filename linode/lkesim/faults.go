package lkesim

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// faults is the list of what goes wrong, with how often each was met.
type faults struct {
	list []*injected
}

// injected is a fault and its counters: how many calls or nodes matched it, and how many it hit.
type injected struct {
	Fault
	seen, hit int
}

// meet counts a match and says whether the fault is due for it.
func (f *injected) meet() bool {
	f.seen++
	if f.seen <= f.After || (f.Count > 0 && f.hit >= f.Count) {
		return false
	}
	f.hit++
	return true
}

// call returns the fault for a call, or one that does nothing.
func (l *faults) call(method, path string) Fault {
	var due *injected
	for _, f := range l.list {
		if f.NoCapacity != "" || !f.matches(method, path) {
			continue
		}
		if f.meet() && due == nil {
			due = f
		}
	}
	if due == nil {
		return Fault{}
	}
	return due.Fault
}

// starve says whether a new slot of the plan stays without an instance.
func (l *faults) starve(plan, region string) bool {
	_, due := l.capacity(NullSlots, plan, region)
	return due
}

// refuse returns why no more of the plan can be had; "" where it can.
func (l *faults) refuse(plan, region string) string {
	f, due := l.capacity(Refuse, plan, region)
	if !due {
		return ""
	}
	// Nobody recorded the real text; this is what the existing provider's own test double says.
	return cmp.Or(f.Body, "Insufficient capacity for instance type "+plan+" in region "+region)
}

func (l *faults) capacity(way, plan, region string) (Fault, bool) {
	var due *injected
	for _, f := range l.list {
		if f.NoCapacity == way && (f.Plan == "" || f.Plan == plan) && (f.Region == "" || f.Region == region) {
			if f.meet() && due == nil {
				due = f
			}
		}
	}
	if due == nil {
		return Fault{}, false
	}
	return due.Fault, true
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
	case f.After < 0 || f.Count < 0 || f.Delay < 0:
		return errors.New("after, count and delay cannot be negative")
	case f.idle():
		return errors.New("a fault without an effect: give status, lost, delay, hang, header, no_capacity or lose_instance")
	}
	return nil
}

func (f *Fault) idle() bool {
	return f.Status == 0 && !f.Lost && f.Delay == 0 && !f.Hang && len(f.Header) == 0 && f.NoCapacity == "" &&
		f.LoseInstance == 0
}

// faultFields is Fault without its methods.
type faultFields Fault

// MarshalJSON writes the delay as text: "1.5s".
func (f Fault) MarshalJSON() ([]byte, error) {
	out := struct {
		faultFields
		Delay string `json:"delay,omitempty"`
	}{faultFields: faultFields(f)}
	if f.Delay != 0 {
		out.Delay = f.Delay.String()
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads the delay as text, and refuses keys that it does not know.
func (f *Fault) UnmarshalJSON(data []byte) error {
	var in struct {
		faultFields
		Delay string `json:"delay"`
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		return fmt.Errorf("decode fault: %w", err)
	}
	*f = Fault(in.faultFields)
	if in.Delay == "" {
		return nil
	}
	delay, err := time.ParseDuration(in.Delay)
	if err != nil {
		return fmt.Errorf("decode fault: delay: %w", err)
	}
	f.Delay = delay
	return nil
}
