package gitops

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lkeplan/lkeplan/config/diag"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

func TestSecretsAreHidden(t *testing.T) {
	tests := []struct {
		name          string
		secrets       []string
		message, want string
	}{
		{"as they are", []string{"hunter2", "abc", ""},
			`main.lke.hcl:3: the token "hunter2" is not abc`, `main.lke.hcl:3: the token "***" is not abc`},
		{"without the line break at the end", []string{"hunter2\n"}, "the token hunter2 is short", "the token *** is short"},
		{"in quotes", []string{`say "friend"`}, `it is "say \"friend\"" now`, `it is "***" now`},
		{"one line of several", []string{"BEGIN KEY\nMIIEvgIBADAN\nEND\n"}, "line 2 is MIIEvgIBADAN", "line 2 is ***"},
		{"several lines in quotes", []string{"BEGIN KEY\nMIIEvgIBADAN\n"}, `"BEGIN KEY\nMIIEvgIBADAN\n"`, `"***"`},
		{"one that begins like another", []string{"hunter2", "hunter2000"}, "it is hunter2000", "it is ***"},
	}
	for _, tt := range tests {
		o := Variables{Secrets: tt.secrets}.mask(nodePlan("a", "fleet"), outcome{message: tt.message})
		if o.message != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, o.message, tt.want)
		}
	}
}

func TestOutcomesContainNoSecrets(t *testing.T) {
	np := &lkeplanv1alpha1.NodePlan{}
	np.Status.Guards = []lkeplanv1alpha1.GuardStatus{{Message: "hunter2 is too short"}}
	np.Status.Plan = &lkeplanv1alpha1.PlanSummary{Summary: "1 node replaced in hunter2", Changes: []lkeplanv1alpha1.PlannedChange{
		{Object: "pool.hunter2", Effect: "moved from pool.hunter2", Fields: []string{`labels.x "hunter2"`}},
	}}
	np.Status.Drift = []lkeplanv1alpha1.DriftStatus{{Path: "spec.template.metadata.labels[hunter2]"}}
	np.Status.Pools = []lkeplanv1alpha1.PoolStatus{{Name: "hunter2"}}
	o := outcome{message: "a hunter2", event: "b hunter2", corrected: "c hunter2"}
	o = Variables{Secrets: []string{"hunter2"}}.mask(np, o)
	if status := np.Status.Plan.Summary + np.Status.Drift[0].Path + np.Status.Pools[0].Name + fmt.Sprint(np.Status.Plan.Changes); strings.Contains(status, "hunter2") {
		t.Error(status)
	}
	if text := o.message + o.event + o.corrected + np.Status.Guards[0].Message; text != "a ***b ***c ****** is too short" {
		t.Error(text)
	}
}

// TestRecordsContainNoSecrets: the status is written in the middle of a reconciliation, too.
func TestRecordsContainNoSecrets(t *testing.T) {
	p := newWaiting(t)
	p.approve()
	p.worker.Vars = func(context.Context, *lkeplanv1alpha1.NodePlan) (Variables, error) {
		return Variables{Secrets: []string{"max_rolled"}}, nil // in the messages of guards
	}
	recorded := false
	p.worker.Work(t.Context(), p.np, func(context.Context) error {
		recorded = true
		for _, g := range p.np.Status.Guards {
			if text := g.Message + g.Permission; strings.Contains(text, "max_rolled") {
				t.Error(text)
			}
		}
		return nil
	})
	if !recorded {
		t.Error("no status is recorded")
	}
}

// TestPolicyMessagesFitIntoStatus: however long they are. A status that is too
// large is not written, and the old one would stay.
func TestPolicyMessagesFitIntoStatus(t *testing.T) {
	np := nodePlan("a", "fleet")
	for range 1000 {
		np.Status.Guards = append(np.Status.Guards, lkeplanv1alpha1.GuardStatus{Message: strings.Repeat("no ", 100_000)})
	}
	Variables{}.mask(np, outcome{})
	np.Status.Plan = &lkeplanv1alpha1.PlanSummary{}
	for range 1000 {
		np.Status.Plan.Changes = append(np.Status.Plan.Changes, lkeplanv1alpha1.PlannedChange{
			Fields: slices.Repeat([]string{strings.Repeat("x", 100_000)}, mostFields)})
	}
	Variables{}.mask(np, outcome{})
	size := 0
	for _, c := range np.Status.Plan.Changes {
		size += len(strings.Join(c.Fields, ""))
	}
	if size == 0 || size > maxChanges {
		t.Errorf("the changes say %d bytes", size)
	}
	size = 0
	for _, g := range np.Status.Guards {
		size += len(g.Message)
	}
	if size == 0 || size > 300_000 {
		t.Errorf("the guards say %d bytes", size)
	}
}

// TestTruncationLeavesNoPartOfSecret: where a text is cut in the middle of one.
func TestTruncationLeavesNoPartOfSecret(t *testing.T) {
	np := nodePlan("a", "fleet")
	np.Status.Plan = &lkeplanv1alpha1.PlanSummary{Summary: strings.Repeat("a", maxSummary-8) + "hunter2000",
		Changes: []lkeplanv1alpha1.PlannedChange{{Fields: []string{strings.Repeat("a", maxField-8) + "hunter2000"}}},
		Moves:   []lkeplanv1alpha1.PlannedMove{{Effect: strings.Repeat("a", maxField-8) + "hunter2000"}}}
	np.Status.Guards = []lkeplanv1alpha1.GuardStatus{{Message: strings.Repeat("a", maxVerdict-8) + "hunter2000"}}
	o := Variables{Secrets: []string{"hunter2000"}}.mask(np, outcome{event: strings.Repeat("a", maxEvent-8) + "hunter2000"})
	for _, text := range []string{np.Status.Plan.Summary, np.Status.Plan.Changes[0].Fields[0], np.Status.Plan.Moves[0].Effect, np.Status.Guards[0].Message, diag.Shorten(o.event, maxEvent)} {
		if strings.Contains(text, "hunt") {
			t.Errorf("…%s", text[len(text)-20:])
		}
	}
}
