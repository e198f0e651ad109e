package workload_test

import (
	"strings"
	"testing"

	"github.com/lkeplan/lkeplan/engine/manifests"
	"github.com/lkeplan/lkeplan/engine/simulate/workload"
)

// deployment has a manifest of a Deployment with fields of its spec and of its pods.
func deployment(name, spec, pods string) string {
	return "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: " + name + "}\nspec:\n  " + spec +
		"\n  template: {spec: {containers: [{name: main}]" + pods + "}}\n"
}

// asking has a manifest of a Deployment whose container has these resources.
func asking(resources string) string {
	return strings.Replace(deployment("web", "replicas: 2", ""), "name: main", "name: main, resources: "+resources, 1)
}

func scaler(name, bounds string) string {
	return "---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: " + name +
		"}\nspec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, " + bounds + "}\n"
}

// TestInvalidManifests are refused, or told of, with their place; what is
// not understood does not count.
func TestInvalidManifests(t *testing.T) {
	web := deployment("web", "replicas: 2", "")
	job := "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: once}\n" +
		"spec: {template: {spec: {containers: [{name: main}]}}}\n"
	// affine has the second document be a Deployment with an affinity of its pods.
	affine := func(affinity string) string {
		return deployment("api", "replicas: 1", "") + deployment("web", "replicas: 2", ", affinity: {"+affinity+"}")
	}
	expression := func(text string) string {
		return affine("nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [" +
			text + "]}]}}")
	}
	spread := func(text string) string {
		return deployment("api", "replicas: 1", "") + deployment("web", "replicas: 2", ", topologySpreadConstraints: ["+text+"]")
	}
	const second = "error: f.yaml: document 2: Deployment web: "
	for _, tt := range []struct {
		name, text string
		want       []string // parts of what comes out
	}{
		{"nothing to be greater than", expression("{key: a, operator: Gt}"), []string{second + "its nodeAffinity: "}},
		{"greater than a word", expression("{key: a, operator: Gt, values: [x]}"), []string{second + "its nodeAffinity: "}},
		{"an operator that is none", expression("{key: a, operator: Has}"), []string{
			second + `its nodeAffinity: unknown operator "Has"`}},
		{"a selector that is none", affine("podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: " +
			"[{topologyKey: a, labelSelector: {matchExpressions: [{key: a, operator: In}]}}]}"), []string{
			second + "its affinity to pods: "}},
		{"an affinity by nothing", affine("podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: " +
			"[{weight: 1, podAffinityTerm: {labelSelector: {}}}]}"), []string{second + "its affinity to pods: topologyKey is missing"}},
		{"no skew", spread("{topologyKey: a, whenUnsatisfiable: DoNotSchedule}"), []string{
			second + "its topologySpreadConstraints: maxSkew is 0, but must be more than zero"}},
		{"another way to be spread", spread("{topologyKey: a, maxSkew: 1, whenUnsatisfiable: Never}"), []string{
			second + `its topologySpreadConstraints: whenUnsatisfiable is "Never"`}},
		{"a toleration that is none", deployment("api", "replicas: 1", "") + deployment("web", "replicas: 2",
			", tolerations: [{effect: Maybe}]"), []string{second + `its tolerations: unknown effect "Maybe"`}},
		{"a label that is none", deployment("api", "replicas: 1", "") + deployment("web", "replicas: 2",
			", nodeSelector: {\"a b\": c}"), []string{second + "its nodeSelector: "}},
		{"an amount that is none", deployment("api", "replicas: 1", "") + asking("{requests: {cpu: lots}}"), []string{
			second + `spec.template.spec.containers[0].resources.requests.cpu is "lots", which is not an amount`}},
		{"replicas in words", deployment("api", "replicas: 1", "") + deployment("web", "replicas: three", ""), []string{
			second + "cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"}},
		{"more pods than can be simulated", deployment("api", "replicas: 1", "") + deployment("web", "replicas: 100000", ""), []string{
			second + "with its 100000 pods there are more than the 100000 that can be simulated"}},
		{"a budget of words", "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: b}\nspec: {minAvailable: most}\n",
			[]string{"error: f.yaml: document 1: PodDisruptionBudget b: minAvailable and maxUnavailable must be numbers or percentages"}},
		{"a budget for what cannot be selected", "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: b}\n" +
			"spec: {selector: {matchExpressions: [{key: a, operator: Has}]}}\n",
			[]string{"error: f.yaml: document 1: PodDisruptionBudget b: its selector: "}},
		{"a pod that a kubelet runs", "apiVersion: v1\nkind: Pod\nmetadata: {name: a, annotations: {kubernetes.io/config.mirror: x}}\n" +
			"spec: {containers: [{name: main}]}\n", []string{"Pod a is ignored: the kubelet of a node runs it itself", "no pods"}},
		{"what is being deleted", strings.Replace(web, "{name: web}", "{name: web, deletionTimestamp: \"2026-11-20T10:00:00Z\"}", 1),
			[]string{"Deployment web is ignored: it is being deleted", "no pods"}},
		{"a negative request", deployment("api", "replicas: 1", "") + asking("{requests: {cpu: -1}}"), []string{
			"error: f.yaml: document 2: Deployment web: container main requests -1 of cpu, but amounts cannot be negative"}},
		{"a negative limit", asking("{limits: {memory: -1Gi}}"), []string{
			"document 1: Deployment web: container main is limited to -1Gi of memory, but amounts cannot be negative"}},
		{"a negative overhead", deployment("web", "replicas: 2", ", overhead: {cpu: -1}"), []string{
			"the overhead of its pods is -1 of cpu, but amounts cannot be negative"}},
		{"a negative request of a pod", deployment("web", "replicas: 2", ", resources: {requests: {cpu: -1}}"), []string{
			"its pods request -1 of cpu, but amounts cannot be negative"}},
		{"a negative request of a DaemonSet", strings.Replace(asking("{requests: {cpu: -1}}"), "kind: Deployment",
			"kind: DaemonSet", 1), []string{"container main requests -1 of cpu"}},
		{"a negative request of an init container", deployment("web", "replicas: 2",
			", initContainers: [{name: first, resources: {requests: {memory: -5}}}]"), []string{
			"container first requests -5 of memory"}},
		{"no containers", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {}\n", []string{
			"error: f.yaml: document 1: Pod a: its pods have no containers"}},
		{"a key in another case", deployment("web", "Replicas: 50", ""), []string{"1 of Deployment web",
			`f.yaml: document 1: Deployment web: unknown field "spec.Replicas": ignored`}},
		{"several keys that are not known", deployment("web", "Replicas: 50\n  replica: 3", ", Tolerations: []"), []string{
			`unknown field "spec.Replicas", unknown field "spec.replica", unknown field "spec.template.spec.Tolerations": ignored`}},
		{"fewer than no replicas", deployment("web", "replicas: -3", ""), []string{
			"error: f.yaml: document 1: Deployment web: it has -3 pods, which is negative"}},
		{"fewer than no pods of a job", strings.Replace(job, "spec: {", "spec: {parallelism: -1, ", 1), []string{
			"Job once: it has -1 pods"}},
		{"another version of the API", strings.Replace(web, "apps/v1", "apps/v1beta1", 1), []string{
			"f.yaml: document 1: Deployment web is ignored: it is of apps/v1beta1; the supported Deployment is of apps/v1",
			"no pods"}},
		{"another group", strings.Replace(web, "apps/v1", "example.com/v1", 1), []string{
			"Deployment web is ignored: it is of example.com/v1", "no pods"}},
		{"no version of the API", strings.Replace(web, "apiVersion: apps/v1\n", "", 1), []string{
			"Deployment web is ignored: it has no apiVersion; the supported Deployment is of apps/v1", "no pods"}},
		{"the same twice", web + deployment("api", "replicas: 1", "") + web, []string{"2 of Deployment web",
			"f.yaml: document 3: Deployment web counts once, but is also in f.yaml: document 1"}},
		{"the same at another time", web + strings.Replace(web, "{name: web}", "{name: web, resourceVersion: \"7\"}", 1) +
			"status: {replicas: 2}\n", []string{"2 of Deployment web", "document 2: Deployment web counts once"}},
		{"two that are not the same", web + deployment("web", "replicas: 9", ""), []string{
			"error: f.yaml: document 2: Deployment web: it is also in f.yaml: document 1, with different content"}},
		{"a namespace that goes without saying", web + strings.Replace(web, "{name: web}", "{name: web, namespace: default}", 1),
			[]string{"2 of Deployment web in default", "Deployment default/web counts once, but is also in f.yaml: document 1"}},
		{"a job that has ended", job + "status: {conditions: [{type: Complete, status: \"True\"}]}\n", []string{
			"Job once is ignored: it has ended", "no pods"}},
		{"a job that has failed", job + "status: {conditions: [{type: Failed, status: \"True\"}]}\n", []string{
			"Job once is ignored: it has ended", "no pods"}},
		{"a job that goes on", job + "status: {conditions: [{type: Complete, status: \"False\"}]}\n", []string{"1 of Job once"}},
		{"bounds the wrong way round", web + scaler("web", "minReplicas: 5, maxReplicas: 3"), []string{
			"error: f.yaml: document 2: HorizontalPodAutoscaler web: minReplicas is 5 and maxReplicas is 3"}},
		{"a bound below zero", web + scaler("web", "minReplicas: -5, maxReplicas: 3"), []string{
			"error: f.yaml: document 2: HorizontalPodAutoscaler web: minReplicas is -5"}},
		{"two scalers", web + scaler("one", "maxReplicas: 3") + scaler("two", "maxReplicas: 9"), []string{
			"error: f.yaml: document 3: HorizontalPodAutoscaler two: Deployment web is also scaled by HorizontalPodAutoscaler one"}},
		{"pods of what is not known", "apiVersion: example.com/v1\nkind: Spark\nmetadata: {name: a}\n---\napiVersion: v1\n" +
			"kind: Pod\nmetadata: {name: a-1, ownerReferences: [{kind: Spark, name: a, controller: true}]}\n" +
			"spec: {containers: [{name: main}]}\n", []string{"1 of Pod a-1"}},
		{"a runtime class", deployment("web", "replicas: 2", ", runtimeClassName: gvisor") + "---\n" +
			"apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: gvisor}\nhandler: runsc\n" +
			"overhead: {podFixed: {cpu: 250m}}\n", []string{`2 of Deployment web in default, each {"pods":"1"}`,
			"note: RuntimeClass gvisor in f.yaml is not read; use --workloads live or snapshot:FILE.",
			"missing: Deployment web names the RuntimeClass gvisor, which is not read: its overhead and its node selection are " +
				"ignored; use --workloads live or snapshot:FILE"}},
		{"what changes pods in a cluster", web + "---\napiVersion: v1\nkind: LimitRange\nmetadata: {name: a, namespace: team}\n---\n" +
			"apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: b}\n---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: c}\n---\n" +
			"apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: d}\n", []string{"2 of Deployment web",
			"missing: LimitRange team/a in f.yaml is not read; use --workloads live or snapshot:FILE",
			"note: ResourceQuota b in f.yaml is not read", "note: PersistentVolume c in f.yaml is not read",
			"missing: ScaledObject d in f.yaml is not read"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := foundText(of(t, "f.yaml", tt.text))
			for _, part := range tt.want {
				if part == "no pods" {
					if !strings.HasPrefix(got, "note: ") {
						t.Errorf("something counts:\n%s", got)
					}
				} else if !strings.Contains(got, part) {
					t.Errorf("it does not say\n%s\nbut\n%s", part, got)
				}
			}
		})
	}
}

// of reads the manifests of a file.
func of(t *testing.T, file, text string) (workload.Found, error) {
	t.Helper()
	objects, err := manifests.Read(file, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return workload.Read(objects, false)
}
