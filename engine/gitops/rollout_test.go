package gitops

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/status"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/rollout"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// proving is a world with two pools of three nodes each, whose NodePlan has revisions
// prove themselves on the pool web.
type proving struct {
	*world
	np   *lkeplanv1alpha1.NodePlan
	now  time.Time     // in the cluster
	skew time.Duration // of the controller's clock
}

func newProving(t *testing.T, spec lkeplanv1alpha1.RolloutSpec) *proving {
	p := &proving{world: newWorld(t), now: time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)}
	p.worker.Now = func() time.Time { return p.now.Add(p.skew) }
	p.np = p.plan("fleet", "a", "fleet")
	p.np.Spec.Rollout = &spec
	p.push("")
	if o := p.reconcile(p.np); o.reason != lkeplanv1alpha1.ReasonSucceeded || p.np.Status.Rollout != nil {
		t.Fatalf("the first revision proves nothing: %s: %s", o.reason, o.message)
	}
	for _, pool := range []string{"db", "web"} {
		for range 3 {
			p.node(pool)
		}
	}
	return p
}

// drifted makes a NodeClaim that Karpenter takes for drifted since a time.
func (p *proving) drifted(pool string, since time.Time) {
	claim := karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("%s-%d", pool, since.Unix()), Labels: map[string]string{karpv1.NodePoolLabelKey: pool},
		Annotations: p.claims[0].Annotations,
	}}
	claim.Status.Conditions = []status.Condition{{Type: karpv1.ConditionTypeDrifted, Status: metav1.ConditionTrue,
		LastTransitionTime: metav1.NewTime(since)}}
	p.claims = append(p.claims, claim)
}

// push commits a revision, in which all pools have a label.
func (p *proving) push(label string, more ...string) {
	text := "cluster {\n  name = \"dev\"\n  region = \"us-ord\"\n}\nnode_class \"c\" {}\n"
	for _, name := range append([]string{"db", "web"}, more...) {
		text += fmt.Sprintf("pool %q {\n  node_class = node_class.c\n  requirements = { cpu = 4 }\n  labels = { l = %q }\n  weight = 5\n}\n",
			name, label)
	}
	p.commit(map[string]string{"a": text})
}

// node makes a ready node of a pool as the cluster has it.
func (p *proving) node(pool string) {
	p.serial++
	name, at := fmt.Sprintf("%s-%05d", pool, p.serial), metav1.NewTime(p.now)
	typed := &karpv1.NodePool{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(p.pool(pool), typed); err != nil {
		p.t.Fatal(err)
	}
	labels := maps.Clone(typed.Spec.Template.Labels)
	labels[karpv1.NodePoolLabelKey] = pool
	for _, r := range typed.Spec.Template.Spec.Requirements {
		labels[r.Key] = r.Values[0]
	}
	claim := karpv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, CreationTimestamp: at, Annotations: map[string]string{
			karpv1.NodePoolHashAnnotationKey: typed.Hash(), karpv1.NodePoolHashVersionAnnotationKey: karpv1.NodePoolHashVersion,
		}},
		Spec:   karpv1.NodeClaimSpec{NodeClassRef: typed.Spec.Template.Spec.NodeClassRef},
		Status: karpv1.NodeClaimStatus{NodeName: name, ProviderID: fmt.Sprintf("linode://%d", p.serial)},
	}
	for _, c := range []string{karpv1.ConditionTypeRegistered, karpv1.ConditionTypeInitialized} {
		claim.Status.Conditions = append(claim.Status.Conditions,
			status.Condition{Type: c, Status: metav1.ConditionTrue, LastTransitionTime: at})
	}
	p.claims = append(p.claims, claim)
	p.nodes = append(p.nodes, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{
		Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: at, LastHeartbeatTime: at},
		},
	}})
}

func (p *proving) pool(name string) map[string]any {
	return p.objects[manifest.Key{Kind: "NodePool", Name: name}]
}

// replace has a node of a pool replaced by a ready one.
func (p *proving) replace(pool string) {
	for i, c := range p.claims {
		if c.Labels[karpv1.NodePoolLabelKey] == pool {
			p.claims = append(p.claims[:i:i], p.claims[i+1:]...)
			break
		}
	}
	p.node(pool)
}

// after lets time pass, and has the NodePlan reconciled as another leader would, from what
// the API server has of it: at the end, and as often as it asks for while a revision proves itself.
func (p *proving) after(d time.Duration) (o outcome) {
	p.t.Helper()
	for end := p.now.Add(d); p.now.Before(end); {
		step := end.Sub(p.now)
		if s := p.np.Status.Rollout; s != nil && s.Phase == lkeplanv1alpha1.PhaseProving {
			step = min(step, 10*time.Second)
		}
		p.now = p.now.Add(step)
		o = p.again()
	}
	return o
}

// again has the NodePlan reconciled.
func (p *proving) again() outcome {
	p.t.Helper()
	for i := range p.nodes {
		p.nodes[i].Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(p.now)
	}
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p.np)
	if err != nil {
		p.t.Fatal(err)
	}
	stored := &lkeplanv1alpha1.NodePlan{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, stored); err != nil {
		p.t.Fatal(err)
	}
	stored.DeepCopyInto(p.np)
	o := p.reconcile(p.np)
	o.message = strings.TrimSpace(o.message)
	return o
}

// has says which label a pool has, and how many of its nodes may be replaced for a wave.
func (p *proving) has(pool string) string {
	live := p.pool(pool)
	if live == nil {
		return "none"
	}
	text := manifest.Text(live, "spec", "template", "metadata", "labels", "l")
	if rollout.InFirstWave(live) {
		text += ", " + manifest.Text(live, "metadata", "annotations", rollout.Annotation)
	}
	if _, condemned := plan.ReadRemoval(live); condemned {
		text += ", draining"
	}
	return text
}

// is checks how a reconciliation has ended, and what pools have then.
func (p *proving) is(o outcome, reason, says string, pools ...string) {
	p.t.Helper()
	if o.reason != reason || !strings.Contains(o.message, says) {
		p.t.Fatalf("%s: %s, want %s and %q", o.reason, o.message, reason, says)
	}
	var got []string
	for i := range pools {
		got = append(got, p.has([]string{"web", "db", "new"}[i]))
	}
	if diff := cmp.Diff(pools, got); diff != "" {
		p.t.Fatalf("%s: pools (-want +got):\n%s", o.message, diff)
	}
}

var onWeb = lkeplanv1alpha1.RolloutSpec{
	Canary: []string{"web"}, OnFailure: lkeplanv1alpha1.RolloutRollback, Timeout: &metav1.Duration{Duration: 5 * time.Minute},
}

// TestRolloutSucceeds on a canary, before other pools get it.
func TestRolloutSucceeds(t *testing.T) {
	p := newProving(t, onWeb)
	p.push("two", "new")
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonProving, "on a first wave of nodes in web", "two, 1", "", "none")
	if got := p.np.Status.LastAppliedRevision; got != "main@sha1:0" {
		t.Errorf("last applied: %s", got)
	}
	p.replace("web")
	p.is(p.after(20*time.Second), lkeplanv1alpha1.ReasonProving, "1 ready for less than 2m", "two, 0", "", "none")
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonProving, "1 ready", "two, 0", "", "none")
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonSucceeded, "Applied revision: main@sha1:1", "two", "two", "two")
	if s := p.np.Status; s.Rollout.Phase != lkeplanv1alpha1.PhaseApplied || s.LastAppliedRevision != "main@sha1:1" {
		t.Errorf("%+v", s.Rollout)
	}
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonSucceeded, "Applied revision: main@sha1:1", "two", "two", "two")
}

// TestFailedRolloutIsRolledBack: what was applied before is applied again, and the revision is
// left alone until there is another one.
func TestFailedRolloutIsRolledBack(t *testing.T) {
	p := newProving(t, onWeb)
	p.np.Spec.Rollout.Canary = []string{"web", "new"}
	p.push("two", "new")
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonProving, "", "two, 1", "", "two, new")
	if by := p.rolledBy("web").Name; by != "main@sha1:1" {
		t.Errorf("its nodes are rolled by %q", by)
	}
	p.node("new")
	p.nodes = p.nodes[:len(p.nodes)-1] // it does not join
	p.is(p.after(4*time.Minute), lkeplanv1alpha1.ReasonProving, "", "two, 1", "", "two, new")
	o := p.after(time.Minute)
	p.is(o, lkeplanv1alpha1.ReasonRolledBack, "revision main@sha1:1 is rolled back to main@sha1:0", ", 0", "",
		"two, draining")
	if !o.stalled || !strings.Contains(o.message, "NodePool new did not succeed within 5m") {
		t.Error(o.message)
	}
	p.claims = p.claims[:len(p.claims)-1]
	p.claims[len(p.claims)-1].StatusConditions().SetTrue(karpv1.ConditionTypeDrifted) // Karpenter has not seen it yet
	if o := p.after(5 * time.Second); o.requeueAfter != 5*time.Second {
		t.Errorf("it is looked at again in %s", o.requeueAfter)
	}
	p.is(p.after(time.Hour), lkeplanv1alpha1.ReasonRolledBack, "", ", 0", "", "none")
	_ = p.claims[len(p.claims)-1].StatusConditions().Clear(karpv1.ConditionTypeDrifted)
	p.drifted("other", p.now) // of another NodePlan
	p.drifted("web", p.now.Add(-24*time.Hour))
	p.is(p.after(5*time.Second), lkeplanv1alpha1.ReasonRolledBack, "", "", "", "none")
	if by := p.rolledBy("web").Name; by != "main@sha1:0" {
		t.Errorf("its nodes are rolled by %q, and what was applied before is applied again", by)
	}
	if s := p.np.Status; s.LastAppliedRevision != "main@sha1:0" || s.LastAttemptedRevision != "main@sha1:1" {
		t.Errorf("last applied: %s, last tried: %s", s.LastAppliedRevision, s.LastAttemptedRevision)
	}

	p.push("three")
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonProving, "", "three, 1", "")
	p.push("") // a revert
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonSucceeded, "Applied revision: main@sha1:3", "", "")
}

// TestTwoFailedRevisionsAreRolledBack, each to what was last applied, and a commit that takes
// both back changes nothing.
func TestTwoFailedRevisionsAreRolledBack(t *testing.T) {
	p := newProving(t, onWeb)
	p.push("bad", "new")
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonProving, "", "bad, 1", "", "none")
	p.is(p.after(6*time.Minute), lkeplanv1alpha1.ReasonRolledBack, "rolled back to main@sha1:0", "", "", "none")
	p.push("worse")
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonProving, "", "worse, 1", "")
	p.is(p.after(6*time.Minute), lkeplanv1alpha1.ReasonRolledBack, "rolled back to main@sha1:0", "", "")
	if s := p.np.Status; s.LastAppliedRevision != "main@sha1:0" || s.LastAttemptedRevision != "main@sha1:2" {
		t.Errorf("last applied: %s, last tried: %s", s.LastAppliedRevision, s.LastAttemptedRevision)
	}
	p.push("")
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonSucceeded, "Applied revision: main@sha1:3", "", "", "none")
}

// TestFailedRolloutIsHeld: what is there stays as it is, and a change of spec.rollout or an annotation
// has the revision tried again, but no edit of something else.
func TestFailedRolloutIsHeld(t *testing.T) {
	p := newProving(t, onWeb)
	p.np.Spec.Rollout.OnFailure = lkeplanv1alpha1.RolloutHold
	p.push("two")
	p.after(time.Minute)
	p.is(p.after(5*time.Minute), lkeplanv1alpha1.ReasonHeld, "revision main@sha1:1 is held", "two, 0", "")
	p.replace("web") // too late
	p.is(p.after(time.Hour), lkeplanv1alpha1.ReasonHeld, "did not succeed within 5m", "two, 0", "")
	p.np.Generation++ // of its interval
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonHeld, "did not succeed within 5m", "two, 0", "")
	p.np.Annotations = map[string]string{meta.ReconcileRequestAnnotation: "7", meta.ForceRequestAnnotation: "7"}
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonProving, "1 ready", "two, 0", "") // the node that was too late
	p.claims, p.nodes = p.claims[:len(p.claims)-1], p.nodes[:len(p.nodes)-1]
	p.is(p.after(6*time.Minute), lkeplanv1alpha1.ReasonHeld, "1 ready before but gone now", "two, 0", "")
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonHeld, "", "two, 0", "")
	p.np.Spec.Rollout.Timeout.Duration *= 2
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonProving, "", "two, 1", "")
	p.np.Spec.Rollout = nil
	p.np.Generation++
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonSucceeded, "", "two", "two")
}

// TestRemovedNodesDoNotCountForWave: old nodes of the canary go empty, and no new one is made.
func TestRemovedNodesDoNotCountForWave(t *testing.T) {
	p := newProving(t, onWeb)
	for range 20 {
		p.node("web")
	}
	p.push("two")
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonProving, "", "two, 1", "")
	for range 22 {
		i := slices.IndexFunc(p.claims, func(c karpv1.NodeClaim) bool { return c.Labels[karpv1.NodePoolLabelKey] == "web" })
		p.claims = slices.Delete(p.claims, i, i+1)
		p.is(p.after(10*time.Second), lkeplanv1alpha1.ReasonProving, "0 of 1 new nodes have been ready for 2m; 1 not created yet", "two, 1", "")
	}
	i := slices.IndexFunc(p.claims, func(c karpv1.NodeClaim) bool { return c.Labels[karpv1.NodePoolLabelKey] == "web" })
	p.claims = slices.Delete(p.claims, i, i+1) // the last one
	p.is(p.after(10*time.Second), lkeplanv1alpha1.ReasonProving, "no pod needs a node of this pool", "two, 1", "")
	p.is(p.after(80*time.Second), lkeplanv1alpha1.ReasonRolledBack, "list another pool in spec.rollout.canary")
}

// TestOldNodesDoNotCountForWave, also if they are what the revision asks for.
func TestOldNodesDoNotCountForWave(t *testing.T) {
	p := newProving(t, onWeb)
	was := p.pool("web")
	live := runtime.DeepCopyJSON(was)
	manifest.Ensure(live, "spec", "template", "metadata", "labels")["l"] = "two"
	p.put(live)
	p.node("web")
	p.put(was)
	p.push("two")
	p.after(time.Minute)
	p.is(p.after(4*time.Minute), lkeplanv1alpha1.ReasonProving, "0 of 1 new nodes have been ready for 2m; 1 not created yet", "two, 1", "")
	p.replace("web")
	p.is(p.after(20*time.Second), lkeplanv1alpha1.ReasonProving, "1 ready", "two, 0", "")
}

// TestClockSkewDoesNotAffectRollout: that of the controller is ahead of the cluster's, or behind it.
func TestClockSkewDoesNotAffectRollout(t *testing.T) {
	for _, skew := range []time.Duration{-2 * time.Minute, 3 * time.Hour} {
		p := newProving(t, onWeb)
		p.skew = skew
		p.push("two")
		p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonProving, "1 not created yet", "two, 1", "")
		p.events = []corev1.Event{{
			InvolvedObject: corev1.ObjectReference{Kind: "NodeClaim", Name: "web-xk2p9"}, Reason: "InsufficientCapacity",
			Message: "no capacity", EventTime: metav1.NewMicroTime(p.now),
		}}
		p.is(p.after(5*time.Minute), lkeplanv1alpha1.ReasonProving, "no capacity", "two, 1", "")
		p.replace("web")
		p.is(p.after(110*time.Second), lkeplanv1alpha1.ReasonProving, "1 ready", "two, 0", "")
		p.is(p.after(20*time.Second), lkeplanv1alpha1.ReasonSucceeded, "", "two", "two")

		p = newProving(t, onWeb)
		p.skew = skew
		p.push("two")
		p.after(time.Minute)
		p.skew = -skew // another leader
		p.is(p.after(3*time.Minute), lkeplanv1alpha1.ReasonProving, "1 not created yet", "two, 1", "")
		p.is(p.after(140*time.Second), lkeplanv1alpha1.ReasonRolledBack, "")
	}
}

// TestUnrelatedEditDoesNotAffectRollout of a rollout: neither its room nor its time begins again.
func TestUnrelatedEditDoesNotAffectRollout(t *testing.T) {
	for name, edit := range map[string]func(np *lkeplanv1alpha1.NodePlan){
		"the interval":   func(np *lkeplanv1alpha1.NodePlan) { np.Spec.Interval.Duration++ },
		"plan only":      func(np *lkeplanv1alpha1.NodePlan) { np.Spec.Mode = lkeplanv1alpha1.ModePlanOnly },
		"the terms":      func(np *lkeplanv1alpha1.NodePlan) { np.Spec.Rollout.OnFailure = lkeplanv1alpha1.RolloutHold },
		"other canaries": func(np *lkeplanv1alpha1.NodePlan) { np.Spec.Rollout.Canary = []string{"web", "nosuch"} },
	} {
		t.Run(name, func(t *testing.T) {
			spec := onWeb
			p := newProving(t, spec)
			p.push("two")
			p.after(time.Minute)
			p.replace("web") // by one that is not ready
			p.nodes[len(p.nodes)-1].Status.Conditions[0].Status = corev1.ConditionFalse
			p.is(p.after(10*time.Second), lkeplanv1alpha1.ReasonProving, "not ready", "two, 0", "")
			for range 6 {
				before := p.np.Spec.DeepCopy()
				edit(p.np)
				p.np.Generation++
				p.after(10 * time.Second)
				if has := p.has("web"); has != "two, 0" {
					t.Fatalf("the pool has %q", has)
				}
				p.np.Spec = *before
				p.np.Generation++
				p.is(p.after(10*time.Second), lkeplanv1alpha1.ReasonProving, "not ready", "two, 0", "")
			}
			if !strings.HasPrefix(name, "other") && name != "the terms" {
				p.is(p.after(4*time.Minute), lkeplanv1alpha1.ReasonRolledBack, "")
			}
		})
	}
}

// TestRolloutWithoutARecordIsHeld: what was last applied can no longer be read.
func TestRolloutWithoutARecordIsHeld(t *testing.T) {
	p := newProving(t, onWeb)
	p.push("two")
	p.after(time.Minute)
	last := p.records[client.ObjectKeyFromObject(p.np)]
	last.record.Missing = "The record of the last applied revision cannot be read."
	p.records[client.ObjectKeyFromObject(p.np)] = last
	p.replace("web")
	p.is(p.after(time.Hour), lkeplanv1alpha1.ReasonHeld, "cannot be read", "two, 1", "")
}

// TestOutOfStockDoesNotFailRollout, however long it lasts.
func TestOutOfStockDoesNotFailRollout(t *testing.T) {
	p := newProving(t, onWeb)
	p.push("two")
	p.after(time.Minute)
	for range 5 {
		p.events = []corev1.Event{{
			InvolvedObject: corev1.ObjectReference{Kind: "NodeClaim", Name: "web-xk2p9"}, Reason: "InsufficientCapacity",
			Message: "no capacity for g6-standard-4 in us-ord", EventTime: metav1.NewMicroTime(p.now),
		}}
		p.is(p.after(4*time.Minute), lkeplanv1alpha1.ReasonProving, "no capacity for g6-standard-4 in us-ord", "two, 1", "")
	}
	o := p.after(5 * time.Minute)
	for range 60 {
		if o.reason == lkeplanv1alpha1.ReasonProving {
			o = p.after(10 * time.Second)
		}
	}
	p.is(o, lkeplanv1alpha1.ReasonRolledBack, "", ", 0", "")
}

// TestFirstWaveWithoutCanary: without canaries each pool has its first nodes replaced.
// What the revision removes stays until it is proven.
func TestFirstWaveWithoutCanary(t *testing.T) {
	p := newProving(t, lkeplanv1alpha1.RolloutSpec{Nodes: 2})
	p.push("", "new")
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonProving, "", "", "", ", new")
	p.is(p.after(2*time.Minute), lkeplanv1alpha1.ReasonSucceeded, "", "", "", "") // no pod needs it
	p.push("two")
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonProving, "", "two, 2", "two, 2", "")
	for _, pool := range []string{"web", "web", "db"} {
		p.replace(pool)
	}
	p.is(p.after(3*time.Minute), lkeplanv1alpha1.ReasonProving, "NodePool db", "two, 0", "two, 1", "")
	p.replace("db")
	p.is(p.after(3*time.Minute), lkeplanv1alpha1.ReasonSucceeded, "", "two", "two", "none")
}

// TestGuardsEvaluateWholeRevisionBeforeWave, and an approval is for all of it.
func TestGuardsEvaluateWholeRevisionBeforeWave(t *testing.T) {
	p := newProving(t, onWeb)
	p.np.Spec.Guards = &lkeplanv1alpha1.PlanGuards{MaxRolledNodes: "3"}
	p.push("two")
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonGuarded, "6 nodes", "", "")
	p.np.Status.Approval = &lkeplanv1alpha1.Approval{
		PlanDigest: p.np.Status.Plan.Digest, Guards: []string{p.np.Status.Guards[0].Permission}, MaxNodes: 6,
		Expires: metav1.NewTime(p.now.Add(time.Hour)), By: "jane",
	}
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonProving, "", "two, 1", "")
	if p.np.Status.Approval != nil {
		t.Error("the approval is not used up")
	}
	p.replace("web")
	p.is(p.after(3*time.Minute), lkeplanv1alpha1.ReasonSucceeded, "", "two", "two")
	for range 3 {
		p.replace("web")
		p.replace("db")
	}
	p.push("three")
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonGuarded, "6 nodes", "two", "two")
}

// TestChangedVariableRestartsRollout: what a revision was judged with is what is applied of it.
func TestChangedVariableRestartsRollout(t *testing.T) {
	p := newProving(t, onWeb)
	p.push("two")
	p.after(time.Minute)
	p.is(p.after(5*time.Minute), lkeplanv1alpha1.ReasonRolledBack, "", ", 0", "")
	p.worker.Compiler = changing{p.world}
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonProving, "", "two, 1", "")
}

// changing compiles pools to ones of another weight, as another value of a variable may.
type changing struct{ *world }

func (c changing) Compile(ctx context.Context, req compile.Request) (compile.Answer, error) {
	answer, err := c.world.Compile(ctx, req)
	answer.Objects = slices.Clone(answer.Objects)
	for i, o := range answer.Objects {
		if o.Kind() == "NodePool" {
			answer.Objects[i].Manifest = runtime.DeepCopyJSON(o.Manifest)
			manifest.Ensure(answer.Objects[i].Manifest, "spec")["weight"] = int64(7)
		}
	}
	return answer, err
}

// TestManualEditsDuringRollback: in a pool that the revision does not change it is
// reverted only if that replaces no node, which the NodePlan reports.
func TestManualEditsDuringRollback(t *testing.T) {
	p := newProving(t, onWeb)
	text := p.commits[0]["a/main.lke.hcl"]
	at := strings.LastIndex(text, `l = ""`)
	p.commit(map[string]string{"a": text[:at] + `l = "two"` + text[at+len(`l = ""`):]})
	p.after(time.Minute)
	p.is(p.after(5*time.Minute), lkeplanv1alpha1.ReasonRolledBack, "", ", 0", "")
	set := func(value any, path ...string) {
		db := runtime.DeepCopyJSON(p.pool("db"))
		manifest.Ensure(db, path[:len(path)-1]...)[path[len(path)-1]] = value
		p.store(db)
	}
	set("by-hand", "spec", "template", "metadata", "labels", "l")
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonRolledBack, "The manual edit of NodePool db stays", "", "by-hand")
	set("", "spec", "template", "metadata", "labels", "l")
	set(int64(4), "spec", "weight")
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonRolledBack, "", "", "")
	if weight, _ := manifest.Lookup(p.pool("db"), "spec", "weight"); weight == int64(4) {
		t.Error("a weight that no node goes for is not set back")
	}
}

// TestReleasedPoolsCreateNodesAgain: of a draining pool, and of pools whose nodes wait for
// a revision to prove itself.
func TestReleasedPoolsCreateNodesAgain(t *testing.T) {
	p := newProving(t, onWeb)
	p.push("two")
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonProving, "", "two, 1", "")
	for _, mode := range []string{lkeplanv1alpha1.ModePlanOnly, ""} {
		if err := p.worker.end(t.Context(), p.np, p.record(p.np)); err == nil {
			t.Fatal("the brake on the wave is taken off, and the revision stays")
		}
		p.np.Spec.Mode = mode
		p.np.Generation++
		p.after(time.Minute)
	}
	p.np.Spec.Rollout = nil // it is meant
	if err := p.worker.end(t.Context(), p.np, p.record(p.np)); err != nil {
		t.Fatal(err)
	}
	if budgets, _ := manifest.Lookup(p.pool("web"), "spec", "disruption", "budgets"); len(budgets.([]any)) != 1 || p.has("web") != "two" {
		t.Errorf("after the NodePlan the pool has %v, and is %s", budgets, p.has("web"))
	}

	p = newProving(t, onWeb)
	p.np.Spec.Rollout = nil
	with := p.commits[0]["a/main.lke.hcl"]
	only, _, _ := strings.Cut(with, "pool \"web\"")
	p.commit(map[string]string{"a": only})
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonPruning, "", ", draining")
	p.commit(map[string]string{"a": only + "removed {\n  from = pool.web\n  delete = false\n}\n"})
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonSucceeded, "", "")
	if limits, limited := manifest.Lookup(p.pool("web"), "spec", "limits"); limited {
		t.Errorf("the pool has the limits %v, and had none", limits)
	}
}

// TestReleaseDoesNotEndWave: to remove the budget of a first wave is to replace the nodes that it holds, so a pool is
// neither released nor moved to another NodePlan meanwhile, and without spec.rollout the guards count its nodes.
func TestReleaseDoesNotEndWave(t *testing.T) {
	const web = "pool \"web\" {\n  node_class = node_class.c\n  requirements = { cpu = 4 }\n  labels = { l = \"two\" }\n  weight = 5\n}\n"
	p := newProving(t, onWeb)
	p.np.Spec.Rollout.OnFailure = lkeplanv1alpha1.RolloutHold
	p.np.Spec.Guards = &lkeplanv1alpha1.PlanGuards{MaxRolledNodes: "2"}
	other := p.plan("fleet", "b", "fleet")
	const none = "cluster {\n  name = \"dev\"\n  region = \"us-ord\"\n}\n"
	p.guardedPools("", "", "db", "web")
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonSucceeded, "", "", "")
	p.guardedPools("", "two", "db", "web")
	p.after(time.Minute)
	p.approve()
	p.after(time.Minute)
	p.is(p.after(6*time.Minute), lkeplanv1alpha1.ReasonHeld, "", "two, 0", "")

	p.commit(map[string]string{"a": none + strings.Replace("node_class \"c\" {}\n"+web, "web", "db", 1) + "removed {\n  from = pool.web\n}\n"})
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonHeld, "the source releases pools during the rollout", "two, 0", "")
	p.commit(map[string]string{"a": none + "node_class \"c\" {}\n" + strings.Replace(web, "web", "db", 1),
		"b": none + "node_class \"c\" {}\n" + web})
	if o := p.reconcile(other); o.reason != lkeplanv1alpha1.ReasonConflict || !strings.Contains(o.message, "which tests a revision on it") {
		t.Errorf("the other NodePlan ends with %s: %s", o.reason, o.message)
	}
	p.guardedPools("", "three", "db", "web") // the nodes that the wave has held were replaced for no revision yet
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonGuarded, "6 of 6 nodes would be replaced", "two, 0", "")
	p.np.Spec.Rollout = nil
	p.guardedPools("", "two", "db", "web")
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonGuarded, "6 of 6 nodes would be replaced", "two, 0", "")
}

// TestPoolWithNodesIsNotNew: a pool that drains and is declared again with another template is in the first wave with
// the nodes that it has, and drains again if the revision fails.
func TestPoolWithNodesIsNotNew(t *testing.T) {
	p := newProving(t, onWeb)
	p.guardedPools("", "", "db")
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonPruning, "", ", draining", "")
	p.push("two")
	p.is(p.after(time.Minute), lkeplanv1alpha1.ReasonProving, "", "two, 1", "")
	p.is(p.after(6*time.Minute), lkeplanv1alpha1.ReasonRolledBack, "", "two, draining", "")
}

// TestWaveOfSharedClassIsRefused: a wave does not hold pools that the source does not declare.
func TestWaveOfSharedClassIsRefused(t *testing.T) {
	p := newProving(t, onWeb)
	foreign := runtime.DeepCopyJSON(p.pool("db"))
	foreign["metadata"] = map[string]any{"name": "foreign"}
	p.put(foreign)
	p.node("foreign")
	class, err := manifest.As[linodev1alpha1.LinodeNodeClass](p.objects[manifest.Key{Kind: "LinodeNodeClass", Name: "c"}])
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.claims {
		p.claims[i].Annotations[linodev1alpha1.AnnotationHash] = class.Hash()
		p.claims[i].Annotations[linodev1alpha1.AnnotationHashVersion] = linodev1alpha1.HashVersion
	}
	p.push("")
	text := p.commits[len(p.commits)-1]["a/main.lke.hcl"]
	p.commit(map[string]string{"a": strings.Replace(text, `"c" {}`, "\"c\" {\n  disk_encryption = \"enabled\"\n}", 1)})
	o := p.after(time.Minute)
	p.is(o, lkeplanv1alpha1.ReasonHeld, "it changes node_class.c, which NodePool foreign uses as well", "", "")
	live, err := manifest.As[linodev1alpha1.LinodeNodeClass](p.objects[manifest.Key{Kind: "LinodeNodeClass", Name: "c"}])
	if err != nil || live.Hash() != class.Hash() {
		t.Errorf("the class has changed (%v)", err)
	}
}
