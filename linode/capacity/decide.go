// Package capacity decides what to ask of LKE so that each NodeClaim gets one
// machine and no machine is left without one.
//
// It is pure: a View of claims and pools, the Memory of earlier decisions and the
// time go in, a Decision with the next Memory comes out. It knows no client, no
// clock and no Karpenter type.
//
// The rules, for each group of interchangeable slots:
//
//	owned    a slot whose instance is some claim's machine
//	demand   claims without a machine
//	supply   slots that nobody owns: with an instance, without one yet, or
//	         counted by LKE but not listed yet
//
//	bind     a claim of the demand takes an unowned slot with an instance
//	grow     demand above supply: one call that raises one pool's count
//	shrink   a released claim's slot goes at once; supply above demand goes
//	         when it stayed unowned for a grace period
package capacity

import (
	"slices"
	"time"
)

// View is what LKE and the API server show at one moment.
type View struct {
	Claims []Claim
	Pools  []Pool
	Asked  time.Time // when LKE was asked for the pools: what it answered before is in them
}

// Claim is a NodeClaim, as far as capacity goes.
type Claim struct {
	UID      string
	Group    Group
	Instance int       // the Linode that is its machine; 0 while it waits for one
	Created  time.Time // older claims are served first
	Leaving  bool      // it is being deleted: it asks for nothing

	released bool // Memory.Release was called: its machine may go
}

// Pool is an LKE node pool.
type Pool struct {
	ID    int
	Group string // key of the group it is tagged with; "" where it is not ours
	Count int
	Slots []Slot
	Traits
}

// hidden is the number of slots that LKE counts and does not list yet, as on
// Enterprise for the first minute.
func (p Pool) hidden() int { return max(0, p.Count-len(p.Slots)) }

// Slot is a place for a node in a pool.
type Slot struct {
	ID       string
	Instance int // 0: no Linode yet
}

// Policy holds the numbers that Decide goes by.
type Policy struct {
	Grace       time.Duration // how long a slot may stay unowned
	SlotTimeout time.Duration // how long a slot may stay without an instance
	PoolSize    int           // nodes in a pool: 100 on standard, 500 on Enterprise
	Quick       time.Duration // from one poll to the next while somebody waits
	Idle        time.Duration // from one poll to the next while nobody does
}

// Decision is what to do now. Memory is what to hand to the next call of Decide.
type Decision struct {
	Binds   []Bind
	Works   []Work   // at most one for each group, sorted by group
	Lost    []string // claims whose machine LKE does not have any more, reported once
	Waiting bool     // some claim waits for a slot or an instance
	PollIn  time.Duration
	Memory  Memory
}

// Bind gives a claim its machine.
type Bind struct {
	Key      string // of the group
	UID      string
	Instance int
}

// Decide compares claims with pools. It has no Binds and no Works for groups with
// a Work that is not finished, or was finished after LKE was asked: the view may
// not show what that has done. The Works it returns count as begun; Memory.Finish
// ends them.
func Decide(view View, memory Memory, policy Policy, now time.Time) Decision {
	d := Decision{Memory: memory.after(view)}
	claims := d.Memory.complete(view.Claims)
	owner := make(map[int]Claim, len(claims))
	for _, c := range claims {
		if c.Instance != 0 {
			owner[c.Instance] = c
		}
	}
	for _, g := range gather(claims, view.Pools, owner) {
		g.remember(memory, &d.Memory, now)
		work := g.decide(&d, policy, now)
		g.mend(memory, &d.Memory, &work, now)
		if !work.idle() {
			d.Works = append(d.Works, work)
		}
	}
	d.lose(claims, view.Pools, memory)
	d.settle(view, claims)
	d.begin(view.Asked, now)
	d.pollIn(policy, now)
	return d
}

// lose finds claims whose machine is in no slot. While LKE does not list all
// slots it may be in one of those.
func (d *Decision) lose(claims []Claim, pools []Pool, old Memory) {
	live := map[int]bool{}
	for _, p := range pools {
		if p.hidden() > 0 {
			d.Memory.lost = old.lost
			return
		}
		for _, s := range p.Slots {
			live[s.Instance] = true
		}
	}
	for _, c := range claims {
		if c.Instance == 0 || c.Leaving || live[c.Instance] {
			continue
		}
		if !old.lost[c.UID] {
			d.Lost = append(d.Lost, c.UID)
		}
		d.Memory.lost[c.UID] = true
	}
}

// settle records which released claims have no machine any more. LKE must have
// been asked after the release, and nothing may change in the group meanwhile.
func (d *Decision) settle(view View, claims []Claim) {
	shrinking := map[string]bool{}
	for _, w := range d.Works {
		shrinking[w.Key] = len(w.DeleteSlots)+len(w.DeletePools) > 0
	}
	for _, c := range claims {
		key := c.Group.Key()
		if !c.released || !view.Asked.After(d.Memory.released[c.UID]) || d.Memory.moving(key, view.Asked) {
			continue
		}
		if c.Instance == 0 {
			d.Memory.gone[c.UID] = !shrinking[key]
		} else {
			d.Memory.gone[c.UID] = !mayHold(view.Pools, c.Instance, key)
		}
	}
}

// mayHold reports whether a pool has the instance, or may have it in a slot that
// LKE counts and does not list.
func mayHold(pools []Pool, instance int, key string) bool {
	return slices.ContainsFunc(pools, func(p Pool) bool {
		return p.hidden() > 0 && (p.Group == key || p.Group == "") ||
			slices.ContainsFunc(p.Slots, func(s Slot) bool { return s.Instance == instance })
	})
}

// begin drops what cannot be begun now: all of groups in motion, and the growth of
// groups on hold. It marks the rest as begun.
func (d *Decision) begin(asked, now time.Time) {
	m := d.Memory
	d.Binds = slices.DeleteFunc(d.Binds, func(b Bind) bool { return m.moving(b.Key, asked) })
	d.Works = slices.DeleteFunc(d.Works, func(w Work) bool { return m.moving(w.Key, asked) })
	var begun []Work
	for _, w := range d.Works {
		g := m.groups[w.Key]
		if now.Before(g.hold) {
			if w.Grow, w.Create, w.For = nil, nil, nil; w.idle() {
				continue
			}
		}
		g.busy = true
		m.groups[w.Key] = g
		begun = append(begun, w)
	}
	d.Works = begun
}

// pollIn says when to poll LKE again: soon while somebody waits, less soon when the
// wait is long.
func (d *Decision) pollIn(policy Policy, now time.Time) {
	if !d.Waiting && len(d.Works) == 0 && d.Memory.settled() {
		d.Memory.waitingSince, d.PollIn = time.Time{}, policy.Idle
		return
	}
	if d.Memory.waitingSince.IsZero() {
		d.Memory.waitingSince = now
	}
	switch waited := now.Sub(d.Memory.waitingSince); {
	case waited < 30*time.Second:
		d.PollIn = policy.Quick
	case waited < 2*time.Minute:
		d.PollIn = 2 * policy.Quick
	default:
		d.PollIn = 5 * policy.Quick
	}
}
