package sim

import (
	"net/http"
	"slices"
	"time"
)

// Maintenance is work on the host of a Linode, as GET /account/maintenance lists it.
type Maintenance struct {
	Entity      EventEntity `json:"entity"`
	Type        string      `json:"type"`        // reboot, power_off_on, cold_migration, live_migration, ...
	Status      string      `json:"status"`      // pending, scheduled, started, in_progress, completed, canceled
	Description string      `json:"description"` // scheduled or emergency
	Source      string      `json:"source"`
	Reason      string      `json:"reason"`
	Policy      string      `json:"maintenance_policy_set"`
	When        string      `json:"when"`
	NotBefore   *string     `json:"not_before"`
	Start       *string     `json:"start_time"`
	Complete    *string     `json:"complete_time"`
}

// Announce announces maintenance of the host of an instance, or of a Linode that is in no pool; false if the account
// has none with that id. The machine itself stays as it is.
func (s *Simulator) Announce(instance int, kind string, start time.Time, emergency bool) (known bool) {
	s.update(func(st *state, _ time.Time) {
		i := st.instances[instance]
		if known = i != nil; !known {
			return
		}
		description := "scheduled"
		if emergency {
			description = "emergency"
		}
		when := stamp(start)
		st.maintenance = append(st.maintenance, Maintenance{
			Entity: EventEntity{ID: instance, Label: i.Label, Type: "linode"}, Type: kind, Status: "scheduled",
			Description: description, Source: "platform", Policy: "linode/power_off_on", When: when, NotBefore: &when,
		})
	})
	return known
}

// Unannounce sets what is announced for a Linode to a status that ends it: completed or canceled.
func (s *Simulator) Unannounce(instance int, status string) (known bool) {
	s.update(func(st *state, _ time.Time) {
		for n := range st.maintenance {
			if m := &st.maintenance[n]; m.Entity.ID == instance {
				m.Status, known = status, true
			}
		}
	})
	return known
}

func (st *state) listMaintenance(q *request) (any, error) {
	return list(q, slices.Clone(st.maintenance), "status", "type", "entity.id", "entity.type")
}

// controlAnnounce announces maintenance of a host.
func (s *Simulator) controlAnnounce(w http.ResponseWriter, r *http.Request) {
	var m struct {
		Linode    int       `json:"linode"`
		Type      string    `json:"type"`
		Start     time.Time `json:"start"`
		Emergency bool      `json:"emergency"`
	}
	if given(w, r, &m) {
		done(w, r, s.Announce(m.Linode, m.Type, m.Start, m.Emergency))
	}
}
