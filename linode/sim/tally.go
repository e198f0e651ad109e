package sim

import (
	"time"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// tally counts instances, slots and money as they change, so that a peak between two reads is counted.
type tally struct{ Stats }

func (t *tally) made(price catalog.Price) {
	t.Made++
	t.Live++
	t.HourlyCost += price.Hourly
	t.peak()
}

func (t *tally) deleted(price catalog.Price, life time.Duration) {
	t.Deleted++
	t.Live--
	t.HourlyCost -= price.Hourly
	t.charge(price, life)
}

// charge adds the cost of an instance: Linode bills each started hour.
func (s *Stats) charge(price catalog.Price, life time.Duration) {
	s.Hours += life.Hours()
	s.Bill += price.Hourly * catalog.Money((life+time.Hour-1)/time.Hour)
}

func (t *tally) peak() {
	t.PeakLive = max(t.PeakLive, t.Live)
	t.PeakHourlyCost = max(t.PeakHourlyCost, t.HourlyCost)
}

// reset clears the counters; peaks start from the current values, and the bill from the instances that exist.
func (t *tally) reset() {
	*t = tally{Stats{Live: t.Live, HourlyCost: t.HourlyCost}}
	t.peak()
}

// price returns the price of an instance in its region. It is an assumption that it is charged until the instance
// is gone, and not only until the delete call.
func (st *state) price(i *instance) catalog.Price {
	price, _ := st.cfg.Catalog.Price(i.Type, i.Region)
	return price
}

func (st *state) slotCount() int {
	n := 0
	for _, c := range st.clusters {
		n += c.size()
	}
	return n
}

// stats returns the statistics of the account, without those of calls.
func (st *state) stats(now time.Time) Stats {
	stats := st.tally.Stats
	for _, i := range st.instances {
		stats.charge(st.price(i), now.Sub(i.Created))
		if !i.Gone.IsZero() {
			stats.Deleting++
		}
	}
	for _, c := range st.clusters {
		stats.Pools += len(c.pools)
		for _, p := range c.pools {
			stats.Slots += len(p.slots)
			for _, sl := range p.slots {
				if sl.instance == nil {
					stats.NullSlots++
				}
			}
		}
	}
	return stats
}

// Stats has counters since the start or the last [Simulator.Reset], and current values.
type Stats struct {
	Calls    int            `json:"calls"`
	Writes   int            `json:"writes"`    // calls that were not GET
	ByRoute  map[string]int `json:"by_route"`  // "GET /lke/clusters/{cluster}/pools": 3
	ByStatus map[int]int    `json:"by_status"` // 0: the answer was lost or the client was gone

	Made     int `json:"instances_made"`
	Deleted  int `json:"instances_deleted"` // gone, not only being deleted
	Live     int `json:"instances_live"`    // including those that are being deleted
	Deleting int `json:"instances_deleting"`
	PeakLive int `json:"instances_peak"`

	// Hours is the total time that all instances have existed, and Bill its cost if each started hour counts as a
	// whole one.
	Hours float64       `json:"instance_hours"`
	Bill  catalog.Money `json:"bill"`

	Pools     int `json:"pools"`
	Slots     int `json:"slots"`
	NullSlots int `json:"slots_without_instance"`

	HourlyCost     catalog.Money `json:"hourly_cost"`
	PeakHourlyCost catalog.Money `json:"hourly_cost_peak"`
}

// Call is one entry of the call log.
type Call struct {
	Seq    int       `json:"seq"`
	At     time.Time `json:"at"`
	Method string    `json:"method"`
	Path   string    `json:"path"` // with its query
	Route  string    `json:"route"`
	Body   string    `json:"body,omitempty"` // of the request, the first 2,000 bytes
	Status int       `json:"status"`         // 0: the answer was lost or the client was gone
	Fault  string    `json:"fault,omitempty"`
}
