package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

const gitRepositoryOfTwo = `
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: fleet, namespace: default}
spec: {interval: 1h, url: "URL", ref: {branch: main}}
---
apiVersion: lkeplan.dev/v1alpha1
kind: NodePlan
metadata: {name: one, namespace: default}
spec: {interval: 1h, path: one, sourceRef: {kind: GitRepository, name: fleet}}
---
apiVersion: lkeplan.dev/v1alpha1
kind: NodePlan
metadata: {name: two, namespace: default}
spec: {interval: 1h, path: two, sourceRef: {kind: GitRepository, name: fleet}}
`

// TestACommitMovesAPoolThroughFlux: two NodePlans read one GitRepository. Commits move a
// pool there and back, once while no controller runs: it stays the same pool, and no configuration changes.
func TestACommitMovesAPoolThroughFlux(t *testing.T) {
	t.Parallel()
	f := &fluxed{sandbox: startSandbox(t, "--flux"), repo: serveGit(t)}
	f.installCRDs()
	running := f.startController()
	commit := func(one, two []string) string {
		f.repo.write("one/main.lke.hcl", fleet("", one...))
		f.repo.write("two/main.lke.hcl", strings.ReplaceAll(fleet("", two...), "default", "second"))
		return f.repo.commitAll()
	}
	first := commit([]string{"a", "general"}, []string{"b"})
	f.kube(strings.ReplaceAll(gitRepositoryOfTwo, "URL", f.repo.url), "apply", "-f", "-")
	f.both(first)
	uid := f.kube("", "get", "nodepool", "general", "-o", "jsonpath={.metadata.uid}")

	for i, step := range []struct {
		one, two []string
		holder   string
	}{
		{[]string{"a"}, []string{"b", "general"}, "two"},
		{[]string{"a", "general"}, []string{"b"}, "one"},
		{[]string{"a"}, []string{"b", "general"}, "two"},
	} {
		last := i == 2
		if last { // the next leader knows nothing
			running.kill()
		}
		moved := commit(step.one, step.two)
		f.ask("gitrepository")
		if last {
			f.kube("", "wait", "gitrepository/fleet", "--timeout=30s",
				"--for=jsonpath={.status.artifact.revision}=main@sha1:"+moved)
			f.startController()
		}
		f.both(moved)
		got := f.kube("", "get", "nodepool", "general", "-o",
			`jsonpath={.metadata.uid} {.metadata.labels.lkeplan\.dev/part-of}`)
		if want := fmt.Sprintf("%s nodeplan.default.%s", uid, step.holder); got != want {
			t.Errorf("after commit %d the pool is %s, want %s", i, got, want)
		}
	}
}

// both waits until both NodePlans are done with a commit, and nothing stays that has
// moved.
func (f *fluxed) both(commit string) {
	f.t.Helper()
	for _, name := range []string{"one", "two"} {
		f.untilPlan(name, "it is done with commit "+commit[:8], func(np *lkeplanv1alpha1.NodePlan) bool {
			return applied(commit)(np) && !strings.Contains(conditions.GetMessage(np, meta.ReadyCondition), "is kept")
		})
	}
}
