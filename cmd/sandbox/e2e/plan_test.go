package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// pooled writes a directory of pools with 4 CPUs, and something more.
func pooled(t testing.TB, more string, pools ...string) string {
	t.Helper()
	text := "cluster {\n  name   = \"sandbox\"\n  region = \"us-ord\"\n}\n\nnode_class \"default\" {}\n" + more
	for _, name := range pools {
		text += fmt.Sprintf("\npool %q {\n  node_class   = node_class.default\n"+
			"  requirements = { class = \"standard\", cpu = 4 }\n  weight       = 10\n}\n", name)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.lke.hcl"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func mustContain(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in:\n%s", part, text)
		}
	}
}

// TestSavedPlanIsAppliedExactlyOrNotAtAll: a saved plan is applied, and applied
// again, unless the cluster has changed since.
func TestSavedPlanIsAppliedExactlyOrNotAtAll(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	plan := filepath.Join(t.TempDir(), "a.plan")
	var many []string
	for i := range 40 {
		many = append(many, fmt.Sprintf("p%02d", i))
	}
	dir := pooled(t, "", many...)
	s.ends(0, "plan", "--out", plan, dir)
	mustContain(t, s.ends(0, "show", plan), "pool.p00", "41 to create")

	s.killAfter(3, "apply", "--wait", "none", plan)
	if n := len(s.pools()); n == 0 || n == len(many) {
		t.Errorf("%d pools after the apply was killed, want some of %d", n, len(many))
	}
	mustContain(t, s.ends(0, "apply", "--wait", "none", plan), "applied 41 objects")
	if diff := cmp.Diff(many, s.pools()); diff != "" {
		t.Errorf("pools after the second apply (-want +got):\n%s", diff)
	}
	mustContain(t, s.ends(0, "apply", "--wait", "none", plan), "0 created, 0 changed, 41 unchanged")
	mustContain(t, s.ends(0, "diff", "--base", "live", dir), "No changes")

	// Writes of controllers make no plan stale; edits of a spec do.
	heavier := pooled(t, "", many...)
	rewrite(t, heavier, "weight       = 10", "weight       = 20")
	s.ends(0, "plan", "--out", plan, heavier)
	s.kube("", "annotate", "nodepool", "p00", "karpenter.sh/nodepool-hash=1", "--overwrite")
	s.kube("", "patch", "nodepool", "p01", "--type=merge", "--field-manager=somebody", "-p", `{"spec":{"weight":50}}`)
	mustContain(t, s.ends(4, "apply", "--wait", "none", plan), "NodePool p01", "spec.weight is 50")
	mustContain(t, s.ends(3, "diff", "--base", "live", "-o", "json", heavier), "somebody")
	s.kube("", "delete", "nodepool", "p01")
	mustContain(t, s.ends(4, "apply", "--wait", "none", plan), "NodePool p01: it has been deleted")
	s.ends(0, "apply", "--yes", "--wait", "none", dir)
	mustContain(t, s.ends(4, "apply", "--wait", "none", plan), "NodePool p01: it has been deleted and created again")
	s.ends(0, "plan", "--out", plan, heavier)
	mustContain(t, s.ends(0, "apply", "--wait", "none", plan), "0 created, 40 changed, 1 unchanged")
	mustContain(t, s.ends(0, "diff", "--base", "plan:"+plan, heavier), "No changes")
	mustContain(t, s.ends(2, "diff", "--detailed-exitcode", "--base", "plan:"+plan, dir), "40 to update")
}

// rewrite replaces text in the directory's file.
func rewrite(t testing.TB, dir, from, to string) {
	t.Helper()
	path := filepath.Join(dir, "main.lke.hcl")
	raw, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(raw), from) {
		t.Fatalf("%q is not in %s: %v", from, path, err)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(raw), from, to)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestPruneDeletesWhatItAppliedAndNothingElse: and no more of it than the guards
// allow.
func TestPruneDeletesWhatItAppliedAndNothingElse(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	s.ends(0, "apply", "--yes", "--wait", "none", pooled(t, "", "a", "b", "c", "d"))
	s.kube(strings.ReplaceAll(file(t, "guide.yaml"), "VERSION", "v1"), "apply", "-f", "-") // another owner's
	others := slices.DeleteFunc(s.pools(), func(name string) bool { return len(name) == 1 })

	less := pooled(t, "\nremoved {\n  from = pool.d\n}\n", "a")
	mustContain(t, s.ends(0, "apply", "--yes", "--wait", "none", less),
		"NodePool b, which was applied from this directory and is no longer in it; --prune deletes it.")
	mustContain(t, s.ends(3, "apply", "--yes", "--prune", "--wait", "none", less), "max_deleted_pools")
	if got := len(s.pools()); got != 4+len(others) {
		t.Errorf("%d pools after a refused plan", got)
	}
	plan := filepath.Join(t.TempDir(), "a.plan")
	s.ends(3, "plan", "--prune", "--out", plan, less)
	s.ends(3, "apply", "--wait", "none", plan)
	mustContain(t, s.ends(0, "apply", "--wait", "none", "--allow", "max_deleted_pools:pool.b,pool.c", plan), "2 deleted",
		"orphaned")
	if diff := cmp.Diff(slices.Sorted(slices.Values(append([]string{"a", "d"}, others...))), s.pools()); diff != "" {
		t.Errorf("pools that are left (-want +got):\n%s", diff)
	}
	// Orphaned objects have no owner any more.
	mustContain(t, s.ends(0, "plan", "--prune", pooled(t, "", "a")), "No changes")
}

// TestRolloutMatchesPrediction: diff names what will block the roll, and apply waits
// for its end.
func TestRolloutMatchesPrediction(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	s.startController()
	dir := pooled(t, "", "web")
	s.ends(0, "apply", "--yes", dir)
	s.applyAll(file(t, "inflate.yaml"))
	s.scale(5)
	s.until("5 pods run", time.Minute, func(s state) bool { return s.running == 5 && s.matched() })
	s.kube(`{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "inflate"},
		"spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "inflate"}}}}`, "apply", "-f", "-")

	labelled := pooled(t, "", "web")
	rewrite(t, labelled, "weight       = 10", "labels       = { team = \"web\" }")
	mustContain(t, s.ends(0, "diff", "--base", "live", labelled), "2 of 2 nodes", "default/inflate")
	snapshot := filepath.Join(t.TempDir(), "snapshot.json")
	if err := os.WriteFile(snapshot, []byte(s.run("lkeplan", "snapshot")), 0o600); err != nil {
		t.Fatal(err)
	}
	offline := s.command(bin(t, "lkeplan"), map[string]string{"KUBECONFIG": ""}, "diff", "--base", "dir:"+dir, "--nodes",
		"snapshot:"+snapshot, labelled)
	out, err := offline.CombinedOutput()
	if err != nil {
		t.Fatalf("diff with a snapshot: %v\n%s", err, out)
	}
	mustContain(t, string(out), "2 of 2 nodes", "the PodDisruptionBudget h") // a hash
	if strings.Contains(string(out), "default/inflate") {
		t.Errorf("the snapshot names what holds nodes:\n%s", out)
	}

	// Without a terminal nothing is applied. A wait that ends early says what holds the
	// roll, and so does a diff in which no object changes.
	mustContain(t, s.ends(1, "apply", labelled), "there is no terminal for the confirmation; add --yes")
	mustContain(t, s.ends(0, "diff", "--base", "live", dir), "No changes")
	early := s.ends(1, "apply", "--yes", "--wait", "rolled", "--timeout", "3s", labelled)
	mustContain(t, early, "replaces every node of the pool", "2 of 2 nodes replaced", "monthly maximum",
		"timed out after 3s. All objects are applied, and the controller continues", "pool.web: 2 of ",
		"nodes blocked by the PodDisruptionBudget default/inflate", "To see what is waiting: lkeplan status",
		"To compare again: lkeplan diff --base live ",
		"To wait again: lkeplan apply --yes --wait rolled ")
	mustContain(t, s.ends(0, "diff", "--base", "live", labelled), "No changes", "In progress",
		"nodes are still to be replaced", "default/inflate")
	interrupted := s.interrupted("nodes up to date", "apply", "--yes", "--wait", "rolled", labelled)
	mustContain(t, interrupted, "lkeplan: interrupted. All objects are applied", "default/inflate", "To compare again: ")

	s.kube("", "delete", "poddisruptionbudget", "inflate")
	said := s.ends(0, "apply", "--yes", "--wait", "rolled", "--timeout", "3m", labelled)
	mustContain(t, said, "2 of 2 nodes up to date")
	// How far the roll is when it is first seen depends on the machine.
	if !regexp.MustCompile(`[01] of [23] nodes up to date`).MatchString(said) {
		t.Errorf("it says nothing of nodes that are still to be replaced:\n%s", said)
	}
	for _, n := range s.state().nodes {
		if n.Labels["team"] != "web" && n.DeletionTimestamp.IsZero() {
			t.Errorf("node %s has not been replaced", n.Name)
		}
	}
}
