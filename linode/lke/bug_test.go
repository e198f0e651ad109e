package lke

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/sim"
)

// bugs panic a few times in one method, before or after its work.
type bugs struct {
	API
	Claims
	method, plan string // the plan is that of CreatePool; "" for any
	late         bool   // the work was done

	mu   sync.Mutex
	left int
	met  int
}

func (b *bugs) at(method string, work func() error) error {
	b.mu.Lock()
	hit := method == b.method && b.left > 0
	if hit {
		b.left--
		b.met++
	}
	b.mu.Unlock()
	if hit && !b.late {
		panic("assignment to entry in nil map")
	}
	err := work()
	if hit {
		panic("assignment to entry in nil map")
	}
	return err
}

func (b *bugs) CreatePool(ctx context.Context, cluster int, spec api.PoolSpec) (pool api.Pool, err error) {
	work := func() (err error) { pool, err = b.API.CreatePool(ctx, cluster, spec); return err }
	if b.plan != "" && spec.Type != b.plan {
		return pool, work()
	}
	return pool, b.at("CreatePool", work)
}

func (b *bugs) GrowPool(ctx context.Context, cluster, id, count int) (pool api.Pool, err error) {
	return pool, b.at("GrowPool", func() (err error) { pool, err = b.API.GrowPool(ctx, cluster, id, count); return err })
}

func (b *bugs) ChangePool(ctx context.Context, cluster, id int, change api.PoolChange) error {
	return b.at("ChangePool", func() error { return b.API.ChangePool(ctx, cluster, id, change) })
}

func (b *bugs) DeletePool(ctx context.Context, cluster, id int) error {
	return b.at("DeletePool", func() error { return b.API.DeletePool(ctx, cluster, id) })
}

func (b *bugs) DeleteSlot(ctx context.Context, cluster int, slot string) error {
	return b.at("DeleteSlot", func() error { return b.API.DeleteSlot(ctx, cluster, slot) })
}

func (b *bugs) Bind(ctx context.Context, bind capacity.Bind) error {
	return b.at("Bind", func() error { return b.Claims.Bind(ctx, bind) })
}

func (b *bugs) ReplanOrDelete(ctx context.Context, uid, reason string) error {
	return b.at("ReplanOrDelete", func() error { return b.Claims.ReplanOrDelete(ctx, uid, reason) })
}

func (b *bugs) Extend(ctx context.Context, uid string) error {
	return b.at("Extend", func() error { return b.Claims.Extend(ctx, uid) })
}

func (b *bugs) Lose(ctx context.Context, uid string, instance int, reason string) error {
	return b.at("Lose", func() error { return b.Claims.Lose(ctx, uid, instance, reason) })
}

func (b *bugs) NotDeleted(ctx context.Context, uid, reason, text string) error {
	return b.at("Warn", func() error { return b.Claims.NotDeleted(ctx, uid, reason, text) })
}

func (b *bugs) Warn(ctx context.Context, uid, reason, text string) {
	_ = b.at("Warn", func() error { b.Claims.Warn(ctx, uid, reason, text); return nil })
}

func (b *bugs) WarnNodePool(ctx context.Context, name, reason, text string) {
	_ = b.at("WarnNodePool", func() error { b.Claims.WarnNodePool(ctx, name, reason, text); return nil })
}

// buggy is a rig whose Syncer meets bugs.
func buggy(t *testing.T, tier string, b *bugs) *rig {
	r := newRig(t, sim.Config{Tier: tier, InstanceDelay: 2 * time.Second})
	r.kill()
	b.Claims = r.book
	r.claims, r.around = b, func(api API) API { b.API = api; return b }
	r.start(tier)
	return r
}

// TestABugInTheWorkForOneGroupDoesNotEndTheController: it fails that work, which is tried again as after a call
// without an answer, and no machine is created or lost for it.
func TestABugInTheWorkForOneGroupDoesNotEndTheController(t *testing.T) {
	for _, method := range []string{
		"CreatePool", "GrowPool", "ChangePool", "DeletePool", "DeleteSlot", "Bind", "ReplanOrDelete", "Extend", "Lose", "Warn",
		"WarnNodePool",
	} {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprint(method, " done ", late), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := &bugs{method: method, late: late, left: 2}
					r := buggy(t, "standard", b)
					defer r.kill()
					r.adventure()
					if b.met == 0 {
						t.Error("no bug was met")
					}
				})
			})
		}
	}
}

// adventure calls every method that is about one group or claim.
func (r *rig) adventure() {
	r.inject(sim.Fault{NoCapacity: sim.NullSlots, Name: "slow"})
	r.want(2)
	time.Sleep(2 * time.Minute)
	r.sim.EndFaults("slow")
	r.until("the first claims have machines", r.bound)
	r.want(3)
	r.until("the others have machines, too", r.bound)
	r.tamper()
	r.release(1)
	if made := r.sim.Stats().Made; made != 5 {
		r.t.Errorf("%d machines for 5 claims", made)
	}
	lost := r.sim.Pools()[0].Nodes[0].ID
	r.until("a user deletes a node", func() bool {
		return byHand(r.t, r.sim).DeleteSlot(r.t.Context(), r.cluster, lost) == nil
	})
	r.until("its claim is ended", func() bool { return len(r.seen().ended) > 0 })
	r.inject(sim.Fault{NoCapacity: sim.Refuse, Name: "stock"})
	r.want(2)
	r.until("claims are deleted", func() bool { return len(r.seen().unserved) == 2 })
	r.sim.EndFaults("stock")
	r.inject(sim.Fault{Method: "DELETE", Count: 1, Status: 500})
	r.release(6)
	r.until("nothing is left", func() bool { return r.sim.Stats().Slots == 0 })
}

// TestPanicIsReportedOnWaitingClaims: it says that it is a bug, and not that LKE refuses. Another group gets its
// machine meanwhile.
func TestPanicIsReportedOnWaitingClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bugs{method: "CreatePool", plan: "g6-standard-2", left: 1000}
		r := buggy(t, "standard", b)
		defer r.kill()
		r.wantOfPlan("bad", b.plan, 1)
		r.want(1)
		r.until("the other has its machine", func() bool { return r.seen().claims["claim-002"].Instance != 0 })
		time.Sleep(10 * time.Minute)
		warned := slices.Compact(slices.Clone(r.seen().warned))
		if !slices.Equal(warned, []string{"claim-001 MachineNotMade"}) || b.met > 20 {
			t.Errorf("%d tries in ten minutes; events: %s", b.met, strings.Join(warned, ", "))
		}
		b.mu.Lock()
		b.left = 0
		b.mu.Unlock()
		r.until("the first has its machine", r.bound)
	})
}
