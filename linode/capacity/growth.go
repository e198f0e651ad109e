package capacity

import (
	"math"
	"time"
)

// replanned is the pause of a group whose plan type is out of stock, until the cache shows the other plan types of
// its claims.
const replanned = 5 * time.Second

// Grown records that all calls of a group's growth succeeded.
func (m *Memory) Grown(key string) {
	g := m.groups[key]
	g.fails, g.hold = 0, time.Time{}
	if g.eased {
		g.ration *= 2
	}
	g.eased = true
	put(&m.groups, key, g)
}

// GrowthFailed records that a call for a number of nodes has failed, and pauses the growth of the group. If there
// may be room for fewer nodes, half as many are requested next. It returns the length of the pause, and whether
// there is no room for even one node.
func (m *Memory) GrowthFailed(key string, nodes int, o Outcome, now time.Time) (hold time.Duration, exhausted bool) {
	g := m.groups[key]
	defer func() {
		g.hold = now.Add(hold)
		put(&m.groups, key, g)
	}()
	if o != NoStock && o != NoRoom {
		g.fails++
		return growthPause(o, g.fails), false
	}
	g.eased = false
	if nodes > 1 {
		g.ration = nodes / 2
		return 0, false
	}
	g.fails++
	g.ration = 1
	if o == NoStock { // the claims get another plan type
		g.ration = 0
		return replanned, true
	}
	return growthPause(o, g.fails), true
}

// growthPause returns how long a group does not grow after a number of consecutive failures.
func growthPause(o Outcome, fails int) time.Duration {
	if o == Unknown {
		return min(backoff(5*time.Second, fails), time.Minute)
	}
	return pauseAfter(o, fails)
}

// grow raises counts of pools, lowest pool id first, and creates pools for the remaining nodes.
func (g *group) grow(s *input, work *Work, missing int) {
	if ration := s.memory.groups[g.key].ration; ration > 0 {
		missing = min(missing, ration)
	}
	for _, p := range g.pools {
		count := s.raised(p, missing)
		if by := count - p.Count; by > 0 {
			work.Grow = append(work.Grow, Grow{Pool: p.ID, Count: count, By: by})
			missing -= by
		}
	}
	for missing > 0 {
		n := min(missing, s.policy.PoolSize)
		work.Create = append(work.Create, n)
		missing -= n
	}
}

// raised returns the count to request for a pool so that it provides some of the missing nodes, or its current
// count if it must not grow.
func (s *input) raised(p Pool, missing int) (count int) {
	asked := &s.memory.calls
	if missing <= 0 || asked.pools[p.ID].mayGo(s.now) || s.now.Before(asked.paused[p.ID].until) {
		return p.Count
	}
	if r, ok := asked.raises[p.ID]; ok {
		// Only the same count may be requested again: see raise. It is, if at least half of the nodes are still
		// missing.
		if r.shown || r.gaveUp || s.now.Before(r.next) || 2*missing < r.count-p.Count {
			return p.Count
		}
		return r.count
	}
	if s.mayBeLowered(p) {
		return p.Count
	}
	return max(p.Count, min(p.Count+missing, s.policy.PoolSize))
}

// mayBeLowered reports whether a call of an earlier process may still set the count of a pool. If the pool grew
// before that, the call could lower its count again, and LKE would delete machines.
func (s *input) mayBeLowered(p Pool) bool {
	m := s.memory
	return s.now.Sub(m.started) < lateness && !m.firstShown[p.ID].After(m.started)
}

// room returns how many more nodes the cluster can get, in addition to those that are on order.
func (s *input) room() int {
	if s.policy.ClusterSize == 0 {
		return math.MaxInt
	}
	room := s.policy.ClusterSize
	for _, p := range s.Pools {
		room -= p.Count + s.memory.calls.raises[p.ID].pending(p, s.now)
	}
	for _, c := range s.memory.calls.creations {
		room -= c.count
	}
	return max(0, room)
}
