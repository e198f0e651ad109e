package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// TestMoveLosesNoPods with random faults and interruptions: when the LKE pool is deleted, the
// pod of each owner runs elsewhere.
func TestMoveLosesNoPods(t *testing.T) {
	for seed := range uint64(300) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newChance(seed).run(t) })
		})
	}
}

// chance is a world with random faults, which end at some time.
type chance struct {
	*world
	rng   *rand.Rand
	over  time.Time
	end   context.CancelFunc // of the present run
	makes int                // the number of owners

	happened, lostAt []string
}

func newChance(seed uint64) *chance {
	c := &chance{rng: rand.New(rand.NewPCG(seed, 1)), makes: 6}
	var pods []object
	for n := range c.makes {
		kind := []string{"ReplicaSet", "StatefulSet"}[n%2]
		pods = append(pods, pod(fmt.Sprint("pod", n), []string{"lke77-1-a", "lke77-1-b"}[c.rng.IntN(2)], kind))
	}
	c.world = newWorld(pods...)
	return c
}

func (c *chance) run(t *testing.T) {
	c.over = time.Now().Add(time.Duration(1+c.rng.IntN(90)) * time.Second)
	for runs := 0; len(c.pools) > 0; runs++ {
		if runs > 50 {
			t.Fatalf("it does not end: %v", c.said[max(0, len(c.said)-10):])
		}
		ctx, cancel := context.WithCancel(t.Context())
		c.end = cancel
		m := c.move()
		m.Cluster, m.LKE, m.Timeout = c, c, 20*time.Second
		_ = m.Pool(ctx, lkePool())
		cancel()
	}
	if lost := c.lost(); lost != "" || c.lostAt != nil {
		t.Errorf("%v %s: %v\n%v\n%v", c.lostAt, lost, c.happened, c.did, c.said)
	}
}

// DeletePool deletes an LKE pool with everything that runs on it.
func (c *chance) DeletePool(ctx context.Context, cluster, pool int) error {
	if lost := c.lost(); lost != "" {
		c.lostAt = append(c.lostAt, lost)
	}
	return c.world.DeletePool(ctx, cluster, pool)
}

func (c *chance) lost() string {
	runs := map[string]bool{}
	for _, p := range c.pods {
		_, isReady := manifest.Lookup(p, "status", "conditions")
		if isReady && manifest.Text(p, "spec", "nodeName") == "elsewhere" {
			runs[manifest.Name(p)] = true
		}
	}
	for n := range c.makes {
		if name := fmt.Sprint("pod", n); !runs[name] {
			return name + " does not run elsewhere"
		}
	}
	return ""
}

func (c *chance) List(ctx context.Context, apiVersion, kind string) ([]object, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if kind == "Node" {
		c.happen()
	}
	return c.world.List(ctx, apiVersion, kind)
}

// happen lets at most one fault happen.
func (c *chance) happen() {
	what := c.rng.IntN(20)
	if time.Now().After(c.over) {
		what = -1
		c.room, c.start, c.fails = time.Second, 0, nil
		c.repair()
	}
	c.happened = append(c.happened, fmt.Sprint(what))
	switch what {
	case 0:
		c.room = []time.Duration{0, time.Second, 10 * time.Second}[c.rng.IntN(3)]
	case 1:
		c.start = time.Duration(c.rng.IntN(30)) * time.Second
	case 2:
		c.idle = true
	case 3:
		c.repair()
	case 4:
		c.nodes = append(c.nodes, node(fmt.Sprint("lke77-1-", len(c.nodes)), "1"))
	case 5:
		delete(manifest.Ensure(c.nodes[c.rng.IntN(len(c.nodes))], "spec"), "unschedulable")
	case 6:
		call := []string{"list", "merge", "evict", "pools", "change", "delete"}[c.rng.IntN(6)]
		c.fails[call] = slices.Repeat([]error{errors.New("no answer")}, 1+c.rng.IntN(12))
	case 7:
		c.pools[0].Autoscaler = api.Autoscaler{Enabled: true, Min: 1, Max: 3}
	case 8, 9:
		c.end()
	case 10: // the scheduler takes a node that is not cordoned
		for _, n := range c.nodes {
			if cordoned := manifest.Map(n, "spec")["unschedulable"]; cordoned != true {
				c.bindAll(manifest.Name(n))
			}
		}
	case 11:
		c.pods = append(c.pods, pod(fmt.Sprint("batch", len(c.pods)), "", "Job"))
	}
}

// bindAll binds all pods without a node to one.
func (c *chance) bindAll(node string) {
	for _, p := range c.pods {
		if manifest.Text(p, "spec", "nodeName") == "" && !c.made[manifest.UID(p)].IsZero() {
			place(p, node)
			ready(p)
			delete(c.made, manifest.UID(p))
		}
	}
}

// repair lets the owners create missing pods.
func (c *chance) repair() {
	if !c.idle {
		return
	}
	c.idle = false
	for _, maker := range c.makers {
		name := manifest.Name(maker)
		if !slices.ContainsFunc(c.pods, func(p object) bool { return manifest.Name(p) == name }) {
			c.make(name, []any{object{"kind": manifest.Kind(maker), "controller": true, "uid": manifest.UID(maker)}})
		}
	}
}
