package podsource

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/manifests"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/engine/simulate/workload"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// kindsOfPods are pods of a cluster, by what is special about each: their metadata, spec and
// status; and the result in Karpenter: a node, no node with a reason, or "" if the pod does not
// count.
var kindsOfPods = []struct{ name, meta, spec, status, want string }{
	{"waits", "", "", "phase: Pending", "1 pod"},
	{"runs", "", ", nodeName: node-1", "phase: Running", "1 pod"},
	{"succeeded", "", ", nodeName: node-1", "phase: Succeeded", ""},
	{"failed", "", ", nodeName: node-1", "phase: Failed", ""},
	{"of-daemonset", owner("apps/v1", "DaemonSet"), ", nodeName: node-1", "phase: Running", ""},
	{"of-node", owner("v1", "Node"), ", nodeName: node-1", "phase: Running", ""},
	{"mirror", ", annotations: {kubernetes.io/config.mirror: abc}", ", nodeName: node-1", "phase: Running", ""},
	{"goes", ", deletionTimestamp: \"2026-11-20T10:00:00Z\"", ", nodeName: node-1", "phase: Running", ""},
	{"goes-of-statefulset", ", deletionTimestamp: \"2026-11-20T10:00:00Z\"" + owner("apps/v1", "StatefulSet"), ", nodeName: node-1",
		"phase: Running", "1 pod"},
	{"gated", "", ", schedulingGates: [{name: example.com/gate}]", "phase: Pending",
		"1 pod: the scheduling gate example.com/gate blocks it."},
	{"volume", "", claiming("bound"), "phase: Pending", "1 pod"},
	{"volume-when-used", "", claiming("later"), "phase: Pending", "1 pod"},
	{"volume-missing", "", claiming("gone"), "phase: Pending", "1 pod: its PersistentVolumeClaim gone does not exist."},
	{"volume-goes", "", claiming("goes"), "phase: Pending", "1 pod: its PersistentVolumeClaim goes is being deleted."},
	{"volume-lost", "", claiming("lost"), "phase: Pending", "1 pod: its PersistentVolumeClaim lost has lost its volume."},
	{"volume-unbound", "", claiming("now"), "phase: Pending", "1 pod: its PersistentVolumeClaim now has no volume yet."},
	{"volume-classless", "", claiming("classless"), "phase: Pending",
		"1 pod: its PersistentVolumeClaim classless has no volume yet."},
	{"volume-missing-runs", "", ", nodeName: node-1" + claiming("gone"), "phase: Running", "1 pod"},
	{"ephemeral", "", ", volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {}}}}]", "phase: Pending",
		"1 pod: its PersistentVolumeClaim ephemeral-v does not exist."},
	{"emptydir", "", ", volumes: [{name: v, emptyDir: {}}]", "phase: Pending", "1 pod"},
}

func owner(version, kind string) string {
	return ", ownerReferences: [{apiVersion: " + version + ", kind: " + kind + ", name: o, uid: o, controller: true}]"
}

func claiming(name string) string {
	return ", volumes: [{name: v, persistentVolumeClaim: {claimName: " + name + "}}]"
}

const volumes = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: bound, namespace: shop, uid: c1, annotations: {pv.kubernetes.io/bind-completed: "yes"}}
spec: {storageClassName: linode-block-storage, volumeName: pv}
status: {phase: Bound}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: later, namespace: shop, uid: c2}
spec: {storageClassName: linode-block-storage}
status: {phase: Pending}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: goes, namespace: shop, uid: c3, deletionTimestamp: "2026-11-20T10:00:00Z"}
spec: {storageClassName: linode-block-storage}
status: {phase: Pending}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: lost, namespace: shop, uid: c4}
spec: {storageClassName: linode-block-storage, volumeName: pv}
status: {phase: Lost}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: now, namespace: shop, uid: c5}
spec: {storageClassName: at-once}
status: {phase: Pending}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: classless, namespace: shop, uid: c6}
spec: {}
status: {phase: Pending}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv, uid: v1}
spec: {csi: {driver: linodebs.csi.linode.com, volumeHandle: "1"}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: linode-block-storage, uid: s1}
provisioner: linodebs.csi.linode.com
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: at-once, uid: s2}
provisioner: linodebs.csi.linode.com
volumeBindingMode: Immediate
`

// dump is the objects of a cluster, by kind.
type dump map[string][]map[string]any

func (d dump) List(_ context.Context, _, kind string) ([]map[string]any, error) { return d[kind], nil }

// TestPodSourcesAgree: the same pods count in the output of kubectl, in the cluster, and in a
// snapshot, in which names are hashes.
func TestPodSourcesAgree(t *testing.T) {
	text := volumes
	for i, k := range kindsOfPods {
		text += fmt.Sprintf("---\napiVersion: v1\nkind: Pod\nmetadata: {namespace: shop, name: %s, uid: p%d%s}\n"+
			"spec: {containers: [{name: c}]%s}\nstatus: {%s}\n", k.name, i, k.meta, k.spec, k.status)
	}
	objects, err := manifests.Read("dump.yaml", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	cluster := dump{}
	for _, o := range objects {
		kind := manifest.Kind(o.Fields)
		cluster[kind] = append(cluster[kind], o.Fields)
	}
	written, err := workload.Read(objects, false)
	if err != nil {
		t.Fatal(err)
	}
	live, err := compare.Shapes(t.Context(), compare.LiveView(cluster))
	if err != nil {
		t.Fatal(err)
	}
	taken, err := compare.TakeSnapshot(t.Context(), compare.LiveView(cluster), time.Now(), false)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := taken.Write(&file); err != nil {
		t.Fatal(err)
	}
	read, err := compare.ReadSnapshot(&file)
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, k := range kindsOfPods {
		words = append(words, "shop/"+k.name, "shop/o", k.name+"-v", strings.TrimPrefix(k.name, "volume-"))
	}
	hashed, err := read.PodShapes(append(words, "gone", "now", "example.com/gate"))
	if err != nil {
		t.Fatal(err)
	}
	for source, loads := range map[string][]simulate.Workload{
		"--workloads": written.Workloads, "live": workload.FromShapes(live).Workloads,
		"snapshot": workload.FromShapes(hashed).Workloads,
	} {
		for _, k := range kindsOfPods {
			if diff := cmp.Diff(k.want, become(loads, k.name)); diff != "" {
				t.Errorf("%s: %s (-want +got)\n%s", source, k.name, diff)
			}
		}
	}
}

// become is the result of a pod; "" if it does not count.
func become(loads []simulate.Workload, name string) string {
	names := []string{"Pod shop/" + name}
	if strings.HasSuffix(name, "statefulset") {
		names = append(names, "StatefulSet shop/o")
	}
	for _, load := range loads {
		if slices.Contains(names, load.Name) {
			text := fmt.Sprintf("%d pod", load.Pods)
			if why := load.Why(); why != "" {
				text += ": " + why
			}
			return text
		}
	}
	return ""
}
