package decide

import (
	"cmp"
	"slices"
	"time"
)

// create creates missing machines as fast as the rate limit allows. Kinds take turns, so that a kind that Linode
// refuses does not block others, and within a kind the oldest claim is first.
func (s *input) create(d *Decision, waiting []Claim) {
	var due []Claim
	for _, c := range waiting {
		ask := s.memory.asked[c.UID]
		switch {
		case ask.underway:
		case ask.outOfStock:
			d.OutOfStock = append(d.OutOfStock, c.UID)
		case ask.taken:
			d.Taken = append(d.Taken, c.UID)
		case s.now.Before(ask.hold), s.now.Before(s.memory.kinds[c.Kind].hold):
		default:
			due = append(due, c)
		}
	}
	due = inTurn(due)
	room := s.room()
	for _, c := range due[:min(room, len(due))] {
		ask := s.memory.asked[c.UID]
		ask.underway = true
		putInto(&s.memory.asked, c.UID, ask)
		s.memory.sent = append(s.memory.sent, s.now)
		d.Creates = append(d.Creates, Create{UID: c.UID, Label: Label(s.policy.Cluster, c.UID)})
	}
	if s.memory.account.fails == 0 { // otherwise they wait for room in the account, which does not renew claims
		for _, c := range due[len(d.Creates):] {
			d.Queued = append(d.Queued, c.UID)
		}
	}
	d.Queue = s.policy.Window * time.Duration((len(d.Queued)+s.policy.Burst-1)/s.policy.Burst)
}

// room returns how many creates may be sent now. While the account has no room, one create at a time checks whether
// it has room again.
func (s *input) room() int {
	m := s.memory
	m.sent = slices.DeleteFunc(slices.Clone(m.sent), func(at time.Time) bool { return s.now.Sub(at) >= s.policy.Window })
	room := max(0, s.policy.Burst-len(m.sent))
	switch {
	case s.now.Before(m.account.hold):
		return 0
	case m.account.fails == 0:
		return room
	}
	for _, ask := range m.asked {
		if ask.underway {
			return 0
		}
	}
	return min(1, room)
}

// inTurn sorts claims so that kinds take turns, and the claims of a kind are sorted by age.
func inTurn(claims []Claim) []Claim {
	claims = slices.Clone(claims)
	slices.SortFunc(claims, func(a, b Claim) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.UID, b.UID))
	})
	turn, seen := map[string]int{}, map[string]int{}
	for _, c := range claims {
		turn[c.UID] = seen[c.Kind]
		seen[c.Kind]++
	}
	slices.SortStableFunc(claims, func(a, b Claim) int { return turn[a.UID] - turn[b.UID] })
	return claims
}

// Outcome is the result of a call that creates or deletes a machine.
type Outcome int

const (
	Unknown Outcome = iota // no answer, or an unclear one: it may take effect later
	Done
	Taken   // a Linode without the cluster's tag has the label
	NoStock // no capacity for that plan type in the region
	NoRoom  // the account may not have more
	Busy    // refused for now: too many calls, or a lock
	Refused // the request itself is invalid
)

// Made records the result of the Create of a claim. If it is Done, machine is the id of the machine, which was
// created now, or found by its label with the cluster's tag.
func (m *Memory) Made(c Claim, machine int, o Outcome, policy Policy, now time.Time) {
	ask, kind := m.asked[c.UID], m.kinds[c.Kind]
	ask.underway = false
	switch o {
	case Unknown:
		ask.unanswered++
		ask.doneBy, ask.hold = now.Add(policy.Late), now.Add(backoff(ask.unanswered))
	case Done:
		ask.made, kind, m.account = machine, refusals{}, refusals{}
	case Taken:
		ask.taken = true
	case NoStock:
		ask.outOfStock, kind = true, kind.increased(now)
	case Refused:
		kind = kind.increased(now)
	case NoRoom, Busy:
		m.account = m.account.increased(now)
	}
	putInto(&m.asked, c.UID, ask)
	putInto(&m.kinds, c.Kind, kind)
}

// refusals has the number of consecutive refusals, and the time before which the call is not sent again.
type refusals struct {
	fails int
	hold  time.Time
}

func (r refusals) increased(now time.Time) refusals {
	return refusals{fails: r.fails + 1, hold: now.Add(backoff(r.fails + 1))}
}

// backoff returns the pause after a number of consecutive failures: 5 s, doubled with each failure, up to two
// minutes.
func backoff(fails int) time.Duration {
	return min(2*time.Minute, 5*time.Second<<min(fails-1, 6))
}
