package capacity

import (
	"slices"
	"time"
)

// compare looks in a view for the effects of calls. It returns, by group, how many nodes were granted and have not
// come, which means that they are out of stock.
func (m *Memory) compare(view View, now time.Time) (missed map[string]int) {
	missed = map[string]int{}
	pools := make(map[int]Pool, len(view.Pools))
	slots := map[string]bool{}
	for _, p := range view.Pools {
		pools[p.ID] = p
		for _, s := range p.Slots {
			slots[s.ID] = true
		}
	}
	m.rememberFirstShown(view)
	m.deletionsShown(slots, pools, view.Asked)
	for id, r := range m.calls.raises {
		p, there := pools[id]
		if r.underway || !view.Asked.After(r.answered) {
			continue
		}
		if !there {
			delete(m.calls.raises, id)
			continue
		}
		missed[r.key] += m.raiseShown(p, r, now)
	}
	m.calls.creations = slices.DeleteFunc(m.calls.creations, func(c creation) bool {
		return !c.underway && view.Asked.After(c.answered) && m.creationShown(c, view.Pools, now)
	})
	for id := range m.calls.paused {
		if _, there := pools[id]; !there {
			delete(m.calls.paused, id)
		}
	}
	return missed
}

// rememberFirstShown remembers when each pool was first shown.
func (m *Memory) rememberFirstShown(view View) {
	known, made := m.firstShown, m.made
	m.firstShown, m.made = map[int]time.Time{}, map[int]bool{}
	for _, p := range view.Pools {
		m.firstShown[p.ID] = known[p.ID]
		if known[p.ID].IsZero() {
			m.firstShown[p.ID] = view.Asked
		}
		if made[p.ID] {
			m.made[p.ID] = true
		}
	}
}

// deletionsShown ends the deletions of slots and pools that are not listed any more.
func (m *Memory) deletionsShown(slots map[string]bool, pools map[int]Pool, asked time.Time) {
	for id, d := range m.calls.slots {
		if d.underway || slots[id] || !asked.After(d.answered) {
			continue
		}
		delete(m.calls.slots, id)
		if r, ok := m.calls.raises[d.pool]; ok {
			r.dropped++
			m.calls.raises[d.pool] = r
		}
	}
	for id, d := range m.calls.pools {
		if _, there := pools[id]; !there && !d.underway && asked.After(d.answered) {
			delete(m.calls.pools, id)
		}
	}
}

// raiseShown compares a pool with the count that was requested. If the pool does not reach the count in time, it is
// paused; the result is how many nodes were granted and have not come.
func (m *Memory) raiseShown(p Pool, r raise, now time.Time) (missed int) {
	r.shown = r.shown || p.Count+r.dropped >= r.count
	over := !now.Before(r.ceiling)
	switch {
	case r.shown && (!r.silent || r.sends == 1 || over):
		delete(m.calls.raises, p.ID)
		delete(m.calls.paused, p.ID)
		return 0
	case !r.shown && !r.gaveUp && now.Sub(r.since) >= lateness:
		times := m.calls.paused[p.ID].times + 1
		m.calls.paused[p.ID] = poolPause{until: now.Add(lateness << min(times-1, 5)), times: times}
		r.gaveUp = true
		if !r.silent {
			missed = r.count - p.Count
		}
	}
	m.calls.raises[p.ID] = r
	if r.gaveUp && over {
		delete(m.calls.raises, p.ID)
	}
	return missed
}

// creationShown reports whether a requested pool is listed, or will not come any more. If the answer was lost and
// the id is unknown, it is a pool that did not exist before and that no other call created.
func (m *Memory) creationShown(c creation, pools []Pool, now time.Time) bool {
	for _, p := range pools {
		mine := p.ID == c.pool
		if c.pool == 0 {
			mine = p.Group == c.key && !m.made[p.ID] && m.firstShown[p.ID].After(c.sent)
		}
		if mine {
			m.made[p.ID] = true
			return true
		}
	}
	if now.Sub(c.answered) < lateness {
		return false
	}
	if c.pool != 0 { // the call succeeded, and the pool does not exist
		g := m.groups[c.key]
		g.fails++
		g.hold = now.Add(backoff(10*time.Second, g.fails))
		m.groups[c.key] = g
	}
	return true
}

// coming returns how many slots of a group's pools were requested and are not counted by LKE yet.
func (m *Memory) coming(key string, pools []Pool, now time.Time) (n int) {
	for _, c := range m.calls.creations {
		if c.key == key {
			n += c.count
		}
	}
	for _, p := range pools {
		n += m.calls.raises[p.ID].pending(p, now)
	}
	return n
}

// pending returns how many slots a raise may still add while it is not sent again.
func (r raise) pending(p Pool, now time.Time) int {
	if r.shown || r.gaveUp || !now.Before(r.next) {
		return 0
	}
	return max(0, r.count-r.dropped-p.Count)
}
