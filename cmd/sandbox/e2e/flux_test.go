package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

const gitRepositoryAndNodePlan = `
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: fleet, namespace: default}
spec: {interval: 1h, url: "URL", ref: {branch: main}}
---
apiVersion: lkeplan.dev/v1alpha1
kind: NodePlan
metadata: {name: fleet, namespace: default}
spec:
  interval: 1h
  sourceRef: {kind: GitRepository, name: fleet}
`

// fluxed is a sandbox in which Flux brings the commits of a repository to a
// NodePlan.
type fluxed struct {
	*sandbox
	repo  *repository
	asked int
}

// push commits files and has source-controller fetch at once.
func (f *fluxed) push(files map[string]string) string {
	f.t.Helper()
	commit := f.repo.replace(files)
	f.ask("gitrepository")
	return commit
}

// ask has a controller reconcile its object now.
func (f *fluxed) ask(kind string) {
	f.t.Helper()
	f.asked++
	f.kube("", "annotate", kind, "fleet", "--overwrite", fmt.Sprintf("%s=%d", meta.ReconcileRequestAnnotation, f.asked))
}

// reached waits until a commit is reconciled with a reason.
func (f *fluxed) reached(commit, reason string) *lkeplanv1alpha1.NodePlan {
	f.t.Helper()
	return f.untilPlan("fleet", "commit "+commit[:8]+" ends with "+reason, func(np *lkeplanv1alpha1.NodePlan) bool {
		return strings.HasSuffix(np.Status.LastAttemptedRevision, ":"+commit) && because(reason)(np)
	})
}

// TestACommitBecomesNodesThroughFlux: source-controller brings commits to the
// NodePlan: good, bad and reverted ones, and deletions.
func TestACommitBecomesNodesThroughFlux(t *testing.T) {
	t.Parallel()
	f := &fluxed{sandbox: startSandbox(t, "--flux"), repo: serveGit(t)}
	f.installCRDs()
	f.startController()
	main, more := fleet("", "general"), fleetPools("spare", "other")
	first := f.repo.replace(map[string]string{"main.lke.hcl": main, "more.lke.hcl": more})
	f.kube(strings.ReplaceAll(gitRepositoryAndNodePlan, "URL", f.repo.url), "apply", "-f", "-")
	f.applyAll(workload("general", 2))
	np := f.reached(first, lkeplanv1alpha1.ReasonSucceeded)
	if want := "main@sha1:" + first; np.Status.LastAppliedRevision != want || len(np.Status.Inventory) != 4 {
		t.Errorf("applied %s, want %s; inventory %v", np.Status.LastAppliedRevision, want, np.Status.Inventory)
	}
	before := f.until("a commit has become nodes, with pods on them", time.Minute, func(now state) bool {
		return now.running == 2 && len(now.nodes) == 2 && now.matched()
	})

	main = strings.Replace(main, "  weight", "  labels = { tier = \"web\" }\n  weight", 1)
	f.rolls(main, more, before)
	f.badCommitsChangeNothing(more)
	f.suspends(main)
	f.wantsSignatures(main)
	f.prunesPastTheGuardsOnly(main)
}

// fleetPools are pools without a cluster, for a second file of a fleet.
func fleetPools(names ...string) string {
	_, pools, _ := strings.Cut(fleet("", names...), "node_class \"default\" {}\n")
	return pools
}

// rolls commits a change that replaces the nodes, and waits until they are replaced.
func (f *fluxed) rolls(main, more string, before state) {
	t := f.t
	t.Helper()
	commit := f.push(map[string]string{"main.lke.hcl": main, "more.lke.hcl": more})
	np := f.reached(commit, lkeplanv1alpha1.ReasonSucceeded)
	if got := np.Status.Plan; got == nil || got.NodesRolled != 2 {
		t.Errorf("the plan is %+v, want one that replaces 2 nodes", got)
	}
	if got := poolStatus(np, "general"); got.Nodes < 2 || got.Outdated != 2 {
		t.Errorf("right after the commit the pool is at %+v, want 2 nodes outdated", got)
	}
	old := map[string]bool{}
	for _, n := range before.nodes {
		old[n.Name] = true
	}
	f.until("both nodes are replaced", 2*time.Minute, func(now state) bool {
		for _, n := range now.nodes {
			if old[n.Name] || n.Labels["tier"] != "web" {
				return false
			}
		}
		return now.running == 2 && now.matched()
	})
	f.ask("nodeplan")
	f.untilPlan("fleet", "no node is counted as outdated any more", func(np *lkeplanv1alpha1.NodePlan) bool {
		got := poolStatus(np, "general")
		return got.Nodes == 2 && got.Outdated == 0
	})
}

func poolStatus(np *lkeplanv1alpha1.NodePlan, name string) lkeplanv1alpha1.PoolStatus {
	for _, p := range np.Status.Pools {
		if p.Name == name {
			return p
		}
	}
	return lkeplanv1alpha1.PoolStatus{}
}

// badCommitsChangeNothing commits an error and then an empty configuration, and
// reverts both.
func (f *fluxed) badCommitsChangeNothing(more string) {
	t := f.t
	t.Helper()
	good := f.nodePlan("fleet").Status
	for _, bad := range []struct {
		files  map[string]string
		reason string
		says   []string
	}{
		{map[string]string{"main.lke.hcl": fleet("", "general"),
			"more.lke.hcl": more + "\npool \"bad\" {\n  node_class = node_class.nosuch\n}\n"},
			lkeplanv1alpha1.ReasonCompileFailed, []string{"more.lke.hcl:15", "nosuch"}},
		{map[string]string{"main.lke.hcl": fleet("")}, lkeplanv1alpha1.ReasonGuarded, []string{"would delete 3 pools"}},
		{nil, lkeplanv1alpha1.ReasonCompileFailed, []string{"no "}},
	} {
		np := f.reached(f.push(bad.files), bad.reason)
		mustContain(t, conditions.GetMessage(np, meta.ReadyCondition), bad.says...)
		if !conditions.IsStalled(np) || np.Status.LastAppliedRevision != good.LastAppliedRevision || len(f.pools()) != 3 {
			t.Errorf("after a bad commit: applied %s, pools %v, stalled %v", np.Status.LastAppliedRevision, f.pools(),
				conditions.IsStalled(np))
		}
	}
	git(f.repo.t, f.repo.dir, "revert", "--no-edit", "HEAD", "HEAD~1", "HEAD~2")
	f.ask("gitrepository")
	np := f.reached(f.repo.head(), lkeplanv1alpha1.ReasonSucceeded)
	if conditions.IsStalled(np) || len(np.Status.Inventory) != len(good.Inventory) {
		t.Errorf("after the revert: %+v", np.Status)
	}
}

// suspends shows that a suspended NodePlan applies nothing, and that pods still get
// nodes.
func (f *fluxed) suspends(main string) {
	t := f.t
	t.Helper()
	f.kube("", "patch", "nodeplan", "fleet", "--type=merge", "-p", `{"spec":{"suspend":true}}`)
	heavier := map[string]string{"main.lke.hcl": strings.Replace(main, "= 10", "= 20", 1),
		"more.lke.hcl": fleetPools("spare", "other")}
	commit := f.push(heavier)
	f.kube("", "wait", "gitrepository/fleet", "--timeout=30s",
		"--for=jsonpath={.status.artifact.revision}=main@sha1:"+commit)
	f.scaleTo("general", 3)
	f.until("a pod gets its node while the NodePlan is suspended", time.Minute,
		func(now state) bool { return now.running == 3 && now.matched() })
	if weight := f.kube("", "get", "nodepool", "general", "-o", "jsonpath={.spec.weight}"); weight != "10" {
		t.Errorf("while the NodePlan is suspended the weight has become %s", weight)
	}
	f.kube("", "patch", "nodeplan", "fleet", "--type=merge", "-p", `{"spec":{"suspend":false}}`)
	f.reached(commit, lkeplanv1alpha1.ReasonSucceeded)
	if weight := f.kube("", "get", "nodepool", "general", "-o", "jsonpath={.spec.weight}"); weight != "20" {
		t.Errorf("after it was resumed the weight is %s, want 20", weight)
	}
}

// wantsSignatures shows that a revision is refused until source-controller has
// verified its signature.
func (f *fluxed) wantsSignatures(main string) {
	f.t.Helper()
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		f.t.Log("without ssh-keygen no commit is signed, and no signature is checked")
		return
	}
	key := filepath.Join(f.t.TempDir(), "key")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
		f.t.Fatalf("ssh-keygen: %v\n%s", err, out)
	}
	f.kube("", "patch", "nodeplan", "fleet", "--type=merge", "-p", `{"spec":{"requireVerifiedSource":true}}`)
	f.repo.replace(map[string]string{"main.lke.hcl": main, "more.lke.hcl": fleetPools("spare", "other")})
	git(f.repo.t, f.repo.dir, "-c", "gpg.format=ssh", "-c", "user.signingkey="+key, "commit", "--amend", "-q", "-S", "-m",
		"signed")
	f.ask("gitrepository")
	f.reached(f.repo.head(), lkeplanv1alpha1.ReasonSourceNotVerified)
	f.kube("", "create", "secret", "generic", "authors", "--from-file=author.sshpub="+key+".pub")
	f.kube("", "patch", "gitrepository", "fleet", "--type=merge", "-p",
		`{"spec":{"verify":{"mode":"HEAD","secretRef":{"name":"authors"}}}}`)
	f.reached(f.repo.head(), lkeplanv1alpha1.ReasonSucceeded)
	f.kube("", "patch", "nodeplan", "fleet", "--type=merge", "-p", `{"spec":{"requireVerifiedSource":false}}`)
	f.kube("", "patch", "gitrepository", "fleet", "--type=merge", "-p", `{"spec":{"verify":null}}`)
}

// prunesPastTheGuardsOnly deletes a file with two pools, which the guards refuse, and
// then one pool after the other.
func (f *fluxed) prunesPastTheGuardsOnly(main string) {
	t := f.t
	t.Helper()
	np := f.reached(f.push(map[string]string{"main.lke.hcl": main}), lkeplanv1alpha1.ReasonGuarded)
	mustContain(t, conditions.GetMessage(np, meta.ReadyCondition), "would delete 2 pools")
	if got := f.pools(); len(got) != 3 {
		t.Errorf("pools %v: a deleted file was pruned past the guard", got)
	}
	f.reached(f.push(map[string]string{"main.lke.hcl": main, "more.lke.hcl": fleetPools("spare")}),
		lkeplanv1alpha1.ReasonSucceeded)
	f.reached(f.push(map[string]string{"main.lke.hcl": main}), lkeplanv1alpha1.ReasonSucceeded)
	f.until("the pools of the deleted file are pruned", 20*time.Second, func(state) bool { return len(f.pools()) == 1 })
}
