package gitops

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/plan"
	reports "github.com/lkeplan/lkeplan/engine/report"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// TestHistoryKeepsApprovals: also when the revision is reconciled again, with
// nothing to do.
func TestHistoryKeepsApprovals(t *testing.T) {
	np := nodePlan("a", "fleet")
	np.Status.LastAttemptedRevision = "main@sha1:2"
	np.Status.Plan = &lkeplanv1alpha1.PlanSummary{Digest: "sha256:2", Revision: "main@sha1:2"}
	jane := &lkeplanv1alpha1.Approval{By: "jane"}
	began := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for i, o := range []outcome{
		{reason: lkeplanv1alpha1.ReasonGuarded},
		{reason: lkeplanv1alpha1.ReasonSucceeded, approval: jane},
		{reason: lkeplanv1alpha1.ReasonSucceeded},
	} {
		addHistory(np, o, began.Add(time.Duration(i)*time.Hour))
	}
	type entry struct {
		status, by string
		hour       int
	}
	var got []entry
	for _, h := range np.Status.History {
		by := ""
		if h.Approval != nil {
			by = h.Approval.By
		}
		got = append(got, entry{h.Status, by, h.Time.Hour()})
	}
	want := []entry{{lkeplanv1alpha1.ReasonSucceeded, "jane", 14}, {lkeplanv1alpha1.ReasonGuarded, "", 12}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(entry{})); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	for i := range 9 { // manual edits are reverted
		np.Status.Plan.Digest = fmt.Sprint("sha256:", 3+i)
		addHistory(np, outcome{reason: lkeplanv1alpha1.ReasonSucceeded}, began)
	}
	last := np.Status.History[len(np.Status.History)-1]
	if len(np.Status.History) != maxHistory || last.Approval == nil || np.Status.History[0].Digest != "sha256:11" {
		t.Errorf("after reverted edits, the history is %+v", np.Status.History)
	}
}

// TestApplyUsesUpApproval: the same plan needs another one the next time.
func TestApplyUsesUpApproval(t *testing.T) {
	w := newWorld(t)
	np := w.plan("fleet", "a", "fleet")
	np.Spec.Guards = &lkeplanv1alpha1.PlanGuards{MaxDeletedPools: new(int)}
	w.commit(map[string]string{"a": pools("a", "general", "web")})
	w.reconcile(np)
	w.commit(map[string]string{"a": pools("a", "general")})
	if o := w.reconcile(np); o.reason != lkeplanv1alpha1.ReasonGuarded || len(w.deleted) > 0 {
		t.Fatalf("%s: %s; deleted: %v", o.reason, o.message, w.deleted)
	}
	np.Status.Approval = &lkeplanv1alpha1.Approval{
		PlanDigest: np.Status.Plan.Digest, Guards: []string{np.Status.Guards[0].Permission}, By: "jane",
		Expires: metav1.NewTime(time.Now().Add(time.Hour)),
	}
	o := w.reconcile(np)
	if o.reason != lkeplanv1alpha1.ReasonSucceeded || o.approval == nil || np.Status.Approval != nil {
		t.Errorf("%s: %s; approved by %+v, and left is %+v", o.reason, o.message, o.approval, np.Status.Approval)
	}
	if len(w.deleted) != 1 {
		t.Errorf("deleted: %v", w.deleted)
	}
}

// TestRevertEndsApproval: an approval does not outlive the plan that it is for. The same change in a later revision, perhaps
// without the window that the approval waited for, needs another approval. An approval that is given in advance stays.
func TestRevertEndsApproval(t *testing.T) {
	w := newWorld(t)
	np := w.plan("fleet", "a", "fleet")
	np.Spec.Guards = &lkeplanv1alpha1.PlanGuards{MaxDeletedPools: new(int)}
	both, one := map[string]string{"a": pools("a", "general", "web")}, map[string]string{"a": pools("a", "general")}
	w.commit(both)
	w.reconcile(np)
	w.commit(one)
	w.reconcile(np)
	approval := &lkeplanv1alpha1.Approval{
		PlanDigest: np.Status.Plan.Digest, Guards: []string{np.Status.Guards[0].Permission}, By: "jane",
		Expires: metav1.NewTime(time.Now().Add(time.Hour)),
	}
	np.Status.Approval = approval.DeepCopy()
	w.commit(both)
	o := w.reconcile(np)
	if np.Status.Approval != nil || !strings.Contains(o.event, "The approval by jane is removed") {
		t.Errorf("after the revert, the approval is %+v, and the event says: %s", np.Status.Approval, o.event)
	}
	w.commit(map[string]string{"a": pools("a", "general", "web", "batch")})
	np.Status.Approval = approval.DeepCopy()
	np.Status.Approval.PlanDigest = "sha256:1" // of a pull request that is not merged yet
	if w.reconcile(np); np.Status.Approval == nil {
		t.Error("an approval in advance is gone after another revision")
	}
	np.Status.Approval = nil
	w.commit(map[string]string{"a": pools("a", "general", "batch")})
	if o := w.reconcile(np); o.reason != lkeplanv1alpha1.ReasonGuarded || len(w.deleted) > 0 {
		t.Errorf("%s: %s; deleted: %v", o.reason, o.message, w.deleted)
	}
}

// guardedPools commits a directory whose guards let no node be replaced; all its pools have a label.
func (p *proving) guardedPools(guards, label string, names ...string) {
	text := "cluster {\n  name = \"dev\"\n  region = \"us-ord\"\n}\nguards {\n" + guards + "}\nnode_class \"c\" {}\n"
	for _, name := range names {
		text += fmt.Sprintf("pool %q {\n  node_class = node_class.c\n  requirements = { cpu = 4 }\n  labels = { l = %q }\n"+
			"  weight = 5\n}\n", name, label)
	}
	p.commit(map[string]string{"a": text})
}

// approve approves the plan that waits.
func (p *proving) approve() {
	var guards []string
	for _, g := range p.np.Status.Guards {
		guards = append(guards, g.Permission)
	}
	p.np.Status.Approval = &lkeplanv1alpha1.Approval{
		PlanDigest: p.np.Status.Plan.Digest, Guards: guards, MaxNodes: 100, By: "jane",
		Expires: metav1.NewTime(p.now.Add(24 * time.Hour)),
	}
}

// TestApprovalDoesNotSurviveCrash: wherever the controller ends, the objects are changed under the
// approval by one reconciliation, and set back by hand they wait for another approval. With a
// rollout it lets the first wave and the rest pass, each once.
func TestApprovalDoesNotSurviveCrash(t *testing.T) {
	for _, rollout := range []*lkeplanv1alpha1.RolloutSpec{nil, {Canary: []string{"web"}}} {
		for n, ended := 1, true; ended; n++ {
			p := newWaiting(t)
			p.np.Spec.Rollout = rollout
			old := maps.Clone(p.objects)
			p.approve()
			ended = p.ending(p.np, n)
			web, db := p.has("web"), p.has("db")
			if (web != "one" || db != "one") && p.np.Status.Approval != nil {
				t.Errorf("ended before write %d: web is %q, db %q, and the approval is not used up", n, web, db)
			}
			if p.np.Status.Approval == nil && (len(p.np.Status.History) == 0 || p.np.Status.History[0].Approval == nil) {
				t.Errorf("ended before write %d: the history does not have the approval: %+v", n, p.np.Status.History)
			}
			if ended && n == 1 { // nothing was done yet
				continue
			}
			if rollout != nil {
				p.after(10 * time.Second)
				p.replace("web")
				p.after(time.Minute)
				p.after(2 * time.Minute) // the rest is applied
			}
			p.after(time.Minute)
			if rollout != nil && p.has("db") != "two" {
				t.Errorf("ended before write %d: db is %q", n, p.has("db"))
			}
			maps.Copy(p.objects, old)
			if o := p.after(time.Hour); o.reason != lkeplanv1alpha1.ReasonGuarded || p.has("web") != "one" {
				t.Errorf("ended before write %d, set back by hand: %s, web is %q", n, o.reason, p.has("web"))
			}
		}
	}
}

// newWaiting is a world with two pools of three nodes each, and a revision that waits for
// approval, as it replaces them.
func newWaiting(t *testing.T) *proving {
	t.Helper()
	p := &proving{world: newWorld(t), now: time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)}
	p.worker.Now = func() time.Time { return p.now }
	p.np = p.plan("fleet", "a", "fleet")
	p.guardedPools("  max_rolled_nodes = \"0\"\n", "one", "db", "web")
	if o := p.reconcile(p.np); o.reason != lkeplanv1alpha1.ReasonSucceeded {
		t.Fatal(o.message)
	}
	for range 3 {
		p.node("web")
		p.node("db")
	}
	p.guardedPools("  max_rolled_nodes = \"0\"\n", "two", "db", "web")
	if o := p.after(time.Minute); o.reason != lkeplanv1alpha1.ReasonGuarded {
		t.Fatal(o.message)
	}
	return p
}

// TestWaitingPlanListsItsChanges: who approves a plan is shown what changes, and in which fields.
func TestWaitingPlanListsItsChanges(t *testing.T) {
	p := newWaiting(t)
	got := map[string]lkeplanv1alpha1.PlannedChange{}
	for _, c := range p.np.Status.Plan.Changes {
		got[c.Object] = c
	}
	for _, pool := range []string{"pool.db", "pool.web"} {
		c := got[pool]
		if c.Effect != "updated; replaces every node of the pool" || len(c.Fields) != 1 || !strings.HasSuffix(c.Fields[0], ` "one" → "two"`) {
			t.Errorf("%s: %+v", pool, c)
		}
	}
	many := plan.Plan{Changes: []plan.Change{{Addr: "pool.a", Fields: slices.Repeat([]plan.Field{{Path: "spec.x", After: "y"}}, 25)}}}
	if c := reports.Changed(many, mostListed, mostFields); len(c) != 1 || len(c[0].Fields) != mostFields || c[0].FieldsLeftOut != 5 {
		t.Errorf("%+v", c)
	}
}

// TestRecreatedNodePlanNeedsApproval: what it applied before is in the cluster, and
// its guards are gone with it. What costs no node is applied.
func TestRecreatedNodePlanNeedsApproval(t *testing.T) {
	for name, tt := range map[string]struct {
		as     string // the name of the NodePlan that is made
		label  string
		reason string
	}{
		"the same name":   {"a", "two", lkeplanv1alpha1.ReasonGuarded},
		"another name":    {"b", "two", lkeplanv1alpha1.ReasonGuarded},
		"nothing changes": {"b", "one", lkeplanv1alpha1.ReasonSucceeded},
	} {
		t.Run(name, func(t *testing.T) {
			p := newWaiting(t)
			if err := p.worker.end(t.Context(), p.np, p.record(p.np)); err != nil {
				t.Fatal(err)
			}
			clear(p.plans)
			clear(p.records) // their owner is gone
			p.np = p.plan("fleet", tt.as, "fleet")
			p.np.UID, p.np.Spec.Path = "another uid", "a"
			p.guardedPools("", tt.label, "db", "web")
			for range 2 {
				if o := p.after(time.Minute); o.reason != tt.reason || p.has("web") != "one" {
					t.Errorf("%s: %s; the pool has %q", o.reason, o.message, p.has("web"))
				}
			}
			if tt.reason == lkeplanv1alpha1.ReasonGuarded {
				p.approve()
				if p.after(time.Minute); p.has("web") != "two" {
					t.Errorf("after an approval the pool has %q", p.has("web"))
				}
			}
		})
	}
}

// TestGuardsEvaluateLeftoverPools: without pruning a revision removes a pool with its
// guards, and nothing goes. Once the NodePlan prunes, those guards are gone.
func TestGuardsEvaluateLeftoverPools(t *testing.T) {
	p := &proving{world: newWorld(t), now: time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)}
	p.worker.Now = func() time.Time { return p.now }
	p.np = p.plan("fleet", "a", "fleet")
	p.np.Spec.Prune = new(bool)
	p.guardedPools("  protected = [pool.web]\n", "one", "db", "web")
	p.reconcile(p.np)
	p.node("web")
	p.guardedPools("", "one", "db")
	if o := p.after(time.Minute); o.reason != lkeplanv1alpha1.ReasonSucceeded || p.has("web") != "one" {
		t.Fatalf("%s: %s", o.reason, o.message)
	}
	prunes := true
	p.np.Spec.Prune = &prunes
	for range 2 {
		if o := p.after(time.Minute); o.reason != lkeplanv1alpha1.ReasonGuarded || !strings.Contains(o.message, "pool.web") {
			t.Errorf("%s: %s", o.reason, o.message)
		}
	}
	p.approve()
	if o := p.after(time.Minute); o.reason == lkeplanv1alpha1.ReasonGuarded {
		t.Errorf("after an approval %s: %s", o.reason, o.message)
	}
	for range 3 { // it is removed within its budgets, and that needs no other approval
		if o := p.after(time.Minute); o.reason == lkeplanv1alpha1.ReasonGuarded {
			t.Errorf("later %s: %s", o.reason, o.message)
		}
	}
}

// TestNothingIsAppliedBeforeItIsRecorded: without a record in the status, neither the approval nor an
// object changes.
func TestNothingIsAppliedBeforeItIsRecorded(t *testing.T) {
	p := newWaiting(t)
	p.approve()
	refusing := func(context.Context) error { return errors.New("the NodePlan was changed in the meantime") }
	o := p.worker.Work(t.Context(), p.np, refusing)
	if !o.failed || !strings.Contains(o.message, "was changed in the meantime") || p.has("web") != "one" || p.np.Status.Approval == nil {
		t.Errorf("%s: %s; web is %q, the approval %+v", o.reason, o.message, p.has("web"), p.np.Status.Approval)
	}
}

// TestOnlyOneLeaderUsesApproval: the other one has read it before it was used up.
func TestOnlyOneLeaderUsesApproval(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := lkeplanv1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	np := nodePlan("a", "fleet")
	np.UID, np.Status.Approval = "uid", &lkeplanv1alpha1.Approval{By: "jane"}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(np).WithStatusSubresource(np).Build()
	r := &Reconciler{Client: c, Worker: &Worker{Reader: c}}
	was := &lkeplanv1alpha1.NodePlan{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(np), was); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false} {
		now := was.DeepCopy()
		now.Status.Approval = nil
		if err := r.record(t.Context(), was, now); (err == nil) != want {
			t.Errorf("leader %d: %v", i, err)
		}
	}
}

// TestWaitingPlanExplainsHowToApprove: with the digest, and what is wrong with an approval.
func TestWaitingPlanExplainsHowToApprove(t *testing.T) {
	rev := &candidate{revision: revision{sourceArtifact: sourceArtifact{Revision: "main@sha1:2"}, np: nodePlan("a", "fleet")}}
	p := judged{digest: "sha256:2"}
	p.Plan.Verdicts = []plan.Verdict{{Status: plan.Blocked, Detail: "2 pools would be deleted."}}
	for why, want := range map[string]string{
		"": "revision main@sha1:2 waits for approval: 2 pools would be deleted.\nPlan: no changes\n" +
			"To approve it: lkeplan nodeplan approve -n a fleet (plan sha256:2). Or lift the guard in an earlier revision.",
		"The approval by jane ended.": "Plan: no changes\nThe approval by jane ended.\nTo approve it: ",
	} {
		if o := awaitsApproval(rev, p, why); !o.stalled || !strings.Contains(o.message, want) {
			t.Errorf("%q: %+v", why, o)
		}
	}
	rev.base.first = true
	if o := awaitsApproval(rev, p, ""); strings.Contains(o.message, "earlier revision") {
		t.Errorf("a first revision: %+v", o)
	}
}

// TestNodePlanIsReadWithoutCache: by a status that is older than the last one written, who has
// approved would be lost from the history. Here the cache has not seen a suspension.
func TestNodePlanIsReadWithoutCache(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := lkeplanv1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	cached := nodePlan("a", "fleet")
	cached.Finalizers = []string{Finalizer}
	now := cached.DeepCopy()
	now.Spec.Suspend = true
	r := &Reconciler{
		Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(cached).WithStatusSubresource(cached).Build(),
		Worker: &Worker{Reader: nodePlansOf(now), Sources: scripted{findErr: errors.New("it was reconciled")}, Now: time.Now},
	}
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(now)}); err != nil {
		t.Error(err)
	}
	after := &lkeplanv1alpha1.NodePlan{}
	if err := r.Get(t.Context(), client.ObjectKeyFromObject(now), after); err != nil || len(after.Status.Conditions) > 0 {
		t.Errorf("%v; a suspended NodePlan has the conditions %v", err, after.Status.Conditions)
	}
}

// TestPlansWaitForMachines: what is unknown only until new nodes have machines needs no approval, for five minutes. Nothing is
// applied meanwhile.
func TestPlansWaitForMachines(t *testing.T) {
	const guards = "cluster {\n  name = \"dev\"\n  region = \"us-ord\"\n}\nguards {\n  max_rolled_nodes = 0\n  max_deleted_pools = 0\n}\nnode_class \"c\" {}\n"
	const web = "pool \"web\" {\n  node_class = node_class.c\n  requirements = { class = \"dedicated\", cpu = 4 }\n}\n"
	const cheap = "pool \"cheap\" {\n  node_class = node_class.c\n  requirements = { class = \"standard\", cpu = between(1, 4) }\n  weight = 50\n}\n"
	const batch = "pool \"batch\" {\n  node_class = node_class.c\n  requirements = { class = \"dedicated\", cpu = 8 }\n}\n"
	const waits, asks = meta.ProgressingReason, lkeplanv1alpha1.ReasonGuarded
	for name, tt := range map[string]struct {
		base, head string
		change     func(w *world, np *lkeplanv1alpha1.NodePlan) // before the last reconciliation
		want       string
	}{
		"for some seconds":   {web, web + cheap, nil, waits},
		"again, a bit later": {web, web + cheap, func(w *world, np *lkeplanv1alpha1.NodePlan) { w.reconcile(np) }, waits},
		"for five minutes": {web, web + cheap, func(w *world, np *lkeplanv1alpha1.NodePlan) {
			w.reconcile(np)
			w.worker.Now = func() time.Time { return time.Now().Add(longestJoining + time.Second) }
		}, asks},
		"after five minutes": {web, web + cheap, func(w *world, np *lkeplanv1alpha1.NodePlan) {
			w.reconcile(np)
			w.worker.Now = func() time.Time { return time.Now().Add(longestJoining + time.Second) }
			w.reconcile(np)
		}, asks},
		"until the machine exists": {web, web + cheap, func(w *world, np *lkeplanv1alpha1.NodePlan) {
			w.reconcile(np)
			w.claims[0].Status.ProviderID = "linode://1"
		}, lkeplanv1alpha1.ReasonSucceeded},
		"and another guard refuses it": {web + batch, web + cheap, nil, asks},
		"and nodes are replaced":       {web, strings.Replace(web, "cpu = 4 }", "cpu = 4 }\n  labels = { l = \"x\" }", 1) + cheap, nil, asks},
		"unknown for another reason": {web, web + cheap, func(w *world, _ *lkeplanv1alpha1.NodePlan) {
			w.worker.Cache = withoutPods{w.worker.Cache}
		}, asks},
		"only a plan": {web, web + cheap, func(_ *world, np *lkeplanv1alpha1.NodePlan) { np.Spec.Mode = lkeplanv1alpha1.ModePlanOnly }, waits},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			np := w.plan("fleet", "a", "fleet")
			w.commit(map[string]string{"a": guards + tt.base})
			w.reconcile(np)
			pool, err := manifest.As[karpv1.NodePool](w.objects[manifest.Key{Kind: "NodePool", Name: "web"}])
			if err != nil {
				t.Fatal(err)
			}
			w.claims = []karpv1.NodeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "web-1", Labels: map[string]string{karpv1.NodePoolLabelKey: "web"},
				Annotations: map[string]string{karpv1.NodePoolHashAnnotationKey: pool.Hash(), karpv1.NodePoolHashVersionAnnotationKey: karpv1.NodePoolHashVersion}}}}
			w.claims[0].Spec.NodeClassRef = pool.Spec.Template.Spec.NodeClassRef
			w.claims[0].StatusConditions().SetUnknown(karpv1.ConditionTypeLaunched)
			w.commit(map[string]string{"a": guards + tt.head})
			if tt.change != nil {
				tt.change(w, np)
			}
			written, history := w.written, len(np.Status.History)
			o := w.reconcile(np)
			if o.reason != tt.want || o.waitUntil.IsZero() == (tt.want == waits) {
				t.Errorf("%s until %s: %s", o.reason, o.waitUntil, o.message)
			}
			if applied := w.written > written; applied != (tt.want == lkeplanv1alpha1.ReasonSucceeded) {
				t.Errorf("applied: %t", applied)
			}
			if tt.want == waits && (len(np.Status.History) != history || len(np.Status.Guards) > 0) {
				t.Errorf("the history is %+v, and the guards are %+v", np.Status.History, np.Status.Guards)
			}
		})
	}
}

// withoutPods is a cache whose account may not list pods.
type withoutPods struct{ client.Reader }

func (c withoutPods) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, pods := list.(*corev1.PodList); pods {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", nil)
	}
	return c.Reader.List(ctx, list, opts...)
}
