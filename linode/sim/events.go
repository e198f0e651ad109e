package sim

import (
	"slices"
	"time"
)

// Event is an event of the account, as GET /account/events lists it. Only events about nodes that LKE could not
// create are simulated.
type Event struct {
	ID              int         `json:"id"`
	Action          string      `json:"action"`
	Created         string      `json:"created"` // by the API's clock
	Entity          EventEntity `json:"entity"`
	SecondaryEntity *string     `json:"secondary_entity"`
	Status          string      `json:"status"`
	Username        *string     `json:"username"`
	Message         string      `json:"message"`
	PercentComplete *int        `json:"percent_complete"`
	Rate            *string     `json:"rate"`
	Duration        float64     `json:"duration"`
	TimeRemaining   *string     `json:"time_remaining"`
	Read            bool        `json:"read"`
	Seen            bool        `json:"seen"`

	listed time.Time // from this time the list shows it
}

// EventEntity is the object of an event.
type EventEntity struct {
	ID    int    `json:"id"`
	Label string `json:"label"`
	Type  string `json:"type"`
	URL   string `json:"url"`
}

// nodeNotMade is the action of the event that LKE writes if it could not create a node. According to Cloud Manager,
// only failures have such an event, with the pool as its entity, and the label of the cluster as the entity's
// label.
const nodeNotMade = "lke_node_create"

// noteUnmade writes an event that LKE could not create a node of a pool. The URL is an assumption, and that there
// is one event for each node.
func (st *state) noteUnmade(pool int, label string, now time.Time) {
	if st.breaks("events") {
		return
	}
	st.lastEvent++
	st.events = slices.Insert(st.events, 0, Event{
		ID: st.lastEvent, Action: nodeNotMade, Created: formatTime(now.Add(st.cfg.ClockAhead)), Status: "notification",
		Entity: EventEntity{ID: pool, Label: label, Type: "lkenodepool", URL: "/v4/lke/clusters"},
		listed: now.Add(st.cfg.EventDelay),
	})
}

// NoteUnmade writes such an event, whether the node was created or not.
func (s *Simulator) NoteUnmade(pool int) {
	s.update(func(st *state, now time.Time) { st.noteUnmade(pool, st.cfg.ClusterLabel, now) })
}

// listEvents answers GET /account/events.
func (st *state) listEvents(q *request) (any, error) {
	shown := slices.DeleteFunc(slices.Clone(st.events), func(e Event) bool { return e.listed.After(q.now) })
	return listPage(q, shown, "id", "action", "created", "entity.id", "entity.type")
}
