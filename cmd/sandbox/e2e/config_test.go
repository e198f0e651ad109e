package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// run runs one of our programs in the sandbox and returns what it printed.
func (s *sandbox) run(name string, args ...string) string {
	s.t.Helper()
	out, err := s.command(bin(s.t, name), nil, args...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// commit writes main.lke.hcl and commits it.
func commit(t *testing.T, repo, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(repo, "main.lke.hcl"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	git(t, repo, "add", "-A")
	git(t, repo, "commit", "-qm", "change")
}

// TestApplyIsRepeatableAndNeverTakesOver: a second apply changes nothing, and a value
// that another field manager set is shown and kept.
func TestApplyIsRepeatableAndNeverTakesOver(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	s.startController()
	if out := s.run("lkeplan", "apply", "testdata/four"); !strings.Contains(out, "2 created, 0 changed, 0 unchanged") {
		t.Errorf("the first apply said:\n%s", out)
	}
	if out := s.run("lkeplan", "apply", "testdata/four"); !strings.Contains(out, "0 created, 0 changed, 2 unchanged") {
		t.Errorf("the second apply said:\n%s", out)
	}
	s.kube("", "patch", "nodepool", "four", "--type=merge", "--field-manager=somebody", "-p",
		`{"spec":{"disruption":{"consolidateAfter":"7m"}}}`)
	out, err := s.command(bin(t, "lkeplan"), nil, "apply", "testdata/four").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "spec.disruption.consolidateAfter") ||
		!strings.Contains(string(out), `"somebody"`) {
		t.Errorf("a foreign value: %v, and the message does not name field and owner:\n%s", err, out)
	}
	var pool karpv1.NodePool
	if err := s.client.Get(t.Context(), client.ObjectKey{Name: "four"}, &pool); err != nil {
		t.Fatal(err)
	}
	if got := pool.Spec.Disruption.ConsolidateAfter.Duration; got == nil || *got != 7*time.Minute {
		t.Errorf("the foreign value was overwritten: %v", got)
	}
}

// TestTheControllerFollowsARepository: a commit is applied, a broken one
// changes nothing, and one for another cluster changes nothing.
func TestTheControllerFollowsARepository(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	repo := t.TempDir()
	git(t, repo, "init", "-q")
	good := file(t, "four/main.lke.hcl")
	commit(t, repo, good)
	s.startController("--config", repo)
	weight := func() int32 {
		var pool karpv1.NodePool
		if err := s.client.Get(t.Context(), client.ObjectKey{Name: "four"}, &pool); err != nil {
			return -1
		}
		if pool.Spec.Weight == nil {
			return 0
		}
		return *pool.Spec.Weight
	}
	becomes := func(what string, want int32) {
		t.Helper()
		s.until(what, 30*time.Second, func(state) bool { return weight() == want })
	}
	becomes("the first commit is applied", 0)
	commit(t, repo, strings.Replace(good, "= node_class.default\n", "= node_class.default\n  weight = 10\n", 1))
	becomes("the second commit is applied", 10)

	commit(t, repo, strings.Replace(good, "pool \"four\" {", "pool \"four\" {\n  weight = \n", 1))
	commit(t, repo, strings.Replace(strings.Replace(good, "\"sandbox\"", "\"another\"", 1), "= node_class.default\n",
		"= node_class.default\n  weight = 20\n", 1))
	commit(t, repo, strings.Replace(good, "= node_class.default\n", "= node_class.default\n  weight = 30\n", 1))
	// Commits are applied in order, so the skipped ones have been seen by now.
	s.until("the last commit is applied", 30*time.Second, func(state) bool {
		switch w := weight(); w {
		case 10, 30:
			return w == 30
		default:
			t.Fatalf("the weight became %d, which no good commit says", w)
			return false
		}
	})
}
