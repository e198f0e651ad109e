package fleet

import (
	"time"

	"github.com/lkeplan/lkeplan/linode/capacity"
)

// Release says that the machine of a claim may go, and reports whether it is
// gone: LKE was asked after the release and did not show it. The caller asks
// again until it is.
func (f *Fleet) Release(uid string) (gone bool) {
	f.mu.Lock()
	_, known := f.released[uid]
	if !known {
		f.released[uid] = time.Now()
	}
	gone = f.gone[uid]
	f.mu.Unlock()
	if !known {
		f.Wake()
	}
	return gone
}

// Assigned returns the machine of a claim, where this Fleet gave it one.
func (f *Fleet) Assigned(uid string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.assigned[uid]
}

// settleReleased notes which released claims have no machine any more, by an
// answer that LKE gave to a question asked after the release.
func (f *Fleet) settleReleased(seen look, claims []capacity.Claim, d capacity.Decision, moving func(string) bool) {
	shrinking := map[string]bool{}
	for _, w := range d.Works {
		shrinking[w.Key] = len(w.DeleteSlots)+len(w.DeletePools) > 0
	}
	for _, c := range claims {
		since, released := f.released[c.UID]
		key := c.Group.Key()
		if !released || !seen.asked.After(since) || moving(key) {
			continue
		}
		if c.Instance == 0 {
			f.gone[c.UID] = !shrinking[key]
		} else {
			f.gone[c.UID] = !seen.mayHold(c.Instance, key)
		}
	}
}

// unsettled reports whether a released claim's machine may still be there.
func (f *Fleet) unsettled() bool {
	for uid := range f.released {
		if !f.gone[uid] {
			return true
		}
	}
	return false
}
