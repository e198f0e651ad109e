package instance

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/sim"
)

const (
	region = "us-ord"
	prod   = "lkeplan-id=0123456789abcdef"
	keep   = 10 * time.Minute
	path   = "/placement/groups"
)

var web, batch = PoolGroup{Pool: "web", Policy: "strict"}, PoolGroup{Pool: "batch", Policy: "flexible"}

// world is an account at Linode, and what NodePools and NodeClaims of a cluster need.
type groupWorld struct {
	t   *testing.T
	sim *sim.Simulator
	api *api.Client

	mu     sync.Mutex // guards the rest
	needed []PoolGroup
	silent bool // the API server does not answer
	calls  map[string]int
}

func newGroupWorld(t *testing.T, faults ...sim.Fault) *groupWorld {
	t.Helper()
	sim, err := sim.New(sim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	w := &groupWorld{t: t, sim: sim, calls: map[string]int{}}
	for _, f := range faults {
		if err := sim.Inject(f); err != nil {
			t.Fatal(err)
		}
	}
	w.api, err = api.New("http://linode.test", "token", api.Options{
		Transport: sim.Client().Transport, Timeout: 10 * time.Second, Observe: w.count,
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *groupWorld) count(c api.Call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls[c.Method+" "+c.Route]++
}

// sent is how many calls of a kind there were.
func (w *groupWorld) sent(call string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls[call]
}

func (w *groupWorld) need(groups ...PoolGroup) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.needed = groups
}

// leader returns Groups that know nothing.
func (w *groupWorld) leader() *placementGroups {
	return newPlacementGroups(placementConfig{
		Linode: w.api, Cluster: prod, Keep: keep, Needed: w.read, Log: slog.New(slog.DiscardHandler),
	})
}

func (w *groupWorld) read(context.Context) ([]PoolGroup, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.silent {
		return nil, errors.New("the API server does not answer")
	}
	return slices.Clone(w.needed), nil
}

// labels are those of the account's groups, as often as there are groups.
func (w *groupWorld) labels() (labels []string) {
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

// put adds a group without the checks of the API.
func (w *groupWorld) put(p sim.Placement) int {
	p.Region = region
	return w.sim.AddAssets(sim.AssetSet{Groups: []sim.Placement{p}}).Groups[0].ID
}

// buy creates a Linode in a group.
func (w *groupWorld) buy(label string, group int) (api.Instance, error) {
	spec := Order{Plan: "g6-standard-2", Image: "linode/debian12", PlacementGroup: group}.Spec(region, "of-nobody")
	spec.Label = label
	return w.api.CreateInstance(w.t.Context(), spec)
}

func contains(err error, text string) bool { return err != nil && strings.Contains(err.Error(), text) }
