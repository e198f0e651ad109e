package rollout

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/cluster"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// Begin returns the state of a revision at the start of its first wave. whole means that the pools of the wave are
// all that the revision changes. The digest identifies the revision together with what was applied before it.
func Begin(
	spec lkeplanv1alpha1.RolloutSpec, first []lkeplanv1alpha1.RolloutPool, whole bool, digest string, now time.Time,
) *lkeplanv1alpha1.RolloutStatus {
	at := metav1.NewTime(now.UTC().Truncate(time.Second))
	return &lkeplanv1alpha1.RolloutStatus{
		Phase: lkeplanv1alpha1.PhasePlanned, Whole: whole, Digest: digest, Terms: digestOf(spec), Since: at, Looked: &at,
		Pools: first,
	}
}

// SameRevision reports whether a state belongs to what would be applied now.
func SameRevision(s *lkeplanv1alpha1.RolloutStatus, revision, digest string) bool {
	return s != nil && s.Revision == revision && s.Digest == digest
}

// SameTerms reports whether a state began with these terms. Other fields of the NodePlan do not matter to a
// rollout.
func SameTerms(s *lkeplanv1alpha1.RolloutStatus, spec lkeplanv1alpha1.RolloutSpec) bool {
	return s.Terms == digestOf(spec)
}

func digestOf(spec lkeplanv1alpha1.RolloutSpec) string {
	text, _ := json.Marshal(spec) // text, numbers and durations
	return fmt.Sprintf("sha256:%x", sha256.Sum256(text))
}

// UnderWay reports whether a revision is still being tested, so that other nodes must not be replaced.
func UnderWay(s *lkeplanv1alpha1.RolloutStatus) bool {
	return s != nil && slices.Contains([]string{lkeplanv1alpha1.PhasePlanned, lkeplanv1alpha1.PhaseProving,
		lkeplanv1alpha1.PhaseHeld, lkeplanv1alpha1.PhaseRolledBack}, s.Phase)
}

// OutdatedNodes returns the number of nodes that are still to be replaced, by pool. It includes the pools of an earlier
// state that has not succeeded: a pool whose nodes are all new stays in the wave.
func OutdatedNodes(outdated map[string]int, before *lkeplanv1alpha1.RolloutStatus) map[string]int {
	counts := maps.Clone(outdated)
	if UnderWay(before) {
		for _, p := range before.Pools {
			counts[p.Name] = max(counts[p.Name], min(len(p.New), 1))
		}
	}
	return counts
}

// CarryOverNewNodes copies the new nodes of an earlier state for pools with the same template, so that a revision
// with other terms or other changes does not get more tries. Nodes that are gone count until the earlier state has
// ended. outdated are nodes that do not have the template of the revision.
func CarryOverNewNodes(s, before *lkeplanv1alpha1.RolloutStatus, outdated map[string]bool) {
	if !UnderWay(before) {
		return
	}
	ended := before.Phase == lkeplanv1alpha1.PhaseHeld || before.Phase == lkeplanv1alpha1.PhaseRolledBack
	for i := range s.Pools {
		p := &s.Pools[i]
		at := slices.IndexFunc(before.Pools, func(was lkeplanv1alpha1.RolloutPool) bool {
			return was.Name == p.Name && was.Hash == p.Hash && before.Terms != ""
		})
		if at < 0 {
			continue
		}
		p.Earlier, p.New = before.Pools[at].Earlier, slices.Clone(before.Pools[at].New)
		p.New = slices.DeleteFunc(p.New, func(n lkeplanv1alpha1.RolloutNode) bool {
			return n.Gone && ended || outdated[n.Name]
		})
	}
}

// maxInterval is the longest time that counts between two checks: if more has passed, no controller was running, or
// the clock has changed.
const maxInterval = time.Minute

// Observe updates a state with the current nodes of its pools and with the time that has passed, and writes both into
// the pools as well. The pools are in the order of the state.
func Observe(s *lkeplanv1alpha1.RolloutStatus, pools []Pool, now time.Time) {
	passed := time.Duration(0)
	if s.Looked != nil {
		passed = min(max(now.Sub(s.Looked.Time), 0), maxInterval).Truncate(time.Second)
	}
	s.Looked = &metav1.Time{Time: now.UTC().Truncate(time.Second)}
	s.Ran.Duration += passed
	for i := range pools {
		kept, p := &s.Pools[i], &pools[i]
		kept.Waited.Duration += passed
		p.Waited = kept.Waited.Duration
		kept.New = p.updateNodes(kept.New, passed)
	}
}

// Pause makes the time until the next check not count.
func Pause(s *lkeplanv1alpha1.RolloutStatus) { s.Looked = nil }

// mostNew is the largest number of new nodes of a pool that a state lists.
const mostNew = 2000

// updateNodes updates the known nodes of a pool with the current ones, and returns the known nodes.
func (p *Pool) updateNodes(known []lkeplanv1alpha1.RolloutNode, passed time.Duration) []lkeplanv1alpha1.RolloutNode {
	before := map[string]lkeplanv1alpha1.RolloutNode{}
	for _, n := range known {
		before[n.Name] = n
	}
	var now []lkeplanv1alpha1.RolloutNode
	for i := range p.New {
		n := &p.New[i]
		was := before[n.Name]
		delete(before, n.Name)
		is := lkeplanv1alpha1.RolloutNode{Name: n.Name, WasReady: was.WasReady}
		if n.State == cluster.NodeReady {
			is.WasReady, is.ReadySince = true, &metav1.Time{Time: n.Since.UTC().Truncate(time.Second)}
			if was.ReadySince != nil && was.ReadySince.Equal(is.ReadySince) {
				is.Ready.Duration = was.Ready.Duration + passed
			}
			n.For = is.Ready.Duration
		}
		now = append(now, is)
	}
	for _, was := range before { // an old node was removed for it only if it was ready
		if was.WasReady {
			now = append(now, lkeplanv1alpha1.RolloutNode{Name: was.Name, WasReady: true, Gone: true})
			p.Lost++
		}
	}
	slices.SortFunc(now, func(a, b lkeplanv1alpha1.RolloutNode) int { return cmp.Compare(a.Name, b.Name) })
	return now[:min(len(now), mostNew)]
}

// RestartExcused restarts the timeout of the pools that a decision excuses.
func RestartExcused(s *lkeplanv1alpha1.RolloutStatus, d Decision) {
	for i := range s.Pools {
		if p := &s.Pools[i]; d.Excused[p.Name] {
			p.Waited.Duration = 0
		}
	}
}

// StageOf returns the Stage of a state, from a revision and what was applied before it.
func StageOf(s *lkeplanv1alpha1.RolloutStatus, head, base []config.Object) Stage {
	return Stage{Head: head, Base: base, Pools: s.Pools, Whole: s.Whole}
}

// PoolNames lists the pools of the first wave, or the first few, for a sentence.
func PoolNames(s *lkeplanv1alpha1.RolloutStatus) string {
	const most = 5
	var names []string
	for _, p := range s.Pools {
		names = append(names, p.Name)
	}
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
