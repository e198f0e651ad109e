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

// state is the account. It knows no HTTP; its caller holds the lock and has done what was due.
type state struct {
	cfg         Config
	rng         *rand.Rand
	agenda      agenda
	faults      faults
	tally       tally
	clusters    map[int]*cluster
	instances   map[int]*instance
	left        map[int]time.Time // when those went that are gone
	assets      *Assets
	events      []Event // newest first
	maintenance []Maintenance

	lastCluster, lastPool, lastInstance, lastEvent int
}

// cluster is a cluster and, under it, its pools.
type cluster struct {
	Cluster
	pools map[int]*pool
}

// pool is a pool as the API shows it, but for Count and Nodes: they follow from its slots.
type pool struct {
	Pool
	cluster *cluster
	plan    catalog.Plan
	slots   []*slot // by id, as the API lists them

	staleCount int // what is shown as the count until staleUntil
	staleUntil time.Time
	oldLabels  map[string]string // before the last change
}

// slot is a place for a node in a pool. It keeps its id and the node's name while instances come and go.
type slot struct {
	id   string // <pool>-<hash>
	name string // of the Linode and of the Node object
	pool *pool
	// listed is from when on Enterprise the pool shows the slot.
	listed   time.Time
	instance *instance
	// noStock: there was no capacity; hidden: it is never listed, either; forgotten: LKE does not know that the instance
	// is gone.
	noStock, hidden, forgotten bool
	gone, flickers             bool // flickers: it is not listed for a while
}

// instance is a Linode. One of a pool stays after its slot is gone, until it is gone itself.
type instance struct {
	Linode
	slot      *slot     // nil: it is in no LKE pool
	joins     time.Time // when the kubelet of a pool's registers; never, or with Runs
	machineID string
	version   string // of Kubernetes
	// registered is when its Node object was created. A kubelet does this once; one that is deleted afterwards
	// does not come back on its own.
	registered time.Time
	sleeps     time.Time // until when its status is offline
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

// after is a time that far from now, give or take the jitter.
func (st *state) after(now time.Time, delay time.Duration) time.Time {
	return now.Add(st.jittered(delay))
}

func (st *state) jittered(delay time.Duration) time.Duration {
	if st.cfg.Jitter == 0 || delay == 0 {
		return delay
	}
	return time.Duration(float64(delay) * (1 + st.cfg.Jitter*(2*st.rng.Float64()-1)))
}

// hash is some hexadecimal digits, an even number of them.
func (st *state) hash(digits int) string {
	b := make([]byte, digits/2)
	for i := range b {
		b[i] = byte(st.rng.Uint32())
	}
	return fmt.Sprintf("%x", b)
}

// addCluster creates a cluster. Recorded clusters are "ready" at once, and highly available always on Enterprise.
func (st *state) addCluster(made Cluster, now time.Time) *cluster {
	if made.ID == 0 {
		st.lastCluster++
		made.ID = st.lastCluster
	}
	made.Status, made.Created, made.Updated = "ready", stamp(now), stamp(now)
	made.ControlPlane.HighAvailability = made.Tier == catalog.Enterprise
	made.Tags, made.Locks = sorted(made.Tags), []string{}
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
	return views(slices.Sorted(maps.Keys(objects)), func(id K) T { return objects[id] })
}

func bySlotID(a, b *slot) int { return strings.Compare(a.id, b.id) }

// own are the Linodes that are in no LKE pool, by id.
func (st *state) own() []*instance {
	return slices.DeleteFunc(byID(st.instances), func(i *instance) bool { return i.slot != nil })
}

// ownLinode finds one of them; nil if there is none of the id.
func (st *state) ownLinode(id int) *instance {
	if i := st.instances[id]; i != nil && i.slot == nil {
		return i
	}
	return nil
}
