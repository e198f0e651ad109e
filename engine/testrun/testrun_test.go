package testrun_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/testrun"
)

const pools = `
cluster {
  name   = "dev"
  region = "us-ord"
}
node_class "default" {}
pool "web" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = 4 }
  limits       = { cpu = 40 }
}
`

// TestRuns tries one run in the directory new, next to which are old and pods.
func TestRuns(t *testing.T) {
	version := strings.Replace(pools, `"us-ord"`, "\"us-ord\"\n  kubernetes_version = \"1.34\"", 1)
	policed := pools + "policy \"few\" {\n  condition     = plan.nodes.rolled < 2\n  error_message = \"Many.\"\n}\n"
	labelled := strings.Replace(pools, "limits ", "labels = { team = \"web\" }\n  limits ", 1)
	const pods = `pods = ["6x1cpu,1Gi"]` + "\n"
	tests := []struct {
		name, old, new, args, condition string
		status                          testrun.Status
		want                            string // in what is said
	}{
		{"rolled nodes of pods", pools, labelled, pods, `plan.nodes.rolled == 2 && plan.nodes.total == 2`, testrun.Passed, ""},
		{"nothing rolls", pools, pools, "", `plan.nodes.rolled == 0 && plan.actions == {}`, testrun.Passed, ""},
		{"uncounted nodes", pools, labelled, "", `plan.nodes.rolled == 0`, testrun.Failed, "that is not known"},
		{"all nodes without any", pools, pools, "", `plan.nodes.total == 0`, testrun.Failed, "that is not known"},
		{"unknown versions", pools, version, pods, `plan.nodes.rolled == 0`, testrun.Failed, "that is not known"},
		{"versions that the base names", strings.Replace(version, "1.34", "1.33", 1), version, pods,
			`plan.nodes.rolled == 2`, testrun.Passed, ""},
		{"policy without nodes", policed, labelled, "", `length(plan.refused_by) == 0`, testrun.Failed, "that is not known"},
		{"policy with nodes", policed, labelled, pods, `plan.refused_by == ["policy.few"]`, testrun.Passed, ""},
		{"manifests of a directory", pools, pools, "workloads = [\"../pods\"]\n", `simulate.pods == 3`, testrun.Passed, ""},
		{"DaemonSets of LKE", pools, pools, "pods = [\"4x1cpu,1Gi\"]\n", `simulate.nodes == 2`, testrun.Passed, ""},
		{"without them", pools, pools, "pods = [\"4x1cpu,1Gi\"]\nlke_daemonsets = false\n", `simulate.nodes == 1`, testrun.Passed, ""},
		{"manifests with a kustomization", pools, pools, "workloads = [\"../kustomized\"]\n", `simulate.pods == 3`,
			testrun.Error, "pods may be missing or differ: kustomized/kustomization.yaml: it has replicas; use the output of kustomize build"},
		{"a template of Helm", pools, pools, "workloads = [\"../chart\"]\n", `simulate.pods == 3`,
			testrun.Error, "pods may be missing or differ: chart/web.yaml: this looks like a Helm template"},
		{"a patch", pools, pools, "workloads = [\"../patched\"]\n", `simulate.pods == 1`,
			testrun.Error, "patched/patch.yaml: document 1: Deployment web: its pods have no containers"},
		{"manifests without pods", pools, pools, "workloads = [\"../none.yaml\"]\n", `simulate.pods == 0`, testrun.Error,
			"the sources of the run contain no pods"},
		{"snapshot that is none", pools, pools, "snapshot = \"../none.yaml\"\n", `plan.nodes.total == 0`, testrun.Error,
			"snapshot ../none.yaml"},
		{"time that is none", pools, pools, "at = \"tomorrow\"\n", `plan.nodes.rolled == 0`, testrun.Error, "use the form"},
		{"base that does not compile", pools + "pool {}", pools, "", `plan.nodes.rolled == 0`, testrun.Error,
			"dir:../old does not compile"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := fstest.MapFS{}
			for name, text := range map[string]string{
				"old/main.lke.hcl": tt.old, "new/main.lke.hcl": tt.new, "pods/a.yaml": jobs("a", 1), "pods/b/b.yml": jobs("b", 2),
				"pods/README.md": "Pods.", "kustomized/kustomization.yaml": "replicas: [{name: a, count: 9}]\n",
				"kustomized/a.yaml": jobs("a", 1), "pods/values.yaml": "replicaCount: 2\n", "pods/kustomization.yaml": "resources: [a.yaml, b]\n",
				"chart/web.yaml": "kind: Deployment\nspec: {replicas: {{ .Values.replicas }}}\n", "chart/a.yaml": jobs("a", 1),
				"patched/patch.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 3}\n",
				"patched/a.yaml":     jobs("a", 1),
				"none.yaml":          "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
				"new/a.lketest.hcl": "run \"a\" {\n  base = \"dir:../old\"\n  " + tt.args + "  assert {\n    condition = " +
					tt.condition + "\n    error_message = \"No.\"\n  }\n}\n",
			} {
				files[name] = &fstest.MapFile{Data: []byte(text)}
			}
			runs, _, diags := config.Read(files, "new")
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			opts := compile.Options{Options: config.Options{Dir: "new"}}
			got := testrun.Try(t.Context(), testrun.Directory{FS: files, Options: opts}, runs[0])
			said := ""
			for _, d := range got.Diagnostics {
				said += d.Detail + "\n"
			}
			if got.Status != tt.status || !strings.Contains(said, tt.want) || (tt.want == "") != (said == "") {
				t.Errorf("%s, not %s: %s", got.Status, tt.status, said)
			}
		})
	}
}

// jobs is a manifest with so many pods.
func jobs(name string, pods int) string {
	return strings.NewReplacer("NAME", name, "N", string(rune('0'+pods))).Replace(`apiVersion: batch/v1
kind: Job
metadata: {name: NAME, namespace: default}
spec:
  parallelism: N
  completions: N
  template:
    spec:
      restartPolicy: Never
      containers: [{name: c, image: c, resources: {requests: {cpu: "1", memory: 1Gi}}}]
`)
}
