package lke

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/sim"
)

// byHand is Cloud Manager: another client of the same account.
func byHand(t *testing.T, sim *sim.Simulator) *api.Client {
	t.Helper()
	api, err := api.New("http://linode.test", "token", api.Options{Transport: inProcess{sim}})
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// grown is a rig whose n claims have their machines, in one pool.
func grown(t *testing.T, n int) *rig {
	t.Helper()
	r := newRig(t, sim.Config{Tier: "standard"})
	r.want(n)
	r.until("the claims have machines", r.bound)
	return r
}

// TestManualEditsAreCorrected: in place, with nothing made and nothing
// deleted.
func TestManualEditsAreCorrected(t *testing.T) {
	edits := map[string]api.PoolChange{
		"tags":       {Tags: &[]string{"mine", "other"}},
		"labels":     {Labels: &api.Labels{"by": "hand"}},
		"taints":     {Taints: &[]api.Taint{{Key: "by", Value: "hand", Effect: "NoSchedule"}}},
		"autoscaler": {Autoscaler: &api.Autoscaler{Enabled: true}},
	}
	for what, edit := range edits {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := grown(t, 2)
				defer r.kill()
				asMade := r.sim.Pools()[0]
				if err := byHand(t, r.sim).ChangePool(t.Context(), 77, asMade.ID, edit); err != nil {
					t.Fatal(err)
				}
				if cmp.Diff(asMade, r.sim.Pools()[0]) == "" {
					t.Fatal("the edit changed nothing")
				}
				r.until("the pool is as it was made", func() bool { return cmp.Diff(asMade, r.sim.Pools()[0]) == "" })
				if stats := r.sim.Stats(); stats.Made != 2 || stats.Deleted != 0 {
					t.Errorf("%d instances were made and %d deleted", stats.Made, stats.Deleted)
				}
				r.until("it is reported", func() bool {
					warned := r.seen().warnedPools
					return len(warned) == 1 && strings.Contains(warned[0], "web LKEPoolOutOfStep: LKE node pool") &&
						strings.Contains(warned[0], what)
				})
				calls := r.sim.Stats().Writes
				time.Sleep(10 * time.Minute)
				if more := r.sim.Stats().Writes - calls; more != 0 {
					t.Errorf("%d more writes where nothing is out of step", more)
				}
			})
		})
	}
}

// tamper edits the pool of a rig as another user, in all that can be corrected, and
// waits until it is. The edit is repeated until LKE has taken it.
func (r *rig) tamper() {
	hand, asMade := byHand(r.t, r.sim), r.sim.Pools()[0]
	r.until("the pool is edited", func() bool {
		return hand.ChangePool(r.t.Context(), r.cluster, asMade.ID, api.PoolChange{
			Tags:       &[]string{"mine"},
			Labels:     &api.Labels{"by": "hand"},
			Taints:     &[]api.Taint{{Key: "by", Value: "hand", Effect: "NoSchedule"}},
			Autoscaler: &api.Autoscaler{Enabled: true},
		}) == nil
	})
	r.until("the pool is as it was made", func() bool {
		for _, p := range r.sim.Pools() {
			if p.ID == asMade.ID {
				return cmp.Equal(asMade, p)
			}
		}
		return false
	})
}

// TestTagsOfTheClassChangeInPlace: the claims are read with the tags of today.
func TestTagsOfTheClassChangeInPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := grown(t, 2)
		defer r.kill()
		r.book.mu.Lock()
		for uid, c := range r.book.claims {
			c.Group.Tags = []string{"env:prod"}
			r.book.claims[uid] = c
		}
		r.book.mu.Unlock()
		r.until("the pool has the tag", func() bool { return slices.Contains(r.sim.Pools()[0].Tags, "env:prod") })
		if stats := r.sim.Stats(); stats.Made != 2 || stats.Deleted != 0 || stats.Pools != 1 {
			t.Errorf("%d instances in %d pools were made and %d deleted", stats.Made, stats.Pools, stats.Deleted)
		}
	})
}

// TestACountChangedByHand: more nodes than claims go, and a claim whose machine
// went returns true.
func TestACountChangedByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := grown(t, 3)
		defer r.kill()
		hand, pool := byHand(t, r.sim), r.sim.Pools()[0].ID
		if _, err := hand.GrowPool(t.Context(), 77, pool, 5); err != nil {
			t.Fatal(err)
		}
		r.until("the surplus is gone", func() bool { return r.sim.Stats().Slots == 3 })
		if !r.bound() {
			t.Error("the machine of a claim went")
		}
		if _, err := hand.GrowPool(t.Context(), 77, pool, 2); err != nil {
			t.Fatal(err)
		}
		r.until("the claim says that its machine is gone", func() bool {
			return len(r.seen().ended) == 1
		})
	})
}

// TestAnUpgradeOfTheControlPlaneIsNoticed within minutes, though the first answer is
// lost.
func TestAnUpgradeOfTheControlPlaneIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		linodeAPI := &upgraded{version: "v1.34.1+lke1"}
		cluster := api.Cluster{ID: 77, Region: "us-ord", Tier: string(catalog.Enterprise), K8sVersion: "v1.33.4+lke2"}
		log := slog.New(slog.DiscardHandler)
		types := instancetype.New(facts(t), cluster.Region, catalog.Enterprise)
		control := NewControlPlane(linodeAPI, cluster, types, log)
		fleet := NewSyncer(SyncerConfig{API: linodeAPI, Cluster: cluster, ControlPlane: control, Claims: newBook(), Types: types, Log: log})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go fleet.Start(ctx)
		time.Sleep(90 * time.Second)
		if got := control.Version(); got != cluster.K8sVersion || len(control.Upgrades()) > 0 {
			t.Errorf("version = %s without an answer, and %d events", got, len(control.Upgrades()))
		}
		time.Sleep(10 * time.Minute)
		if got := control.Version(); got != "v1.34.1+lke1" || len(control.Upgrades()) != 1 {
			t.Errorf("version = %s, and %d events", got, len(control.Upgrades()))
		}
		if n := linodeAPI.asked.Load(); n < 2 || n > 13 {
			t.Errorf("the version was asked for %d times", n)
		}
	})
}

// upgraded is an API that has no pools and another version than before.
type upgraded struct {
	API
	version string
	asked   atomic.Int32
}

func (u *upgraded) Pools(context.Context, int) ([]api.Pool, error) { return nil, nil }

func (u *upgraded) Cluster(context.Context, int) (api.Cluster, error) {
	if u.asked.Add(1) == 1 {
		return api.Cluster{}, io.ErrUnexpectedEOF
	}
	return api.Cluster{ID: 77, K8sVersion: u.version}, nil
}

// TestTwoClustersInOneAccount have NodePools, plans and so groups of the same
// names. What one does is never seen in the other.
func TestTwoClustersInOneAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, sim.Config{Tier: "standard", InstanceDelay: time.Second})
		defer r.kill()
		if _, err := r.sim.AddCluster(sim.Config{ClusterID: 778, ClusterLabel: "other"}); err != nil {
			t.Fatal(err)
		}
		other := &rig{t: t, sim: r.sim, book: newBook(), types: r.types, next: 500, cluster: 778}
		other.start("standard")
		defer other.kill()
		r.want(4)
		other.want(3)
		r.until("both have their machines", func() bool { return r.bound() && other.bound() })
		disjoint(t, r, other)
		before := r.sim.PoolsOf(77)
		for _, uid := range slices.Sorted(maps.Keys(other.seen().claims)) {
			other.book.mu.Lock()
			delete(other.book.claims, uid) // a user removed all finalizers
			other.book.mu.Unlock()
		}
		r.until("the other cluster is empty", func() bool { return len(r.sim.PoolsOf(778)) == 0 })
		if diff := cmp.Diff(before, r.sim.PoolsOf(77)); diff != "" {
			t.Errorf("the first cluster changed (-want +got):\n%s", diff)
		}
	})
}

// disjoint fails the test where two rigs share a machine, or one has a machine
// of another cluster.
func disjoint(t *testing.T, rigs ...*rig) {
	t.Helper()
	for _, r := range rigs {
		own := map[int]bool{}
		for _, p := range r.sim.PoolsOf(r.cluster) {
			for _, n := range p.Nodes {
				if n.InstanceID != nil {
					own[*n.InstanceID] = true
				}
			}
		}
		if len(own) != len(r.seen().claims) {
			t.Errorf("cluster %d has %d instances for %d claims", r.cluster, len(own), len(r.seen().claims))
		}
		for uid, c := range r.seen().claims {
			if !own[c.Instance] {
				t.Errorf("claim %s of cluster %d has Linode %d, which is not in it", uid, r.cluster, c.Instance)
			}
		}
	}
}

// TestPoolsOfAnEarlierReleaseAreMarkedOnce: in place, without an event, and three times at most
// if LKE refuses the tag or drops it.
func TestPoolsOfAnEarlierReleaseAreMarkedOnce(t *testing.T) {
	for name, fault := range map[string]sim.Fault{
		"taken":   {},
		"refused": {Method: "PUT", Status: 400, Body: `{"errors":[{"field":"tags","reason":"no"}]}`},
		"dropped": {Method: "PUT", Status: 200, Body: `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := grown(t, 2)
				defer func() { r.kill() }()
				marked := r.sim.Pools()[0].Tags
				unmarked := slices.DeleteFunc(slices.Clone(marked), func(tag string) bool { return tag == capacity.Mark })
				if len(unmarked) != len(marked)-1 {
					t.Fatalf("a new pool has the tags %v", marked)
				}
				change := api.PoolChange{Tags: &unmarked}
				if err := byHand(t, r.sim).ChangePool(t.Context(), 77, r.sim.Pools()[0].ID, change); err != nil {
					t.Fatal(err)
				}
				if fault.Method != "" {
					if err := r.sim.Inject(fault); err != nil {
						t.Fatal(err)
					}
				}
				before := r.sim.Stats()
				time.Sleep(48 * time.Hour)
				after := r.sim.Stats()
				tries := 3
				if name == "taken" {
					tries = 1
				}
				if n := after.Writes - before.Writes; n != tries || after.Made != 2 || after.Deleted != 0 {
					t.Errorf("%d writes, %d machines made and %d deleted; want %d, 2, 0", n, after.Made, after.Deleted, tries)
				}
				if slices.Contains(r.sim.Pools()[0].Tags, capacity.Mark) != (name == "taken") || len(r.seen().warnedPools) > 0 {
					t.Errorf("tags %v, warnings %v", r.sim.Pools()[0].Tags, r.seen().warnedPools)
				}
			})
		})
	}
}
