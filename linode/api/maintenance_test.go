package api

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/linode/sim"
)

// TestMaintenanceIsThatOfLinodesAndNotOver: filters of this API have let others through, and its documents spell states
// with a dash, too.
func TestMaintenanceIsThatOfLinodesAndNotOver(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"page":1,"pages":1,"results":8,"data":[
			{"entity":{"id":1,"type":"linode"},"type":"power_off_on","status":"scheduled","description":"scheduled",
			 "when":"2026-11-28T03:00:00","not_before":"2026-11-28T02:00:00","start_time":null,"complete_time":null},
			{"entity":{"id":2,"type":"linode"},"type":"migrate","status":"in-progress","description":"emergency","when":null},
			{"entity":{"id":3,"type":"volume"},"type":"volume_migration","status":"pending","when":"2026-11-28T03:00:00"},
			{"entity":{"id":4,"type":"linode"},"type":"reboot","status":"completed","when":"2026-11-20T03:00:00"},
			{"entity":{"id":5,"type":"linode"},"type":"reboot","status":"canceled","when":"2026-11-20T03:00:00"},
			{"entity":null,"type":"reboot","status":"pending","when":"2026-11-20T03:00:00"},
			{"entity":{"id":0,"type":"linode"},"type":"reboot","status":"pending","when":"2026-11-20T03:00:00"},
			{}]}`)
	})
	got, err := c.Maintenance(t.Context())
	want := []Maintenance{
		{Linode: 1, Type: "power_off_on", Status: "scheduled", Start: time.Date(2026, 11, 28, 2, 0, 0, 0, time.UTC)},
		{Linode: 2, Type: "migrate", Status: "in_progress", Emergency: true},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// TestOneUnreadableMaintenanceFailsTheList: what else it lists could be incomplete.
func TestOneUnreadableMaintenanceFailsTheList(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"page":1,"pages":1,"results":1,"data":[{"entity":{"id":1,"type":"linode"},"when":"soon"}]}`)
	})
	if got, err := c.Maintenance(t.Context()); err == nil {
		t.Errorf("it was read as %+v", got)
	}
}

func TestMaintenanceNeedsItsScope(t *testing.T) {
	simulator, c := account(t, sim.Config{ClusterID: 77, Token: "token", Scopes: ScopePools})
	_, err := c.Maintenance(t.Context())
	if ClassOf(err) != ClassAuth {
		t.Errorf("without the scope the error is %v", err)
	}
	if simulator.Announce(sim.Work{Linode: 1, Type: "reboot", Start: time.Now()}) {
		t.Error("the simulator announces maintenance of a Linode that the account lacks")
	}
}
