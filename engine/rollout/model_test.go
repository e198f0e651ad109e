package rollout_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/rollout"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// modelled is a pool as Karpenter and Linode treat it: as many nodes are replaced at a time
// as there is room for, a new one goes through its states, and the old one goes when it is
// ready. Machines can be had only at some times. Old nodes go for other reasons as well, and new
// ones may be lost.
type modelled struct {
	rng      *rand.Rand
	now      time.Time
	outdated int
	replaced int // old nodes that have gone for a new one
	made     []made
	serial   int
	broken   bool      // its machines never join
	loses    bool      // it loses new nodes
	stock    time.Time // there is none before
}

type made struct {
	node  rollout.Node
	next  time.Time // when it gets to its next state
	ready time.Time
	gone  bool // the node in whose place it is
}

func (m *modelled) step(room int, by time.Duration) {
	m.now = m.now.Add(by)
	if m.loses && m.rng.IntN(30) == 0 && len(m.made) > 0 { // as it was seen
		i := m.rng.IntN(len(m.made))
		m.made = slices.Delete(m.made, i, i+1)
	}
	for i := range m.made {
		n := &m.made[i]
		stuck := n.node.State == cluster.NodeReady || n.node.State == cluster.NodeJoining && m.broken ||
			n.node.State == cluster.NodeRequested && m.now.Before(m.stock)
		if stuck || m.now.Before(n.next) {
			continue
		}
		n.node.State = map[cluster.NodeState]cluster.NodeState{cluster.NodeRequested: cluster.NodeJoining,
			cluster.NodeJoining: cluster.NodeNotReady, cluster.NodeNotReady: cluster.NodeReady}[n.node.State]
		n.next = m.now.Add(m.some(time.Minute))
		if n.node.State == cluster.NodeReady {
			n.node.Since, n.ready, n.gone = m.now, m.now, true
			if m.outdated > 0 {
				m.outdated, m.replaced = m.outdated-1, m.replaced+1
			}
		}
	}
	if m.outdated > 0 && m.rng.IntN(40) == 0 { // its pods have gone
		m.outdated--
	}
	going := 0
	for _, n := range m.made {
		if !n.gone {
			going++
		}
	}
	for ; going < min(room, m.outdated) && !m.now.Before(m.stock); going++ {
		m.serial++
		m.made = append(m.made, made{node: rollout.Node{Name: fmt.Sprint(m.serial), State: cluster.NodeRequested},
			next: m.now.Add(m.some(time.Minute))})
	}
}

func (m *modelled) some(most time.Duration) time.Duration {
	return time.Duration(m.rng.Int64N(int64(most)))
}

// pool is the pool as it is seen.
func (m *modelled) pool() rollout.Pool {
	p := rollout.Pool{Name: "web", Outdated: m.outdated}
	for _, n := range m.made {
		p.New = append(p.New, n.node)
	}
	if m.now.Before(m.stock) {
		p.NoStock = "none"
	}
	return p
}

// TestAModelOfRollouts: regardless of events, of the times of checks and of clocks, no more
// nodes are replaced than the first wave has before the revision is proven, and while old nodes
// are there it is proven by a new one that was ready for long enough. One whose machines join
// is never taken for failed, however long there is no capacity; one whose machines do not join
// is, and is never proven.
func TestAModelOfRollouts(t *testing.T) {
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(seed, 7))
		began := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
		m := &modelled{rng: rng, now: began, outdated: 1 + rng.IntN(9), broken: rng.IntN(3) == 0, loses: rng.IntN(4) == 0}
		m.stock = began.Add(m.some(time.Hour))
		terms := rollout.Terms{Nodes: 1 + rng.IntN(4), Stable: m.some(3 * time.Minute), Timeout: 10 * time.Minute}
		before, leaders := m.outdated, time.Duration(0)
		clock := m.some(4*time.Hour) - 2*time.Hour // of the controller, against that of the cluster
		state := rollout.Begin(lkeplanv1alpha1.RolloutSpec{}, []lkeplanv1alpha1.RolloutPool{{Name: "web", Before: before}}, true, "",
			began.Add(clock))
		ended := rollout.Wait
		for m.now.Before(began.Add(4*time.Hour)) && ended == rollout.Wait {
			if leaders < 3 && rng.IntN(50) == 0 {
				leaders, clock = leaders+1, m.some(4*time.Hour)-2*time.Hour
			}
			state = stored(t, state)
			pools := []rollout.Pool{m.pool()}
			rollout.Observe(state, pools, m.now.Add(clock))
			d := rollout.Decide(terms, true, state.Ran.Duration, pools)
			rollout.RestartExcused(state, d)
			if ended = d.Step; ended == rollout.Proven && m.outdated > 0 && !m.proves(terms.Stable-leaders*time.Minute) {
				t.Fatalf("seed %d: it is proven by no node: %+v, %+v", seed, terms, m)
			}
			if m.replaced > terms.Nodes {
				t.Fatalf("seed %d: %d nodes are replaced in a first wave of %d", seed, m.replaced, terms.Nodes)
			}
			if !m.loses && len(m.made) > min(terms.Nodes, before) {
				t.Fatalf("seed %d: %d nodes are made in a first wave of %d", seed, len(m.made), terms.Nodes)
			}
			m.step(d.Room["web"], d.RequeueAfter)
		}
		nothing := m.outdated == 0 && len(m.made) == 0
		want := map[bool]rollout.Step{false: rollout.Proven, true: rollout.Failed}[m.broken]
		if ended == rollout.Wait || ended != want && !(nothing && ended == rollout.Proven) && !m.loses ||
			m.broken && !nothing && ended == rollout.Proven {
			t.Fatalf("seed %d: it ended with %v, want %v: %+v, %+v, %+v", seed, ended, want, terms, m, state)
		}
	}
}

// proves reports whether a new node has been ready for a time.
func (m *modelled) proves(stable time.Duration) bool {
	return slices.ContainsFunc(m.made, func(n made) bool {
		return n.node.State == cluster.NodeReady && m.now.Sub(n.ready) >= stable
	})
}

// stored is a state as the API server has it.
func stored(t *testing.T, s *lkeplanv1alpha1.RolloutStatus) *lkeplanv1alpha1.RolloutStatus {
	t.Helper()
	raw, err := json.Marshal(s)
	read := &lkeplanv1alpha1.RolloutStatus{}
	if err == nil {
		err = json.Unmarshal(raw, read)
	}
	if err != nil {
		t.Fatal(err)
	}
	read.Since = metav1.NewTime(read.Since.UTC())
	return read
}
