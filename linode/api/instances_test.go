package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/linode/sim"
)

const tag = "lkeplan-cluster=prod"

func spec(label string) InstanceSpec {
	return InstanceSpec{
		Label: label, Region: "us-ord", Type: "g6-standard-4", Image: "linode/debian12", Tags: []string{tag},
		AuthorizedKeys: []string{"ssh-ed25519 AAAA"},
	}
}

// account is a client for a simulated account.
func account(t *testing.T, cfg sim.Config, faults ...sim.Fault) (*sim.Simulator, *Client) {
	t.Helper()
	sim, err := sim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		if err := sim.Inject(f); err != nil {
			t.Fatal(err)
		}
	}
	c, err := New("http://linode.test", "token", Options{Transport: sim.Client().Transport, Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return sim, c
}

func TestALinodeIsMadeFoundAndDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, c := account(t, sim.Config{DeleteDelay: 20 * time.Second})
		order := spec("prod-a")
		var err error
		if order.Metadata, err = UserData([]byte("#cloud-config")); err != nil {
			t.Fatal(err)
		}
		made, err := c.CreateInstance(t.Context(), order)
		if err != nil || string(sim.Linodes()[0].UserData) != "#cloud-config" {
			t.Fatalf("%+v: %v", sim.Linodes(), err)
		}
		got, err := c.Instance(t.Context(), made.ID)
		if err != nil || got.Label != "prod-a" {
			t.Errorf("%+v: %v", got, err)
		}
		found, ok, err := c.InstanceLabelled(t.Context(), "prod-a")
		if err != nil || !ok || found.ID != made.ID {
			t.Errorf("%+v: %v", found, err)
		}
		if _, ok, err := c.InstanceLabelled(t.Context(), "prod-"); err != nil || ok {
			t.Errorf("an unused label is found: %v", err)
		}
		for range 2 {
			if err := c.DeleteInstance(t.Context(), made.ID); err != nil {
				t.Error(err)
			}
			left, err := c.Instances(t.Context(), tag)
			if err != nil || len(left) > 1 || len(left) == 1 && left[0].Status != InstanceDeleting {
				t.Errorf("%+v: %v", left, err)
			}
			time.Sleep(20 * time.Second)
		}
		if _, err := c.Instance(t.Context(), made.ID); ClassOf(err) != ClassNotFound {
			t.Errorf("it is gone: %v", err)
		}
	})
}

func TestMeaningOfCreateErrors(t *testing.T) {
	post := sim.Fault{Method: "POST", Path: "/linode/instances", Count: 1}
	with := func(set func(*sim.Fault)) []sim.Fault {
		f := post
		set(&f)
		return []sim.Fault{f}
	}
	tests := []struct {
		name   string
		there  string // the label of an existing Linode
		cfg    sim.Config
		spec   InstanceSpec
		faults []sim.Fault
		want   Class
		made   int
	}{
		{name: "made", spec: spec("prod-a"), made: 1},
		{name: "taken", there: "prod-a", spec: spec("prod-a"), want: ClassLabelTaken},
		{name: "wrong", spec: InstanceSpec{Label: "prod-a", Region: "us-ord"}, want: ClassValidation},
		{
			name: "no stock", spec: spec("prod-a"), faults: []sim.Fault{{NoCapacity: sim.Refuse}},
			want: ClassNoCapacity,
		},
		{name: "no room", there: "staging-a", cfg: sim.Config{MaxInstances: 1}, spec: spec("prod-a"), want: ClassAccountLimit},
		{name: "token", cfg: sim.Config{Scopes: "linodes:read_only"}, spec: spec("prod-a"), want: ClassAuth},
		{
			name: "limit", spec: spec("prod-a"), faults: with(func(f *sim.Fault) { f.Status = 429 }),
			want: ClassBusy,
		},
		{
			name: "lost", spec: spec("prod-a"), faults: with(func(f *sim.Fault) { f.Lost = true }),
			want: ClassUnknown, made: 1,
		},
		{
			name: "failed", spec: spec("prod-a"), faults: with(func(f *sim.Fault) { f.Status = 502 }),
			want: ClassUnknown,
		},
		{
			name: "slow", spec: spec("prod-a"), faults: with(func(f *sim.Fault) { f.Hang, f.AfterWork = true, true }),
			want: ClassUnknown, made: 1,
		},
		{
			name: "late", spec: spec("prod-a"), faults: with(func(f *sim.Fault) {
				f.Status, f.Late = 504, metav1.Duration{Duration: time.Second}
			}), want: ClassUnknown,
		},
		{
			name: "no Linode in the answer", spec: spec("prod-a"),
			faults: with(func(f *sim.Fault) { f.Status, f.Body = 200, "{}" }), want: ClassUnknown,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sim, c := account(t, tt.cfg, tt.faults...)
				if tt.there != "" {
					buy(t, sim, tt.there)
				}
				before := len(sim.Linodes())
				_, err := c.CreateInstance(t.Context(), tt.spec)
				if got := ClassOf(err); got != tt.want {
					t.Errorf("class %q, want %q (%v)", got, tt.want, err)
				}
				if n := len(sim.Linodes()) - before; n != tt.made {
					t.Errorf("%d Linodes were made", n)
				}
			})
		})
	}
}

// buy creates a Linode by hand: the limiter of the client under test does not see it.
func buy(t *testing.T, sim *sim.Simulator, label string) {
	t.Helper()
	c, err := New("http://linode.test", "token", Options{Transport: sim.Client().Transport})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateInstance(t.Context(), spec(label)); err != nil {
		t.Fatal(err)
	}
}

// TestFilteredListsAreFilteredAgain: Linodes without the tag are in no list, for any answer of the API, and
// one that is on two pages is there once.
func TestFilteredListsAreFilteredAgain(t *testing.T) {
	var filters []string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		filters = append(filters, r.Header.Get("X-Filter"))
		fmt.Fprintf(w, `{"page":%s,"pages":2,"results":4,"data":[{"id":1,"label":"prod-a","tags":["%s"]},`+
			`{"id":2,"label":"prod-b","tags":["%s-2"]}]}`, r.URL.Query().Get("page"), strings.ToUpper(tag), tag)
	})
	found, err := c.Instances(t.Context(), tag)
	if err != nil || len(found) != 1 || found[0].ID != 1 {
		t.Errorf("%+v: %v", found, err)
	}
	if _, ok, err := c.InstanceLabelled(t.Context(), "prod-c"); err != nil || ok {
		t.Errorf("prod-c is there: %v", err)
	}
	if named, err := c.InstancesNamed(t.Context(), "prod-b"); err != nil || len(named) != 1 || named[0].ID != 2 {
		t.Errorf("%+v: %v", named, err)
	}
	byTag, byLabel, byPart := `{"tags":"`+tag+`"}`, `{"label":"prod-c"}`, `{"label":{"+contains":"prod-b"}}`
	if d := cmp.Diff([]string{byTag, byTag, byLabel, byLabel, byPart, byPart}, filters); d != "" {
		t.Error(d)
	}
}

// TestABurstOfLinodesStaysWithinTheLimit: 20 in 15 seconds, without a call that is refused, while lists
// continue at once.
func TestABurstOfLinodesStaysWithinTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit, err := sim.ParseRateLimit("documented")
		if err != nil {
			t.Fatal(err)
		}
		sim, c := account(t, sim.Config{RateLimit: limit})
		begin := time.Now()
		for n := range 50 {
			if _, err := c.CreateInstance(t.Context(), spec(fmt.Sprint("prod-", n))); err != nil {
				t.Fatal(err)
			}
			asked := time.Now()
			if _, err := c.Instances(t.Context(), tag); err != nil || time.Since(asked) > 0 {
				t.Errorf("a list takes %s: %v", time.Since(asked), err)
			}
		}
		if took := time.Since(begin); took < 30*time.Second || took > 35*time.Second {
			t.Errorf("50 took %s", took)
		}
		if n := sim.Stats().ByStatus[http.StatusTooManyRequests]; n != 0 {
			t.Errorf("%d calls were refused", n)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for err == nil {
			_, err = c.CreateInstance(ctx, spec(fmt.Sprint("more-", len(sim.Linodes()))))
		}
		if ClassOf(err) != ClassBusy || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who does not wait for the limit: %v", err)
		}
	})
}

func TestUserDataHasALimit(t *testing.T) {
	if _, err := UserData(make([]byte, MaxUserData)); err != nil {
		t.Error(err)
	}
	if _, err := UserData(make([]byte, MaxUserData+1)); err == nil || !strings.Contains(err.Error(), "16385 bytes") {
		t.Error(err)
	}
}

// TestUserDataIsInNoError: it holds what lets a machine join.
func TestUserDataIsInNoError(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusBadGateway)
		w.Write(append([]byte("<html>"), body...))
	})
	order := spec("prod-a")
	order.RootPass = "hunter22"
	order.Metadata, _ = UserData([]byte("token"))
	_, err := c.CreateInstance(t.Context(), order)
	if err == nil || strings.Contains(err.Error(), "hunter22") || strings.Contains(err.Error(), order.Metadata.UserData) {
		t.Error(err)
	}
}
