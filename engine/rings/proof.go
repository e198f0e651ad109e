package rings

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

const (
	// maxProven is the maximum number of proven revisions in a status.
	maxProven = 20
	// LookAgain is how often a revision is checked until it has been ready for the soak time.
	LookAgain = time.Minute
	// mostBetween limits the time between two checks that counts: no controller ran for the rest
	// of it, or the clock was changed.
	mostBetween = 2 * LookAgain
)

// Observed is what a reconciliation found out about the last applied revision.
type Observed struct {
	Revision, Commit string
	Objects, Rings   string // digests of what it declares
	// Ready is whether the revision is applied, no node is still to be replaced, and all that the
	// NodePlan waits for is ready.
	Ready bool
	// Unhealthy is whether objects are known not to be ready. The time starts again.
	Unhealthy bool
}

// Record returns the proven revisions after a check. If the revision declares the same objects as the
// last proven one, that one's time counts for both: a commit that changes nothing in the cluster
// does not start the soak time again. If the cluster went back to an earlier revision, the
// later ones no longer count.
func Record(proven []lkeplanv1alpha1.ProvenRevision, o Observed, now time.Time) []lkeplanv1alpha1.ProvenRevision {
	if proven = slices.Clone(proven); o.Commit == "" {
		return proven
	}
	at := slices.IndexFunc(proven, func(p lkeplanv1alpha1.ProvenRevision) bool { return p.Commit == o.Commit })
	if at > 0 { // the cluster went back
		proven, at = proven[at:], 0
		proven[0].Looked = nil
	}
	again := at == 0 && proven[0].Objects != o.Objects // other variables can change the objects
	if again {
		proven, at = proven[1:], -1
	}
	if o.Unhealthy {
		return slices.DeleteFunc(proven, func(p lkeplanv1alpha1.ProvenRevision) bool { return p.Objects == o.Objects })
	}
	if !o.Ready {
		if at == 0 {
			proven[0].Looked = nil
		}
		return proven
	}
	looked := &metav1.Time{Time: now.UTC().Truncate(time.Second)}
	if at < 0 {
		next := lkeplanv1alpha1.ProvenRevision{
			Revision: o.Revision, Commit: o.Commit, Objects: o.Objects, Since: *looked,
		}
		if !again && len(proven) > 0 && o.Objects != "" && proven[0].Objects == o.Objects {
			next.Since, next.Ready, next.Looked = proven[0].Since, proven[0].Ready, proven[0].Looked
		}
		proven = append([]lkeplanv1alpha1.ProvenRevision{next}, proven[:min(len(proven), maxProven-1)]...)
	}
	first := &proven[0]
	first.Rings = o.Rings
	if first.Looked != nil {
		first.Ready.Duration += min(max(now.Sub(first.Looked.Time), 0), mostBetween).Truncate(time.Second)
	}
	first.Looked = looked
	return proven
}

// find returns the proof of a commit; nil if there is none.
func find(proven []lkeplanv1alpha1.ProvenRevision, commit string) *lkeplanv1alpha1.ProvenRevision {
	for i := range proven {
		if commit != "" && proven[i].Commit == commit {
			return &proven[i]
		}
	}
	return nil
}
