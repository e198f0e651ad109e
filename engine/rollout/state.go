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
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// Begin is the state of a revision that is about to prove itself on the pools of its first
// wave; whole tells that these are all that it changes. The digest names what the revision
// and what was applied before it come to.
func Begin(
	spec lkeplanv1alpha1.RolloutSpec, first []lkeplanv1alpha1.RolloutPool, whole bool, digest string, now time.Time,
) *lkeplanv1alpha1.RolloutStatus {
	at := metav1.NewTime(now.UTC().Truncate(time.Second))
	return &lkeplanv1alpha1.RolloutStatus{
		Phase: lkeplanv1alpha1.PhasePlanned, Whole: whole, Digest: digest, Terms: digestOf(spec), Since: at, Looked: &at,
		Pools: first,
	}
}

// Same reports whether a state is about what would be applied now.
func Same(s *lkeplanv1alpha1.RolloutStatus, revision, digest string) bool {
	return s != nil && s.Revision == revision && s.Digest == digest
}

// SameTerms reports whether a state began with these terms. The rest of the spec of a NodePlan
// is not what a rollout is about.
func SameTerms(s *lkeplanv1alpha1.RolloutStatus, spec lkeplanv1alpha1.RolloutSpec) bool {
	return s.Terms == digestOf(spec)
}

func digestOf(spec lkeplanv1alpha1.RolloutSpec) string {
	text, _ := json.Marshal(spec) // text, numbers and durations
	return fmt.Sprintf("sha256:%x", sha256.Sum256(text))
}

// UnderWay reports whether a revision is not proven, and keeps nodes from being replaced.
func UnderWay(s *lkeplanv1alpha1.RolloutStatus) bool {
	return s != nil && slices.Contains([]string{lkeplanv1alpha1.PhasePlanned, lkeplanv1alpha1.PhaseProving,
		lkeplanv1alpha1.PhaseHeld, lkeplanv1alpha1.PhaseRolledBack}, s.Phase)
}

// Counts are the nodes that are still to be replaced, by pool, with those of a state before it that
// is not proven: a pool that has new nodes only stays in the wave.
func Counts(outdated map[string]int, before *lkeplanv1alpha1.RolloutStatus) map[string]int {
	counts := maps.Clone(outdated)
	if UnderWay(before) {
		for _, p := range before.Pools {
			counts[p.Name] = max(counts[p.Name], min(len(p.New), 1))
		}
	}
	return counts
}

// Carry takes over the new nodes that a state before it knows of pools with the same template:
// with other terms, or a change of something else, a revision has no more turns. Nodes that
// are gone count until the state before has come to its end. outdated are nodes that are not
// what the revision asks for.
func Carry(s, before *lkeplanv1alpha1.RolloutStatus, outdated map[string]bool) {
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

// mostBetween bounds the time that passes between two looks: no controller ran for the rest of
// it, or the clock is another one.
const mostBetween = time.Minute

// Look notes in a state which nodes its pools have now, and how much of their time has passed,
// which it writes into the pools, too. They are in the order of those of the state.
func Look(s *lkeplanv1alpha1.RolloutStatus, pools []Pool, now time.Time) {
	passed := time.Duration(0)
	if s.Looked != nil {
		passed = min(max(now.Sub(s.Looked.Time), 0), mostBetween).Truncate(time.Second)
	}
	s.Looked = &metav1.Time{Time: now.UTC().Truncate(time.Second)}
	s.Ran.Duration += passed
	for i := range pools {
		kept, p := &s.Pools[i], &pools[i]
		kept.Waited.Duration += passed
		p.Waited = kept.Waited.Duration
		kept.New = p.meet(kept.New, passed)
	}
}

// mostNew bounds the new nodes that a state lists of a pool.
const mostNew = 2000

// meet compares the nodes of a pool with those that are known of it, and returns those.
func (p *Pool) meet(known []lkeplanv1alpha1.RolloutNode, passed time.Duration) []lkeplanv1alpha1.RolloutNode {
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
		if n.State == Ready {
			is.WasReady, is.ReadySince = true, &metav1.Time{Time: n.Since.UTC().Truncate(time.Second)}
			if was.ReadySince != nil && was.ReadySince.Equal(is.ReadySince) {
				is.Ready.Duration = was.Ready.Duration + passed
			}
			n.For = is.Ready.Duration
		}
		now = append(now, is)
	}
	for _, was := range before { // an old node went for it only if it was ready
		if was.WasReady {
			now = append(now, lkeplanv1alpha1.RolloutNode{Name: was.Name, WasReady: true, Gone: true})
			p.Lost++
		}
	}
	slices.SortFunc(now, func(a, b lkeplanv1alpha1.RolloutNode) int { return cmp.Compare(a.Name, b.Name) })
	return now[:min(len(now), mostNew)]
}

// Tick sets back the time of pools that a decision excuses.
func Tick(s *lkeplanv1alpha1.RolloutStatus, d Decision) {
	for i := range s.Pools {
		if p := &s.Pools[i]; d.Excused[p.Name] {
			p.Waited.Duration = 0
		}
	}
}

// StageOf is the stage of a state, of a revision and what was applied before it.
func StageOf(s *lkeplanv1alpha1.RolloutStatus, head, base []config.Object) Stage {
	return Stage{Head: head, Base: base, Pools: s.Pools, Whole: s.Whole}
}

// Names are the pools of the first wave, or some of them, for a sentence.
func Names(s *lkeplanv1alpha1.RolloutStatus) string {
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
