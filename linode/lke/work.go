package lke

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/linode/linodego"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	"github.com/lkeplan/lkeplan/schemas/task"
)

// act carries out one group's work: first corrections, then growth, then deletions, so that a pool never loses its
// last slot while it is about to get another one. After a failed call or a panic, the next decision does the rest.
func (f *Syncer) act(ctx context.Context, w capacity.Work) {
	f.repair(ctx, w.Corrections)
	err := f.loop.Try(func() error { return f.grow(ctx, w) })
	if err == nil {
		err = f.loop.Try(func() error { return f.shrink(ctx, w) })
	}
	f.loop.Do(func(m *capacity.Memory, now time.Time) { m.Finish(w.Key, now) })
	// After a failure the timer starts the next poll: waking here would repeat a refused call as fast as LKE can
	// refuse it.
	if err == nil {
		f.Wake()
	}
}

// grow creates missing nodes. Each call is sent once; the next poll shows its effect, even after an error.
func (f *Syncer) grow(ctx context.Context, w capacity.Work) error {
	if len(w.Grow)+len(w.Create) == 0 {
		return nil
	}
	made, failed, err := f.growOnce(ctx, w)
	w.For = w.For[min(made, len(w.For)):]
	if err == nil {
		f.loop.Do(func(m *capacity.Memory, _ time.Time) { m.Grown(w.Key) })
		return nil
	}
	var hold time.Duration
	var exhausted bool
	f.loop.Do(func(m *capacity.Memory, now time.Time) {
		hold, exhausted = m.GrowthFailed(w.Key, failed, outcomeOf(err), now)
	})
	switch {
	case ctx.Err() != nil:
	case hold == 0:
		f.cfg.Log.Info("LKE has too few machines; requesting fewer", "plan", w.Group.Plan, "nodepool", w.Group.NodePool,
			"nodes", failed, "error", err)
		return nil // the next decision follows immediately
	default:
		f.refused(ctx, w, err, hold, exhausted)
	}
	return err
}

// growOnce sends the calls, a few at a time. It returns how many slots were created, and how many slots the failed
// call requested.
func (f *Syncer) growOnce(ctx context.Context, w capacity.Work) (made, failed int, err error) {
	defer task.Catch(f.cfg.Log, &err)
	var mu sync.Mutex
	note := func(n int, callErr error) {
		mu.Lock()
		defer mu.Unlock()
		if callErr == nil {
			made += n
		} else if err == nil || n < failed {
			failed, err = n, callErr
		}
	}
	var calls []func()
	for _, g := range w.Grow {
		calls = append(calls, func() { note(g.By, f.raise(ctx, w.Group, g)) })
	}
	for _, n := range w.Create {
		calls = append(calls, func() { note(n, f.create(ctx, w, n)) })
	}
	_ = task.Each(f.cfg.Log, 4, calls, func(_ int, call func()) error { call(); return nil })
	return made, failed, err
}

func (f *Syncer) raise(ctx context.Context, group capacity.Group, g capacity.Grow) error {
	err := f.loop.Try(func() error {
		_, err := f.cfg.API.GrowPool(ctx, f.cfg.Cluster.ID, g.Pool, g.Count)
		return err
	})
	f.loop.Do(func(m *capacity.Memory, now time.Time) { m.Grew(g, outcomeOf(err), now) })
	if err == nil {
		f.cfg.Log.Info("pool grown", "pool", g.Pool, "plan", group.Plan, "nodepool", group.NodePool, "count", g.Count)
	}
	return err
}

func (f *Syncer) create(ctx context.Context, w capacity.Work, n int) error {
	var pool api.Pool
	err := f.loop.Try(func() (err error) {
		pool, err = f.makePool(ctx, w, n)
		return err
	})
	f.loop.Do(func(m *capacity.Memory, now time.Time) { m.Made(w.Key, n, pool.ID, outcomeOf(err), now) })
	if err == nil {
		f.cfg.Log.Info("pool made", "pool", pool.ID, "plan", w.Group.Plan, "nodepool", w.Group.NodePool, "count", n)
	}
	return err
}

// outcomeOf classifies the error of a call.
func outcomeOf(err error) capacity.Outcome {
	switch api.ClassOf(err) {
	case api.ClassNone:
		return capacity.Done
	case api.ClassNoCapacity:
		return capacity.NoStock
	case api.ClassAccountLimit:
		return capacity.NoRoom
	case api.ClassLocked:
		return capacity.Locked
	case api.ClassBusy:
		return capacity.Busy
	case api.ClassUnknown:
		return capacity.Unknown
	default:
		return capacity.Refused
	}
}

// refused reacts to a failed growth, depending on its outcome.
func (f *Syncer) refused(ctx context.Context, w capacity.Work, err error, hold time.Duration, exhausted bool) {
	class := api.ClassOf(err)
	f.metrics.Refused(w.Group.Plan, string(class))
	f.cfg.Log.Error("LKE refused capacity", "plan", w.Group.Plan, "nodepool", w.Group.NodePool,
		"claims", len(w.For), "class", class, "error", err)
	switch class {
	case api.ClassNoCapacity:
		if !exhausted {
			return
		}
		f.cfg.Types.Block(w.Group.Plan, time.Now().Add(f.cfg.Timing.NoCapacity))
		defer f.Wake() // the claims wait for other plan types now
		f.replanOrDelete(ctx, w.For, fmt.Sprintf("no capacity for %s in %s: %v", w.Group.Plan, f.cfg.Cluster.Region, err))
	case api.ClassPlanClosed:
		f.cfg.Types.Close(w.Group.Plan, time.Now().Add(instancetype.ClosedFor))
		defer f.Wake()
		f.replanOrDelete(ctx, w.For, fmt.Sprintf("plan %s is closed to this account: %v", w.Group.Plan, err))
	case api.ClassValidation:
		f.warn(ctx, w.For, "LKERefused", fmt.Sprintf(
			"LKE does not accept the node pool: %v; correct the NodePool or the LinodeNodeClass; next attempt in %s", err, hold))
	case api.ClassAccountLimit:
		f.warn(ctx, w.For, "LinodeAccountLimit", fmt.Sprintf(
			"the account has reached a limit: %v; ask Linode to raise it; next attempt in %s", err, hold))
	case api.ClassAuth:
		f.warn(ctx, w.For, "LinodeTokenRefused", fmt.Sprintf(
			"%v; give the controller %s; next attempt in %s", err, api.Allow(err, api.ScopePools), hold))
	case api.ClassUnknown:
		if task.Panicked(err) {
			f.warn(ctx, w.For, "MachineNotMade", fmt.Sprintf("%v; next attempt in %s", err, hold))
		}
	}
}

func (f *Syncer) replanOrDelete(ctx context.Context, uids []string, reason string) {
	f.each(ctx, uids, "give a NodeClaim another plan or delete it", func(uid string) error {
		return f.cfg.Claims.ReplanOrDelete(ctx, uid, reason)
	})
}

func (f *Syncer) warn(ctx context.Context, uids []string, reason, message string) {
	for _, uid := range uids {
		_ = f.loop.Try(func() error { f.cfg.Claims.Warn(ctx, uid, reason, message); return nil })
	}
}

// shrink deletes slots and pools.
//
// Unverified: that a slot without an instance can be deleted.
func (f *Syncer) shrink(ctx context.Context, w capacity.Work) error {
	if len(w.Unserved) > 0 {
		reason, why := timedOut, "LKE created no %s machine in %s in time"
		if len(w.Unmade) > 0 {
			reason = string(api.ClassNoCapacity)
			why = "LKE could not create a node of %s in %s, as its event lke_node_create reports"
		}
		f.metrics.Refused(w.Group.Plan, reason)
		f.cfg.Types.Block(w.Group.Plan, time.Now().Add(f.cfg.Timing.NoCapacity))
		f.cfg.Log.Info("LKE has not filled slots; the plan is not used for a "+
			"while", "plan", w.Group.Plan, "claims", len(w.Unserved),
			"failed", w.Unmade)
		f.replanOrDelete(ctx, w.Unserved, fmt.Sprintf(why, w.Group.Plan, f.cfg.Cluster.Region))
	}
	pools := task.Each(f.cfg.Log, 8, w.DeletePools, func(_, pool int) error {
		err := f.loop.Try(func() error { return f.cfg.API.DeletePool(ctx, f.cfg.Cluster.ID, pool) })
		f.loop.Do(func(m *capacity.Memory, now time.Time) { m.PoolDeleted(pool, outcomeOf(err), now) })
		f.undeleted(ctx, w.Group.Plan, err, func(p api.Pool, _ api.Slot) bool { return p.ID == pool })
		return f.deleted("pool", pool, w.Group, err)
	})
	slots := task.Each(f.cfg.Log, 8, w.DeleteSlots, func(_ int, slot string) error {
		err := f.loop.Try(func() error { return f.cfg.API.DeleteSlot(ctx, f.cfg.Cluster.ID, slot) })
		f.loop.Do(func(m *capacity.Memory, now time.Time) { m.SlotDeleted(slot, outcomeOf(err), now) })
		f.undeleted(ctx, w.Group.Plan, err, func(_ api.Pool, s api.Slot) bool { return s.ID == slot })
		return f.deleted("slot", slot, w.Group, err)
	})
	return errors.Join(cmp.Or(pools...), cmp.Or(slots...))
}

func (f *Syncer) deleted(what string, id any, of capacity.Group, err error) error {
	if err != nil {
		f.cfg.Log.Error("could not delete a "+what, what, id, "class", api.ClassOf(err), "error", err)
		return err
	}
	f.cfg.Log.Info(what+" deleted", what, id, "plan", of.Plan, "nodepool", of.NodePool)
	return nil
}

// undeleted reports on claims that LKE has not deleted the slots of their machines.
func (f *Syncer) undeleted(ctx context.Context, plan string, err error, in func(api.Pool, api.Slot) bool) {
	if err == nil || ctx.Err() != nil {
		return
	}
	f.metrics.NotDeleted(plan, string(api.ClassOf(err)))
	machines := map[int]bool{}
	for _, pool := range f.Last() {
		for _, slot := range pool.Linodes {
			if slot.InstanceID != 0 && in(pool, slot) {
				machines[slot.InstanceID] = true
			}
		}
	}
	var holders []string
	f.loop.Do(func(m *capacity.Memory, _ time.Time) { holders = m.Holders(machines) })
	if api.ClassOf(err) == api.ClassLocked {
		f.notDeleted(ctx, holders, "LKELocked", fmt.Sprintf("the machine cannot be deleted and costs money: %v; remove "+
			"the lock from the LKE node pool or the cluster; next attempt in an hour or when the controller restarts", err))
		return
	}
	f.notDeleted(ctx, holders, "LKEDeleteFailed", fmt.Sprintf("LKE has not deleted the machine: %v; lkeplan tries "+
		"again until it is deleted", err))
}

func (f *Syncer) notDeleted(ctx context.Context, uids []string, reason, message string) {
	f.each(ctx, uids, "note on a NodeClaim that its machine is not deleted", func(uid string) error {
		return f.cfg.Claims.NotDeleted(ctx, uid, reason, message)
	})
}

// repair corrects pools in place. A later decision retries what has failed, because no claim waits for it.
func (f *Syncer) repair(ctx context.Context, corrections []capacity.Correction) {
	for _, m := range corrections {
		what := strings.Join(m.Fields, ", ")
		message := fmt.Sprintf("LKE node pool %d of plan %s differed from the configuration and was corrected: "+
			"%s", m.Pool, m.Group.Plan,
			what)
		err := f.loop.Try(func() error { return f.cfg.API.ChangePool(ctx, f.cfg.Cluster.ID, m.Pool, poolChange(m)) })
		if err != nil {
			message = fmt.Sprintf("LKE node pool %d of plan %s differs from the configuration and could not be corrected: "+
				"%s: %v",
				m.Pool, m.Group.Plan, what, err)
			f.cfg.Log.Error("could not correct a pool", "pool", m.Pool, "fields", what, "class", api.ClassOf(err), "error",
				err)
		} else {
			f.cfg.Log.Info("pool corrected", "pool", m.Pool, "nodepool", m.Group.NodePool, "fields", what)
		}
		if m.Unmarked() || m.Intended() && err == nil {
			continue // nothing depends on Mark, and labels that a commit changes are not a fault
		}
		f.warnNodePool(ctx, m.Group.NodePool, "LKEPoolOutOfStep", message)
	}
}

func (f *Syncer) warnNodePool(ctx context.Context, nodePool, reason, message string) {
	_ = f.loop.Try(func() error { f.cfg.Claims.WarnNodePool(ctx, nodePool, reason, message); return nil })
}

// poolChange returns the request that corrects a pool.
//
// Unverified: that tags, labels, taints and the autoscaler change without touching the nodes of the pool or its
// count.
//
// Unverified: that LKE does not write the earlier labels of a pool on its existing Nodes.
func poolChange(m capacity.Correction) api.PoolChange {
	whole := poolSpec(m.Group, 0, api.Cluster{Tier: string(catalog.Enterprise)}) // the standard tier has neither of the two
	var change api.PoolChange
	for _, field := range m.Fields {
		switch field {
		case "group", "tags", "mark":
			if m.Keep != "" {
				whole.Tags = append(whole.Tags, insteadTag+m.Keep)
			}
			change.Tags = &whole.Tags
		case "firewall":
			change.FirewallID = whole.FirewallID
		case "version":
			change.K8sVersion = whole.K8sVersion
		case "labels", "labels in place":
			change.Labels = new(api.Labels{})
			maps.Copy(*change.Labels, whole.Labels)
		case "taints":
			change.Taints = &whole.Taints
		case "autoscaler":
			change.Autoscaler = &api.Autoscaler{}
		}
	}
	return change
}

// poolSpec returns the request for a pool of a group. On Enterprise each pool needs a version: the control plane's,
// if the class names none.
func poolSpec(g capacity.Group, count int, cluster api.Cluster) api.PoolSpec {
	spec := api.PoolSpec{
		Type:   g.Plan,
		Count:  count,
		Tags:   tagsOf(g),
		Labels: g.PoolLabels(),
	}
	if g.DiskEncryption != "" {
		spec.DiskEncryption = new(linodego.InstanceDiskEncryption(g.DiskEncryption))
	}
	for _, t := range g.Taints {
		effect := linodego.LKENodePoolTaintEffect(t.Effect)
		spec.Taints = append(spec.Taints, api.Taint{Key: t.Key, Value: t.Value, Effect: effect})
	}
	if catalog.Tier(cluster.Tier) == catalog.Enterprise {
		spec.K8sVersion = new(cmp.Or(g.Version, cluster.K8sVersion))
		spec.UpdateStrategy = new(linodego.LKENodePoolOnRecycle)
		if g.FirewallID != 0 {
			spec.FirewallID = &g.FirewallID
		}
	}
	return spec
}

// tagsOf returns the tags of a group's pools.
func tagsOf(g capacity.Group) []string {
	tags := append([]string{GroupTag + g.Key()}, g.Tags...)
	if !slices.ContainsFunc(tags, func(tag string) bool { return strings.EqualFold(tag, capacity.Mark) }) {
		tags = append(tags, capacity.Mark)
	}
	return tags
}

// drain deletes the Nodes of machines that no claim owns.
func (f *Syncer) drain(ctx context.Context, drains []capacity.Drain) {
	for _, d := range drains {
		if err := f.loop.Try(func() error { return f.cfg.Nodes.Drain(ctx, d.Node) }); err != nil {
			f.cfg.Log.Error("could not drain a Node without a NodeClaim", "node", d.Node, "error", err)
			continue
		}
		f.cfg.Log.Info("draining a Node whose NodeClaim is gone", "node", d.Node, "instance", d.Instance)
	}
}

// reportKept reports which machines without a claim stay and cost money, and what to do.
func (f *Syncer) reportKept(ctx context.Context, kept []capacity.Kept) {
	byPool := map[string][]capacity.Kept{}
	for _, k := range kept {
		what := fmt.Sprintf("Linode %d (%s, %s) of LKE pool %d", k.Instance, k.Plan, f.cfg.Types.Price(k.Plan).AnHour(),
			k.Pool)
		if k.Node == "" {
			what += " has no NodeClaim, and its pool has no tag of this controller: another provider created it, or the tag " +
				"was removed; it costs money until you delete it in Cloud Manager"
			f.cfg.Log.Warn(what, "instance", k.Instance, "pool", k.Pool, "nodepool", k.NodePool)
			f.warnNodePool(ctx, k.NodePool, "LinodeUnowned", what)
			continue
		}
		byPool[k.NodePool] = append(byPool[k.NodePool], k)
		err := f.loop.Try(func() error { return f.cfg.Nodes.Keep(ctx, k.Node) })
		if err != nil { // without the record the Node stays as long as this process leads
			f.cfg.Log.Error("could not annotate a Node that it is kept", "node", k.Node, "error", err)
		}
	}
	for nodePool, kept := range byPool {
		var hourly catalog.Money
		more := ""
		for _, k := range kept {
			price := f.cfg.Types.Price(k.Plan)
			hourly += price.Hourly
			if !price.Known() {
				more = "at least "
			}
		}
		message := fmt.Sprintf("%d Nodes, including %s, have lost their NodeClaims without being deleted; their Linodes "+
			"keep running and cost %s$%s an hour; to delete one: kubectl annotate --overwrite node NAME %s=%s",
			len(kept), kept[0].Node, more, hourly, nodeclaim.AnnotationOrphaned, nodeclaim.OrphanDelete)
		f.cfg.Log.Warn("kept machines without NodeClaims", "nodepool", nodePool, "nodes", len(kept), "message", message)
		f.warnNodePool(ctx, nodePool, "NodesOrphaned", message)
	}
}
