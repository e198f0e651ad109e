package sim

import (
	"time"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// Stats counts what happened since the start or the last [Simulator.Reset], and what there is now.
type Stats struct {
	Calls    int            `json:"calls"`
	Writes   int            `json:"writes"`    // calls that were not GET
	ByRoute  map[string]int `json:"by_route"`  // "GET /lke/clusters/{cluster}/pools": 3
	ByStatus map[int]int    `json:"by_status"` // 0: answer lost or client gone

	Made     int `json:"instances_made"`
	Deleted  int `json:"instances_deleted"` // gone, not only asked to go
	Live     int `json:"instances_live"`    // with those that are on their way out
	Deleting int `json:"instances_deleting"`
	PeakLive int `json:"instances_peak"`

	// Hours is how long all instances together have lived, and Bill what that costs where each begun hour counts whole.
	Hours float64       `json:"instance_hours"`
	Bill  catalog.Money `json:"bill"`

	Pools     int `json:"pools"`
	Slots     int `json:"slots"`
	NullSlots int `json:"slots_without_instance"`
	PeakSlots int `json:"slots_peak"`

	HourlyCost     catalog.Money `json:"hourly_cost"`
	PeakHourlyCost catalog.Money `json:"hourly_cost_peak"`
	// PeakMonthlyCost is what the most that there was would cost if it stayed for a month.
	PeakMonthlyCost catalog.Money `json:"monthly_cost_peak"`
}

// Call is one entry of the call log.
type Call struct {
	Seq    int       `json:"seq"`
	At     time.Time `json:"at"`
	Method string    `json:"method"`
	Path   string    `json:"path"` // with its query
	Route  string    `json:"route"`
	Body   string    `json:"body,omitempty"` // of the request, the first 2,000 bytes
	Status int       `json:"status"`         // 0: answer lost or client gone
	Fault  string    `json:"fault,omitempty"`
}
