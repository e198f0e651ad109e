package instance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/linode/sim"
)

// troubles are the ways in which Linode fails.
func troubles() []sim.Fault {
	late := func(d time.Duration) metav1.Duration { return metav1.Duration{Duration: d} }
	return []sim.Fault{
		{Method: "POST", Path: path, Chance: 0.1, Lost: true},
		{Method: "POST", Path: path, Chance: 0.1, Status: 504, Late: late(20 * time.Second)},
		{Method: "POST", Path: path, Chance: 0.1, Status: 504, Late: late(119 * time.Second)},
		{Method: "POST", Path: path, Chance: 0.05, Status: 400, Body: "no"},
		{Method: "GET", Path: path, Chance: 0.1, Status: 503},
		{Method: "DELETE", Path: path + "/*", Chance: 0.1, Lost: true},
		{Method: "DELETE", Path: path + "/*", Chance: 0.1, Status: 504, Late: late(119 * time.Second)},
		{Method: "DELETE", Path: path + "/*", Chance: 0.1, Ignored: true},
	}
}

// TestTheGroupsFollowTheNodePools: for any answers of Linode, while NodePools come and go, leaders change and
// people delete, each machine is created in the group of its NodePool, and once all is well there is one group
// for each NodePool with machines, and none for others.
func TestTheGroupsFollowTheNodePools(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &model{groupWorld: newGroupWorld(t, troubles()...), rng: rand.New(rand.NewPCG(seed, 1)), in: map[int]PoolGroup{}}
				for k := range 2 {
					m.leaders[k], m.stops[k] = m.leader(), m.run()
				}
				for range 80 {
					m.step()
				}
				m.rest()
			})
		})
	}
}

// model is a world with two leaders, and with machines.
type model struct {
	*groupWorld
	rng     *rand.Rand
	leaders [2]*placementGroups
	stops   [2]func()
	pools   []PoolGroup       // those that exist
	in      map[int]PoolGroup // machines
	next    int
}

func (m *model) step() {
	of := PoolGroup{Pool: fmt.Sprint("pool-", m.rng.IntN(3)), Policy: []string{"strict", "flexible"}[m.rng.IntN(2)]}
	switch n := m.rng.IntN(100); {
	case n < 15:
		m.pools = slices.DeleteFunc(m.pools, func(p PoolGroup) bool { return p == of })
	case n < 30 && !slices.Contains(m.pools, of):
		m.pools = append(m.pools, of)
	case n < 60 && slices.Contains(m.pools, of):
		m.order(of)
	case n < 75:
		m.end(of)
	case n < 80:
		m.meddle(of)
	case n < 84: // one of the leaders starts again
		k := m.rng.IntN(2)
		m.stops[k]()
		m.leaders[k], m.stops[k] = m.leader(), m.run()
	}
	m.say()
	time.Sleep(time.Duration(m.rng.IntN(300)) * time.Second)
}

// say has the API server know what is needed.
func (m *model) say(more ...PoolGroup) {
	needed := slices.Concat(m.pools, more)
	for _, of := range m.in {
		needed = append(needed, of)
	}
	m.need(needed...)
}

// order creates a machine in the group of a NodePool, as often as it takes.
func (m *model) order(of PoolGroup) {
	m.next++
	m.say(of)
	for n := range 60 {
		id, err := m.leaders[m.rng.IntN(2)].Ensure(m.t.Context(), region, of)
		if err == nil {
			if made, err := m.buy(fmt.Sprint("prod-", m.next), id); err == nil {
				m.placed(made.ID, of)
				return
			}
		}
		if contains(err, "has the maximum of 5 Linodes") {
			return
		}
		if n == 59 {
			m.t.Errorf("machine %d of %v is never made: %v", m.next, of, err)
		}
		time.Sleep(5 * time.Second)
	}
}

// placed notes a machine, which is in one group, that of its NodePool.
func (m *model) placed(machine int, of PoolGroup) {
	i, err := m.api.Instance(context.Background(), machine)
	if err != nil || i.PlacementGroup == nil || i.PlacementGroup.Label != Label(prod, of) ||
		string(i.PlacementGroup.PlacementGroupPolicy) != of.Policy {
		m.t.Errorf("machine %d of %v is in %+v: %v", machine, of, i.PlacementGroup, err)
	}
	m.in[machine] = of
}

// end deletes the machines of a NodePool.
func (m *model) end(of PoolGroup) {
	for machine, in := range m.in {
		if in != of {
			continue
		}
		if err := m.api.DeleteInstance(m.t.Context(), machine); err != nil {
			m.t.Error(err)
		}
		delete(m.in, machine)
	}
}

// meddle deletes a group as another user, if Linode allows it.
func (m *model) meddle(of PoolGroup) {
	all, _ := m.api.PlacementGroups(m.t.Context())
	if found, ok := firstGroup(all, region, Label(prod, of)); ok {
		_ = m.api.DeletePlacementGroup(m.t.Context(), found.ID)
	}
}

// rest lets all be well.
func (m *model) rest() {
	m.sim.ClearFaults()
	time.Sleep(4 * keep)
	may, must := map[string]bool{}, map[string]bool{}
	for _, of := range m.pools {
		may[Label(prod, of)] = true
	}
	for _, of := range m.in {
		may[Label(prod, of)], must[Label(prod, of)] = true, true
	}
	for _, label := range m.labels() {
		if !may[label] {
			m.t.Errorf("%s exists, or exists twice, without a NodePool", label)
		}
		delete(may, label)
		delete(must, label)
	}
	if d := cmp.Diff(map[string]bool{}, must); d != "" {
		m.t.Errorf("groups with machines are gone: %s", d)
	}
	for _, stop := range m.stops {
		stop()
	}
}
