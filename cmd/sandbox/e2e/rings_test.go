package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/examples/guidetest"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// nodePlanOfRing follows a directory of a Git repository with rings.
const nodePlanOfRing = `
apiVersion: lkeplan.dev/v1alpha1
kind: NodePlan
metadata: {name: fleet, namespace: lkeplan-fleet}
spec:
  interval: 10m
  retryInterval: 1s
  path: clusters/CLUSTER
  git: {url: URL, interval: 1s}
`

// ringed is the clusters dev and eu-1, which follow the repository of examples/rings.
type ringed struct {
	t       *testing.T
	repo    *repository
	dev, eu *sandbox
	// contexts is a kubeconfig with a context for each of them.
	contexts string
}

// startRings starts two control planes, with the rights that the chart gives. dev has applied the
// first commit.
func startRings(t *testing.T) *ringed {
	t.Helper()
	r := &ringed{t: t, repo: serveGit(t)}
	for _, dir := range []string{"order", "clusters"} {
		if err := os.CopyFS(filepath.Join(r.repo.dir, dir), os.DirFS("../../../examples/rings/"+dir)); err != nil {
			t.Fatal(err)
		}
	}
	r.repo.commitAll()
	merged := api.NewConfig()
	start := func(name string) *sandbox {
		s := startSandbox(t, "--cluster-name", name, "--region", "eu-central")
		s.installCRDs()
		for _, file := range []string{"namespace.yaml", "rbac.yaml", "tenant.yaml", "gitops.yaml"} {
			s.kube("", "apply", "-f", "../../../kube/deploy/"+file)
		}
		s.kube("", "delete", "deployment", "-n", "lkeplan-system", gitopsAccount) // gitOps starts it here
		s.kube(strings.NewReplacer("CLUSTER", name, "URL", r.repo.url).Replace(nodePlanOfRing), "apply", "-f", "-")
		own, err := clientcmd.LoadFromFile(s.env["KUBECONFIG"])
		if err == nil {
			err = clientcmd.ResolveLocalPaths(own)
		}
		if err != nil {
			t.Fatal(err)
		}
		context := own.Contexts[own.CurrentContext]
		merged.Clusters[name], merged.AuthInfos[name] = own.Clusters[context.Cluster], own.AuthInfos[context.AuthInfo]
		merged.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
		return s
	}
	r.dev, r.eu = start("dev"), start("eu-1")
	r.contexts = filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*merged, r.contexts); err != nil {
		t.Fatal(err)
	}
	return r
}

// gitOps starts the GitOps controller of a cluster, with its own account.
func gitOps(s *sandbox) *controller {
	s.t.Helper()
	return s.startController("--only", "gitops", "--kubeconfig", s.account("lkeplan-system", gitopsAccount),
		"--default-service-account", "lkeplan")
}

// plan returns the NodePlan of a cluster.
func (r *ringed) plan(s *sandbox) *lkeplanv1alpha1.NodePlan {
	r.t.Helper()
	np := &lkeplanv1alpha1.NodePlan{}
	if err := s.client.Get(r.t.Context(), client.ObjectKey{Namespace: "lkeplan-fleet", Name: "fleet"}, np); err != nil {
		r.t.Fatal(err)
	}
	return np
}

// until polls the NodePlan of a cluster until it holds.
func (r *ringed) until(
	s *sandbox, what string, within time.Duration, holds func(*lkeplanv1alpha1.NodePlan) bool,
) *lkeplanv1alpha1.NodePlan {
	r.t.Helper()
	var np *lkeplanv1alpha1.NodePlan
	s.eventually(what, within, func() error {
		if np = r.plan(s); holds(np) {
			return nil
		}
		raw, _ := json.MarshalIndent(np.Status, "", " ")
		return fmt.Errorf("the status is:\n%s", raw)
	})
	r.t.Logf("%s: %s", np.Spec.Path, what)
	return np
}

// waits waits until eu-1 waits for dev with a reason, and has not applied a commit.
func (r *ringed) waits(commit, want string) {
	r.t.Helper()
	r.until(r.eu, "it waits: "+want, time.Minute, func(np *lkeplanv1alpha1.NodePlan) bool {
		if strings.HasSuffix(np.Status.LastAppliedRevision, commit) {
			r.t.Fatalf("eu-1 has applied %s", commit)
		}
		return because(lkeplanv1alpha1.ReasonWaitingForRing)(np) &&
			strings.HasSuffix(np.Status.LastAttemptedRevision, commit) &&
			strings.Contains(conditions.GetMessage(np, meta.ReadyCondition), want)
	})
}

// applied waits until a cluster has applied a commit.
func (r *ringed) applied(s *sandbox, commit string) *lkeplanv1alpha1.NodePlan {
	r.t.Helper()
	return r.until(s, "it has applied "+commit[:8], 2*time.Minute, func(np *lkeplanv1alpha1.NodePlan) bool {
		return because(lkeplanv1alpha1.ReasonSucceeded)(np) && strings.HasSuffix(np.Status.LastAppliedRevision, commit)
	})
}

// change replaces a text in the files of both clusters, and returns the commit.
func (r *ringed) change(old, text string) string {
	r.t.Helper()
	for _, name := range []string{"dev", "eu-1"} {
		r.rewrite("clusters/"+name+"/main.lke.hcl", old, text)
	}
	return r.repo.commitAll()
}

func (r *ringed) rewrite(name, old, text string) {
	r.t.Helper()
	before := readText(r.t, filepath.Join(r.repo.dir, name))
	if !strings.Contains(before, old) {
		r.t.Fatalf("%s does not contain %q", name, old)
	}
	r.repo.write(name, strings.Replace(before, old, text, 1))
}

// shown is what lkeplan rings prints of the working tree.
func (r *ringed) shown(flags ...string) string {
	r.t.Helper()
	dir := filepath.Join(r.repo.dir, "clusters/eu-1")
	said, code := r.eu.lkeplan(r.contexts, append([]string{"rings", "fleet", dir, "-n", "lkeplan-fleet"}, flags...)...)
	if code != 0 {
		r.t.Fatalf("lkeplan rings exited with %d:\n%s", code, said)
	}
	return said
}

// TestACommitReachesOneRingAfterTheOther: two control planes follow one repository, with the accounts
// of the guide, which is run as written. The first ring may fail, or be down; the controller of the
// second may be killed while it waits.
func TestACommitReachesOneRingAfterTheOther(t *testing.T) {
	t.Parallel()
	r := startRings(t)
	gitOps(r.dev)
	second := gitOps(r.eu)
	first := r.repo.head()
	r.applied(r.dev, first)
	r.waits(first, "dev: the NodePlan names no Secret with its kubeconfig; set spec.rings.secretRef")
	env := r.eu.shell()
	for i, variable := range env {
		if strings.HasPrefix(variable, "KUBECONFIG=") {
			env[i] = "KUBECONFIG=" + r.contexts
		}
	}
	guidetest.Runner{Env: env, Sandbox: true}.Run(t, "../../../examples", "rings")
	if t.Failed() {
		return
	}
	r.applied(r.eu, first)

	// A shorter soak time does not apply to the commit that sets it.
	r.rewrite("order/main.lke.hcl", `"30m"`, `"20s"`)
	shorter := r.repo.commitAll()
	r.applied(r.dev, shorter)
	r.waits(shorter, " of 30m")
	said, code := r.eu.lkeplan(r.contexts, "nodeplan", "approve", "fleet", "--context", "eu-1", "-n", "lkeplan-fleet",
		"--guard", "rings:dev", "--yes")
	if code != 0 {
		t.Fatalf("approve: %s", said)
	}
	r.applied(r.eu, shorter)

	// A killed controller waits where it was.
	commit := r.change("cpu = 40", "cpu = 44")
	r.applied(r.dev, commit)
	r.waits(commit, "dev: ready for ")
	since := r.plan(r.eu).Status.Ring.Waiting.Since
	mustContain(t, r.shown(), "soaking", "waiting", "proven at ", " UTC at the earliest")
	second.kill()
	gitOps(r.eu)
	r.waits(commit, "dev: ready for ")
	if now := r.plan(r.eu).Status.Ring.Waiting.Since; !now.Equal(&since) {
		t.Errorf("it waits since %s, and before it was killed since %s", now, since)
	}
	r.applied(r.eu, commit)
	if proof := r.plan(r.dev).Status.Ring.Proven[0]; commit != proof.Commit || proof.Ready.Duration < 20*time.Second {
		t.Errorf("eu-1 has applied a commit of which dev's proof is %+v", proof)
	}
	mustContain(t, r.shown("--commit", commit, "-o", "json"), `"state": "Proven"`)
	r.isCommentedOn(commit)

	r.devIsDown()
	r.devDoesNotCompile()
	r.devRollsBack()
}

// isCommentedOn runs the workflow twice: the pull request of the commit has one comment with its progress.
func (r *ringed) isCommentedOn(commit string) {
	t := r.t
	t.Helper()
	here, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "forge")
	if _, err := NewForge(file); err != nil {
		t.Fatal(err)
	}
	if err := changeForge(file, func(f *Forge) { f.Merged = map[string]int{commit: 7} }); err != nil {
		t.Fatal(err)
	}
	runner := &Runner{
		Dir: dir, Origin: r.repo.dir, Ref: "refs/heads/main", Here: here, Path: t.TempDir(),
		GitHub: map[string]any{
			"event_name": "schedule", "repository": "acme/fleet", "token": "t", "event": map[string]any{},
		},
		Secrets: map[string]any{"KUBECONFIG_RINGS": readText(t, r.contexts)},
		Vars:    map[string]any{"LKEPLAN_VERSION": "v0.3.0"},
		Env:     []string{"FORGE=" + file},
	}
	if _, err := installFakeGo(runner.Path, bin(t, "lkeplan")); err != nil {
		t.Fatal(err)
	}
	w, err := ReadWorkflow(filepath.Join(here, "examples/github/workflows/rings.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if res, err := runner.Job(w, "rings"); err != nil || res.Failed != "" {
			t.Fatalf("the workflow failed in %q: %v\n%s", res.Failed, err, res.Log)
		}
	}
	forge, err := OpenForge(file)
	if err != nil || len(forge.Comments) != 1 || forge.Comments[0].Issue != "7" {
		t.Fatalf("%+v, %v", forge, err)
	}
	mustContain(t, forge.Comments[0].Body,
		"<!-- lkeplan:rings/fleet:v1 -->\n### lkeplan: NodePlan fleet, commit "+commit[:8],
		"| rest | eu-1 | proven | "+commit[:8])
}

// devIsDown: the API server of dev does not answer. eu-1 waits, reports it, and continues later.
func (r *ringed) devIsDown() {
	t := r.t
	t.Helper()
	server := r.dev.process("kube-apiserver")
	if err := syscall.Kill(server, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(server, syscall.SIGCONT) }()
	commit := r.change("cpu = 44", "cpu = 48")
	r.waits(commit, "dev: it is not reachable: ")
	rows := r.shown("--commit", commit, "--request-timeout", "3s", "-o", "markdown")
	mustContain(t, rows, "| dev | dev | unknown | - | - | ", "| rest | eu-1 | waiting | ")
	if err := syscall.Kill(server, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	r.applied(r.dev, commit)
	r.applied(r.eu, commit)
}

// devDoesNotCompile: eu-1 never applies that commit, and applies the next one.
func (r *ringed) devDoesNotCompile() {
	t := r.t
	t.Helper()
	r.rewrite("clusters/eu-1/main.lke.hcl", "cpu = 48", "cpu = 52")
	r.rewrite("clusters/dev/main.lke.hcl", "cpu = 48", "cpu = many")
	bad := r.repo.commitAll()
	r.waits(bad, "dev: CompileFailed: ")
	r.eu.eventually("an event names the reason", time.Minute, func() error {
		if !r.eu.hasEvent("NodePlan", "fleet", "", "dev: CompileFailed: ") {
			return errors.New("there is none")
		}
		return nil
	})
	mustContain(t, r.shown("--commit", bad), "notready", "CompileFailed: ")
	r.eu.never("eu-1 applies a commit that fails in dev", func(state) bool {
		return strings.HasSuffix(r.plan(r.eu).Status.LastAppliedRevision, bad)
	}, r.reconciliation())
	r.rewrite("clusters/dev/main.lke.hcl", "cpu = many", "cpu = 52")
	good := r.repo.commitAll()
	r.applied(r.dev, good)
	r.applied(r.eu, good)
}

// devRollsBack: the first wave of nodes of dev does not join. eu-1 never applies that commit.
func (r *ringed) devRollsBack() {
	t := r.t
	t.Helper()
	r.dev.startController("--only", "capacity")
	r.dev.applyAll(workload("general", 1))
	r.dev.until("a pod runs in dev", time.Minute, func(now state) bool { return now.running == 1 && now.matched() })
	r.dev.kube("", "patch", "-n", "lkeplan-fleet", "nodeplan", "fleet", "--type=merge", "-p",
		`{"spec": {"rollout": {"stable": "5s", "timeout": "40s", "onFailure": "Rollback"}}}`)
	r.dev.inject(`{"never_joins": true}`)
	bad := r.change("  limits ", "  labels       = { tier = \"web\" }\n  limits ")
	r.waits(bad, "dev: Proving: ")
	r.until(r.dev, "it rolls back", 3*time.Minute, because(lkeplanv1alpha1.ReasonRolledBack))
	r.waits(bad, "dev: its rollout of the revision is RolledBack: ")
	mustContain(t, r.shown("--commit", bad), "failed", "its rollout of the revision is RolledBack: ")
	r.eu.never("eu-1 applies a commit that dev has rolled back", func(state) bool {
		return strings.HasSuffix(r.plan(r.eu).Status.LastAppliedRevision, bad)
	}, r.reconciliation())
}

// reconciliation is that of the NodePlan of eu-1.
func (r *ringed) reconciliation() rounds {
	handled, asked := 0, ""
	return rounds{
		what: "the NodePlan of eu-1",
		next: func() {
			asked = time.Now().Format(time.RFC3339Nano)
			r.eu.kube("", "annotate", "--overwrite", "-n", "lkeplan-fleet", "nodeplan", "fleet",
				"reconcile.fluxcd.io/requestedAt="+asked)
		},
		count: func() int {
			if asked != "" && r.plan(r.eu).Status.LastHandledReconcileAt == asked {
				asked = ""
				handled++
			}
			return handled
		},
	}
}
