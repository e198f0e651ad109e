package rollout_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/engine/rollout"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// modelled is a pool as Karpenter and Linode treat it: as many nodes are replaced at a time
// as there is room for, a new one goes through its states, and the old one goes when it is
// ready. Machines can be had only at some times.
type modelled struct {
	rng      *rand.Rand
	now      time.Time
	outdated int
	made     []made
	broken   bool      // its machines never join
	stock    time.Time // there is none before
}

type made struct {
	node rollout.Node
	next time.Time // when it gets to its next state
	gone bool      // the node in whose place it is
}

func (m *modelled) step(room int, by time.Duration) {
	m.now = m.now.Add(by)
	for i := range m.made {
		n := &m.made[i]
		stuck := n.node.State == rollout.Ready || n.node.State == rollout.Joining && m.broken ||
			n.node.State == rollout.Asked && m.now.Before(m.stock)
		if stuck || m.now.Before(n.next) {
			continue
		}
		n.node.State++
		n.next = m.now.Add(m.some(time.Minute))
		if n.node.State == rollout.Ready {
			n.node.Since, n.gone, m.outdated = m.now, true, m.outdated-1
		}
	}
	going := 0
	for _, n := range m.made {
		if !n.gone {
			going++
		}
	}
	for ; going < min(room, m.outdated) && !m.now.Before(m.stock); going++ {
		m.made = append(m.made, made{node: rollout.Node{Name: fmt.Sprint(len(m.made))}, next: m.now.Add(m.some(time.Minute))})
	}
}

func (m *modelled) some(most time.Duration) time.Duration {
	return time.Duration(m.rng.Int64N(int64(most)))
}

// TestAModelOfRollouts: whatever happens and whenever somebody looks, no more nodes are
// made than the first wave has before the revision is proven. One whose machines join is
// never taken for failed, however long there is no capacity; one whose machines do not
// join is, and is never proven.
func TestAModelOfRollouts(t *testing.T) {
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(seed, 7))
		began := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
		m := &modelled{rng: rng, now: began, outdated: 1 + rng.IntN(9), broken: rng.IntN(3) == 0}
		m.stock = began.Add(m.some(time.Hour))
		terms := rollout.Terms{Nodes: 1 + rng.IntN(4), Stable: m.some(3 * time.Minute), Timeout: 10 * time.Minute}
		before, room := m.outdated, 0
		state := rollout.Begin([]rollout.First{{Name: "web", Before: before}}, true, "", began)
		ended := rollout.Wait
		for m.now.Before(began.Add(3*time.Hour)) && ended == rollout.Wait {
			state = stored(t, state)
			pool := rollout.Pool{Name: "web", Before: before, Outdated: m.outdated, Clock: state.Pools[0].Clock.Time}
			for _, n := range m.made {
				pool.New = append(pool.New, n.node)
			}
			if m.now.Before(m.stock) {
				pool.NoStock = "none"
			}
			d := rollout.Decide(terms, state.Since.Time, []rollout.Pool{pool}, m.now)
			rollout.Tick(state, d, m.now)
			ended, room = d.Step, d.Room["web"]
			if most := min(terms.Nodes, before); len(m.made) > most {
				t.Fatalf("seed %d: %d nodes are made in a first wave of %d", seed, len(m.made), most)
			}
			m.step(room, d.Again)
		}
		if want := map[bool]rollout.Step{false: rollout.Proven, true: rollout.Failed}[m.broken]; ended != want {
			t.Fatalf("seed %d: it ended with %v, want %v: %+v, %+v", seed, ended, want, terms, m)
		}
	}
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
