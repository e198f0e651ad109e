package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestAPIServerAcceptsChart with many values, and the output of kustomize for kube/deploy, without
// unknown fields.
func TestAPIServerAcceptsChart(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	for _, namespace := range []string{"lkeplan-system", "lkeplan-fleet", "other"} {
		s.kube("", "create", "namespace", namespace)
	}
	takes := func(what, manifests string) {
		if said, refused := s.tries(s.env["KUBECONFIG"], manifests, "apply", "--server-side", "--force-conflicts",
			"--dry-run=server", "--validate=strict", "-f", "-"); refused {
			t.Errorf("%s: %s", what, said)
		}
	}
	values, err := filepath.Glob("testdata/chart/values/*.yaml")
	if err != nil || len(values) == 0 {
		t.Fatalf("no values: %v", err)
	}
	for _, name := range values {
		made := s.helm("template", "lkeplan", chart, "--namespace", "lkeplan-system", "--values",
			"cmd/sandbox/e2e/"+name)
		var known []string
		for doc := range strings.SplitSeq(made, "\n---\n") {
			if !strings.Contains(doc, "\napiVersion: monitoring.coreos.com/v1\n") && // of operators that are not installed
				!strings.Contains(doc, "\napiVersion: cilium.io/v2\n") &&
				!strings.Contains(doc, "\napiVersion: projectcalico.org/v3\n") {
				known = append(known, doc)
			}
		}
		takes(name, strings.Join(known, "\n---\n"))
	}
	takes("kube/deploy", s.kube("", "kustomize", "../../../kube/deploy"))
}

// TestChartInstallUpgradeUninstall upgrades a release of an earlier chart, with its CRDs and roles,
// while nodes run. Uninstalling keeps pools, nodes and pods.
func TestChartInstallUpgradeUninstall(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	const namespace = "lkeplan-system"
	values := []string{"--namespace", namespace, "--set", "settings.clusterName=sandbox,apiToken=none,replicas=0",
		"--set", "gitops.replicas=0," + setImage} // both controllers run outside the cluster
	said := s.helm(append([]string{"install", "lkeplan", earlier(t), "--create-namespace"}, values...)...)
	mustContain(t, said, "STATUS: deployed", "lkeplan doctor")
	first := s.chartController()
	s.run("lkeplan", "apply", "--yes", "testdata/fallback")
	s.applyAll(workload("any", 2))
	before := s.until("pods run", time.Minute, func(now state) bool { return now.running == 2 && now.matched() })

	column := func() string {
		return s.kube("", "get", "crd", "nodeplans.lkeplan.dev", "-o", "jsonpath={.spec.names.shortNames}")
	}
	if got := column(); got != `["old"]` {
		t.Errorf("the earlier chart installed the short names %s", got)
	}
	s.helm(append([]string{"upgrade", "lkeplan", chart}, values...)...)
	s.until("the CRDs are upgraded", 10*time.Second, func(state) bool { return column() == `["np"]` })
	if _, there := s.tries(s.env["KUBECONFIG"], "", "get", "clusterrole", "lkeplan-old"); !there {
		t.Error("a role of the earlier chart was not deleted")
	}
	first.stop()
	second := s.chartController()
	s.scaleTo("any", 4)
	after := s.until("more pods run", time.Minute, func(now state) bool { return now.running == 4 && now.matched() })
	for _, name := range names(before) {
		if !slices.Contains(names(after), name) {
			t.Errorf("the upgrade replaced node %s; the nodes are %v", name, names(after))
		}
	}

	said = s.helm("uninstall", "lkeplan", "--namespace", namespace)
	mustContain(t, said, "kept due to the resource policy", "nodepools.karpenter.sh")
	second.stop()
	// Only Kubernetes itself could still delete an object, and would have marked it for deletion.
	if now := s.state(); !slices.Equal(names(now), names(after)) || now.deleting() || now.running != 4 || len(s.pools()) == 0 {
		t.Errorf("uninstalling deleted nodes, pods or pools: left are %s and the pools %v", now, s.pools())
	}
	// A new release of the chart continues with the same nodes.
	s.helm(append([]string{"install", "lkeplan", chart}, values...)...)
	s.chartController()
	s.scaleTo("any", 0)
	s.until("the nodes are deleted", 2*time.Minute, func(now state) bool { return now.empty() })
}

func names(of state) (all []string) {
	for _, n := range of.nodes {
		all = append(all, n.Name)
	}
	return all
}

// earlier is a possible earlier version of the chart: a CRD differs, and it has a role that was
// removed since.
func earlier(t *testing.T) string {
	t.Helper()
	root, err := repositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(root, chart))); err != nil {
		t.Fatal(err)
	}
	edit := func(name, old, by string) {
		path := filepath.Join(dir, name)
		raw, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(raw), old) {
			t.Fatalf("%s has no %q (%v)", name, old, err)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(raw), old, by, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	edit("Chart.yaml", "\nversion: ", "\nversion: 0.0.0-")
	edit("files/crds/lkeplan.dev_nodeplans.yaml", "    - np\n", "    - old\n")
	role, err := json.Marshal(map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
		"metadata": map[string]any{"name": "lkeplan-old"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "templates", "old.yaml"), role, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}
