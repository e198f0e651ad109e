package gitops

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/lkeplan/lkeplan/engine/gitops/origin"
	"github.com/lkeplan/lkeplan/engine/plan"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// TestTheHistoryKeepsWhatWasApproved: also when the revision is reconciled again, with
// nothing to do.
func TestTheHistoryKeepsWhatWasApproved(t *testing.T) {
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
		remember(np, o, began.Add(time.Duration(i)*time.Hour))
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
}

// TestAnApprovalIsUsedUpByAnApply: the same plan needs another one the next time.
func TestAnApprovalIsUsedUpByAnApply(t *testing.T) {
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

// TestWhatWaitsSaysHowToLetItPass: with the digest, and what is wrong with an approval.
func TestWhatWaitsSaysHowToLetItPass(t *testing.T) {
	rev := &revision{Artifact: origin.Artifact{Revision: "main@sha1:2"}, np: nodePlan("a", "fleet")}
	p := judged{digest: "sha256:2"}
	p.Plan.Verdicts = []plan.Verdict{{Status: plan.Blocked, Detail: "2 pools would be deleted."}}
	for why, want := range map[string]string{
		"": "revision main@sha1:2 waits for approval: 2 pools would be deleted.\nIt would: no changes\n" +
			"To let it pass: lkeplan nodeplan approve -n a fleet (plan sha256:2). Or lift the guard in an earlier revision.",
		"The approval by jane ended.": "It would: no changes\nThe approval by jane ended.\nTo let it pass: ",
	} {
		if o := awaitsApproval(rev, p, why); !o.stalled || !strings.Contains(o.message, want) {
			t.Errorf("%q: %+v", why, o)
		}
	}
}

// TestANodePlanIsReadAsItIs: by a status that is older than the last one written, who has
// approved would be lost from the history. Here the cache has not seen a suspension.
func TestANodePlanIsReadAsItIs(t *testing.T) {
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
