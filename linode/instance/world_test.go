package instance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/instance/decide"
	"github.com/lkeplan/lkeplan/linode/sim"
)

const tag = "lkeplan-cluster=prod"

var policy = decide.Policy{
	Cluster: "prod", Keep: 10 * time.Minute, Late: 2 * time.Minute, Burst: 20, Window: 15 * time.Second,
	Quick: 2 * time.Second, Idle: time.Minute,
}

var plans = map[string]string{"a": "g6-standard-2", "b": "g6-standard-4", "c": "g6-standard-6"}

// world is an account at Linode, a cluster, and the processes that carry out.
type world struct {
	t   *testing.T
	sim *sim.Simulator

	mu        sync.Mutex // guards the rest: processes run beside the test
	rng       *rand.Rand
	faults    bool
	claims    map[string]*subject
	nodes     map[int]decide.Node
	dropped   map[string]loss // by label: claims that went without being released
	away      []*subject      // those of them that come back
	ended     map[string]bool // labels of claims that may have no machine any more
	processes []*process
	kept      map[int]bool
	next      int
	others    []string // labels of Linodes of other owners
	wanted    []string // labels of Linodes that other owners are about to create
}

// loss says since when a claim is gone, and which machine it had.
type loss struct {
	at      time.Time
	machine int
}

// subject is a claim as the API server has it.
type subject struct {
	decide.Claim
	released bool
	back     time.Time         // when it is to be there again
	seen     time.Time         // from when on caches show it
	askers   map[*process]bool // those that have sent a create for it
}

// process is a controller: its client, what it sees, and when it has sent what.
type process struct {
	*world
	syncer  *syncer
	stop    context.CancelFunc
	ends    time.Time // zero: it leads
	done    chan struct{}
	sent    []time.Time // creates of the last Window
	most    int         // their highest number
	lists   []time.Time
	shown   []api.Instance
	linodes // the client
	silence
}

// silence discards the calls of a claimStore.
type silence struct{}

func (silence) Listed(time.Time, []api.Instance)                {}
func (silence) Refused(context.Context, string, error)          {}
func (silence) Undeleted(context.Context, decide.Delete, error) {}
func (silence) WarnUnconfirmed(context.Context, []string) error { return nil }
func (silence) Queued(context.Context, []string) error          { return nil }

func newWorld(t *testing.T, seed uint64, cfg sim.Config) *world {
	t.Helper()
	cfg.Seed = seed
	sim, err := sim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, sim: sim, rng: rand.New(rand.NewPCG(seed, 1)), claims: map[string]*subject{}, nodes: map[int]decide.Node{},
		dropped: map[string]loss{}, ended: map[string]bool{}, kept: map[int]bool{}, next: 1000,
	}
	w.buy("prod-web", tag) // of another owner who uses the same tag
	w.buy("prod-0123456789012345678z", tag)
	w.buy("staging-01234567890123456789", "lkeplan-cluster=staging")
	if len(w.others) != 3 {
		t.Fatalf("Linodes of others: %v", w.others)
	}
	return w
}

// chance is true so many times of a hundred. The caller has the lock.
func (w *world) chance(percent int) bool { return w.rng.IntN(100) < percent }

// buy creates a Linode by hand.
func (w *world) buy(label, tag string) {
	c, err := api.New("http://linode.test", "another", api.Options{Transport: w.sim.Client().Transport})
	if err != nil {
		w.t.Fatal(err)
	}
	_, err = c.CreateInstance(context.Background(), api.InstanceSpec{
		Label: label, Region: "us-ord", Type: "g6-standard-2", Tags: []string{tag},
	})
	if err == nil { // else it is there, or not
		w.others = append(w.others, label)
	}
}

// start has another process lead; the last one ends at a time.
func (w *world) start(end time.Time) *process {
	p := &process{world: w, done: make(chan struct{})}
	client, err := api.New("http://linode.test", "token", api.Options{Transport: p, Timeout: 20 * time.Second})
	if err != nil {
		w.t.Fatal(err)
	}
	p.linodes = client
	p.syncer = newSyncer(syncerConfig{Linode: p, Cluster: p, Policy: policy, Tag: tag, Log: slog.New(slog.DiscardHandler)})
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	w.mu.Lock()
	if n := len(w.processes); n > 0 {
		w.processes[n-1].ends = end
	}
	w.processes = append(w.processes, p)
	w.mu.Unlock()
	go func() {
		defer close(p.done)
		p.syncer.Run(ctx)
	}()
	return p
}

// reap stops the processes whose time is over.
func (w *world) reap(now time.Time) {
	for _, p := range slices.Clone(w.processes) {
		if p.ends.IsZero() || now.Before(p.ends) {
			continue
		}
		p.stop()
		<-p.done
		w.mu.Lock()
		w.processes = slices.DeleteFunc(w.processes, func(other *process) bool { return other == p })
		w.mu.Unlock()
	}
}

// fail may be called in any goroutine.
func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Errorf(format, args...)
}

func (w *world) own() map[string]sim.Linode {
	own := map[string]sim.Linode{}
	for _, l := range w.sim.Linodes() {
		if decide.Ours(policy.Cluster, l.Label) && slices.Contains(l.Tags, tag) {
			own[l.Label] = l
		}
	}
	return own
}

// RoundTrip sees what is sent to Linode.
func (p *process) RoundTrip(r *http.Request) (*http.Response, error) {
	switch path := strings.TrimPrefix(r.URL.Path, "/v4beta/linode/instances"); {
	case r.Method == http.MethodPost:
		p.noteCreate()
	case r.Method == http.MethodDelete:
		id, err := strconv.Atoi(strings.TrimPrefix(path, "/"))
		if err != nil {
			p.fail("DELETE %s", r.URL.Path)
		}
		p.mayDelete(id)
	}
	return p.sim.Client().Transport.RoundTrip(r)
}

func (p *process) noteCreate() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.sent = slices.DeleteFunc(append(p.sent, now), func(at time.Time) bool { return now.Sub(at) >= policy.Window })
	// Linode counts in windows that begin with a call. What a pause has held up may come at the end of one.
	if len(p.sent) > 2*policy.Burst {
		p.fail("%d creates within %s", len(p.sent), policy.Window)
	}
	p.most = max(p.most, len(p.sent))
}

// mayDelete checks a machine that is to be deleted: it is the cluster's, the claim that it is made for has released it,
// and if it never had a claim, it has had none for ten minutes and two lists.
func (p *process) mayDelete(id int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := slices.IndexFunc(p.sim.Linodes(), func(l sim.Linode) bool { return l.ID == id })
	if n < 0 {
		return
	}
	l := p.sim.Linodes()[n]
	if !decide.Ours(policy.Cluster, l.Label) || !slices.Contains(l.Tags, tag) {
		p.fail("Linode %s of another owner is deleted", l.Label)
	}
	if _, inhabited := p.nodes[id]; inhabited {
		p.fail("Linode %s is deleted with its pods", l.Label)
	}
	for _, c := range p.claims {
		if decide.Label(policy.Cluster, c.UID) == l.Label && !c.released {
			p.fail("the Linode of claim %s is deleted", c.UID)
		}
	}
	lost, orphan := p.dropped[l.Label]
	if !orphan || lost.machine != 0 && lost.machine != id { // made late, beside the one that the claim had
		return
	}
	since := lost.at
	if l.Created.After(since) {
		since = l.Created
	}
	looks := len(slices.DeleteFunc(slices.Clone(p.lists), func(at time.Time) bool { return at.Before(since) }))
	if time.Since(since) < policy.Keep || looks < 2 {
		p.fail("Linode %s, without an owner for %s, is deleted after %d lists", l.Label, time.Since(since), looks)
	}
}

// Instances is the list that the process sees: with faults an old one at times, or one that lacks some.
func (p *process) Instances(ctx context.Context, tag string) ([]api.Instance, error) {
	all, err := p.linodes.Instances(ctx, tag)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		return nil, err
	}
	p.lists = append(p.lists, time.Now())
	if p.faults && p.chance(10) {
		return slices.Clone(p.shown), nil
	}
	p.shown = slices.Clone(all)
	if p.faults && p.chance(5) {
		return slices.DeleteFunc(all, func(api.Instance) bool { return p.chance(50) }), nil
	}
	return all, nil
}

// Look implements Cluster.
func (p *process) Look(context.Context) (all []decide.Claim, nodes map[int]decide.Node, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, uid := range slices.Sorted(maps.Keys(p.claims)) {
		shown := p.claims[uid].Claim
		if time.Now().Before(p.claims[uid].seen) {
			continue
		}
		if p.faults && p.chance(5) {
			shown.Machine = 0 // a cache that lags, or an overwritten field
		}
		all = append(all, shown)
	}
	return all, maps.Clone(p.nodes), nil
}

// Spec implements Cluster.
func (p *process) Spec(_ context.Context, uid string) (api.InstanceSpec, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.claims[uid]
	if c == nil {
		return api.InstanceSpec{}, errors.New("there is no such claim")
	}
	c.askers[p] = true
	return api.InstanceSpec{Region: "us-ord", Type: plans[c.Kind], Tags: []string{"team=web"}}, nil
}

// Bind implements Cluster.
func (p *process) Bind(_ context.Context, b decide.Bind) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.faults && p.chance(10) {
		return errors.New("conflict")
	}
	if c := p.claims[b.UID]; c != nil && c.Machine == 0 {
		c.Machine = b.Machine
	}
	return nil
}

// InUse implements Cluster.
func (p *process) InUse(_ context.Context, machine int, label string) (owned, inhabited bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.faults && p.chance(5) {
		return false, false, errors.New("no answer")
	}
	for _, c := range p.claims {
		if c.Machine == machine || decide.Label(policy.Cluster, c.UID) == label {
			owned = true
		}
	}
	_, inhabited = p.nodes[machine]
	return owned, inhabited, nil
}

// Drain implements Cluster.
func (p *process) Drain(_ context.Context, d decide.Drain) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.claims {
		if c.Machine == d.Machine && !c.released {
			p.fail("the Node of claim %s is drained", c.UID)
		}
	}
	delete(p.nodes, d.Machine)
	return nil
}

// End implements Cluster.
func (p *process) End(_ context.Context, uid string, why Reason) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.claims[uid]
	switch {
	case c == nil:
		return nil
	case why != Lost && c.Machine != 0:
		return fmt.Errorf("it has machine %d", c.Machine)
	case why == Lost && slices.ContainsFunc(p.sim.Linodes(), func(l sim.Linode) bool { return l.ID == c.Machine }):
		p.fail("claim %s is to end though its Linode %d is there", uid, c.Machine)
	case why == Taken && !slices.ContainsFunc(p.sim.Linodes(), func(l sim.Linode) bool {
		return l.Label == decide.Label(policy.Cluster, uid) && !slices.Contains(l.Tags, tag)
	}):
		p.fail("claim %s is to end as if its label were taken", uid)
	}
	c.Leaving, c.released = true, true
	delete(p.nodes, c.Machine)
	return nil
}

// Keep implements Cluster: a user checks the machine and allows its deletion.
func (p *process) Keep(machine int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.nodes[machine]
	n.MayBeDeleted = true
	p.nodes[machine], p.kept[machine] = n, true
}
