package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/nodeplan"
	"github.com/lkeplan/lkeplan/engine/plan"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// TestEachSentenceOfApproveHelpHolds: a sentence that is added or changed needs a test here.
func TestEachSentenceOfApproveHelpHolds(t *testing.T) {
	now := time.Date(2026, 11, 28, 9, 26, 0, 0, time.UTC)
	opens := time.Date(2026, 11, 30, 21, 0, 0, 0, time.UTC)
	const freeze, rolled, digest = "freeze:weekend", "max_rolled_nodes:pool.web", "sha256:1"
	// refused is a NodePlan whose plan two guards refuse, and which waits for a window.
	refused := func(guards ...lkeplanv1alpha1.GuardStatus) *lkeplanv1alpha1.NodePlan {
		np := &lkeplanv1alpha1.NodePlan{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: "prod"}}
		np.Status.Plan = &lkeplanv1alpha1.PlanSummary{Digest: digest, NodesDeleted: 1, NodesDrained: 2, NodesRolled: 3, NodesRemovable: 1}
		np.Status.Guards = append([]lkeplanv1alpha1.GuardStatus{
			{Guard: "freeze", Status: "blocked", Permission: freeze}, {Guard: "max_rolled_nodes", Status: "blocked", Permission: rolled},
		}, guards...)
		return np
	}
	window := lkeplanv1alpha1.GuardStatus{Guard: "window", Status: "waiting", Permission: "window:web", Until: &metav1.Time{Time: opens}}
	give := func(t *testing.T, a approval, np *lkeplanv1alpha1.NodePlan) lkeplanv1alpha1.Approval {
		t.Helper()
		given, err := a.approval(np)
		if err != nil {
			t.Fatal(err)
		}
		given.By, given.Expires = "jane", metav1.NewTime(a.until(np, now))
		return given
	}
	all := approval{nodes: -1, lasts: 24 * time.Hour}
	// passes reports whether a plan that the guards refuse is applied with an approval.
	passes := func(a lkeplanv1alpha1.Approval, digest string, nodes int, at time.Time, verdicts ...plan.Verdict) bool {
		p := plan.Plan{
			Changes: []plan.Change{{Addr: "pool.web", Kind: "NodePool", Action: plan.Update, Effect: plan.Roll,
				Impact: &plan.Impact{Known: true, Rolled: nodes}}},
			Verdicts: append([]plan.Verdict{{Guard: "freeze", Addr: "weekend", Status: plan.Blocked},
				{Guard: plan.MaxRolledNodes, Status: plan.Blocked}}, verdicts...),
		}
		plan.LiftByApproval(&a, &p, digest, at)
		_, waits := p.Waits()
		return !p.Refused() && !waits
	}
	fails := func(t *testing.T, a approval, np *lkeplanv1alpha1.NodePlan, want string) {
		t.Helper()
		if _, err := a.approval(np); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	expires := func(t *testing.T, a approval, np *lkeplanv1alpha1.NodePlan, want time.Time) {
		t.Helper()
		given := give(t, a, np)
		var said diag.Page
		describeApproval(&said, np, given)
		if !given.Expires.Time.Equal(want) || !strings.Contains(said.String(), "until "+momentText(want)) {
			t.Errorf("it expires at %s, want %s; it says:\n%s", given.Expires, want, said.String())
		}
		if !passes(given, digest, 7, want.Add(-time.Second)) || passes(given, digest, 7, want) {
			t.Errorf("it does not expire at %s", want)
		}
	}
	tests := map[string]func(t *testing.T){
		"Approve the pending plan of a NodePlan (an object that applies commits in a cluster), if a guard (a limit on one change) " +
			"refuses the plan": func(t *testing.T) {
			if !passes(give(t, all, refused()), digest, 7, now) {
				t.Error("it is not applied")
			}
			np := refused(window)
			np.Status.Guards = np.Status.Guards[2:]
			fails(t, all, np, "it waits for a window, until Mon 2026-11-30 21:00 UTC, and an approval cannot change that")
			np.Status.Guards = nil
			fails(t, all, np, "nothing refuses the plan")
		},
		"The approval is only for this plan": func(t *testing.T) {
			if passes(give(t, all, refused()), "sha256:2", 7, now) {
				t.Error("another plan is applied")
			}
		},
		"It permits only what the guards refuse now": func(t *testing.T) {
			later := plan.Verdict{Guard: "protected", Addr: "pool.web", Status: plan.Blocked}
			if passes(give(t, all, refused()), digest, 7, now, later) {
				t.Error("it lifts what a guard refuses later")
			}
		},
		"The plan may delete, drain or replace at most the number of nodes that the plan shows": func(t *testing.T) {
			if a := give(t, all, refused()); !passes(a, digest, 7, now) || passes(a, digest, 8, now) {
				t.Errorf("it is not for exactly 7 nodes: %+v", a)
			}
		},
		"The approval replaces an earlier one": func(t *testing.T) {
			np := refused()
			earlier := give(t, approval{nodes: 9, lasts: time.Hour, guards: []string{freeze}, reason: "Saturday"}, np)
			np.Status.Approval = &earlier
			merged := earlier
			raw, err := json.Marshal(give(t, all, np))
			if err := errors.Join(err, json.Unmarshal(raw, &merged)); err != nil { // as a merge patch does
				t.Fatal(err)
			}
			if merged.Reason != "" || merged.MaxNodes != 7 || len(merged.Guards) != 2 {
				t.Errorf("a part of the earlier one stays: %+v", merged)
			}
			np.Status.Guards[0].Status = "allowed" // by the earlier one
			if a := give(t, all, np); len(a.Guards) != 2 {
				t.Errorf("what the earlier one lifts is refused again: %v", a.Guards)
			}
		},
		"It expires after the time in --for": func(t *testing.T) {
			expires(t, approval{nodes: -1, lasts: 2 * time.Hour}, refused(), now.Add(2*time.Hour))
			np := refused() // nodes of an earlier change wait for a budget, and the plan waits for no window
			np.Status.NextWindow = &metav1.Time{Time: opens}
			expires(t, all, np, now.Add(24*time.Hour))
		},
		"After the plan is applied, the approval cannot be used again": func(t *testing.T) {
			np := refused()
			a := give(t, all, np)
			np.Status.Approval = &a
			if plan.SpendApproval(np, digest) == nil || plan.SpendApproval(np, digest) != nil {
				t.Error("it is not used exactly once")
			}
		},
		"If the plan also waits for a window (a time for changes), it still waits: an approval cannot lift a window": func(t *testing.T) {
			np := refused(window)
			a := give(t, all, np)
			if passes(a, digest, 7, now, plan.Verdict{Guard: plan.ChangeWindow, Status: plan.Waiting, Until: opens}) {
				t.Error("it is applied outside the window")
			}
			if got := strings.Join(stillBlocks(np, a), "\n"); got != "The plan still waits for a window, until Mon 2026-11-30 21:00 UTC. An "+
				"approval does not change that." {
				t.Errorf("it says %q", got)
			}
			for _, guard := range []string{"window:web", "window", "window:nights"} {
				fails(t, approval{nodes: -1, guards: []string{guard}}, np, "--guard "+guard+": an approval cannot lift a window")
			}
		},
		`"lkeplan nodeplan history" shows the approval`: func(t *testing.T) {
			a := give(t, approval{nodes: -1, lasts: time.Hour, reason: "Kernel."}, refused())
			var out diag.Page
			writeHistory(&out, []lkeplanv1alpha1.HistoryEntry{{Revision: "main@sha1:1", Approval: &a}})
			for _, want := range []string{"jane", freeze, rolled, "Kernel."} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%s is not in:\n%s", want, out.String())
				}
			}
		},
		"A NodePlan with the mode PlanOnly shows the plan of a pull request, and does not apply it": func(t *testing.T) {
			np := refused()
			np.Spec.Mode = lkeplanv1alpha1.ModePlanOnly
			if _, err := nodeplan.Applies(np); err == nil {
				t.Error("it can be approved, and nothing applies it")
			}
		},
		"If you approve this plan, the approval counts for another NodePlan: the one that applies the plan after the merge": func(t *testing.T) {
			np := refused()
			np.Spec.Mode, np.Spec.PlanFor = lkeplanv1alpha1.ModePlanOnly, &lkeplanv1alpha1.NamespacedReference{Name: "main"}
			if to, err := nodeplan.Applies(np); err != nil || to.Name != "main" || to.Namespace != "fleet" {
				t.Errorf("%v, %v", to, err)
			}
		},
		"You need the ClusterRole lkeplan-approve in the namespace of the NodePlan that applies the plan": func(t *testing.T) {
			// TestOnlyApproversCanApprove shows it with an API server.
		},
		"--guard": func(t *testing.T) {
			np := refused()
			a := give(t, approval{nodes: -1, lasts: time.Hour, guards: []string{freeze}}, np)
			if passes(a, digest, 7, now) || strings.Join(stillBlocks(np, a), "") != "The plan still waits for an approval of "+rolled+"." {
				t.Errorf("it says %q", stillBlocks(np, a))
			}
			fails(t, approval{nodes: -1, guards: []string{"protected:*"}}, np, "--guard protected:*: the plan is refused by")
		},
		"--max-nodes": func(t *testing.T) {
			if a := give(t, approval{nodes: 9, lasts: time.Hour}, refused()); !passes(a, digest, 9, now) || passes(a, digest, 10, now) {
				t.Errorf("it is not for exactly 9 nodes: %+v", a)
			}
			fails(t, approval{nodes: 6}, refused(), "--max-nodes 6: the plan affects 7 nodes")
		},
		"--for": func(t *testing.T) {
			expires(t, all, refused(window), opens.Add(24*time.Hour))
			expires(t, approval{nodes: -1, lasts: maxApprovalTime}, refused(window), now.Add(maxApprovalTime))
			never := window
			never.Until = nil
			expires(t, all, refused(never), now.Add(24*time.Hour))
		},
		"--reason": func(t *testing.T) {
			if a := give(t, approval{nodes: -1, reason: "Kernel."}, refused()); a.Reason != "Kernel." {
				t.Errorf("the reason is %q", a.Reason)
			}
		},
		"--digest":    func(t *testing.T) { fails(t, approval{nodes: -1, digest: "sha256:2"}, refused(), "has changed") },
		"--yes":       func(*testing.T) {}, // testdata/script/nodeplan.txtar
		"--take-back": func(*testing.T) {}, // TestAnApprovalIsTheOnlyChangeOfTheStatus of engine/nodeplan
	}
	var sentences []string
	for paragraph := range strings.SplitSeq(nodePlanApproveHelp, "\n\n") {
		for sentence := range strings.SplitSeq(strings.Join(strings.Fields(paragraph), " "), ". ") {
			sentences = append(sentences, strings.TrimSuffix(sentence, "."))
		}
	}
	of := map[string]bool{"--namespace": true, "--context": true, "--kubeconfig": true, "--request-timeout": true, "--help": true}
	for line := range strings.Lines(newNodePlanApprove(&flags.Env{Getenv: func(string) string { return "" }}).Flags().FlagUsages()) {
		if _, flag, found := strings.Cut(line, "--"); found && strings.HasPrefix(strings.TrimSpace(line), "-") {
			if flag = "--" + strings.Fields(flag)[0]; !of[flag] {
				sentences = append(sentences, flag)
			}
		}
	}
	for _, sentence := range sentences {
		holds := tests[sentence]
		if holds == nil {
			t.Errorf("no test for %q", sentence)
			continue
		}
		t.Run(sentence, holds)
		delete(tests, sentence)
	}
	for sentence := range tests {
		t.Errorf("the help no longer says %q", sentence)
	}
}
