package placement

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lkeplan/lkeplan/linode/lkeapi"
	"github.com/lkeplan/lkeplan/linode/lkesim"
	"github.com/lkeplan/lkeplan/linode/lkesim/assets"
	"github.com/lkeplan/lkeplan/linode/machines/order"
)

const (
	region = "us-ord"
	prod   = "lkeplan-id=0123456789abcdef"
	keep   = 10 * time.Minute
	path   = "/placement/groups"
)

var web, batch = order.PoolGroup{Pool: "web", Policy: "strict"}, order.PoolGroup{Pool: "batch", Policy: "flexible"}

// world is an account at Linode, and what NodePools and NodeClaims of a cluster need.
type world struct {
	t   *testing.T
	sim *lkesim.Simulator
	api *lkeapi.Client

	mu     sync.Mutex // guards the rest
	needed []order.PoolGroup
	silent bool // the API server does not answer
	calls  map[string]int
}

func newWorld(t *testing.T, faults ...lkesim.Fault) *world {
	t.Helper()
	sim, err := lkesim.New(lkesim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, sim: sim, calls: map[string]int{}}
	for _, f := range faults {
		if err := sim.Inject(f); err != nil {
			t.Fatal(err)
		}
	}
	w.api, err = lkeapi.New("http://linode.test", "token", lkeapi.Options{
		Transport: sim.Client().Transport, Timeout: 10 * time.Second, Observe: w.count,
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) count(c lkeapi.Call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls[c.Method+" "+c.Route]++
}

// sent is how many calls of a kind there were.
func (w *world) sent(call string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls[call]
}

func (w *world) need(groups ...order.PoolGroup) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.needed = groups
}

// leader returns Groups that know nothing.
func (w *world) leader() *Groups {
	return New(Config{Linode: w.api, Cluster: prod, Size: assets.Room, Keep: keep, Needed: w.read})
}

func (w *world) read(context.Context) ([]order.PoolGroup, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.silent {
		return nil, errors.New("the API server does not answer")
	}
	return slices.Clone(w.needed), nil
}

// labels are those of the account's groups, as often as there are groups.
func (w *world) labels() (labels []string) {
	w.t.Helper()
	all, err := w.api.PlacementGroups(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, p := range all {
		labels = append(labels, p.Label)
	}
	slices.Sort(labels)
	return labels
}

// put adds a group, whatever the API would say of it.
func (w *world) put(p assets.Placement) int {
	p.Region = region
	return w.sim.AddAssets(assets.Set{Groups: []assets.Placement{p}}).Groups[0].ID
}

// buy makes a Linode in a group.
func (w *world) buy(label string, group int) (lkeapi.Instance, error) {
	spec := order.Order{Plan: "g6-standard-2", Image: "linode/debian12", PlacementGroup: group}.Spec(region, "of-nobody")
	spec.Label = label
	return w.api.CreateInstance(w.t.Context(), spec)
}

func contains(err error, text string) bool { return err != nil && strings.Contains(err.Error(), text) }
