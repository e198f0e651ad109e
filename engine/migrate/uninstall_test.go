package migrate

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

func parse(t *testing.T, text string) (obj map[string]any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

// as is an object of a type.
func as[T any](t *testing.T, text string) *T {
	t.Helper()
	typed, err := manifest.As[T](parse(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return typed
}

// TestRelease: only what lkeplan puts on objects is taken off, and only where nobody has
// changed them meanwhile.
func TestRelease(t *testing.T) {
	tests := map[string]struct{ object, want string }{
		"a NodeClaim": {
			`{kind: NodeClaim, metadata: {resourceVersion: "5", finalizers: [karpenter.sh/termination, other],
			  ownerReferences: [{apiVersion: karpenter.sh/v1, kind: NodePool}]}}`,
			`{metadata: {resourceVersion: "5", finalizers: [other]}}`,
		},
		"a Node": {
			`{kind: Node, metadata: {resourceVersion: "6", finalizers: [karpenter.sh/termination],
			  ownerReferences: [{apiVersion: karpenter.sh/v1, kind: NodeClaim}, {apiVersion: v1, kind: Pod, name: p, uid: u}]},
			  spec: {taints: [{key: karpenter.sh/disrupted}, {key: mine, effect: NoSchedule}]}}`,
			`{metadata: {resourceVersion: "6", finalizers: [], ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: u}]},
			  spec: {taints: [{key: mine, effect: NoSchedule}]}}`,
		},
		"a Node that has never registered": {
			`{kind: Node, metadata: {resourceVersion: "7"}, spec: {taints: [{key: karpenter.sh/unregistered}]}}`,
			`{metadata: {resourceVersion: "7"}, spec: {taints: []}}`,
		},
		"a Node with taints of its own": {`{kind: Node, metadata: {}, spec: {taints: [{key: mine, effect: NoSchedule}]}}`, `null`},
		"an object of others":           {`{kind: NodePlan, metadata: {finalizers: [foregroundDeletion]}}`, `null`},
		"a NodePlan": {
			`{kind: NodePlan, metadata: {resourceVersion: "8", finalizers: [lkeplan.dev/finalizer]}}`,
			`{metadata: {resourceVersion: "8", finalizers: []}}`,
		},
	}
	for name, tt := range tests {
		var obj client.Object = as[metav1.PartialObjectMetadata](t, tt.object)
		if obj.GetObjectKind().GroupVersionKind().Kind == "Node" {
			obj = as[corev1.Node](t, tt.object)
		}
		raw, err := json.Marshal(Release(obj))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(parse(t, tt.want), parse(t, string(raw))); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

// TestBill: each machine is listed once, those that have not joined, too.
func TestBill(t *testing.T) {
	h := Holdings{
		Nodes: []*corev1.Node{
			as[corev1.Node](t, `{metadata: {name: lke1, labels: {karpenter.sh/nodepool: a, lke.linode.com/pool-id: "9",
			  node.kubernetes.io/instance-type: g6-standard-2, topology.kubernetes.io/region: us-ord}},
			  spec: {providerID: linode://5}}`),
		},
		Claims: []*karpv1.NodeClaim{
			as[karpv1.NodeClaim](t, `{metadata: {name: a-1}, status: {providerID: linode://5, nodeName: lke1}}`),
			as[karpv1.NodeClaim](t, `{metadata: {name: b-1, labels: {karpenter.sh/nodepool: b, node.kubernetes.io/instance-type: g6-standard-2,
			  topology.kubernetes.io/region: us-ord}}, status: {providerID: "linode://6"}}`),
			as[karpv1.NodeClaim](t, `{metadata: {name: b-2, labels: {karpenter.sh/nodepool: b, node.kubernetes.io/instance-type: unknown}},
			  status: {providerID: "lke-pending://uid"}}`),
		},
	}
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	machines, total := Bill(h, prices)
	const monthly = 24 * catalog.Dollar
	want := []Machine{
		{Node: "lke1", Claim: "a-1", Linode: "5", LKEPool: "9", PlanType: "g6-standard-2", Pool: "a", Monthly: monthly},
		{Claim: "b-1", Linode: "6", PlanType: "g6-standard-2", Pool: "b", Monthly: monthly},
		{Claim: "b-2", PlanType: "unknown", Pool: "b"},
	}
	if diff := cmp.Diff(want, machines); diff != "" || total != 2*monthly {
		t.Errorf("together $%s (-want +got)\n%s", total, diff)
	}
}
