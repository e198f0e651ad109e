package capacity

import (
	"cmp"
	"slices"
	"time"
)

// A machine of a claim that has not become a Node is checked after a minute. If it is offline in all checks of five
// minutes, it is lost: users have seen machines on LKE that never boot, and Karpenter would wait fifteen minutes
// for them.
//
// Unverified: that no Linode of LKE that is offline for so long boots later.
const (
	lookedAt   = time.Minute
	offlineFor = 5 * time.Minute
	looksMost  = 100 // the most that one request can name
)

// unjoined is a machine of a claim that has not become a Node. A restart of the controller resets its times.
type unjoined struct {
	since   time.Time // when it was first shown
	offline time.Time // time of the first of the latest checks that found it offline; zero if the last one did not
}

// Unjoined returns the machines that must be checked, starting with those that have waited longest to become a
// Node.
func (m *Memory) Unjoined(now time.Time) (instances []int) {
	for instance, u := range m.unjoined {
		if now.Sub(u.since) >= lookedAt {
			instances = append(instances, instance)
		}
	}
	slices.SortFunc(instances, func(a, b int) int {
		return cmp.Or(m.unjoined[a].since.Compare(m.unjoined[b].since), cmp.Compare(a, b))
	})
	return instances[:min(len(instances), looksMost)]
}

// findOffline finds claims whose machine stays offline and has never become a Node. A machine that was powered off
// after it had joined stays assigned. For a machine whose host is under maintenance, the five minutes start after
// the maintenance.
func (s *input) findOffline(d *Decision, old Memory) {
	for _, c := range s.claims {
		if c.Instance == 0 || c.Leaving || c.released || c.Registered || s.memory.assigned[c.UID].underway ||
			!s.listed[c.Instance] || !s.memory.noded[c.Instance].IsZero() {
			continue
		}
		u, known := old.unjoined[c.Instance]
		if !known {
			u.since = s.now
		}
		switch offline, looked := s.Offline[c.Instance]; {
		case c.Maintained:
			u.offline = time.Time{}
		case !looked:
		case !offline:
			u.offline = time.Time{}
		case u.offline.IsZero():
			u.offline = s.now
		case s.now.Sub(u.offline) >= offlineFor:
			d.Offline = append(d.Offline, c.UID)
		}
		s.memory.unjoined[c.Instance] = u
	}
}
