package workload_test

import (
	"fmt"
	"strings"
	"testing"
)

// job has a manifest of a Job with fields of its spec and its status.
func job(spec, status string) string {
	return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: once}\nspec: {" + spec +
		"template: {spec: {containers: [{name: main}]}}}\nstatus: {" + status + "}\n"
}

// TestPodsLeftOfAStartedJob has as many pods as its controller would have at a time.
func TestPodsLeftOfAStartedJob(t *testing.T) {
	for _, tt := range []struct {
		spec, status string
		want         int // -1: it does not count
	}{
		{"completions: 10, parallelism: 4, ", "", 4},
		{"completions: 10, parallelism: 4, ", "succeeded: 3, active: 4", 4},
		{"completions: 10, parallelism: 4, ", "succeeded: 8, active: 2", 2},
		{"completions: 10, parallelism: 4, ", "succeeded: 10", 0},
		{"completions: 10, parallelism: 4, ", "succeeded: 12", 0},
		{"completions: 10, ", "succeeded: 2", 1},
		{"parallelism: 4, ", "active: 4", 4},
		{"parallelism: 4, ", "succeeded: 1, active: 2", 2},
		{"parallelism: 4, ", "succeeded: 1", 0},
		{"completions: 6, parallelism: 6, completionMode: Indexed, backoffLimitPerIndex: 1, ",
			"succeeded: 1, completedIndexes: \"0\", failedIndexes: \"1,3-4\"", 2},
		{"completions: 2, ", "conditions: [{type: SuccessCriteriaMet, status: \"True\"}]", -1},
		{"completions: 2, ", "conditions: [{type: FailureTarget, status: \"True\"}]", -1},
	} {
		found, err := of(t, "f.yaml", job(tt.spec, tt.status))
		if err != nil {
			t.Fatal(err)
		}
		got := -1
		if len(found.Workloads) == 1 {
			got = found.Workloads[0].Pods
		}
		if got != tt.want {
			t.Errorf("a Job {%s} with the status {%s} has %d pods at a time, and not %d", tt.spec, tt.status, tt.want, got)
		}
	}
	if _, err := of(t, "f.yaml", job("", "succeeded: many")); err == nil ||
		!strings.HasPrefix(err.Error(), "f.yaml: document 1: Job once: read its status: ") {
		t.Errorf("of a status that is none: %v", err)
	}
}

// TestAutoscalerKeepsZeroReplicas, unless it may scale to none itself.
func TestAutoscalerKeepsZeroReplicas(t *testing.T) {
	for bounds, want := range map[string]string{
		"minReplicas: 2, maxReplicas: 3": "0 of Deployment web",
		"maxReplicas: 3":                 "0 of Deployment web",
		"minReplicas: 0, maxReplicas: 3": "0 of Deployment web",
	} {
		got := text(of(t, "f.yaml", deployment("web", "replicas: 0", "")+scaler("web", bounds)))
		off := strings.Contains(got, "HorizontalPodAutoscaler web has no effect: Deployment web has replicas: 0")
		if !strings.HasPrefix(got, want) || off == strings.HasPrefix(bounds, "minReplicas: 0") {
			t.Errorf("with %s:\n%s", bounds, got)
		}
	}
}

// ranges has a manifest of a LimitRange.
func ranges(items string) string {
	return "---\napiVersion: v1\nkind: LimitRange\nmetadata: {name: team}\nspec: {limits: [" + items + "]}\n"
}

// TestLimitRangesDecideWhatPodsAskFor, and which are not made.
func TestLimitRangesDecideWhatPodsAskFor(t *testing.T) {
	for _, tt := range []struct{ name, pods, items, want string }{
		{"nothing is said", "{}", "{type: Container, defaultRequest: {cpu: 200m}, default: {cpu: \"1\", memory: 1Gi}}",
			`2 of Deployment web in default, each {"cpu":"200m","memory":"1Gi","pods":"1"}`},
		{"a limit is said", "{limits: {cpu: \"2\"}}", "{type: Container, defaultRequest: {cpu: 200m}, default: {memory: 1Gi}}",
			`each {"cpu":"2","memory":"1Gi","pods":"1"}`},
		{"a request is said", "{requests: {cpu: 300m}}", "{type: Container, defaultRequest: {cpu: 200m}}",
			`each {"cpu":"300m","pods":"1"}`},
		{"only a most is said", "{}", "{type: Container, max: {cpu: \"3\"}}", `each {"cpu":"3","pods":"1"}`},
		{"only a least is said", "{}", "{type: Container, min: {cpu: 100m}}", `each {"cpu":"100m","pods":"1"}`},
		{"more than the most", "{limits: {cpu: \"4\"}}", "{type: Container, max: {cpu: \"3\"}}",
			"barred: none is created: LimitRange default/team allows a limit of 3 of cpu, and container main has 4."},
		{"less than the least", "{requests: {cpu: 50m}}", "{type: Container, min: {cpu: 100m}}",
			"barred: none is created: LimitRange default/team requires that container main requests 100m of cpu, and it requests 50m."},
		{"no limit for a pod", "{requests: {cpu: 50m}}", "{type: Pod, max: {cpu: \"1\"}}",
			"barred: none is created: LimitRange default/team requires a limit of cpu, and a pod has none."},
		{"more than the most of a pod", "{limits: {memory: 2Gi}}", "{type: Pod, max: {memory: 1Gi}}",
			"LimitRange default/team allows a limit of 1Gi of memory, and a pod has 2Gi."},
		{"a limit far above", "{requests: {cpu: 100m}, limits: {cpu: \"1\"}}", "{type: Container, maxLimitRequestRatio: {cpu: \"4\"}}",
			"allows a limit of cpu of 4 times the request, and container main has 1 for 100m."},
		{"a negative most", "{}", "{type: Container, max: {cpu: \"-3\"}}",
			"error: f.yaml: document 2: LimitRange team: it has -3 of cpu, but amounts cannot be negative"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := text(of(t, "f.yaml", asking(tt.pods)+ranges(tt.items))); !strings.Contains(got, tt.want) {
				t.Errorf("it does not say\n%s\nbut\n%s", tt.want, got)
			}
		})
	}
	agent := strings.Replace(asking("{}"), "kind: Deployment", "kind: DaemonSet", 1)
	agent = strings.Replace(agent, "replicas: 2", "selector: {}", 1)
	if found, err := of(t, "f.yaml", agent+ranges("{type: Container, default: {cpu: 250m}}")); err != nil ||
		found.DaemonSets[0].Spec.Template.Spec.Containers[0].Resources.Requests.Cpu().String() != "250m" {
		t.Errorf("pods of DaemonSets: %+v, %v", found, err)
	}
	elsewhere := strings.Replace(ranges("{type: Container, default: {cpu: 250m}}"), "{name: team}", "{name: team, namespace: x}", 1)
	if got := text(of(t, "f.yaml", asking("{}")+elsewhere)); !strings.Contains(got, `each {"pods":"1"}`) {
		t.Errorf("another namespace has limits for this one:\n%s", got)
	}
	running := "---\napiVersion: v1\nkind: Pod\nmetadata: {name: a, uid: u}\nspec: {containers: [{name: main}]}\n"
	if got := text(of(t, "f.yaml", ranges("{type: Container, default: {cpu: 250m}}")+running)); !strings.Contains(got,
		`1 of Pod a in default, each {"pods":"1"}`) {
		t.Errorf("a pod that a cluster has let in is changed:\n%s", got)
	}
}

// TestResourceQuotaBoundsPods are there: those that run count first.
func TestResourceQuotaBoundsPods(t *testing.T) {
	quota := func(hard string) string {
		return "---\napiVersion: v1\nkind: ResourceQuota\nmetadata: {name: team}\nspec: {hard: {" + hard + "}}\n"
	}
	running := "---\napiVersion: v1\nkind: Pod\nmetadata: {name: a, uid: u}\n" +
		"spec: {containers: [{name: main, resources: {requests: {cpu: \"1\"}}}]}\n"
	web := asking("{requests: {cpu: \"2\"}, limits: {cpu: \"2\"}}")
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"pods", web + quota("pods: \"1\""), []string{"1 of Deployment web in default, each",
			"1 of Deployment web in default, each {\"cpu\":\"2\",\"pods\":\"1\"}, barred: no more are created: ResourceQuota " +
				"default/team allows 1 of pods, and earlier pods use 1."}},
		{"cpu", web + quota("cpu: \"5\"") + running, []string{"1 of Pod a", "2 of Deployment web in default, each {\"cpu\":\"2\",\"pods\":\"1\"}\n"}},
		{"less cpu", web + quota("requests.cpu: \"4\"") + running, []string{"1 of Pod a",
			"barred: no more are created: ResourceQuota default/team allows 4 of requests.cpu, and earlier pods use 3."}},
		{"limits", web + quota("limits.cpu: \"1\""), []string{"2 of Deployment web in default, each",
			"allows 1 of limits.cpu, and earlier pods use 0."}},
		{"what is not said", web + quota("requests.memory: 1Gi"), []string{"barred: none is created: ResourceQuota default/team " +
			"requires that each container sets its requests.memory, and container main does not."}},
		{"what is said of the pod as a whole", strings.Replace(web, "spec: {containers:", "spec: {resources: {limits: {memory: 1Gi}}, containers:", 1) +
			quota("requests.memory: 1Gi"), []string{"1 of Deployment web in default, each {\"cpu\":\"2\",\"memory\":\"1Gi\",\"pods\":\"1\"}\n",
			"ResourceQuota default/team allows 1Gi of requests.memory, and earlier pods use 1Gi."}},
		{"what is no matter of pods", web + quota("services: \"0\", requests.storage: 1Gi"), []string{
			"2 of Deployment web in default, each {\"cpu\":\"2\",\"pods\":\"1\"}\n"}},
		{"scopes", web + strings.Replace(quota("pods: \"0\""), "spec: {", "spec: {scopes: [BestEffort], ", 1), []string{
			"2 of Deployment web", "note: ResourceQuota team is ignored: it applies only to pods of some scopes."}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := text(of(t, "f.yaml", tt.text))
			for _, part := range tt.want {
				if !strings.Contains(got, part) {
					t.Errorf("it does not say\n%s\nbut\n%s", part, got)
				}
			}
		})
	}
}

// TestVolumesThatANodeAttaches are those of Linode: of a claim that is shared once for all of
// its pods.
func TestVolumesThatANodeAttaches(t *testing.T) {
	claim := func(name, class string) string {
		return "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: " + name + "}\nspec: {" + class + "}\n"
	}
	volume := ", volumes: [{name: v, persistentVolumeClaim: {claimName: data}}, {name: w, emptyDir: {}}]"
	web := deployment("web", "replicas: 2", volume)
	db := strings.Replace(deployment("db", "replicas: 2\n  volumeClaimTemplates: [{metadata: {name: a}, spec: {}}, "+
		"{metadata: {name: b}, spec: {storageClassName: linode-block-storage}}, {metadata: {name: c}, "+
		"spec: {storageClassName: nfs}}]", ""), "kind: Deployment", "kind: StatefulSet", 1)
	nfs := "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: nfs}\nprovisioner: nfs.example.com\n"
	for _, tt := range []struct{ name, text, want, note string }{
		{"a claim", web + claim("data", ""), "{0 [default/data]}", ""},
		{"of a class of Linode", web + claim("data", "storageClassName: linode-block-storage-retain"), "{0 [default/data]}", ""},
		{"of a class that is not given", web + claim("data", "storageClassName: nfs"), "{0 []}",
			"Volumes of the StorageClass nfs are not counted in the volume limit of nodes, because the class is missing."},
		{"of another class", web + claim("data", "storageClassName: nfs") + nfs, "{0 []}", ""},
		{"of templates", db + nfs, "{2 []}", ""},
		{"ephemeral", deployment("web", "replicas: 2",
			", volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {}}}}]"), "{1 []}", ""},
	} {
		found, err := of(t, "f.yaml", tt.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(found.Workloads[0].Volumes); got != tt.want || found.Workloads[0].Barred != "" {
			t.Errorf("%s: %s, and not %s; %s", tt.name, got, tt.want, found.Workloads[0].Barred)
		}
		if notes := strings.Join(found.Notes, " "); notes != tt.note {
			t.Errorf("%s: it is noted: %q", tt.name, notes)
		}
	}
}

// TestLimitsOfDaemonSetsAreRequests, before a LimitRange says what those that request nothing request.
func TestLimitsOfDaemonSetsAreRequests(t *testing.T) {
	found, err := of(t, "f.yaml", `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec: {template: {spec: {containers: [{name: main, resources: {limits: {cpu: "2"}}}]}}}
`+ranges("{type: Container, defaultRequest: {cpu: 100m}}"))
	if err != nil {
		t.Fatal(err)
	}
	asks := found.DaemonSets[0].Spec.Template.Spec.Containers[0].Resources.Requests
	if got := asks.Cpu().String(); got != "2" {
		t.Errorf("it asks for %s of cpu, want 2", got)
	}
}
