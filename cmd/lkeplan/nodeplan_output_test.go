package main

import (
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/config/diag"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/testdata/golden"
)

// TestOutput: what the commands print of the NodePlans in testdata, some of whose texts
// came from a repository.
func TestOutput(t *testing.T) {
	raw, err := os.ReadFile("testdata/nodeplan/nodeplans.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var plans []lkeplanv1alpha1.NodePlan
	if err := yaml.UnmarshalStrict(raw, &plans); err != nil {
		t.Fatal(err)
	}
	waiting, proving := &plans[0], &plans[len(plans)-1]
	for name, write := range map[string]func(*diag.Page){
		"list": func(p *diag.Page) { writeNodePlans(p, plans, false) },
		"all":  func(p *diag.Page) { writeNodePlans(p, plans, true) },
		"one":  func(p *diag.Page) { writeNodePlan(p, waiting) },
		"reverted": func(p *diag.Page) { // to the revision before the pending one
			reverted := waiting.DeepCopy()
			reverted.Status.LastAttemptedRevision = reverted.Status.LastAppliedRevision
			reverted.Status.Guards = nil
			reverted.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "True", Reason: "ReconciliationSucceeded"}}
			writeNodePlan(p, reverted)
			writePending(p, reverted, pendingOf(reverted))
		},
		"pending": func(p *diag.Page) { writePending(p, waiting, pendingOf(waiting)) },
		"pending unknown": func(p *diag.Page) { // as get shows it at that moment
			broken := waiting.DeepCopy()
			broken.Status.LastAttemptedRevision = "main@sha1:0000000000000000"
			broken.Status.Conditions = plans[1].Status.Conditions
			writeNodePlan(p, broken)
			writePending(p, broken, pendingOf(broken))
			writePending(p, &plans[1], pendingOf(&plans[1]))
		},
		"pending narrow": func(p *diag.Page) {
			p.Width = 60
			writePending(p, waiting, pendingOf(waiting))
		},
		"proving": func(p *diag.Page) {
			writeNodePlan(p, proving)
			writeHistory(p, proving.Status.History)
		},
		"history": func(p *diag.Page) { writeHistory(p, waiting.Status.History) },
		"approve": func(p *diag.Page) {
			a := approval{nodes: -1}
			given, err := a.approval(waiting)
			if err != nil {
				t.Error(err)
				return
			}
			given.By, given.Expires = "jane", waiting.Status.Approval.Expires
			describeApproval(p, waiting, given)
		},
	} {
		var out diag.Page
		write(&out)
		golden.File(t, "testdata/nodeplan/"+strings.ReplaceAll(name, " ", "_")+".txt", []byte(out.String()))
	}
}

// TestApprovalStaysWithinThePlan: flags narrow an approval, and name only guards that refuse the plan.
func TestApprovalStaysWithinThePlan(t *testing.T) {
	np := &lkeplanv1alpha1.NodePlan{}
	np.Status.Plan = &lkeplanv1alpha1.PlanSummary{Digest: "sha256:1", NodesDeleted: 7}
	np.Status.Guards = []lkeplanv1alpha1.GuardStatus{
		{Status: "blocked", Permission: "freeze:weekend"}, {Status: "blocked", Permission: "protected:pool.a"},
	}
	for _, tt := range []struct {
		asked  approval
		guards int
		nodes  int
		err    string
	}{
		{approval{nodes: -1}, 2, 7, ""},
		{approval{nodes: 8, guards: []string{"freeze:weekend"}, digest: "sha256:1"}, 1, 8, ""},
		{approval{nodes: 7}, 2, 7, ""},
		{approval{nodes: 0}, 0, 0, "--max-nodes 0: the plan affects 7 nodes, and is not applied with an approval for fewer"},
		{approval{nodes: 6}, 0, 0, "--max-nodes 6: the plan affects 7 nodes, and is not applied with an approval for fewer"},
		{approval{nodes: -1, digest: "sha256:2"}, 0, 0, "the plan of NodePlan / has changed; its digest is sha256:1"},
		{approval{nodes: -1, guards: []string{"protected:*"}}, 0, 0,
			"--guard protected:*: the plan is refused by freeze:weekend, protected:pool.a"},
	} {
		got, err := tt.asked.approval(np)
		if tt.err != "" {
			if err == nil || err.Error() != tt.err {
				t.Errorf("%v, want %s", err, tt.err)
			}
			continue
		}
		if err != nil || len(got.Guards) != tt.guards || got.MaxNodes != tt.nodes {
			t.Errorf("%+v, %v; want %d guards, %d nodes", got, err, tt.guards, tt.nodes)
		}
	}
}
