package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

const (
	digest  = "sha256:1111111111111111111111111111111111111111111111111111111111111111"
	another = "sha256:2222222222222222222222222222222222222222222222222222222222222222"
)

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// given is an approval by Jane, until one o'clock.
func given(digest string, nodes int, guards ...string) *lkeplanv1alpha1.Approval {
	return &lkeplanv1alpha1.Approval{
		PlanDigest: digest, Guards: guards, MaxNodes: nodes, By: "jane", Expires: metav1.NewTime(now.Add(time.Hour)),
	}
}

func until(a *lkeplanv1alpha1.Approval, end time.Time) *lkeplanv1alpha1.Approval {
	a.Expires = metav1.NewTime(end)
	return a
}

// TestWhatAnApprovalLetsPass: a plan that deletes pool.b with four nodes, drains pool.c of one,
// replaces two of pool.a, and is refused by two guards.
func TestWhatAnApprovalLetsPass(t *testing.T) {
	const pools, batch = "max_deleted_pools:pool.b,pool.c", "protected:pool.b"
	for name, tt := range map[string]struct {
		approval *lkeplanv1alpha1.Approval
		refused  []string // the guards that still refuse it
		why      string
	}{
		"none":           {nil, []string{pools, batch}, ""},
		"all of it":      {given(digest, 7, pools, batch), nil, ""},
		"more than that": {given(digest, 100, pools, batch, "freeze:weekend"), nil, ""},
		"another plan": {given(another, 7, pools, batch), []string{pools, batch},
			"The approval by jane is for another plan, " + another + "."},
		"fewer nodes": {given(digest, 6, pools, batch), []string{pools, batch},
			"The approval by jane covers at most 6 nodes, and the plan deletes, drains, replaces or may remove 7. If nodes are being replaced, " +
				"the number can grow: approve the plan with a larger --max-nodes."},
		"no nodes": {given(digest, 0, pools, batch), []string{pools, batch}, "covers at most 0 nodes"},
		"one that has ended": {until(given(digest, 7, pools, batch), now.Add(-time.Second)), []string{pools, batch},
			"The approval by jane expired at 2026-11-20T11:59:59Z."},
		"one that ends now": {until(given(digest, 7, pools, batch), now), []string{pools, batch}, "expired at"},
		"no end":            {until(given(digest, 7, pools, batch), time.Time{}), []string{pools, batch}, "expired at"},
		"one guard of two": {given(digest, 7, pools), []string{batch},
			"The approval by jane does not lift protected:pool.b."},
		"a guard for another pool": {given(digest, 7, pools, "protected:pool.c"), []string{batch}, "does not lift"},
		"no guard":                 {given(digest, 7), []string{pools, batch}, "does not lift"},
		"a guard with all addresses": {given(digest, 7, "max_deleted_pools:*", "protected:*"), []string{pools, batch},
			"does not lift"},
	} {
		p := Plan{
			Changes: []Change{
				{Addr: "pool.a", Kind: "NodePool", Action: Update, Effect: Roll, Impact: &Impact{Known: true, Rolled: 2}},
				{Addr: "pool.b", Kind: "NodePool", Action: Delete, Effect: DeleteNodes, Impact: &Impact{Known: true, Deleted: 4}},
				{Addr: "pool.c", Kind: "NodePool", Action: Update, Effect: Roll, Prune: StartRemoval,
					Impact: &Impact{Known: true, Rolled: 1}},
			},
			Verdicts: []Verdict{
				{Guard: "max_deleted_pools", Status: Blocked},
				{Guard: "max_rolled_nodes", Status: Passed},
				{Guard: "protected", Addr: "pool.b", Status: Blocked},
			},
		}
		why := LiftByApproval(tt.approval, &p, digest, now)
		var refused []string
		for _, v := range p.Verdicts {
			if v.Status == Blocked {
				refused = append(refused, v.Permission)
			}
		}
		if diff := cmp.Diff(tt.refused, refused); diff != "" {
			t.Errorf("%s: what still refuses the plan (-want +got):\n%s", name, diff)
		}
		if !strings.Contains(why, tt.why) || (tt.why == "") != (why == "") {
			t.Errorf("%s: %q, want %q", name, why, tt.why)
		}
	}
}

func TestAnApprovalIsNotMentionedWhereNothingRefusesThePlan(t *testing.T) {
	p := Plan{Verdicts: []Verdict{{Guard: "protected", Status: Passed}}}
	if why := LiftByApproval(given(another, 0), &p, digest, now); why != "" {
		t.Error(why)
	}
}

func TestAnApprovalIsUsedUpByItsPlan(t *testing.T) {
	for name, tt := range map[string]struct {
		approval *lkeplanv1alpha1.Approval
		spent    bool
	}{
		"none": {nil, false}, "of this plan": {given(digest, 1), true}, "of another plan": {given(another, 1), false},
		"of this plan, and not needed any more": {until(given(digest, 0), now.Add(-time.Hour)), true},
	} {
		np := &lkeplanv1alpha1.NodePlan{}
		np.Status.Approval = tt.approval
		spent := SpendApproval(np, digest)
		left := np.Status.Approval
		if (spent != nil) != tt.spent || tt.spent && left != nil || !tt.spent && left != tt.approval {
			t.Errorf("%s: spent %v, left %v", name, spent, left)
		}
		if again := SpendApproval(np, digest); again != nil {
			t.Errorf("%s: it was spent twice", name)
		}
	}
}

// TestWhatThereIsToApprove: what waits, and what is an error.
func TestWhatThereIsToApprove(t *testing.T) {
	blocked := func(permission string) lkeplanv1alpha1.GuardStatus {
		return lkeplanv1alpha1.GuardStatus{Status: "blocked", Permission: permission}
	}
	summary := &lkeplanv1alpha1.PlanSummary{Digest: digest, Revision: "main@sha1:2", NodesDeleted: 4, NodesDrained: 1, NodesRolled: 2}
	for name, tt := range map[string]struct {
		status lkeplanv1alpha1.NodePlanStatus
		want   lkeplanv1alpha1.Approval
		err    string
	}{
		"what waits": {
			lkeplanv1alpha1.NodePlanStatus{
				Plan: summary, LastAttemptedRevision: "main@sha1:2",
				Guards: []lkeplanv1alpha1.GuardStatus{
					blocked("protected:pool.b"), {Status: "unknown"}, blocked("max_deleted_pools:pool.b,pool.c"), blocked("protected:pool.b"),
					{Status: "allowed", Permission: "freeze:weekend"},
				},
			},
			*given(digest, 7, "max_deleted_pools:pool.b,pool.c", "protected:pool.b"), "",
		},
		"what is approved already, for longer": {
			lkeplanv1alpha1.NodePlanStatus{
				Plan: summary, LastAttemptedRevision: "main@sha1:2", Approval: given(digest, 7, "protected:pool.b"),
				Guards: []lkeplanv1alpha1.GuardStatus{{Status: "allowed", Permission: "protected:pool.b"}},
			},
			*given(digest, 7, "protected:pool.b"), "",
		},
		"what was approved of another plan": {
			lkeplanv1alpha1.NodePlanStatus{
				Plan: summary, LastAttemptedRevision: "main@sha1:2", Approval: given("sha256:other", 7, "protected:pool.b"),
			},
			lkeplanv1alpha1.Approval{}, "nothing refuses the plan",
		},
		"no plan": {lkeplanv1alpha1.NodePlanStatus{}, lkeplanv1alpha1.Approval{}, "NodePlan fleet/prod has no plan yet"},
		"a plan of an earlier revision": {
			lkeplanv1alpha1.NodePlanStatus{Plan: summary, LastAttemptedRevision: "main@sha1:3"},
			lkeplanv1alpha1.Approval{}, "no plan for its last revision, main@sha1:3",
		},
		"nothing that refuses it": {
			lkeplanv1alpha1.NodePlanStatus{Plan: summary, LastAttemptedRevision: "main@sha1:2"},
			lkeplanv1alpha1.Approval{}, "nothing refuses the plan of NodePlan fleet/prod",
		},
	} {
		np := &lkeplanv1alpha1.NodePlan{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: "prod"}, Status: tt.status}
		got, err := ApprovalFor(np)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %v, want %q", name, err, tt.err)
			}
			continue
		}
		got.By, got.Expires = tt.want.By, tt.want.Expires
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// TestAnApprovalIsForAKnownNumberOfNodes: none lets a plan pass whose nodes were not counted.
func TestAnApprovalIsForAKnownNumberOfNodes(t *testing.T) {
	now := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	p := Plan{
		Changes: []Change{{
			Addr: "pool.a", Kind: "NodePool", Action: Update, Effect: Roll, Impact: &Impact{},
		}},
		Verdicts: []Verdict{{Guard: MaxRolledNodes, Status: Blocked}},
	}
	given := &lkeplanv1alpha1.Approval{
		By: "jane", PlanDigest: "sha256:1", MaxNodes: 99, Expires: metav1.NewTime(now.Add(time.Hour)),
		Guards: []string{"max_rolled_nodes:pool.a"},
	}
	if why := LiftByApproval(given, &p, "sha256:1", now); !strings.Contains(why, "is unknown") || !p.Refused() {
		t.Errorf("%q; refused: %v", why, p.Refused())
	}
}

// TestAnApprovalMayBeGivenAhead: the approval lifts its guards, and the plan still waits for its change window.
func TestAnApprovalMayBeGivenAhead(t *testing.T) {
	opens := now.Add(10 * time.Hour)
	p := Plan{
		Changes: []Change{{Addr: "pool.a", Kind: "NodePool", Action: Update, Effect: Roll, Impact: &Impact{Known: true, Rolled: 2}}},
		Verdicts: []Verdict{
			{Guard: MaxRolledNodes, Status: Blocked}, {Guard: ChangeWindow, Status: Waiting, Until: opens},
		},
	}
	if why := LiftByApproval(given(digest, 2, "max_rolled_nodes:pool.a"), &p, digest, now); why != "" || p.Refused() {
		t.Errorf("it is still refused: %q, %+v", why, p.Verdicts)
	}
	if until, waits := p.Waits(); !waits || !until.Equal(opens) {
		t.Errorf("it waits: %v, until %v", waits, until)
	}
}
