package compare

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// cluster is a cluster of written objects, by kind.
type cluster map[string][]string

func (c cluster) List(_ context.Context, _, kind string) (objects []map[string]any, err error) {
	for _, text := range c[kind] {
		var obj map[string]any
		if err := utiljson.Unmarshal([]byte(text), &obj); err != nil {
			return nil, err
		}
		objects = append(objects, obj)
	}
	return objects, nil
}

var busy = cluster{
	"NodePool": {`{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "web", "uid": "1",
		"labels": {"team": "web", "stage": "prod"}, "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "hunter2", "note": "hunter2"},
		"managedFields": [{"manager": "lkeplan", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": {"f:labels": {"f:team": {}}}}},
			{"manager": "hunter2", "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": {"f:labels": {"f:hunter2": {}},
				"f:finalizers": {"v:\"hunter2\"": {}}}, "f:spec": {"f:weight": {}}}}],
		"finalizers": ["hunter2/wait", "lkeplan.dev/finalizer"], "generateName": "hunter2-",
		"ownerReferences": [{"kind": "Hunter2", "name": "hunter2", "uid": "2"}]},
		"spec": {"weight": 10, "template": {"metadata": {"labels": {"tenant": "a"}}}}, "status": {"nodes": 1}}`},
	"NodeClaim": {`{"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": {"name": "web-abc", "labels": {"karpenter.sh/nodepool": "web",
			"tenant": "a", "hunter2": "yes", "example.com/note": "hunter2", "hunter2.kubernetes.io/a": "b"},
		"annotations": {"karpenter.sh/nodepool-hash": "7", "note": "hunter2", "karpenter.example.com/note": "hunter2"}, "creationTimestamp": "2026-11-01T00:00:00Z"},
		"spec": {"expireAfter": "720h", "nodeClassRef": {"name": "default"}, "requirements": [], "resources": {}},
		"status": {"nodeName": "lke1-1", "capacity": {"cpu": "4", "memory": "8Gi"}}}`},
	"Node": {`{"metadata": {"name": "lke1-1"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}`},
	"Pod": {`{"metadata": {"namespace": "payments", "name": "hunter2", "annotations": {"karpenter.sh/do-not-disrupt": "true"}},
		"spec": {"nodeName": "lke1-1"}, "status": {"phase": "Running"}}`,
		`{"metadata": {"namespace": "hunter2", "name": "hunter2-0", "labels": {"app": "hunter2"}},
		"spec": {"nodeName": "lke1-1"}, "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}`},
	"PodDisruptionBudget": {`{"metadata": {"namespace": "hunter2", "name": "hunter2"},
		"spec": {"selector": {"matchLabels": {"app": "hunter2"}}, "maxUnavailable": 0}, "status": {"disruptionsAllowed": 0}}`},
}

func TestSnapshotSaysWhatTheClusterDoesAndNoSecrets(t *testing.T) {
	now := time.Date(2026, 11, 20, 7, 0, 0, 0, time.UTC)
	taken, err := TakeSnapshot(t.Context(), LiveView(busy), now, false)
	if err != nil {
		t.Fatal(err)
	}
	var written bytes.Buffer
	if err := taken.Write(&written); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(written.String(), "hunter2") || strings.Contains(written.String(), `"prod"`) {
		t.Errorf("the snapshot has what others have set:\n%s", written.String())
	}
	read, err := ReadSnapshot(bytes.NewReader(written.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(taken, read); diff != "" {
		t.Errorf("what was read is not what was written (-written +read):\n%s", diff)
	}
	nodes, _ := read.View().Nodes(t.Context())
	if len(nodes) != 1 || nodes[0].Pool != "web" || nodes[0].MilliCPU != 4000 || nodes[0].ExpireAfter != 720*time.Hour ||
		len(nodes[0].Holds) != 2 || nodes[0].Labels["tenant"] != "a" || len(nodes[0].Labels) != 2 {
		t.Errorf("nodes of the snapshot: %+v", nodes)
	}
	pools, _ := read.View().Objects(t.Context(), *schemas.Pool.Object)
	if len(pools) != 1 || pools[0]["status"] != nil || manifest.Label(pools[0], "team") != "web" || !kube.Applied(pools[0]) {
		t.Errorf("pools of the snapshot: %+v", pools)
	}
}

// TestASnapshotNotesWhatItLacks even where nothing rolls, and in each comparison with it.
func TestASnapshotNotesWhatItLacks(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	const note = "This user may not list pods, so the nodes that they block are unknown."
	view := Snapshot{Notes: []string{note}}.View()
	head := compiled(t, "node_class \"default\" {}\n")
	found, err := Live(t.Context(), head, view, LiveOptions{Base: head, Prices: prices})
	if err != nil || !slices.Equal(found.Plan.Notes, []string{note}) {
		t.Errorf("a comparison with the snapshot notes %q, %v", found.Plan.Notes, err)
	}
	counted, err := RevisionsOn(t.Context(), head, head, view, prices, time.Time{})
	if err != nil || !slices.Equal(counted.Notes, []string{note}) {
		t.Errorf("a comparison of commits with the snapshot notes %q, %v", counted.Notes, err)
	}
}

func TestWhatIsNoSnapshotIsNotRead(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "not a snapshot",
		"[]":                            "not a snapshot",
		"{}":                            `format version ""`,
		`{"format_version": "1.3"}`:     `format version "1.3", and this lkeplan reads 2`,
		`{"kind": "NodePoolList"}`:      "Kubernetes NodePoolList",
		`{"format_version": "2", `:      "not a snapshot",
		`{"nodes": [{"made": "soon"}]}`: "not a snapshot",
		`{"format_version": "2", "taken": "2026-11-20T10:00:00Z", "objects": []}`:                `no "nodes"`,
		`{"format_version": "2", "taken": "2026-11-20T10:00:00Z", "objects": [], "nodes": null}`: `no "nodes"`,
		`{"format_version": "2", "taken": "2026-11-20T10:00:00Z", "objects": [], "Nodes": []}`:   `no "nodes"`,
		`{"format_version": "2", "taken": "2026-11-20T10:00:00Z", "objects": null, "nodes": []}`: `no "objects"`,
		`{"format_version": "2", "taken": "0001-01-01T00:00:00Z", "objects": [], "nodes": []}`:   `no "taken"`,
		`{"format_version": "2", "objects": [], "nodes": []}`:                                    `no "taken"`,
	} {
		if _, err := ReadSnapshot(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", text, err, want)
		}
	}
}
