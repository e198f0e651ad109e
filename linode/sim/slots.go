package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// grow adds n slots to the pool, each of which gets its instance after the instance delay.
func (st *state) grow(p *pool, n int, now time.Time) {
	for range n {
		st.addSlot(p, now)
	}
	st.faults.countMade(p.plan.ID, p.cluster.Region, n)
}

func (st *state) addSlot(p *pool, now time.Time) {
	hash := st.slotHash(p)
	sl := &slot{id: fmt.Sprintf("%d-%s", p.ID, hash), pool: p, listed: now, flickers: st.breaks("stays")}
	// In recorded labels, lke is before the cluster's id. The API's specification says that a pool's label replaces
	// its id in the Linode's label, which is simulated if "labelled" is in Breaks.
	sl.name = fmt.Sprintf("lke%d-%s", p.cluster.ID, sl.id)
	switch {
	case p.Label == "" && st.breaks("names"):
		sl.name = fmt.Sprintf("lke%d-%d-%s", p.cluster.ID, p.cluster.ID, hash)
	case p.Label != "" && st.breaks("labelled"):
		sl.name = fmt.Sprintf("lke%d-%s-%s", p.cluster.ID, p.Label, hash)
	}
	if p.cluster.Tier == catalog.Enterprise {
		sl.listed = st.after(now, st.cfg.ListDelay)
		if st.breaks("listed") {
			sl.listed = sl.listed.Add(25 * time.Minute)
		}
	}
	at, _ := slices.BinarySearchFunc(p.slots, sl, bySlotID)
	p.slots = slices.Insert(p.slots, at, sl)
	st.provide(sl, now)
}

// slotHash returns twelve digits; in recorded ones the last four are zero.
func (st *state) slotHash(p *pool) string {
	for {
		hash := st.hash(8) + "0000"
		if p.cluster.slot(fmt.Sprintf("%d-%s", p.ID, hash)) == nil {
			return hash
		}
	}
}

// provide creates an instance for a slot after the instance delay, or none while the plan is out of stock.
func (st *state) provide(sl *slot, now time.Time) {
	plan, region := sl.pool.plan.ID, sl.pool.cluster.Region
	sl.hidden = st.faults.lacks(Hidden, plan, region)
	unmade := st.faults.lacks(NodeEvent, plan, region)
	if unmade {
		st.agenda.plan(st.after(now, st.cfg.InstanceDelay), func(at time.Time) {
			if !sl.gone && sl.instance == nil {
				st.noteUnmade(sl.pool.ID, sl.pool.cluster.Label, at)
			}
		})
	}
	sl.noStock = sl.hidden || unmade || st.faults.lacks(NullSlots, plan, region)
	if sl.noStock {
		return
	}
	st.agenda.plan(st.after(now, st.cfg.InstanceDelay), func(at time.Time) {
		if !sl.gone && sl.instance == nil {
			st.boot(sl, at)
		}
	})
}

// fill creates the instances of slots without stock, after the faults were cleared.
func (st *state) fill(now time.Time) {
	for _, c := range byID(st.clusters) {
		for _, p := range byID(c.pools) {
			for _, sl := range p.slots {
				if sl.noStock {
					st.provide(sl, now)
				}
			}
		}
	}
}

// boot creates the Linode of a slot. On Enterprise it has the pool's tags and two of LKE's own (the existing
// provider's documentation); on the standard tier none, as recorded.
func (st *state) boot(sl *slot, now time.Time) {
	st.lastInstance++
	p := sl.pool
	i := &instance{slot: sl, version: p.version(), Linode: Linode{
		ID: st.lastInstance, Label: sl.name, Region: p.cluster.Region, Plan: p.plan, Type: p.plan.ID, Tags: []string{},
		DiskEncryption: p.DiskEncryption, PrivateIP: privateIP(st.lastInstance), Created: now, Updated: now,
		Runs: st.after(now, st.cfg.JoinDelay), CCM: st.jittered(st.cfg.CCMDelay), HostUUID: st.hash(40),
	}}
	// The id begins with a letter, because tools that write it into YAML without quotes could turn digits into a
	// number.
	i.machineID = "c" + st.hash(32)[1:]
	i.joins, i.Off = i.Runs, st.faults.meets(i.Type, i.Region, func(f *Fault) bool { return f.StaysOffline })
	if st.faults.meets(i.Type, i.Region, func(f *Fault) bool { return f.NeverJoins }) || i.Off {
		i.joins = now.AddDate(1, 0, 0)
	}
	if p.cluster.Tier == catalog.Enterprise {
		i.Tags = p.cascaded()
	}
	if st.breaks("boots") {
		i.sleeps = now.Add(6 * time.Minute)
	}
	sl.instance = i
	st.add(i)
}

func (p *pool) cascaded() []string {
	own := []string{fmt.Sprintf("lke%d", p.cluster.ID), fmt.Sprintf("nodepool=%d", p.ID)}
	return sortedTags(append(own, p.Tags...))
}

// retag copies changed tags of a pool to its instances, on Enterprise only. That a change, and not only the
// creation, is copied is an assumption.
func (st *state) retag(p *pool, tags []string) {
	before := p.Tags
	p.Tags = sortedTags(tags)
	if p.cluster.Tier != catalog.Enterprise {
		return
	}
	for _, sl := range p.slots {
		if sl.instance == nil {
			continue
		}
		kept := slices.DeleteFunc(slices.Clone(sl.instance.Tags),
			func(tag string) bool { return slices.Contains(before, tag) })
		sl.instance.Tags = sortedTags(append(kept, p.cascaded()...))
	}
}

// remove deletes a slot: it leaves the pool immediately and its instance is gone after the delete delay. That this
// works for a slot without an instance is an assumption.
func (st *state) remove(sl *slot, now time.Time) {
	p := sl.pool
	p.slots = slices.DeleteFunc(p.slots, func(other *slot) bool { return other == sl })
	sl.gone = true
	if sl.instance != nil {
		st.release(sl.instance, now)
	}
}

// shrink deletes n random slots: according to the cluster autoscaler's notes on Linode, LKE picks them.
func (st *state) shrink(p *pool, n int, now time.Time) {
	for range min(n, len(p.slots)) {
		st.remove(p.slots[st.rng.IntN(len(p.slots))], now)
	}
}

func (st *state) deletePool(p *pool, now time.Time) {
	for _, sl := range slices.Clone(p.slots) {
		st.remove(sl, now)
	}
	delete(p.cluster.pools, p.ID)
}

// release schedules the end of an instance after the delete delay.
func (st *state) release(i *instance, now time.Time) {
	if !i.Gone.IsZero() {
		return
	}
	i.Gone = st.after(now, st.cfg.DeleteDelay)
	st.agenda.plan(i.Gone, func(at time.Time) { st.vanish(i, at) })
}

func (st *state) vanish(i *instance, at time.Time) {
	if st.instances[i.ID] == nil {
		return
	}
	delete(st.instances, i.ID)
	st.left[i.ID] = at
	if i.slot == nil {
		st.assets.Leave(i.ID)
	}
	st.tally.deleted(st.price(i), at.Sub(i.Created))
}

// recycle replaces the instance of a slot; LKE does the same if the instance itself is deleted. It is an assumption
// that the slot keeps its id, shows null meanwhile, and gets the new instance only after the old one is gone. With
// RecycleNewSlots, a new slot is added while the old one ends.
//
// Unverified: which of the two LKE does.
func (st *state) recycle(sl *slot, now time.Time) {
	if st.cfg.RecycleNewSlots {
		st.remove(sl, now)
		st.addSlot(sl.pool, now)
		return
	}
	old := sl.instance
	if old != nil {
		st.release(old, now)
		sl.instance = nil
		st.provide(sl, old.Gone)
	} else if sl.forgotten {
		st.provide(sl, now)
	}
	sl.forgotten = false
}

// lose removes an instance immediately, as a failing host does.
func (st *state) lose(i *instance, replaced bool, now time.Time) {
	sl := i.slot
	st.vanish(i, now)
	if sl == nil || sl.gone || sl.instance != i {
		return
	}
	sl.instance = nil
	if replaced {
		st.provide(sl, now)
	} else {
		sl.forgotten = true
	}
}

func sortedTags(tags []string) []string {
	tags = append([]string{}, tags...)
	slices.Sort(tags)
	return slices.Compact(tags)
}
