// Package rings decides when a revision reaches a cluster: after each cluster of the previous
// ring has proven it. It reads nothing: the states of the other clusters are its arguments.
//
// A revision is identified by its commit, which contains all of its files, so that a proof of the
// same commit in another repository is about the same files. An artifact without a verified signature
// can name any commit, and is identified by its digest. Times of two clusters are never
// compared: how long a revision has been ready is measured in its own cluster.
package rings

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/schedule"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// Peer is a cluster of the previous ring.
type Peer struct {
	// NodePlan is the NodePlan of the same name in that cluster; nil if it is unknown.
	NodePlan *lkeplanv1alpha1.NodePlan
	Unknown  string // why it is unknown
}

// State is how far a cluster is with a commit.
type State string

// The states. Only a Proven cluster lets the next ring continue.
const (
	Proven   State = "Proven"
	Soaking  State = "Soaking"  // ready, but not for long enough
	Working  State = "Working"  // it applies the commit, or waits before that
	Behind   State = "Behind"   // it has not seen the commit yet
	NotReady State = "NotReady" // its present state has an error
	Failed   State = "Failed"   // its rollout of the commit was held or rolled back
	Stopped  State = "Stopped"  // its NodePlan is suspended, is being deleted, or only plans
	Mismatch State = "Mismatch" // it is another cluster, or declares other rings
	Unknown  State = "Unknown"  // it cannot be read
)

// Alarming reports whether a state needs a person: time alone does not end it.
func (s State) Alarming() bool {
	return slices.Contains([]State{NotReady, Failed, Stopped, Mismatch, Unknown}, s)
}

// Standing is the state of one cluster.
type Standing struct {
	Cluster string
	State   State
	Message string // explains a state other than Proven, without the name of the cluster
}

// Revision is the revision that a cluster is about to apply.
type Revision struct {
	Commit   string // as CommitOf returns it
	Artifact string // the same without the origin: the digest of an artifact that was built from the commit
	Rings    string // the digest of the rings that it declares; "" for none
}

// Decision is whether a revision may be applied.
type Decision struct {
	Ring    string     // the ring that it waits for
	Waiting []Standing // the clusters of that ring that have not proven the revision, alarming ones first
}

// Waits reports whether the revision must wait.
func (d Decision) Waits() bool { return len(d.Waiting) > 0 }

// Before returns the ring that precedes the ring of a cluster. It returns false for a cluster of
// the first ring, and if there are no rings. A cluster that is in no ring waits for all others.
func Before(rings []config.Ring, cluster string) (config.Ring, bool) {
	if len(rings) == 0 {
		return config.Ring{}, false
	}
	at := slices.IndexFunc(rings, func(r config.Ring) bool { return slices.Contains(r.Clusters, cluster) })
	switch at {
	case -1:
		return rings[len(rings)-1], true
	case 0:
		return config.Ring{}, false
	}
	return rings[at-1], true
}

// Of returns the ring of a cluster.
func Of(rings []config.Ring, cluster string) (config.Ring, bool) {
	at := slices.IndexFunc(rings, func(r config.Ring) bool { return slices.Contains(r.Clusters, cluster) })
	if at < 0 {
		return config.Ring{}, false
	}
	return rings[at], true
}

// Decide decides whether the previous ring lets a revision continue. A cluster that is not among the
// peers is unknown.
func Decide(before config.Ring, rev Revision, peers map[string]Peer) Decision {
	d := Decision{Ring: before.Name}
	for _, cluster := range before.Clusters {
		if s := Stand(cluster, before.Soak, rev, peers[cluster]); s.State != Proven {
			d.Waiting = append(d.Waiting, s)
		}
	}
	slices.SortStableFunc(d.Waiting, func(a, b Standing) int { // as many as fit are shown
		rank := func(s Standing) int { return map[bool]int{true: 0, false: 1}[s.State.Alarming()] }
		return cmp.Compare(rank(a), rank(b))
	})
	return d
}

// Stand returns the state of one cluster with a revision. A later revision of that cluster does not
// matter if the cluster has proven this one before, and has not gone back since.
func Stand(cluster string, soak time.Duration, rev Revision, peer Peer) Standing {
	s := Standing{Cluster: cluster}
	in := func(state State, format string, args ...any) Standing {
		s.State, s.Message = state, diag.Shorten(diag.OneLine(fmt.Sprintf(format, args...)), maxMessage)
		return s
	}
	np := peer.NodePlan
	switch {
	case np == nil:
		return in(Unknown, "%s", cmp.Or(peer.Unknown, "there is no kubeconfig for the cluster"))
	case np.DeletionTimestamp != nil:
		return in(Stopped, "its NodePlan is being deleted")
	case np.Spec.Suspend:
		return in(Stopped, "its NodePlan is suspended")
	case np.Spec.Mode == lkeplanv1alpha1.ModePlanOnly:
		return in(Stopped, "its NodePlan has the mode PlanOnly, and applies nothing")
	case np.Status.Ring == nil:
		return in(Unknown, "its NodePlan reports no proven revision; lkeplan may be an older release there")
	case np.Status.Ring.Cluster != cluster:
		return in(Mismatch, "its kubeconfig leads to the cluster %q", np.Status.Ring.Cluster)
	case np.Status.ObservedGeneration != np.Generation:
		return in(Working, "its NodePlan has a new spec, which the controller has not read yet")
	}
	if r := np.Status.Rollout; r != nil && rev.is(r.Revision) &&
		(r.Phase == lkeplanv1alpha1.PhaseHeld || r.Phase == lkeplanv1alpha1.PhaseRolledBack) {
		return in(Failed, "its rollout of the revision is %s: %s", r.Phase,
			cmp.Or(firstLine(r.Message), "the first wave failed"))
	}
	ready := apimeta.FindStatusCondition(np.Status.Conditions, meta.ReadyCondition)
	current := CommitOf(np.Status.LastAppliedRevision, np.Status.LastAppliedOriginRevision)
	proof := rev.proof(np.Status.Ring.Proven)
	applied := current == rev.Commit || rev.is(np.Status.LastAppliedRevision)
	switch {
	case ready == nil:
		return in(Behind, "the controller has not reconciled its NodePlan yet")
	case ready.Status == metav1.ConditionFalse:
		return in(NotReady, "%s: %s", ready.Reason, firstLine(ready.Message))
	case proof == nil && (applied || rev.is(np.Status.LastAttemptedRevision)):
		return in(Working, "%s", working(np, ready, applied))
	case proof == nil:
		return in(Behind, "the cluster has applied %s, and not this revision", Short(current))
	case applied && ready.Status != metav1.ConditionTrue &&
		np.Status.LastAttemptedRevision == np.Status.LastAppliedRevision:
		return in(Working, "%s", working(np, ready, true))
	case rev.Rings != "" && proof.Rings != rev.Rings:
		return in(Mismatch, "the directory of the cluster declares other rings in this revision; use the same module with the "+
			"rings block in each directory")
	case proof.Ready.Duration < soak:
		return in(Soaking, "ready for %s of %s", schedule.WriteDuration(proof.Ready.Truncate(time.Second)),
			schedule.WriteDuration(soak))
	}
	s.State = Proven
	return s
}

// is reports whether a revision in a status is this one.
func (r Revision) is(revision string) bool {
	commit := CommitOf(revision, "")
	return commit != "" && (commit == r.Commit || commit == r.Artifact)
}

// proof returns the proof of a revision: of its commit, or of its artifact; nil if there is none.
func (r Revision) proof(proven []lkeplanv1alpha1.ProvenRevision) *lkeplanv1alpha1.ProvenRevision {
	return cmp.Or(find(proven, r.Commit), find(proven, r.Artifact))
}

// working explains what a cluster does before it has proven a revision.
func working(np *lkeplanv1alpha1.NodePlan, ready *metav1.Condition, applied bool) string {
	switch outdated, ring := np.Status.Outdated, np.Status.Ring; {
	case ready.Reason == lkeplanv1alpha1.ReasonWaitingForRing && ring.Waiting != nil:
		return "the cluster waits for ring " + ring.Waiting.Ring
	case ready.Status != metav1.ConditionTrue:
		return ready.Reason + ": " + firstLine(ready.Message)
	case applied && outdated != nil && *outdated > 0:
		return fmt.Sprintf("%s still to be replaced", diag.Counted(*outdated, "node"))
	}
	return "the cluster has applied the revision, and it is not known yet whether its nodes are ready"
}

// maxMessage is the maximum length of a message about one cluster, in bytes.
const maxMessage = 300

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// CommitOf identifies the commit of a revision: the commit that its artifact was built from, if that
// is known, or else the part of the revision after the last colon, such as 1f2c… of
// main@sha1:1f2c…. It is "" for no revision.
func CommitOf(revision, origin string) string {
	text := cmp.Or(origin, revision)
	text = text[strings.LastIndexByte(text, '@')+1:]
	return text[strings.LastIndexByte(text, ':')+1:]
}

// Short is the start of a commit, for messages.
func Short(commit string) string {
	return cmp.Or(diag.OneLine(commit)[:min(len(diag.OneLine(commit)), 8)], "nothing")
}

// Digest identifies the rings of a configuration; "" for none. The places of the blocks do not
// matter.
func Digest(rings []config.Ring) string {
	if len(rings) == 0 {
		return ""
	}
	sum := sha256.New()
	for _, r := range rings {
		fmt.Fprintf(sum, "%q %q %d\n", r.Name, r.Clusters, r.Soak)
	}
	return fmt.Sprintf("sha256:%x", sum.Sum(nil))
}

// Turn is when a ring gets a change at the earliest.
type Turn struct {
	Ring     string
	Clusters []string
	After    time.Duration // after the merge: the soak times of all previous rings
}

// Turns returns the turn of each ring.
func Turns(order []config.Ring) (turns []Turn) {
	var after time.Duration
	for _, r := range order {
		turns = append(turns, Turn{r.Name, r.Clusters, after})
		after += r.Soak
	}
	return turns
}
