package sim

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// state is the state of the account, without HTTP. Its caller holds the lock and has run the events that are due.
type state struct {
	cfg         Config
	rng         *rand.Rand
	agenda      agenda
	faults      faults
	tally       tally
	clusters    map[int]*cluster
	instances   map[int]*instance
	left        map[int]time.Time // when instances that are gone have ended
	assets      *Assets
	events      []Event // newest first
	maintenance []Maintenance

	lastCluster, lastPool, lastInstance, lastEvent int
}

// cluster is a cluster with its pools.
type cluster struct {
	Cluster
	pools map[int]*pool
}

// pool is a pool as the API shows it, except for Count and Nodes, which follow from its slots.
type pool struct {
	Pool
	cluster *cluster
	plan    catalog.Plan
	slots   []*slot // by id, as the API lists them

	staleCount int // the count that is shown until staleUntil
	staleUntil time.Time
	oldLabels  map[string]string // before the last change
}

// slot is a place for a node in a pool. It keeps its id and the node's name while instances come and go.
type slot struct {
	id   string // <pool>-<hash>
	name string // of the Linode and of the Node object
	pool *pool
	// listed is the time from which the pool shows the slot on Enterprise.
	listed   time.Time
	instance *instance
	// noStock: there was no capacity. hidden: in addition it is never listed. forgotten: LKE does not know that the
	// instance is gone.
	noStock, hidden, forgotten bool
	gone, flickers             bool // flickers: it is not listed for a while
}

// instance is a Linode. The Linode of a slot can outlive the slot.
type instance struct {
	Linode
	slot      *slot     // nil if it is in no LKE pool
	joins     time.Time // when the kubelet of a pool's machine registers; zero means never, or with Runs
	machineID string
	version   string // of Kubernetes
	// registered is when its Node object was created. A kubelet does this once; if the Node is deleted, it does not
	// come back on its own.
	registered time.Time
	sleeps     time.Time // its status is offline until this time
}

func newState(cfg Config) *state {
	st := &state{
		cfg:       cfg,
		rng:       rand.New(rand.NewPCG(cfg.Seed, 0x6c6b65)),
		faults:    newFaults(cfg),
		clusters:  map[int]*cluster{},
		instances: map[int]*instance{},
		left:      map[int]time.Time{},
		assets:    newAssets(),
	}
	st.assets.Put(cfg.Assets)
	// Ids are of the size of recorded ones, so that widths and types are tried.
	st.lastCluster = 400_000 + st.rng.IntN(100_000)
	st.lastPool = 800_000 + st.rng.IntN(100_000)
	st.lastInstance = 90_000_000 + st.rng.IntN(9_000_000)
	st.lastEvent = 800_000_000
	return st
}

// after returns the time after a delay, varied by the jitter.
func (st *state) after(now time.Time, delay time.Duration) time.Time {
	return now.Add(st.jittered(delay))
}

func (st *state) jittered(delay time.Duration) time.Duration {
	if st.cfg.Jitter == 0 || delay == 0 {
		return delay
	}
	return time.Duration(float64(delay) * (1 + st.cfg.Jitter*(2*st.rng.Float64()-1)))
}

// hash returns an even number of random hexadecimal digits.
func (st *state) hash(digits int) string {
	b := make([]byte, digits/2)
	for i := range b {
		b[i] = byte(st.rng.Uint32())
	}
	return fmt.Sprintf("%x", b)
}

// addCluster creates a cluster. Recorded clusters are "ready" immediately, and always highly available on
// Enterprise.
func (st *state) addCluster(made Cluster, now time.Time) *cluster {
	if made.ID == 0 {
		st.lastCluster++
		made.ID = st.lastCluster
	}
	made.Status, made.Created, made.Updated = "ready", formatTime(now), formatTime(now)
	made.ControlPlane.HighAvailability = made.Tier == catalog.Enterprise
	made.Tags, made.Locks = sortedTags(made.Tags), []string{}
	c := &cluster{Cluster: made, pools: map[int]*pool{}}
	st.clusters[c.ID] = c
	return c
}

func (c *cluster) size() int {
	n := 0
	for _, p := range c.pools {
		n += len(p.slots)
	}
	return n
}

// slot finds a slot of any pool by its id.
func (c *cluster) slot(id string) *slot {
	for _, p := range c.pools {
		for _, sl := range p.slots {
			if sl.id == id {
				return sl
			}
		}
	}
	return nil
}

// byID lists clusters, pools or instances in the order of the API.
func byID[K cmp.Ordered, T any](objects map[K]T) []T {
	return viewsOf(slices.Sorted(maps.Keys(objects)), func(id K) T { return objects[id] })
}

func bySlotID(a, b *slot) int { return strings.Compare(a.id, b.id) }

// own returns the Linodes outside of LKE pools, by id.
func (st *state) own() []*instance {
	return slices.DeleteFunc(byID(st.instances), func(i *instance) bool { return i.slot != nil })
}

// ownLinode finds a Linode outside of LKE pools; nil if there is none with the id.
func (st *state) ownLinode(id int) *instance {
	if i := st.instances[id]; i != nil && i.slot == nil {
		return i
	}
	return nil
}
