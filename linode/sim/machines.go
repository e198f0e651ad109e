package sim

import (
	"maps"
	"slices"
	"time"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// machine is what those who play its kubelet and cloud controller need to know of an instance. It shares nothing with
// the state.
type machine struct {
	instance   int
	name       string
	pool       int
	plan       catalog.Plan
	region     string
	tier       catalog.Tier
	memoryKept int
	version    string // of Kubernetes
	hostUUID   string
	machineID  string
	privateIP  string
	joins      time.Time
	registered time.Time // zero: its kubelet has not joined yet
	ccm        time.Duration
	leaving    bool // asked to go, but still there
	labels     map[string]string
	taints     []Taint
	edition    int
}

// machines returns the instances of a cluster, and when the next of what the account has planned is due.
func (s *Simulator) machines(cluster int) (all []machine, next time.Time) {
	s.settled(func(st *state, _ time.Time) {
		for _, i := range byID(st.instances) {
			if p := i.slot.pool; p.cluster.ID == cluster {
				m := i.machine()
				m.memoryKept = st.cfg.MemoryKept
				all = append(all, m)
			}
		}
		next = st.agenda.next()
	})
	return all, next
}

func (i *instance) machine() machine {
	p := i.slot.pool
	return machine{
		instance: i.id, name: i.slot.name, pool: p.ID, plan: p.plan, region: p.cluster.Region,
		tier: p.cluster.Tier, version: kubeletVersion(i.version),
		hostUUID: i.hostUUID, machineID: i.machineID, privateIP: i.privateIP(),
		joins: i.joins, registered: i.registered, ccm: i.ccm, leaving: !i.gone.IsZero(),
		labels: maps.Clone(p.Labels), taints: slices.Clone(p.Taints), edition: p.edition,
	}
}

// noteRegistered remembers that an instance's kubelet made its Node.
func (s *Simulator) noteRegistered(instance int, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.state.instances[instance]; i != nil {
		i.registered = at
	}
}

// watch returns a channel that gets a message when something changed, and what ends it. It has room for one, which says
// as much as several.
func (s *Simulator) watch() (chan struct{}, func()) {
	changes := make(chan struct{}, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchers = append(s.watchers, changes)
	return changes, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.watchers = slices.DeleteFunc(s.watchers, func(other chan<- struct{}) bool { return other == changes })
	}
}
