package inspect_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/lkeplan/lkeplan/engine/inspect"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// displaced has a node of the pool web, and one of an LKE pool with 2 free CPUs.
const displaced = `apiVersion: v1
kind: Node
metadata: {name: web-1, labels: {karpenter.sh/nodepool: web, node.kubernetes.io/instance-type: g6-standard-4, topology.kubernetes.io/region: us-ord}}
status: {conditions: [{type: Ready, status: "True"}], capacity: {cpu: "4", memory: 8Gi, pods: "110"}, allocatable: {cpu: "4", memory: 7Gi, pods: "110"}}
---
apiVersion: v1
kind: Node
metadata: {name: lke-1, labels: {lke.linode.com/pool-id: "9", node.kubernetes.io/instance-type: g6-standard-2, topology.kubernetes.io/region: us-ord, kubernetes.io/hostname: lke-1}}
spec: {providerID: "linode://9"}
status: {conditions: [{type: Ready, status: "True"}], capacity: {cpu: "2", memory: 4Gi, pods: "110"}, allocatable: {cpu: "2", memory: 3Gi, pods: "110"}}
---
apiVersion: v1
kind: Pod
metadata: {name: waiting, namespace: shop, uid: w}
spec: {containers: [{name: c, resources: {requests: {cpu: "8"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: agent, namespace: kube-system, uid: d, ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: agent, controller: true, uid: x}]}
spec: {nodeName: web-1, containers: [{name: c}]}
`

// displacedPod is a pod of the ReplicaSet api on a node.
func displacedPod(name, node, more string) string {
	return `---
apiVersion: v1
kind: Pod
metadata: {name: ` + name + `, namespace: shop, uid: ` + name + `, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: api, controller: true, uid: api}]}
spec: {nodeName: ` + node + `, containers: [{name: c, resources: {requests: {cpu: 1500m}}}]` + more + `}
`
}

func TestDisplace(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	api := displacedPod("api-1", "web-1", "")
	const web = "web-1"
	for name, tt := range map[string]struct {
		pods    string
		refused []string
		remove  []string
		want    inspect.Displaced
	}{
		"no pod runs on the nodes":         {"", nil, []string{web}, inspect.Displaced{}},
		"the remaining nodes have room":    {api, nil, []string{web}, inspect.Displaced{Pods: 1}},
		"the remaining nodes have no room": {api + displacedPod("api-2", "web-1", ""), nil, []string{web}, inspect.Displaced{Pods: 2, NoNode: []inspect.Group{{Owner: "ReplicaSet shop/api", Pods: 1}}}},
		"their room is taken":              {api + displacedPod("api-2", "lke-1", ""), nil, []string{web}, inspect.Displaced{Pods: 1, NoNode: []inspect.Group{{Owner: "ReplicaSet shop/api", Pods: 1}}}},
		"the pod selects the pool":         {displacedPod("api-1", "web-1", ", nodeSelector: {karpenter.sh/nodepool: web}"), nil, []string{web}, inspect.Displaced{Pods: 1, NoNode: []inspect.Group{{Owner: "ReplicaSet shop/api", Pods: 1}}}},
		"no node remains":                  {api, nil, []string{web, "lke-1"}, inspect.Displaced{Pods: 1, NoNode: []inspect.Group{{Owner: "ReplicaSet shop/api", Pods: 1}}}},
		"a pod without a controller": {strings.Replace(api, "controller: true", "controller: false", 1), nil, []string{web},
			inspect.Displaced{Pods: 1, NotRecreated: []inspect.Group{{Owner: "Pod shop/api-1", Pods: 1}}}},
		"a pod whose volume is missing": {displacedPod("api-1", "web-1", ", volumes: [{name: v, persistentVolumeClaim: {claimName: gone}}]"), nil, []string{web},
			inspect.Displaced{Pods: 1, Unknown: []string{"1 pod with volumes or scheduling gates cannot be simulated"}}},
		"volumes cannot be listed": {displacedPod("api-1", "web-1", ", volumes: [{name: v, persistentVolumeClaim: {claimName: v}}]"),
			[]string{"PersistentVolumes"}, []string{web},
			inspect.Displaced{Pods: 1, Unknown: []string{"1 pod with volumes or scheduling gates cannot be simulated"}}},
		"pods cannot be listed": {api, []string{"Pods"}, []string{web}, inspect.Displaced{Unknown: []string{"Pods cannot be listed"}}},
	} {
		lists := listsOf(t, []byte(displaced+tt.pods), tt.refused...)
		var remove []*corev1.Node
		for _, node := range tt.remove {
			gone := &corev1.Node{}
			gone.Name = node
			remove = append(remove, gone)
		}
		got := inspect.Displace(t.Context(), lists, inspect.Given{Catalog: prices, Now: now}, remove)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}
