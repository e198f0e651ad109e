package gitops

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/rings"
	"github.com/lkeplan/lkeplan/engine/rollout"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// Peers reads the NodePlans of other clusters; peerReader implements it.
type Peers interface {
	// Read returns the NodePlan with the name of np in each of the clusters. If one cannot be
	// read, the peer explains why.
	Read(ctx context.Context, np *lkeplanv1alpha1.NodePlan, clusters []string) map[string]rings.Peer
}

// mostRingClusters is the maximum number of clusters that the status and a message list.
const mostRingClusters = 20

// judgeRings decides whether the previous ring lets a new commit continue, by the last applied rings.
// If not, it adds a verdict that blocks the plan. The same commit with other variables does not
// wait, and neither does a rollout that has started.
func (w *Worker) judgeRings(ctx context.Context, rev *revision, p *judged) {
	np := rev.np
	if rev.planOnly() {
		return
	}
	commit := rev.identity()
	status := &lkeplanv1alpha1.RingStatus{Cluster: w.Cluster}
	if np.Status.Ring != nil {
		status = np.Status.Ring.DeepCopy()
		status.Cluster = w.Cluster
	}
	waited := status.Waiting
	status.Waiting, np.Status.Ring = nil, status
	last := np.Status.LastAppliedRevision
	passed := last != "" && rings.CommitOf(rev.Revision, "") == rings.CommitOf(last, "")
	if passed || np.Spec.Rollout != nil && rev.proven() {
		return
	}
	if rev.base.lastAppliedError != "" && status.Name != "" {
		p.Plan.Verdicts = append(p.Plan.Verdicts, plan.Verdict{
			Guard: plan.RingOrder, Addr: status.Name, Status: plan.Blocked,
			Detail: "The last applied rings are unknown, and the rings of this revision cannot replace them.",
		})
		return
	}
	before, waits := rings.Before(rev.base.Rings, w.Cluster)
	if !waits {
		return
	}
	d := rings.Decide(before, rings.Revision{Commit: commit, Artifact: rings.CommitOf(rev.Revision, ""),
		Rings: rings.Digest(rev.head.Rings)}, w.Peers.Read(ctx, np, before.Clusters))
	if !d.Waits() {
		return
	}
	status.Waiting = ringWait(rev.Revision, d, waited, w.Now())
	p.Plan.Verdicts = append(p.Plan.Verdicts, plan.Verdict{
		Guard: plan.RingOrder, Addr: d.Ring, Status: plan.Blocked, Source: before.Range, Detail: ringDetail(d),
	})
}

// ringWait is the part of the status about a revision that waits. waited is the previous one.
func ringWait(
	revision string, d rings.Decision, waited *lkeplanv1alpha1.RingWait, now time.Time,
) *lkeplanv1alpha1.RingWait {
	next := &lkeplanv1alpha1.RingWait{
		Revision: revision, Ring: d.Ring, Since: metav1.NewTime(now.UTC().Truncate(time.Second)),
	}
	if waited != nil { // also for an earlier revision, which this one has replaced
		next.Since = waited.Since
	}
	for _, s := range d.Waiting[:min(len(d.Waiting), mostRingClusters)] {
		next.Clusters = append(next.Clusters, lkeplanv1alpha1.RingCluster{
			Name: s.Cluster, State: string(s.State), Message: s.Message,
		})
	}
	return next
}

// ringDetail is the verdict on a revision that waits, in one sentence.
func ringDetail(d rings.Decision) string {
	var parts []string
	for i, s := range d.Waiting {
		if i == mostRingClusters {
			parts = append(parts, fmt.Sprintf("%d more", len(d.Waiting)-i))
			break
		}
		parts = append(parts, "cluster "+s.Cluster+": "+s.Message)
	}
	return fmt.Sprintf("It waits for ring %s; %s.", d.Ring, strings.Join(parts, "; "))
}

// delayForRing makes a plan that the previous ring blocks wait for it instead, if no approval has
// lifted that. It returns the verdict; false if no ring blocks the plan.
func delayForRing(p *plan.Plan) (plan.Verdict, bool) {
	for i := range p.Verdicts {
		if v := &p.Verdicts[i]; v.Guard == plan.RingOrder && v.Status == plan.Blocked {
			v.Status = plan.Waiting
			return *v, true
		}
	}
	return plan.Verdict{}, false
}

// waitingForRing is the outcome of a plan that waits for the previous ring. before is the status
// without it: an event reports the first wait of a revision, and a cluster that starts or stops to
// need a person.
func waitingForRing(rev *revision, p plan.Plan, v plan.Verdict, before *lkeplanv1alpha1.NodePlanStatus) outcome {
	np := rev.np
	o := done(lkeplanv1alpha1.ReasonWaitingForRing, "revision %s is not applied yet. %s\nPlan: %s\n"+
		"To apply it now: lkeplan nodeplan approve -n %s %s --guard %s", rev.Revision, v.Detail, sentence(p),
		np.Namespace, np.Name, v.Permission)
	o.inProgress, o.requeueAfter = true, retryInterval
	was := &lkeplanv1alpha1.RingWait{}
	if before.Ring != nil && before.Ring.Waiting != nil {
		was = before.Ring.Waiting
	}
	now := np.Status.Ring.Waiting
	return o.changed(now != nil && (was.Revision != now.Revision || alarms(was) != alarms(now)))
}

// alarms are the clusters in a state that time alone does not end, as a text to compare.
func alarms(w *lkeplanv1alpha1.RingWait) (text string) {
	for _, c := range w.Clusters {
		if rings.State(c.State).Alarming() {
			text += c.Name + " " + c.State + "\n"
		}
	}
	return text
}

// identity is what the proofs of a revision are about: its commit. An artifact without a verified signature can name any
// commit, so that it is identified by its digest.
func (rev *revision) identity() string {
	if rev.Verified {
		return rings.CommitOf(rev.Revision, rev.Origin)
	}
	return rings.CommitOf(rev.Revision, "")
}

// observe notes that a revision is applied, for recordProof.
func (w *Worker) observe(rev *revision) {
	digest, err := rollout.Digest(rev.head.Objects)
	if err != nil { // it never is the digest of another revision
		digest = ""
	}
	own, _ := rings.Of(rev.head.Rings, w.Cluster)
	rev.observed = &observed{name: own.Name, soak: own.Soak, Observed: rings.Observed{
		Revision: rev.Revision, Commit: rev.identity(), Objects: digest,
		Rings: rings.Digest(rev.head.Rings),
	}}
}

// observed is an applied revision, with the ring that it puts the cluster in.
type observed struct {
	rings.Observed
	name string
	soak time.Duration
}

// recordProof records in the status whether the applied revision is ready, for the clusters of the
// next ring. The conditions already contain the outcome. It returns when to check again while
// another cluster may wait for that; 0 for the usual interval.
func (w *Worker) recordProof(np *lkeplanv1alpha1.NodePlan, o outcome) time.Duration {
	if o.observed == nil || np.Spec.Mode == lkeplanv1alpha1.ModePlanOnly {
		return 0
	}
	seen := *o.observed
	outdated, _ := totalOf(np.Status.Pools) // nil without pools
	seen.Ready = conditions.IsTrue(np, meta.ReadyCondition) && (outdated == nil || *outdated == 0)
	seen.Unhealthy = o.reason == lkeplanv1alpha1.ReasonHealthCheckFailed
	if np.Status.Ring == nil {
		np.Status.Ring = &lkeplanv1alpha1.RingStatus{}
	}
	s := np.Status.Ring
	s.Cluster, s.Name, s.Waiting = w.Cluster, seen.name, nil
	s.Proven = rings.Record(s.Proven, seen.Observed, w.Now())
	switch {
	case seen.name == "":
		return 0
	case !seen.Ready: // nodes are being replaced
		return retryInterval
	case s.Proven[0].Ready.Duration < seen.soak:
		return min(rings.LookAgain, seen.soak-s.Proven[0].Ready.Duration)
	}
	return 0
}
