package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// Inject adds a fault.
func (s *Simulator) Inject(f Fault) error {
	if err := f.check(); err != nil {
		return fmt.Errorf("inject fault: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.faults.list = append(s.state.faults.list, &injected{Fault: f})
	return nil
}

// ClearFaults removes all faults. Slots that have no instance for lack of capacity get their instances.
func (s *Simulator) ClearFaults() { s.endFaults(func(*injected) bool { return true }) }

// EndFaults removes the faults with a name.
func (s *Simulator) EndFaults(name string) {
	s.endFaults(func(f *injected) bool { return f.Fault.Name == name })
}

func (s *Simulator) endFaults(which func(*injected) bool) {
	s.update(func(st *state, now time.Time) {
		st.faults.list = slices.DeleteFunc(st.faults.list, which)
		st.fill(now)
	})
	s.changed()
}

// Stats returns the counters.
func (s *Simulator) Stats() (stats Stats) {
	s.update(func(st *state, now time.Time) {
		stats = st.stats(now)
		s.log.stats(&stats)
	})
	return stats
}

// Calls returns the last calls, oldest first.
func (s *Simulator) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := make([]Call, 0, len(s.log.calls))
	for _, call := range s.log.calls {
		calls = append(calls, *call)
	}
	return calls
}

// Reset sets the counters to zero and the peaks to the current values, and clears the call log.
func (s *Simulator) Reset() {
	s.update(func(st *state, _ time.Time) {
		s.log = newCallLog()
		st.tally.reset()
	})
}

// AddCluster creates another cluster in the account. Only the fields of cfg that describe the cluster matter; empty
// ones are filled in as by [New].
func (s *Simulator) AddCluster(cfg Config) (Cluster, error) {
	cfg.Catalog = s.cfg.Catalog
	cfg, err := cfg.withDefaults()
	if err != nil {
		return Cluster{}, err
	}
	var made Cluster
	s.update(func(st *state, now time.Time) {
		if st.clusters[cfg.ClusterID] != nil {
			err = fmt.Errorf("cluster %d: there is one already", cfg.ClusterID)
			return
		}
		made = st.addCluster(cfg.cluster(), now).view()
	})
	return made, err
}

// Clusters returns all clusters of the account.
func (s *Simulator) Clusters() (all []Cluster) {
	s.update(func(st *state, _ time.Time) { all = viewsOf(byID(st.clusters), (*cluster).view) })
	return all
}

// Pools returns the pools of the first cluster, including nodes that Enterprise does not list yet.
func (s *Simulator) Pools() []Pool { return s.PoolsOf(s.first) }

// PoolsOf returns the pools of a cluster; none if it does not exist.
func (s *Simulator) PoolsOf(cluster int) (all []Pool) {
	s.update(func(st *state, now time.Time) {
		if c := st.clusters[cluster]; c != nil {
			all = viewsOf(byID(c.pools), func(p *pool) Pool { return p.show(now, func(*slot) bool { return true }) })
		}
	})
	return all
}

// Instances returns all instances of the account, by id, including those that are being deleted.
func (s *Simulator) Instances() (all []Instance) {
	s.update(func(st *state, now time.Time) {
		all = st.allInstances(now)
	})
	return all
}

// machineIDs returns the machine ids of the machines in LKE pools, by label. The kubelet of such a machine reports
// it.
func (s *Simulator) machineIDs() map[string]string {
	ids := map[string]string{}
	s.update(func(st *state, _ time.Time) {
		for _, i := range st.instances {
			if i.slot != nil {
				ids[i.Label] = i.machineID
			}
		}
	})
	return ids
}

// LoseInstance removes an instance as a failing host does. If it was in a pool and LKE notices, LKE creates another
// one for its slot; otherwise the slot stays without one until it is recycled or deleted. It reports whether the
// instance existed.
func (s *Simulator) LoseInstance(id int, noticed bool) (found bool) {
	s.update(func(st *state, now time.Time) {
		if i := st.instances[id]; i != nil {
			st.lose(i, noticed, now)
			found = true
		}
	})
	s.changed()
	return found
}

// Power switches an instance of an LKE pool off or on, as a user can in Cloud Manager. It reports whether the
// instance exists. The effect on its Node is not simulated.
func (s *Simulator) Power(id int, on bool) (found bool) {
	s.update(func(st *state, now time.Time) {
		if i := st.instances[id]; i != nil && i.slot != nil {
			i.Off, found = !on, true
		}
	})
	return found
}

// The locks of a pool: the pool cannot be deleted, or neither the pool nor its nodes.
const (
	LockDelete    = "cannot_delete"
	LockWithNodes = "cannot_delete_with_subresources"
)

// SetStock sets whether a region has stock of a plan, in the list of availability and for new machines. It reports
// whether the plan and the region exist.
func (s *Simulator) SetStock(row catalog.Availability) (known bool) {
	s.update(func(st *state, _ time.Time) {
		c := st.cfg.Catalog
		_, plan := c.Plan(row.Plan)
		_, region := c.Region(row.Region)
		known = plan && region
		if known {
			st.cfg.Catalog, _ = catalog.New(c.Date(), c.Source(), c.Plans(), c.Regions(), append(c.Availability(), row)) // its parts are valid
		}
	})
	return known
}

// LockPool sets a pool's locks; none unlocks it. It reports whether the pool exists. How a user sets locks in the
// real API is not simulated.
func (s *Simulator) LockPool(id int, locks ...string) (found bool) {
	s.update(func(st *state, _ time.Time) {
		for _, c := range st.clusters {
			if p := c.pools[id]; p != nil {
				p.Locks, found = append([]string{}, locks...), true
			}
		}
	})
	return found
}
