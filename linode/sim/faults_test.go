package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// outcome is what a client sees of a call.
func (a *account) outcome(method, path string, request any) string {
	a.Helper()
	res, err := a.try(method, path, request, nil)
	if err != nil {
		return err.Error()[strings.LastIndex(err.Error(), ": ")+2:]
	}
	body, _ := io.ReadAll(res.Body)
	if res.StatusCode == http.StatusOK {
		return "200"
	}
	return fmt.Sprintf("%d %s", res.StatusCode, body)
}

func TestFaultOnCalls(t *testing.T) {
	const e500 = `500 {"errors":[{"reason":"Internal Server Error"}]}`
	for _, tc := range []struct {
		name  string
		fault Fault
		want  []string // the outcome of each of: POST pool, GET pools, POST pool
		pools int
	}{
		{"every call", Fault{Status: 500}, []string{e500, e500, e500}, 0},
		{"the first", Fault{Status: 500, Count: 1}, []string{e500, "200", "200"}, 1},
		{"the second", Fault{Status: 500, After: 1, Count: 1}, []string{"200", e500, "200"}, 2},
		{"all but the first", Fault{Status: 500, After: 1}, []string{"200", e500, e500}, 1},
		{"a method", Fault{Status: 500, Method: "post"}, []string{e500, "200", e500}, 0},
		{"a path", Fault{Status: 500, Path: "/lke/clusters/*/pools"}, []string{e500, e500, e500}, 0},
		{"another path", Fault{Status: 500, Path: "/lke/clusters/*"}, []string{"200", "200", "200"}, 2},
		{"all paths below", Fault{Status: 500, Path: "/lke/**"}, []string{e500, e500, e500}, 0},
		{
			"with a reason", Fault{
				Status: 400, Body: "Linode busy.", Count: 1,
			}, []string{`400 {"errors":[{"reason":"Linode busy."}]}`, "200", "200"}, 1,
		},
		{"with JSON", Fault{Status: 400, Body: `{"x":1}`, Count: 1}, []string{`400 {"x":1}`, "200", "200"}, 1},
		{"with HTML", Fault{Status: 502, Body: `<html>`, Count: 1}, []string{`502 <html>`, "200", "200"}, 1},
		{"after the work", Fault{Status: 500, AfterWork: true, Method: "POST", Count: 1}, []string{e500, "200", "200"}, 2},
		{"answer lost", Fault{Lost: true, Method: "POST", Count: 1}, []string{"unexpected EOF", "200", "200"}, 2},
		{"headers only", Fault{Header: map[string]string{"X-Maintenance-Mode": "1"}}, []string{"200", "200", "200"}, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := newAccount(t, Config{})
			if err := a.Inject(tc.fault); err != nil {
				t.Fatal(err)
			}
			pool := fields{"type": "g6-standard-1", "count": 1}
			got := []string{
				a.outcome("POST", "cluster/pools", pool), a.outcome("GET", "cluster/pools",
					nil), a.outcome("POST", "cluster/pools", pool),
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if n := len(a.Pools()); n != tc.pools {
				t.Errorf("%d pools; want %d", n, tc.pools)
			}
		})
	}
}

func TestSlowAndHangingCalls(t *testing.T) {
	slow := metav1.Duration{Duration: 5 * time.Second}
	for _, tc := range []struct {
		name    string
		fault   Fault
		timeout time.Duration
		took    time.Duration
		want    string
		pools   int
	}{
		{"slow", Fault{Delay: slow}, time.Minute, 5 * time.Second, "200", 1},
		{"too slow before the work", Fault{Delay: slow}, time.Second, time.Second, "context deadline exceeded", 0},
		{
			"too slow after the work", Fault{Delay: slow, AfterWork: true}, time.Second, time.Second,
			"context deadline exceeded", 1,
		},
		{"hangs", Fault{Hang: true}, time.Minute, time.Minute, "context deadline exceeded", 0},
		{
			"hangs after the work", Fault{Hang: true, AfterWork: true}, time.Minute, time.Minute, "context deadline exceeded", 1,
		},
		{"slow, then an error", Fault{Delay: slow, Status: 503}, time.Minute, 5 * time.Second, "503", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAccount(t, Config{})
				if err := a.Inject(tc.fault); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), tc.timeout)
				defer cancel()
				body := strings.NewReader(`{"type":"g6-standard-1","count":1}`)
				req, _ := http.NewRequestWithContext(ctx, http.MethodPost,
					fmt.Sprintf("http://x/v4/lke/clusters/%d/pools", a.first), body)
				start := time.Now()
				res, err := a.Client().Do(req)
				got := ""
				switch {
				case errors.Is(err, context.DeadlineExceeded):
					got = "context deadline exceeded"
				case err != nil:
					t.Fatal(err)
				default:
					got = fmt.Sprint(res.StatusCode)
				}
				if took := time.Since(start); got != tc.want || took != tc.took {
					t.Errorf("%s after %s; want %s after %s", got, took, tc.want, tc.took)
				}
				if n := len(a.Pools()); n != tc.pools {
					t.Errorf("%d pools; want %d", n, tc.pools)
				}
			})
		})
	}
}

func TestNoCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccount(t, Config{InstanceDelay: time.Second})
		want := "400 Insufficient capacity for instance type g6-standard-4 in region us-ord"
		if err := a.Inject(Fault{NoCapacity: Refuse, Plan: "g6-standard-4", Region: "us-ord", After: 1}); err != nil {
			t.Fatal(err)
		}
		p := a.makePool(1, nil)
		if got := a.refused("PUT", fmt.Sprintf("cluster/pools/%d", p.ID), fields{"count": 2}); got != want {
			t.Errorf("PUT: %s", got)
		}
		if got := a.refused("POST", "cluster/pools", fields{"type": "g6-standard-4", "count": 1}); got != want {
			t.Errorf("POST: %s", got)
		}
		a.do("PUT", fmt.Sprintf("cluster/pools/%d", p.ID), fields{"count": 1}, nil) // no more, no question
		a.makePool(1, fields{"type": "g6-standard-2"})
		a.ClearFaults()
		a.do("PUT", fmt.Sprintf("cluster/pools/%d", p.ID), fields{"count": 2}, nil)
	})
}

func TestSlotsThatStayNull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccount(t, Config{InstanceDelay: time.Second})
		if err := a.Inject(Fault{NoCapacity: NullSlots, Plan: "g6-standard-4", After: 1}); err != nil {
			t.Fatal(err)
		}
		p := a.makePool(3, nil)
		time.Sleep(time.Hour)
		if got := nulls(a.pool(p.ID)); got != 2 {
			t.Errorf("%d slots without an instance", got)
		}
		if s := a.Stats(); s.NullSlots != 2 || s.Slots != 3 || s.Live != 1 {
			t.Errorf("%+v", s)
		}
		for _, node := range a.pool(p.ID).Nodes {
			if node.InstanceID == nil {
				a.do("DELETE", "cluster/nodes/"+node.ID, nil, nil)
				break
			}
		}
		a.ClearFaults()
		time.Sleep(time.Second)
		if got := a.pool(p.ID); nulls(got) != 0 || got.Count != 2 {
			t.Errorf("after capacity came back: %+v", got)
		}
	})
}

func TestUnownedSlot(t *testing.T) {
	a := newAccount(t, Config{})
	p := a.makePool(1, nil)
	if !a.LoseInstance(a.Instances()[0].ID, false) {
		t.Fatal("there is no instance")
	}
	a.ClearFaults()
	now := a.pool(p.ID)
	if nulls(now) != 1 || len(a.Instances()) != 0 {
		t.Errorf("%+v", now)
	}
	a.do("POST", "cluster/nodes/"+now.Nodes[0].ID+"/recycle", nil, nil)
	if got := nulls(a.pool(p.ID)); got != 0 {
		t.Error("recycling does not help")
	}
}

func TestInjectRefuses(t *testing.T) {
	a := newAccount(t, Config{})
	for want, f := range map[string]Fault{
		"without an effect": {Method: "GET"},
		"status 42":         {Status: 42},
		"start with /":      {Status: 500, Path: "lke"},
		"leave out /v4":     {Status: 500, Path: "/v4/lke"},
		"no_capacity":       {NoCapacity: "some"},
		"field":             {NoCapacity: NullSlots, Field: "type"},
		"negative":          {Status: 500, Count: -1},
		"late":              {Status: 200, Late: metav1.Duration{Duration: time.Second}},
		"room":              {Status: 500, Room: 1},
		"chance":            {Status: 500, Chance: 2},
		"ignored":           {Method: "PUT", Ignored: true},
	} {
		if err := a.Inject(f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v; want %q", f, err, want)
		}
	}
}

// Over a real connection a lost answer is a closed one, and the control API does what the Go API does.
func TestOverHTTP(t *testing.T) {
	a := newAccount(t, Config{})
	server := httptest.NewServer(a)
	defer server.Close()
	call := func(method, path, body string) (int, string) {
		req, _ := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(body))
		res, err := server.Client().Do(req)
		if err != nil {
			return 0, err.Error()
		}
		defer func() { _ = res.Body.Close() }()
		var text bytes.Buffer
		_, _ = text.ReadFrom(res.Body)
		return res.StatusCode, text.String()
	}
	pools := fmt.Sprintf("/v4beta/lke/clusters/%d/pools", a.ClusterID())
	for _, bad := range []string{`{"status":`, `{"statu":500}`, `{"delay":"soon"}`, `{"status":1}`} {
		if status, text := call("POST", "/simulator/faults", bad); status != 400 || !strings.Contains(text, "reason") {
			t.Errorf("fault %s: %d %s", bad, status, text)
		}
	}
	if status, text := call("POST", "/simulator/faults", `{"method":"POST","count":1,"lost":true}`); status != 200 {
		t.Fatalf("inject: %d %s", status, text)
	}
	if status, text := call("POST", pools, `{"type":"g6-standard-1","count":1}`); status != 0 ||
		!strings.Contains(text, "EOF") {
		t.Errorf("lost answer: %d %s", status, text)
	}
	var stats Stats
	_, text := call("GET", "/simulator/stats", "")
	if err := json.Unmarshal([]byte(text), &stats); err != nil || stats.Made != 1 || stats.ByStatus[0] != 1 ||
		stats.HourlyCost.String() != "0.018" {
		t.Errorf("stats: %s (%v)", text, err)
	}
	var calls []Call
	_, text = call("GET", "/simulator/calls", "")
	if err := json.Unmarshal([]byte(text), &calls); err != nil || len(calls) != 1 || calls[0].Fault != "answer lost" ||
		calls[0].Body == "" {
		t.Errorf("calls: %s (%v)", text, err)
	}
	if status, text := call("POST", fmt.Sprintf("/simulator/instances/%d/lose?replaced=false", a.Instances()[0].ID),
		""); status != 200 || a.Stats().Live != 0 {
		t.Errorf("lose: %d %s", status, text)
	}
	if status, _ := call("POST", "/simulator/instances/1/lose", ""); status != 404 {
		t.Errorf("lose nothing: %d", status)
	}
	call("DELETE", "/simulator/faults", "")
	call("POST", "/simulator/reset", "")
	if s := a.Stats(); s.Calls != 0 || s.Made != 0 || s.Pools != 1 {
		t.Errorf("after a reset: %+v", s)
	}
	if status, text := call("GET", "/simulator/state", ""); status != 200 || !strings.Contains(text, `"clusters"`) {
		t.Errorf("state: %d %s", status, text)
	}
}

func TestCallLogIsBounded(t *testing.T) {
	a := newAccount(t, Config{})
	const sent = keptCalls + 15
	for range sent {
		a.do("GET", "cluster", nil, nil)
	}
	calls := a.Calls()
	if len(calls) != keptCalls || calls[keptCalls-1].Seq != sent || calls[0].Route != "GET /lke/clusters/{cluster}" {
		t.Errorf("%+v", calls)
	}
	if s := a.Stats(); s.Calls != sent || s.ByRoute["GET /lke/clusters/{cluster}"] != sent || s.ByStatus[200] != sent ||
		s.Writes != 0 {
		t.Errorf("%+v", s)
	}
}

func TestMachinesThatNeverJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccount(t, Config{InstanceDelay: time.Second, JoinDelay: time.Second})
		if err := a.Inject(Fault{NeverJoins: true, Plan: "g6-standard-4"}); err != nil {
			t.Fatal(err)
		}
		stranded := a.makePool(1, nil)
		time.Sleep(time.Hour)
		a.ClearFaults()
		joined := a.makePool(1, nil)
		time.Sleep(time.Hour)
		for pool, want := range map[int]string{stranded.ID: "not_ready", joined.ID: "ready"} {
			if nodes := a.pool(pool).Nodes; len(nodes) != 1 || nodes[0].InstanceID == nil || nodes[0].Status != want {
				t.Errorf("nodes %+v, want one that is %s", nodes, want)
			}
		}
	})
}

// TestEventReportsNodeThatWasNotCreated: the slots stay empty, and the list of events has one for each, by
// the API's own clock, from when it shows them. A token without the scope does not see it.
func TestEventReportsNodeThatWasNotCreated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccount(t, Config{
			InstanceDelay: 5 * time.Second, EventDelay: 20 * time.Second, ClockAhead: time.Hour, ClusterLabel: "prod",
		})
		if err := a.Inject(Fault{NoCapacity: NodeEvent, After: 1}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		pool := a.makePool(3, nil)
		var list struct{ Data []Event }
		time.Sleep(24 * time.Second)
		if a.do("GET", "/account/events", nil, &list); len(list.Data) > 0 {
			t.Errorf("shown at once: %+v", list.Data)
		}
		time.Sleep(time.Second)
		a.do("GET", "/account/events", nil, &list)
		if len(list.Data) != 2 || nulls(a.pool(pool.ID)) != 2 {
			t.Fatalf("%d events and %d empty slots, want 2 of each", len(list.Data), nulls(a.pool(pool.ID)))
		}
		want := EventEntity{ID: pool.ID, Label: "prod", Type: "lkenodepool", URL: "/v4/lke/clusters"}
		e := list.Data[0]
		if e.Action != "lke_node_create" || e.Entity != want || e.Created != formatTime(began.Add(time.Hour+5*time.Second)) {
			t.Errorf("%+v", e)
		}
		a.ClearFaults()
		time.Sleep(5 * time.Second)
		if n := nulls(a.pool(pool.ID)); n != 0 {
			t.Errorf("%d slots are empty after the fault", n)
		}
		res, err := a.try("GET", "/account/events", nil, nil)
		if err != nil || res.Header.Get("Date") != time.Now().Add(time.Hour).UTC().Format(http.TimeFormat) {
			t.Errorf("the answer is of %s, %v", res.Header.Get("Date"), err)
		}
	})
	a := newAccount(t, Config{Scopes: "lke:read_write linodes:read_write"})
	if got := a.refused("GET", "/account/events", nil); !strings.HasPrefix(got, "401") {
		t.Errorf("without the scope: %s", got)
	}
}

// TestALinodeOfAPoolStaysOffline, or a user powers it off. One that never joins still boots.
func TestALinodeOfAPoolStaysOffline(t *testing.T) {
	for name, tc := range map[string]struct {
		fault Fault
		power []bool // what a person does then
		want  string
	}{
		"it boots":          {Fault{Status: 500, Method: "PUT"}, nil, "running"},
		"it never boots":    {Fault{StaysOffline: true}, nil, "offline"},
		"it never joins":    {Fault{NeverJoins: true}, nil, "running"},
		"it is powered off": {Fault{NeverJoins: true}, []bool{false}, "offline"},
		"it is powered on":  {Fault{StaysOffline: true}, []bool{true}, "running"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAccount(t, Config{JoinDelay: time.Minute})
				if err := a.Inject(tc.fault); err != nil {
					t.Fatal(err)
				}
				a.makePool(1, nil)
				time.Sleep(time.Hour)
				for _, on := range tc.power {
					a.Power(a.Instances()[0].ID, on)
				}
				if got := a.Instances()[0].Status; got != tc.want {
					t.Errorf("it is %s, want %s", got, tc.want)
				}
			})
		})
	}
}
