package instance

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/instance/decide"
	"github.com/lkeplan/lkeplan/linode/sim"
)

// TestABurstOf250StaysWithinTheLimit: 20 in any 15 seconds, none refused, and the last is there as soon as that allows.
func TestABurstOf250StaysWithinTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, sim.Config{RateLimit: sim.RateLimit{Creates: 20}})
		for range 250 {
			w.ask()
		}
		p, begin := w.start(time.Time{}), time.Now()
		for len(w.own()) < 250 && time.Since(begin) < 10*time.Minute {
			time.Sleep(time.Second)
		}
		if took := time.Since(begin); took < 3*time.Minute || took > 3*time.Minute+45*time.Second {
			t.Errorf("it took %s", took)
		}
		p.ends = time.Now().Add(10 * time.Second)
		time.Sleep(time.Minute)
		w.reap(time.Now())
		w.converged()
		if refused := w.sim.Stats().ByStatus[http.StatusTooManyRequests]; refused != 0 || p.most > policy.Burst {
			t.Errorf("%d calls were refused; up to %d in %s", refused, p.most, policy.Window)
		}
	})
}

// TestSlowPlanDoesNotBlockOthers: its calls take as long as they can.
func TestSlowPlanDoesNotBlockOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, sim.Config{})
		if err := w.sim.Inject(sim.Fault{Method: "POST", Path: "/linode/instances", Count: 2, Hang: true}); err != nil {
			t.Fatal(err)
		}
		w.add("slow-1", "a") // before the first look: their calls are the first two
		w.add("slow-2", "a")
		w.start(time.Time{})
		time.Sleep(3 * time.Second)
		w.add("quick", "b")
		w.processes[0].syncer.loop.Wake()
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if n := len(w.own()); n != 1 || w.claims["quick"].Machine == 0 {
			t.Errorf("%d machines; the claim has %d", n, w.claims["quick"].Machine)
		}
		time.Sleep(2 * time.Minute)
		w.processes[0].ends = time.Now()
		w.reap(time.Now())
		w.converged()
	})
}

func (w *world) add(uid, kind string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	claim := decide.Claim{UID: uid, Kind: kind, Created: time.Now()}
	w.claims[uid] = &subject{Claim: claim, askers: map[*process]bool{}}
}

// TestWakeIsRateLimited: it looks every two seconds at most, and once a minute if nothing is to do.
func TestWakeIsRateLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, sim.Config{})
		p := w.start(time.Time{})
		looks := func() int {
			w.mu.Lock()
			defer w.mu.Unlock()
			return len(p.lists)
		}
		time.Sleep(10*time.Minute + time.Second)
		idle := looks()
		// 70 ms does not divide two seconds: if a look and a request came at the same instant, either could be first.
		for begin := time.Now(); time.Since(begin) < time.Minute; time.Sleep(70 * time.Millisecond) {
			p.syncer.loop.Wake()
		}
		if woken := looks() - idle; idle != 11 || woken != 29 {
			t.Errorf("%d looks in ten minutes, %d in the next", idle, woken)
		}
		p.ends = time.Now()
		w.reap(time.Now())
	})
}

// canned is an API whose answers are given.
type canned struct {
	linodes
	claimStore
	one, found api.Instance
	err        map[string]error // by call
	used       bool
	inhabited  bool
	panics     bool // it has a bug
	deleted    int
	drained    int
}

func (c *canned) Instance(context.Context, int) (api.Instance, error) { return c.one, c.err["get"] }
func (c *canned) InUse(context.Context, int, string) (bool, bool, error) {
	return c.used, c.inhabited, c.err["use"]
}
func (c *canned) CreateInstance(context.Context, api.InstanceSpec) (api.Instance, error) {
	return c.one, c.err["create"]
}

func (c *canned) InstanceLabelled(context.Context, string) (api.Instance, bool, error) {
	return c.found, c.found.ID != 0, c.err["find"]
}

func (c *canned) Spec(context.Context, string) (api.InstanceSpec, error) {
	if c.panics {
		panic("assignment to entry in nil map")
	}
	return api.InstanceSpec{}, c.err["spec"]
}

func (c *canned) DeleteInstance(context.Context, int) error {
	c.deleted++
	return c.err["delete"]
}

func (c *canned) Drain(context.Context, decide.Drain) error {
	c.drained++
	return nil
}

func (c *canned) Refused(context.Context, string, error) {
	if c.panics {
		panic("assignment to entry in nil map")
	}
}

func (c *canned) Undeleted(ctx context.Context, order decide.Delete, err error) {
	c.Refused(ctx, order.UID, err)
}

func (c *canned) syncer() *syncer {
	return newSyncer(syncerConfig{Linode: c, Cluster: c, Policy: policy, Tag: tag, Log: slog.New(slog.DiscardHandler)})
}

func calmAnswer(status int, reason, field string) error {
	return &api.Error{Status: status, Reasons: []api.Reason{{Reason: reason, Field: field}}}
}

var errSilence = errors.New("no answer")

func TestOnlyTheRightMachineIsDeleted(t *testing.T) {
	meant := api.Instance{ID: 7, Label: "prod-a", Tags: []string{"team=web", tag}}
	other, untagged, going := meant, meant, meant
	other.Label, untagged.Tags, going.Status = "prod-b", []string{tag + "-2"}, api.InstanceDeleting
	stranger := other
	stranger.Tags = untagged.Tags
	for _, tc := range []struct {
		name    string
		api     canned
		orphan  bool
		want    decide.Outcome
		deleted int
	}{
		{name: "it is there", api: canned{one: meant}, want: decide.Unknown, deleted: 1},
		{name: "it is gone", api: canned{err: map[string]error{"get": calmAnswer(404, "Not found", "")}}, want: decide.Done},
		{name: "it is going", api: canned{one: going}, want: decide.Unknown},
		{name: "another label", api: canned{one: other}, want: decide.Unknown, deleted: 1},
		{name: "another tag", api: canned{one: untagged}, want: decide.Unknown, deleted: 1},
		{name: "another label and tag", api: canned{one: stranger}, want: decide.Refused},
		{name: "an orphan with another label", api: canned{one: other}, orphan: true, want: decide.Refused},
		{name: "an orphan with another tag", api: canned{one: untagged}, orphan: true, want: decide.Refused},
		{name: "who knows", api: canned{one: meant, err: map[string]error{"get": errSilence}}, want: decide.Busy},
		{
			name: "no answer", api: canned{one: meant, err: map[string]error{"delete": errSilence}}, want: decide.Unknown,
			deleted: 1,
		},
		{name: "an orphan", api: canned{one: meant}, orphan: true, want: decide.Unknown, deleted: 1},
		{name: "no orphan", api: canned{one: meant, used: true}, orphan: true, want: decide.Refused},
		{name: "an orphan with pods", api: canned{one: meant, inhabited: true}, orphan: true, want: decide.Refused},
		{
			name: "perhaps an orphan", api: canned{one: meant, err: map[string]error{"use": errSilence}}, orphan: true,
			want: decide.Refused,
		},
	} {
		order := decide.Delete{UID: "a", Machine: 7, Label: "prod-a"}
		if tc.orphan {
			order.UID = ""
		}
		got, _ := tc.api.syncer().deleteMachine(t.Context(), order)
		if got != tc.want || tc.api.deleted != tc.deleted {
			t.Errorf("%s: outcome %d, want %d; %d deletions", tc.name, got, tc.want, tc.api.deleted)
		}
	}
}

func TestOnlyTheNodeOfAnOrphanIsDrained(t *testing.T) {
	for _, tc := range []struct {
		name string
		api  canned
		want int
	}{
		{"an orphan", canned{inhabited: true}, 1},
		{"no orphan", canned{used: true, inhabited: true}, 0},
		{"perhaps an orphan", canned{err: map[string]error{"use": errSilence}}, 0},
	} {
		_ = tc.api.syncer().drain(t.Context(), decide.Drain{Machine: 7, Node: "prod-a"})
		if tc.api.drained != tc.want {
			t.Errorf("%s: drained %d times", tc.name, tc.api.drained)
		}
	}
}

func TestOutcomesOfACreate(t *testing.T) {
	taken := calmAnswer(400, "Label must be unique among your linodes", "label")
	ours := api.Instance{ID: 7, Label: "prod-a", Tags: []string{tag}}
	theirs := api.Instance{ID: 8, Label: "prod-a", Tags: []string{"lkeplan-cluster=other"}}
	for _, tc := range []struct {
		name string
		api  canned
		want decide.Outcome
		id   int
	}{
		{"made", canned{one: ours}, decide.Done, 7},
		{"made before", canned{found: ours, err: map[string]error{"create": taken}}, decide.Done, 7},
		{"another owner's", canned{found: theirs, err: map[string]error{"create": taken}}, decide.Taken, 0},
		{"nowhere", canned{err: map[string]error{"create": taken}}, decide.Unknown, 0},
		{"who knows", canned{err: map[string]error{"create": taken, "find": errSilence}}, decide.Unknown, 0},
		{"no answer", canned{err: map[string]error{"create": errSilence}}, decide.Unknown, 0},
		{"failed", canned{err: map[string]error{"create": calmAnswer(502, "", "")}}, decide.Unknown, 0},
		{"no stock", canned{err: map[string]error{"create": calmAnswer(400, "No open slots", "")}}, decide.NoStock, 0},
		{"no room", canned{err: map[string]error{"create": calmAnswer(400, "Account Limit reached.", "")}}, decide.NoRoom, 0},
		{"limit", canned{err: map[string]error{"create": calmAnswer(429, "", "")}}, decide.Busy, 0},
		{"token", canned{err: map[string]error{"create": calmAnswer(401, "Invalid Token", "")}}, decide.Busy, 0},
		{"wrong", canned{err: map[string]error{"create": calmAnswer(400, "is not valid", "image")}}, decide.Refused, 0},
		{"no spec", canned{one: ours, err: map[string]error{"spec": errSilence}}, decide.Refused, 0},
		{"a bug", canned{one: ours, panics: true}, decide.Refused, 0},
	} {
		id, got, _ := tc.api.syncer().createMachine(t.Context(), decide.Create{UID: "a", Label: "prod-a"})
		if got != tc.want || id != tc.id {
			t.Errorf("%s: outcome %d of machine %d, want %d of %d", tc.name, got, id, tc.want, tc.id)
		}
	}
}

// TestABugInTheWorkForOneClaimDoesNotEndTheProcess: not even if all of it has one. canned has no Bind and no End.
func TestABugInTheWorkForOneClaimDoesNotEndTheProcess(t *testing.T) {
	api := &canned{panics: true, err: map[string]error{"get": errSilence}}
	c := api.syncer()
	c.carryOut(t.Context(), decide.View{}, decide.Decision{
		Creates: []decide.Create{{UID: "a", Label: "prod-a"}},
		Binds:   []decide.Bind{{UID: "b", Machine: 7}},
		Deletes: []decide.Delete{{UID: "c", Machine: 8, Label: "prod-c"}},
		Looks:   []decide.Look{{UID: "d", Machine: 9}},
		Lost:    []string{"e"},
	})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	c.loop.Run(ended, func(context.Context) time.Duration { return time.Hour }) // waits for the work
	c.underway.Range(func(what, _ any) bool {
		t.Errorf("%v is still under way", what)
		return true
	})
}
