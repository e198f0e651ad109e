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
		got := foundText(of(t, "f.yaml", deployment("web", "replicas: 0", "")+scaler("web", bounds)))
		off := strings.Contains(got, "HorizontalPodAutoscaler web has no effect: Deployment web has replicas: 0")
		if !strings.HasPrefix(got, want) || off == strings.HasPrefix(bounds, "minReplicas: 0") {
			t.Errorf("with %s:\n%s", bounds, got)
		}
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

// TestLimitsOfDaemonSetsAreRequests of those that request nothing.
func TestLimitsOfDaemonSetsAreRequests(t *testing.T) {
	found, err := of(t, "f.yaml", `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec: {template: {spec: {containers: [{name: main, resources: {limits: {cpu: "2"}}}]}}}
`)
	if err != nil {
		t.Fatal(err)
	}
	asks := found.DaemonSets[0].Spec.Template.Spec.Containers[0].Resources.Requests
	if got := asks.Cpu().String(); got != "2" {
		t.Errorf("it asks for %s of cpu, want 2", got)
	}
}
