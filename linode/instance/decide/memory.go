package decide

import (
	"maps"
	"time"
)

// Memory is what Decide must know about earlier decisions and their results. The zero Memory is empty, as after a
// restart.
//
// Decide returns the next Memory and does not change its argument. The methods record events between two decisions;
// they are not safe for concurrent use.
type Memory struct {
	asked    map[string]ask        // by claim
	assigned map[string]assignment // by claim: machines that the view may not show yet
	ending   map[string]ending     // by claim: released claims
	missing  map[string]missing    // by claim: machines that no list shows
	deleting map[int]attempt       // by machine
	deleted  map[int]bool          // machines that Linode does not have any more
	unowned  map[int]time.Time     // by machine, since when it has no claim
	reported map[int]bool          // machines that were reported because they stay
	kinds    map[string]refusals   // by kind of claim
	account  refusals
	sent     []time.Time // creates of the last Window
}

// ask is the call that creates the machine of a claim.
type ask struct {
	underway   bool
	unanswered int       // number of calls without an answer
	doneBy     time.Time // time after which none of these can take effect
	hold       time.Time // not sent again before this time
	taken      bool      // another Linode has the label
	outOfStock bool      // its plan type is out of stock
	made       int       // the machine's id
}

// assignment is the machine of a claim.
type assignment struct {
	machine  int
	at       time.Time // when it was stored
	underway bool      // it is being stored
}

// ending is a claim that was released.
type ending struct {
	at      time.Time
	late    bool    // a list has shown a second machine in addition to the known one
	looking attempt // requests for a machine with its label
	absent  bool    // Linode has no machine with its label
	gone    bool
}

// missing is a machine that no list shows and that was requested from Linode.
type missing struct {
	at               time.Time
	underway, absent bool
}

type attempt struct {
	at       time.Time
	underway bool
}

// Release records that the machine of a claim may be deleted, and reports whether it is certainly gone.
func (m *Memory) Release(uid string, now time.Time) (gone bool) {
	e, again := m.ending[uid]
	if !again {
		putInto(&m.ending, uid, ending{at: now})
	}
	return e.gone
}

// Bound records the result of a Bind. If it was not stored, it is repeated.
func (m *Memory) Bound(b Bind, now time.Time) {
	putInto(&m.assigned, b.UID, assignment{machine: b.Machine, at: now})
}

// Looked records whether a requested machine exists; known is false if Linode gave no answer.
func (m *Memory) Looked(l Look, there, known bool, now time.Time) {
	if l.Label == "" {
		putInto(&m.missing, l.UID, missing{at: now, absent: known && !there})
		return
	}
	if e, ok := m.ending[l.UID]; ok {
		e.looking, e.absent = attempt{at: now}, known && !there
		m.ending[l.UID] = e
	}
}

// Deleted records the result of a Delete, which is Done if the machine did not exist.
func (m *Memory) Deleted(order Delete, o Outcome, now time.Time) {
	putInto(&m.deleting, order.Machine, attempt{at: now})
	if o == Done {
		putInto(&m.deleted, order.Machine, true)
	}
}

// after returns the Memory for a decision on a view, without claims and machines that are gone.
func (m Memory) after(view View, policy Policy, now time.Time) Memory {
	claims, machines := map[string]bool{}, map[int]bool{}
	for _, c := range view.Claims {
		claims[c.UID], machines[c.Machine] = true, true
	}
	for _, a := range m.assigned {
		machines[a.machine] = true
	}
	for _, a := range m.asked {
		machines[a.made] = true
	}
	listed := map[int]bool{}
	for _, l := range view.Machines {
		machines[l.ID], listed[l.ID] = true, true
	}
	m.asked, m.assigned = keepKeys(m.asked, claims), keepKeys(m.assigned, claims)
	m.ending, m.missing = keepKeys(m.ending, claims), keepKeys(m.missing, claims)
	m.deleting, m.deleted = keepKeys(m.deleting, machines), keepKeys(m.deleted, machines)
	m.unowned, m.reported = keepKeys(m.unowned, listed), keepKeys(m.reported, listed)
	m.kinds = maps.Clone(m.kinds)
	for _, c := range view.Claims {
		if c.Machine != 0 {
			if a := m.assigned[c.UID]; a.machine != 0 && !a.underway {
				a.at = now
				m.assigned[c.UID] = a
			}
		}
	}
	return m
}

// pending reports whether some call has an effect that no view has shown yet.
func (m *Memory) pending(view View) bool {
	for _, c := range view.Claims {
		if e, ok := m.ending[c.UID]; ok && !e.gone {
			return true
		}
		if _, ok := m.missing[c.UID]; ok {
			return true
		}
		if a, ok := m.assigned[c.UID]; ok && c.Machine != a.machine {
			return true
		}
	}
	return false
}

func keepKeys[K comparable, V any](m map[K]V, keys map[K]bool) map[K]V {
	m = maps.Clone(m)
	maps.DeleteFunc(m, func(k K, _ V) bool { return !keys[k] })
	return m
}

func putInto[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}
