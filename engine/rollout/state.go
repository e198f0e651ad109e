package rollout

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/config"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// Begin is the state of a revision that begins to prove itself on the pools of its first
// wave; whole tells that these are all that it changes. The digest names what the revision
// and what was applied before it come to.
func Begin(first []First, whole bool, digest string, now time.Time) *lkeplanv1alpha1.RolloutStatus {
	s := &lkeplanv1alpha1.RolloutStatus{
		Phase: lkeplanv1alpha1.PhaseProving, Whole: whole, Digest: digest,
		Since: metav1.NewTime(now.UTC().Truncate(time.Second)),
	}
	for _, f := range first {
		s.Pools = append(s.Pools, lkeplanv1alpha1.RolloutPool{Name: f.Name, Before: f.Before, Created: f.Created,
			Clock: s.Since})
	}
	return s
}

// Same reports whether a state is about what would be applied now.
func Same(s *lkeplanv1alpha1.RolloutStatus, revision, digest string, generation int64) bool {
	return s != nil && s.Revision == revision && s.Digest == digest && s.Generation == generation
}

// Tick sets the clocks of a state as a decision says.
func Tick(s *lkeplanv1alpha1.RolloutStatus, d Decision, now time.Time) {
	for i := range s.Pools {
		if p := &s.Pools[i]; d.Excused[p.Name] {
			p.Clock.Time = now.UTC().Truncate(time.Second)
		}
	}
}

// StageOf is the stage of a state, of a revision and what was applied before it.
func StageOf(s *lkeplanv1alpha1.RolloutStatus, head, base []config.Object) Stage {
	stage := Stage{Head: head, Base: base, Whole: s.Whole}
	for _, p := range s.Pools {
		stage.Pools = append(stage.Pools, First{Name: p.Name, Before: p.Before, Created: p.Created})
	}
	return stage
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
