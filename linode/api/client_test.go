package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/linode/linodego"

	"github.com/lkeplan/lkeplan/linode/sim"
)

// serve answers every request by handler and returns a client for it.
func serve(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	c, err := New(server.URL, "token", Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestClassOfAnswers(t *testing.T) {
	tests := []struct {
		status int
		body   string
		want   Class
	}{
		{401, `{"errors":[{"reason":"Invalid Token"}]}`, ClassAuth},
		{400, `{"errors":[{"reason":"` + sim.ActiveServices + `"}]}`, ClassAccountLimit},
		{400, `{"errors":[{"reason":"` + sim.PlanClosed + `"}]}`, ClassPlanClosed},
		{400, `{"errors":[{"reason":"This resource is locked and cannot be deleted"}]}`, ClassLocked},
		{400, `{"errors":[{"reason":"A limit on your account is something new."}]}`, ClassAccountLimit},
		{403, `{"errors":[{"reason":"Your OAuth token is not authorized to use this endpoint."}]}`, ClassAuth},
		{404, `{"errors":[{"reason":"Not found"}]}`, ClassNotFound},
		{408, `{"errors":[{"reason":"Please try again"}]}`, ClassBusy},
		{429, `{"errors":[{"reason":"Too many requests"}]}`, ClassBusy},
		{400, `{"errors":[{"reason":"Linode busy."}]}`, ClassBusy},
		{400, `{"errors":[{"reason":"Account Limit reached. Please open a support ticket."}]}`, ClassAccountLimit},
		{
			400, `{"errors":[{"reason":"Insufficient capacity for instance type g6-standard-2 in region us-ord"}]}`,
			ClassNoCapacity,
		},
		{400, `{"errors":[{"reason":"No open slots for this plan!"}]}`, ClassNoCapacity},
		{400, `{"errors":[{"reason":"Plan g6-standard-4 is not available for LKE in region us-ord","field":"type"}]}`, ClassNoCapacity},
		{400, `{"errors":[{"reason":"Plan g6-standard-4 is not available for LKE in region us-ord"}]}`, ClassNoCapacity},
		{400, `{"errors":[{"reason":"This Linode type is currently unavailable in us-ord."}]}`, ClassNoCapacity},
		{400, `{"errors":[{"reason":"Insufficient capacity","field":"type"}]}`, ClassNoCapacity},
		{400, `{"errors":[{"reason":"` + sim.PlanClosed + `","field":"type"}]}`, ClassPlanClosed},
		{400, `{"errors":[{"reason":"A valid plan type by that ID was not found","field":"type"}]}`, ClassValidation},
		{400, `{"errors":[{"reason":"This type of tag is not available","field":"tags"}]}`, ClassValidation},
		{
			400, `{"errors":[{"reason":"Plan a is not available","field":"type"},{"reason":"Length must be 3-50","field":"tags"}]}`,
			ClassValidation,
		},
		{400, `{"errors":[{"reason":"Label must be unique among your linodes","field":"label"}]}`, ClassLabelTaken},
		{400, `{"errors":[{"reason":"Label must be unique among your Cloud Firewalls","field":"label"}]}`, ClassValidation},
		{
			400, `{"errors":[{"reason":"type is required","field":"type"},` +
				`{"reason":"Label must be unique among your linodes","field":"label"}]}`,
			ClassValidation,
		},
		// A reason with a field is about the request, even one with such words.
		{400, `{"errors":[{"reason":"capacity is not a valid tag","field":"tags"}]}`, ClassValidation},
		{
			400, `{"errors":[{"reason":"Invalid count","field":"count"},{"reason":"No open slots for this plan!"}]}`,
			ClassValidation,
		},
		{400, `<html>400 Bad Request</html>`, ClassValidation},
		{500, `{}`, ClassUnknown},
		{502, `<html>Bad Gateway</html>`, ClassUnknown},
		{503, `{"errors":[{"reason":"temporarily unavailable"}]}`, ClassUnknown},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.status, tt.body), func(t *testing.T) {
			c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tt.status)
				io.WriteString(w, tt.body)
			})
			_, err := c.CreatePool(t.Context(), 1, PoolSpec{Type: "g6-standard-2", Count: 1})
			if got := ClassOf(err); got != tt.want {
				t.Errorf("class = %q, want %q (%v)", got, tt.want, err)
			}
		})
	}
}

func TestNoAnswerIsUnknownAndNothingIsSentTwice(t *testing.T) {
	var requests atomic.Int32
	c := serve(t, func(http.ResponseWriter, *http.Request) {
		requests.Add(1)
		panic(http.ErrAbortHandler) // the work may be done; the answer is lost
	})
	_, err := c.GrowPool(t.Context(), 1, 2, 3)
	if ClassOf(err) != ClassUnknown {
		t.Errorf("class = %q, want unknown (%v)", ClassOf(err), err)
	}
	if n := requests.Load(); n != 1 {
		t.Errorf("the request was sent %d times", n)
	}
}

// TestNoStatusIsTriedAgain: linodego would repeat these, a POST too.
func TestNoStatusIsTriedAgain(t *testing.T) {
	for _, status := range []int{408, 429, 502, 503} {
		var requests atomic.Int32
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			requests.Add(1)
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(status)
		})
		if _, err := c.CreatePool(t.Context(), 1, PoolSpec{}); err == nil || requests.Load() != 1 {
			t.Errorf("%d: the request was sent %d times: %v", status, requests.Load(), err)
		}
	}
}

// TestAnAnswerThatIsNoJSONIsNoAnswer: above all no list without pools.
func TestAnAnswerThatIsNoJSONIsNoAnswer(t *testing.T) {
	for _, body := range []string{"", "<html>maintenance</html>", `{"data":[{"id":1}],"pages":1`, `{"data":"none"}`} {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) })
		if pools, err := c.Pools(t.Context(), 1); ClassOf(err) != ClassUnknown {
			t.Errorf("%q: %d pools, %v", body, len(pools), err)
		}
	}
}

func TestTheEnvironmentChangesNothing(t *testing.T) {
	t.Setenv("LINODE_URL", "http://127.0.0.1:1")
	t.Setenv("LINODE_API_VERSION", "v4")
	c := serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, `{"id":1,"label":%q}`, r.URL.Path) })
	cluster, err := c.Cluster(t.Context(), 1)
	if err != nil || cluster.Label != "/v4beta/lke/clusters/1" {
		t.Errorf("asked for %q: %v", cluster.Label, err)
	}
}

func TestUnsentCallIsNotUnknown(t *testing.T) {
	c := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	c.transport.limiter.states[bucketOther].blocked = farFuture
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.CreatePool(ctx, 1, PoolSpec{})
	if ClassOf(err) != ClassBusy || !errors.Is(err, context.Canceled) {
		t.Errorf("class = %q, err = %v; want busy and canceled", ClassOf(err), err)
	}
}

// TestAShutGateSendsNoWrite: another process may have decided meanwhile.
func TestAShutGateSendsNoWrite(t *testing.T) {
	var sent []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Method)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"id":1,"page":1,"pages":1,"data":[]}`)
	}))
	defer server.Close()
	shut := errors.New("this process has stood still")
	c, err := New(server.URL, "token", Options{Gate: func() error { return shut }})
	if err != nil {
		t.Fatal(err)
	}
	_, poolErr := c.CreatePool(t.Context(), 1, PoolSpec{})
	for _, err := range []error{poolErr, c.DeletePool(t.Context(), 1, 2), c.DeleteSlot(t.Context(), 1, "2-a")} {
		if !errors.Is(err, shut) || ClassOf(err) != ClassBusy {
			t.Errorf("class = %q, err = %v", ClassOf(err), err)
		}
	}
	if _, err := c.Pools(t.Context(), 1); err != nil {
		t.Error(err)
	}
	if len(sent) != 1 || sent[0] != http.MethodGet {
		t.Errorf("sent %v", sent)
	}
}

func TestListsReadAllPages(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n := r.URL.Query().Get("page")
		fmt.Fprintf(w, `{"data":[{"id":%s0},{"id":%s1}],"page":%s,"pages":3,"results":6}`, n, n, n)
	})
	pools, err := c.Pools(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	var ids []int
	for _, p := range pools {
		ids = append(ids, p.ID)
	}
	if diff := cmp.Diff([]int{10, 11, 20, 21, 30, 31}, ids); diff != "" {
		t.Error(diff)
	}
}

func TestAnEmptyTaintValueIsSent(t *testing.T) {
	var body map[string]any
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		io.WriteString(w, `{}`)
	})
	if _, err := c.CreatePool(t.Context(), 1, PoolSpec{
		Type: "x", Count: 2, Taints: []Taint{{Key: "a", Effect: "NoSchedule"}},
	}); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"type": "x", "count": 2.0, "disks": nil, "tags": nil, "labels": nil,
		"taints": []any{map[string]any{"key": "a", "value": "", "effect": "NoSchedule"}},
	}
	if diff := cmp.Diff(want, body); diff != "" {
		t.Error(diff)
	}
}

// TestWorkaroundsForLinodego fails when linodego sends empty taint values, or
// keeps the errors of its transport: then poolSpec, or operation, can go.
func TestWorkaroundsForLinodego(t *testing.T) {
	raw, err := json.Marshal(linodego.LKENodePoolTaint{Key: "a", Effect: "NoSchedule"})
	if err != nil || strings.Contains(string(raw), "value") {
		t.Errorf("linodego sends %s: pools can be made by CreateLKENodePool", raw)
	}
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	var answer *Error
	if _, err := c.api.GetLKECluster(t.Context(), 1); err == nil || errors.As(err, &answer) {
		t.Errorf("linodego wraps the transport's error %v: nothing has to carry it past linodego", err)
	}
}

func TestOnlyWhatChangesIsSent(t *testing.T) {
	var body map[string]any
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		io.WriteString(w, `{}`)
	})
	change := PoolChange{Count: 5, Labels: &Labels{}, Taints: &[]Taint{}, Autoscaler: &Autoscaler{}}
	if err := c.ChangePool(t.Context(), 1, 2, change); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"labels": map[string]any{}, "taints": []any{}, "autoscaler": map[string]any{"enabled": false}}
	if diff := cmp.Diff(want, body); diff != "" {
		t.Error(diff)
	}
}

func TestDeletingMissingObjectsSucceeds(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"errors":[{"reason":"Not found"}]}`)
	})
	if err := errors.Join(c.DeletePool(t.Context(), 1, 2), c.DeleteSlot(t.Context(), 1, "2-abc")); err != nil {
		t.Error(err)
	}
}

func TestNewReportsEveryError(t *testing.T) {
	for _, tt := range []struct{ url, token, want string }{
		{"ftp://x", "t", "is not the URL of a Linode API"},
		{"api.linode.com", "t", "is not the URL of a Linode API"},
		{"https://api.linode.com", " ", "no Linode API token"},
	} {
		if _, err := New(tt.url, tt.token, Options{}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("New(%q, %q) = %v; want %q", tt.url, tt.token, err, tt.want)
		}
	}
}

func TestRootHasNoVersion(t *testing.T) {
	for url, want := range map[string]string{
		"": DefaultURL, "https://api.linode.com": DefaultURL, "https://api.linode.com/": DefaultURL,
		"https://api.linode.com/v4": DefaultURL, "https://api.linode.com/v4beta/": DefaultURL,
		"http://127.0.0.1:8080": "http://127.0.0.1:8080",
	} {
		if got := Root(url); got != want {
			t.Errorf("Root(%q) = %q, want %q", url, got, want)
		}
	}
}

func TestRouteHasNoNumbers(t *testing.T) {
	for path, want := range map[string]string{
		"/v4beta/lke/clusters/12/pools":             "lke/clusters/{}/pools",
		"lke/clusters/12/nodes/855500-0147dc250000": "lke/clusters/{}/nodes/{}",
	} {
		if got := routeOf(path); got != want {
			t.Errorf("route(%q) = %q, want %q", path, got, want)
		}
	}
}
