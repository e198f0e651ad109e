package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/linode/sim"
)

// TestFailuresAreReadByTheClockOfTheAPI: it is the clock of events, an hour ahead of ours, and answers say what it
// shows.
func TestFailuresAreReadByTheClockOfTheAPI(t *testing.T) {
	sim, c := account(t, sim.Config{ClusterID: 77, ClockAhead: time.Hour})
	sim.NoteUnmade(5)
	var at time.Time
	if _, err := c.Pools(Dated(t.Context(), &at), 77); err != nil {
		t.Fatal(err)
	}
	if ahead := time.Until(at); ahead < 59*time.Minute || ahead > time.Hour {
		t.Errorf("the answer is of %s, which is %s from now", at, ahead)
	}
	for since, want := range map[time.Duration]int{-time.Minute: 1, 30 * time.Minute: 0} {
		got, err := c.Failures(t.Context(), at.Add(since))
		if err != nil || len(got) != want || want == 1 && (got[0].Pool != 5 || got[0].ID == 0 || at.Sub(got[0].At) > 2*time.Second) {
			t.Errorf("since %s: %+v, %v, want %d", since, got, err, want)
		}
	}
}

// TestOnlyFailuresOfPoolsAreFailures: filters of this API have let others through, and the id of an entity may be text.
func TestOnlyFailuresOfPoolsAreFailures(t *testing.T) {
	since := time.Date(2026, 1, 1, 12, 0, 0, 5e8, time.UTC)
	const event = `{"id":%d,"action":"%s","created":"%s","entity":%s}`
	const pool = `{"id":7,"type":"lkenodepool","label":"prod"}`
	var filter string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		filter = r.Header.Get("X-Filter")
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"page":1,"pages":1,"results":6,"data":[`+
			fmt.Sprintf(event, 1, "lke_node_create", "2026-01-01T12:00:00", pool)+","+
			fmt.Sprintf(event, 2, "lke_node_create", "2026-01-01T12:00:01", `{"id":"8","type":"lkenodepool"}`)+","+
			fmt.Sprintf(event, 3, "lke_node_recycle", "2026-01-01T12:00:01", pool)+","+
			fmt.Sprintf(event, 4, "lke_node_create", "2026-01-01T11:59:59", pool)+","+
			fmt.Sprintf(event, 5, "lke_node_create", "2026-01-01T12:00:01", `{"id":7,"type":"lkecluster"}`)+","+
			fmt.Sprintf(event, 6, "lke_node_create", "2026-01-01T12:00:01", "null")+`]}`)
	})
	got, err := c.Failures(t.Context(), since)
	want := []Failure{{1, 7, since.Truncate(time.Second)}, {2, 8, since.Truncate(time.Second).Add(time.Second)}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if want := `{"action":"lke_node_create","created":{"+gte":"2026-01-01T12:00:00"}}`; filter != want {
		t.Errorf("the filter is %s, want %s", filter, want)
	}
}

// TestOfflineLinodesAreReadInOneRequest: of those that were requested.
func TestOfflineLinodesAreReadInOneRequest(t *testing.T) {
	simulator, c := account(t, sim.Config{ClusterID: 77, JoinDelay: 0})
	if err := simulator.Inject(sim.Fault{StaysOffline: true, After: 1, Count: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreatePool(t.Context(), 77, PoolSpec{Type: "g6-standard-1", Count: 3}); err != nil {
		t.Fatal(err)
	}
	all := simulator.Instances()
	calls := simulator.Stats().Calls
	got, err := c.Offline(t.Context(), []int{all[0].ID, all[1].ID, 5})
	if diff := cmp.Diff(map[int]bool{all[0].ID: false, all[1].ID: true}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if n := simulator.Stats().Calls - calls; n != 1 {
		t.Errorf("%d requests", n)
	}
}

// TestOptionalRefusalDoesNotAffectTokenStatus: it is of class Auth, and the standing of the token is good.
func TestOptionalRefusalDoesNotAffectTokenStatus(t *testing.T) {
	for scope, ask := range map[string]func(context.Context, *Client) error{
		ScopePools: func(ctx context.Context, c *Client) error {
			_, err := c.Failures(ctx, time.Now())
			return err
		},
		ScopeInstances: func(ctx context.Context, c *Client) error {
			_, err := c.Offline(ctx, []int{1})
			return err
		},
	} {
		standing := NewStanding(scope)
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
		c.transport.observe = standing.Observe
		if err := ask(t.Context(), c); ClassOf(err) != ClassAuth {
			t.Errorf("%v is of class %q", err, ClassOf(err))
		}
		if p := standing.Problem(); p.Reason != "" {
			t.Errorf("%+v", p)
		}
		if standing.Observe(Call{Method: "GET", Route: standing.routes, Class: ClassAuth, Err: errors.New("no")}); standing.
			Problem().Reason != ReasonTokenRefused {
			t.Error("other refusals do not count")
		}
	}
}
