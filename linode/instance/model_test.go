package instance

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lkeplan/lkeplan/linode/instance/decide"
	"github.com/lkeplan/lkeplan/linode/sim"
)

var steps = flag.Int("steps", 800, "so many steps the model takes")

// TestTheAccountFollowsTheClaims: for any answers, lists and restarts, no claim that continues loses its
// machine, no claim ends while its machine exists or may come, no machine of another owner is deleted, and
// once all is well there is one machine for each claim and no other.
func TestTheAccountFollowsTheClaims(t *testing.T) {
	const stepsOfARun = 200
	for seed := range uint64(*steps / stepsOfARun) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, seed, sim.Config{
					DeleteDelay: 15 * time.Second, JoinDelay: 30 * time.Second, Jitter: 0.5,
					RateLimit: sim.RateLimit{Creates: policy.Burst},
				})
				w.trouble()
				w.start(time.Time{})
				for range stepsOfARun {
					w.step()
					if t.Failed() {
						break
					}
				}
				w.rest()
			})
		})
	}
}

func (w *world) trouble() {
	w.faults = true
	for _, f := range calls() {
		if err := w.sim.Inject(f); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) step() {
	w.mu.Lock()
	pass := time.Duration(1+w.rng.IntN(8)) * time.Second
	if w.chance(2) {
		pass += time.Duration(w.rng.IntN(600)) * time.Second
	}
	restart, overlap, stock := w.chance(2), w.chance(50), w.chance(4)
	w.mu.Unlock()
	time.Sleep(pass)
	w.happen()
	for _, label := range w.wanted {
		w.buy(label, "team=web")
	}
	w.wanted = nil
	now := time.Now()
	if restart {
		if overlap {
			w.start(now.Add(20 * time.Second))
		} else {
			w.start(now)
		}
	}
	w.reap(now)
	if stock {
		w.toggle()
	}
	w.release()
	w.check()
}

// happen advances the world: claims come and end, machines join, a user deletes one.
func (w *world) happen() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.chance(20) {
		for range 1 + w.rng.IntN(6) {
			w.ask()
		}
	}
	if w.chance(40) {
		for range 1 + w.rng.IntN(6) {
			w.part()
		}
	}
	if w.chance(2) {
		w.drop()
	}
	w.restore(time.Now())
	for _, l := range w.own() {
		if w.chance(1) && w.chance(10) {
			w.sim.LoseInstance(l.ID, true)
			delete(w.nodes, l.ID)
		}
	}
	there := w.own()
	for _, uid := range slices.Sorted(maps.Keys(w.claims)) {
		c := w.claims[uid]
		if l, ok := there[decide.Label(policy.Cluster, uid)]; ok && l.ID == c.Machine && !c.Leaving && w.chance(20) {
			w.nodes[l.ID] = decide.Node{Name: l.Label}
		}
	}
}

func (w *world) ask() {
	w.next++
	uid := fmt.Sprint("uid-", w.next)
	kind := []string{"a", "b", "c"}[w.rng.IntN(3)]
	claim := decide.Claim{UID: uid, Kind: kind, Created: time.Now()}
	w.claims[uid] = &subject{Claim: claim, askers: map[*process]bool{}}
	if w.chance(2) {
		w.wanted = append(w.wanted, decide.Label(policy.Cluster, uid))
	}
}

// part has a claim end: Karpenter drains its Node, and says some time later that its machine may go.
func (w *world) part() {
	for _, uid := range slices.Sorted(maps.Keys(w.claims)) {
		switch c := w.claims[uid]; {
		case c.released || !w.chance(30):
		case !c.Leaving:
			c.Leaving = true
			return
		default:
			c.released = true
			delete(w.nodes, c.Machine)
			return
		}
	}
}

// drop takes up to five claims away without a word, as a restore of the cluster does. Some come back when their
// machines are about to go, and stay then.
func (w *world) drop() {
	left := 1 + w.rng.IntN(5)
	for _, uid := range slices.Sorted(maps.Keys(w.claims)) {
		if c := w.claims[uid]; left > 0 && !c.released && c.back.IsZero() && w.chance(50) {
			w.dropped[decide.Label(policy.Cluster, uid)] = loss{time.Now(), c.Machine}
			delete(w.claims, uid)
			left--
			if w.chance(50) {
				c.back = time.Now().Add(policy.Keep + time.Duration(w.rng.IntN(60)-30)*time.Second)
				w.away = append(w.away, c)
			}
		}
	}
}

// restore has claims come back, which caches show some seconds later.
func (w *world) restore(now time.Time) {
	w.away = slices.DeleteFunc(w.away, func(c *subject) bool {
		if now.Before(c.back) {
			return false
		}
		c.seen = now.Add(time.Duration(w.rng.IntN(60)) * time.Second)
		w.claims[c.UID] = c
		delete(w.dropped, decide.Label(policy.Cluster, c.UID))
		return true
	})
}

// toggle has a plan type run out of stock, or come back.
func (w *world) toggle() {
	w.mu.Lock()
	kind := []string{"a", "b", "c"}[w.rng.IntN(3)]
	out := w.chance(40)
	w.mu.Unlock()
	w.sim.EndFaults("stock of " + kind)
	if out {
		f := sim.Fault{Name: "stock of " + kind, NoCapacity: sim.Refuse, Plan: plans[kind]}
		if err := w.sim.Inject(f); err != nil {
			w.t.Fatal(err)
		}
	}
}

// release asks of the machines that may go whether they are gone, as Karpenter does.
func (w *world) release() {
	for _, p := range w.processes {
		w.mu.Lock()
		uids := slices.Sorted(maps.Keys(w.claims))
		w.mu.Unlock()
		for _, uid := range uids {
			w.mu.Lock()
			c := w.claims[uid]
			released := c != nil && c.released
			w.mu.Unlock()
			if released && p.syncer.Release(uid) {
				w.end(p, c)
			}
		}
	}
}

// end has a claim end, which must have no machine, and none to come. What another process has asked for may come: it
// is swept.
func (w *world) end(p *process, c *subject) {
	w.mu.Lock()
	defer w.mu.Unlock()
	label := decide.Label(policy.Cluster, c.UID)
	if len(c.askers) == 0 || len(c.askers) == 1 && c.askers[p] {
		w.ended[label] = true
	}
	delete(w.claims, c.UID)
}

// check looks for machines of claims that have ended.
func (w *world) check() {
	for label, l := range w.own() {
		if w.ended[label] {
			w.fail("a claim ended, and its Linode %d, %s, is there or came later", l.ID, label)
		}
	}
}

// rest ends all faults: within an hour all is as it should be.
func (w *world) rest() {
	w.sim.ClearFaults()
	w.mu.Lock()
	w.faults, w.away = false, nil
	w.mu.Unlock()
	for range 720 {
		time.Sleep(5 * time.Second)
		w.mu.Lock()
		for _, c := range w.claims {
			if c.Leaving && !c.released {
				c.released = true
				delete(w.nodes, c.Machine)
			}
		}
		w.mu.Unlock()
		w.reap(time.Now())
		w.release()
		w.check()
	}
	left := w.processes[len(w.processes)-1]
	left.ends = time.Now()
	w.reap(time.Now())
	w.converged()
	s := w.sim.Stats()
	w.t.Logf("%d Linodes made, %d deleted, %d at once; %d claims dropped, %d machines kept; answers %v",
		s.Made, s.Deleted, s.PeakLive, len(w.dropped), len(w.kept), s.ByStatus)
}

// converged compares claims with machines.
func (w *world) converged() {
	own := w.own()
	for uid, c := range w.claims {
		label := decide.Label(policy.Cluster, uid)
		if c.released || c.Machine == 0 || own[label].ID != c.Machine {
			w.fail("at rest claim %s has Linode %d, released: %v; its label has %d", uid, c.Machine, c.released, own[label].ID)
		}
		delete(own, label)
	}
	if len(own) > 0 {
		w.fail("at rest %v have no owner", slices.Collect(maps.Keys(own)))
	}
	for _, label := range w.others {
		if !slices.ContainsFunc(w.sim.Linodes(), func(l sim.Linode) bool { return l.Label == label }) {
			w.fail("at rest Linode %s of another owner is gone", label)
		}
	}
}
