package capacity

import (
	"maps"
	"slices"
	"time"
)

// Memory is what Decide must know about earlier decisions and their results. The zero Memory is empty, as
// after a restart; the package comment says what that can cost.
//
// Decide returns the next Memory and leaves its argument as it is. The methods
// record events between two decisions; they are not safe for concurrent use.
type Memory struct {
	started      time.Time             // when the request for the first view was sent
	firstShown   map[int]time.Time     // by pool id: when the request for the first view with the pool was sent
	made         map[int]bool          // pools for which it is known which call created them
	unownedSince map[string]time.Time  // by slot id
	emptySince   map[string]time.Time  // by slot id, of slots without an instance
	ended        map[string]bool       // slots for which a claim was ended because they got no instance
	unmade       map[string]bool       // slots that LKE has reported as failed
	notBefore    map[string]time.Time  // by slot id, for slots without an instance: earlier failures are about other slots
	spent        map[int]time.Time     // failures that have explained a slot, by id, with their times
	clock        time.Time             // when LKE answered with the last view, by its own clock
	hidden       map[int]hidden        // by pool id: slots that are counted and not listed
	lastSeen     map[int]int           // by instance: the pool that lists it; for machines of claims the one that listed it last
	noded        map[int]time.Time     // instances that had a registered Node, with the last time
	corrected    map[int]attempt       // by pool id
	unjoined     map[int]unjoined      // by instance, of claims
	lost         map[string]absence    // claims whose machine is in no list
	reported     map[string]bool       // slots or claims about which something was reported
	asking       map[string]asking     // claims without a machine
	assigned     map[string]assignment // machines of claims, which the view may not show yet
	released     map[string]time.Time  // claims whose machine may be deleted, with the time of the release
	gone         map[string]bool       // released claims whose machine is certainly gone
	groups       map[string]motion     // by the group's key
	calls        pendingCalls          // calls whose effect may be still to come
	waitingSince time.Time             // since when some claim has always been waiting
}

// assignment is the machine of a claim.
type assignment struct {
	instance int
	at       time.Time // when it was stored, or last seen stored
	underway bool      // it is being stored
}

// asking is the time since which a claim waits for a machine of a group. Its group changes with its plan type.
type asking struct {
	key   string
	since time.Time
}

// motion is the state of a group: whether its pools are being changed, and how it may grow.
type motion struct {
	busy   bool
	rested time.Time // when the last Work was finished
	hold   time.Time // no growth before this time
	fails  int       // number of consecutive failures
	ration int       // the largest number of nodes to request at once; 0 means any number
	eased  bool      // the last growth under the ration has succeeded
}

// Release records that the machine of a claim may be deleted. It reports whether this is the first call for the
// claim, and whether the machine is certainly gone.
func (m *Memory) Release(uid string, now time.Time) (first, gone bool) {
	if _, again := m.released[uid]; again {
		return false, m.gone[uid]
	}
	put(&m.released, uid, now)
	return true, m.gone[uid]
}

// Bound records the result of storing a Bind before a view shows it: it was stored, it was not, or the result is
// unknown. The machine stays assigned to the claim, and is bound again if the claim still waits for such a machine.
func (m *Memory) Bound(b Bind, now time.Time) {
	put(&m.assigned, b.UID, assignment{instance: b.Instance, at: now})
}

// Holders returns the claims to which the machines belong, sorted.
func (m *Memory) Holders(machines map[int]bool) (uids []string) {
	for uid, a := range m.assigned {
		if machines[a.instance] {
			uids = append(uids, uid)
		}
	}
	slices.Sort(uids)
	return uids
}

// Assigned returns the machine of a claim; 0 if it has none.
func (m *Memory) Assigned(uid string) int { return m.assigned[uid].instance }

// StoredAgainIn returns how long Decide waits before it stores the machine of a claim again that is shown without
// it; 0 for a claim without a machine.
func (m *Memory) StoredAgainIn(uid string, now time.Time) time.Duration {
	switch a, ok := m.assigned[uid]; {
	case !ok:
		return 0
	case a.underway:
		return reverted
	default:
		return max(0, reverted-now.Sub(a.at))
	}
}

// Finish records that the Work of a group was carried out or abandoned.
func (m *Memory) Finish(key string, now time.Time) {
	m.calls.finish(key)
	g := m.groups[key]
	g.busy, g.rested = false, now
	put(&m.groups, key, g)
}

// moving reports whether a view may lack changes of a group.
func (m *Memory) moving(key string, asked time.Time) bool {
	g := m.groups[key]
	return g.busy || g.rested.After(asked)
}

// idle reports whether no call can take effect any more.
func (m *Memory) idle() bool {
	for uid := range m.released {
		if !m.gone[uid] {
			return false
		}
	}
	return len(m.lost) == 0 && !m.calls.anyOpen()
}

// after returns the Memory for the next decision, without claims that the view does not show any more. Decide adds
// what it finds out about slots and pools.
func (m *Memory) after(view View, now time.Time) Memory {
	next := Memory{
		started: m.started, firstShown: m.firstShown, made: m.made,
		unownedSince: map[string]time.Time{}, emptySince: map[string]time.Time{}, ended: map[string]bool{},
		unmade: map[string]bool{}, notBefore: map[string]time.Time{}, spent: map[int]time.Time{}, clock: view.Shown,
		hidden: map[int]hidden{}, lastSeen: map[int]int{}, noded: map[int]time.Time{}, corrected: map[int]attempt{},
		unjoined: map[int]unjoined{}, lost: map[string]absence{}, reported: map[string]bool{},
		asking: map[string]asking{}, assigned: map[string]assignment{}, released: map[string]time.Time{},
		gone: map[string]bool{}, groups: map[string]motion{},
		calls: m.calls.clone(), waitingSince: m.waitingSince,
	}
	if next.started.IsZero() {
		next.started = view.Asked
	}
	maps.Copy(next.groups, m.groups)
	maps.Copy(next.spent, m.spent)
	for _, c := range view.Claims {
		if c.Instance != 0 {
			next.assigned[c.UID] = assignment{instance: c.Instance, at: now}
		} else if a, ok := m.assigned[c.UID]; ok {
			next.assigned[c.UID] = a
		}
		if since, ok := m.released[c.UID]; ok {
			next.released[c.UID] = since
		}
		if m.gone[c.UID] {
			next.gone[c.UID] = true
		}
	}
	return next
}

// complete returns the claims with the machines and releases that the view does not
// show.
func (m *Memory) complete(claims []Claim) []Claim {
	out := make([]Claim, len(claims))
	for i, c := range claims {
		if c.Instance == 0 {
			c.Instance = m.assigned[c.UID].instance
		}
		_, c.released = m.released[c.UID]
		out[i] = c
	}
	return out
}

// report returns true the first time that something is reported, and remembers it. Old reports are forgotten if
// their subject does not come up again.
func (m *Memory) report(old Memory, about string) bool {
	m.reported[about] = true
	return !old.reported[about]
}

// put sets an entry of a map that may be nil.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}
