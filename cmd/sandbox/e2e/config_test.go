package e2e

import (
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// TestApplyIsRepeatableAndNeverTakesOver: a second apply changes nothing, and a value
// that another field manager set is shown and kept.
func TestApplyIsRepeatableAndNeverTakesOver(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	s.startController()
	if out := s.run("lkeplan", "apply", "--yes", "testdata/four"); !strings.Contains(out, "2 created, 0 changed, 0 unchanged") {
		t.Errorf("the first apply said:\n%s", out)
	}
	if out := s.run("lkeplan", "apply", "--yes", "testdata/four"); !strings.Contains(out, "0 created, 0 changed, 2 unchanged") {
		t.Errorf("the second apply said:\n%s", out)
	}
	s.kube("", "patch", "nodepool", "four", "--type=merge", "--field-manager=ana", "-p",
		`{"spec":{"disruption":{"consolidateAfter":"7m"}}}`)
	out, err := s.command(bin(t, "lkeplan"), nil, "apply", "--yes", "testdata/four").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "spec.disruption.consolidateAfter") ||
		!strings.Contains(string(out), "was set by ana to another value") {
		t.Errorf("a foreign value: %v, and the message does not name field and owner:\n%s", err, out)
	}
	var pool karpv1.NodePool
	if err := s.client.Get(t.Context(), client.ObjectKey{Name: "four"}, &pool); err != nil {
		t.Fatal(err)
	}
	if got := pool.Spec.Disruption.ConsolidateAfter.Duration; got == nil || *got != 7*time.Minute {
		t.Errorf("the foreign value was overwritten: %v", got)
	}
	// What the message says to type takes it back, and says from whom.
	_, line, _ := strings.Cut(string(out), "To overwrite the values of other owners: ")
	line, _, _ = strings.Cut(line, "\n")
	words := strings.Fields(strings.ReplaceAll(line, "'", ""))
	if len(words) < 2 || words[0] != "lkeplan" {
		t.Fatalf("it does not say what to type:\n%s", out)
	}
	mustContain(t, s.ends(1, append(words[1:], "--force-conflicts", "spec.weight")...), "this field is not in conflict")
	mustContain(t, s.run(words[0], words[1:]...), "spec.disruption.consolidateAfter overwritten, was set by ana", "1 changed")
	mustContain(t, s.ends(0, "diff", "--base", "live", "testdata/four"), "No changes")
}

// TestANodePlanFollowsARepository: a commit is applied, a broken one changes
// nothing, and one for another cluster changes nothing.
func TestANodePlanFollowsARepository(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, "--flux")
	s.installCRDs()
	repo := serveGit(t)
	good := file(t, "four/main.lke.hcl")
	weighing := func(weight string) string {
		return strings.Replace(good, "= node_class.default\n", "= node_class.default\n  weight = "+weight+"\n", 1)
	}
	push := func(text string) string { return repo.commit("clusters/dev/main.lke.hcl", text) }
	weight := func() int32 {
		var pool karpv1.NodePool
		if err := s.client.Get(t.Context(), client.ObjectKey{Name: "four"}, &pool); err != nil {
			t.Fatal(err)
		}
		if pool.Spec.Weight == nil {
			return 0
		}
		return *pool.Spec.Weight
	}
	first := push(good)
	s.kube(strings.ReplaceAll(nodePlanOfGit, "URL", repo.url), "apply", "-f", "-")
	s.startController()
	s.untilPlan("fleet", "the first commit is applied", applied(first))
	s.untilPlan("fleet", "the second commit is applied", applied(push(weighing("10"))))
	for _, bad := range []struct{ text, reason string }{
		{weighing(""), lkeplanv1alpha1.ReasonCompileFailed},
		{strings.Replace(weighing("20"), "\"sandbox\"", "\"another\"", 1), lkeplanv1alpha1.ReasonWrongCluster},
	} {
		push(bad.text)
		s.untilPlan("fleet", "the status says "+bad.reason, because(bad.reason))
		if got := weight(); got != 10 {
			t.Errorf("%s: the weight is %d, want that of the last good commit, 10", bad.reason, got)
		}
	}
	s.untilPlan("fleet", "the last commit is applied", applied(push(weighing("30"))))
	if got := weight(); got != 30 {
		t.Errorf("the weight is %d, want 30", got)
	}
}
