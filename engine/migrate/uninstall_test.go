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

// TestRelease: only what lkeplan adds to objects is removed, and only if they have not
// changed in the meantime.
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
		"a Node with other taints":  {`{kind: Node, metadata: {}, spec: {taints: [{key: mine, effect: NoSchedule}]}}`, `null`},
		"an object of another tool": {`{kind: NodePlan, metadata: {finalizers: [foregroundDeletion]}}`, `null`},
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

// TestNodesOfOthers: what is still billed is counted from Nodes, and an unknown price is not zero.
func TestNodesOfOthers(t *testing.T) {
	node := func(name, pool, plan string) *corev1.Node {
		return as[corev1.Node](t, `{metadata: {name: `+name+`, labels: {lke.linode.com/pool-id: "`+pool+`",
		  node.kubernetes.io/instance-type: `+plan+`, topology.kubernetes.io/region: us-ord}}}`)
	}
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	h := Holdings{
		Nodes:  []*corev1.Node{node("ours", "1", "g6-standard-2")},
		Claims: []*karpv1.NodeClaim{as[karpv1.NodeClaim](t, `{status: {nodeName: joining}}`)},
	}
	got := NodesOfOthers([]*corev1.Node{
		node("ours", "1", "g6-standard-2"), node("joining", "1", "g6-standard-2"), node("a", "2", "g6-standard-2"),
		node("b", "2", "g6-standard-2"), node("c", "3", "nosuch"), node("d", "", "g6-standard-2"),
	}, h, prices)
	if want := (OtherNodes{Nodes: 4, LKEPools: 2, Monthly: 72 * catalog.Dollar, Unpriced: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestUninstallOwnsItsCapacityLimits: a limit that no other tool applies is lkeplan's.
func TestUninstallOwnsItsCapacityLimits(t *testing.T) {
	limit := func(name, metadata string) map[string]any {
		return parse(t, `{apiVersion: lkeplan.dev/v1alpha1, kind: CapacityLimit, metadata: {name: `+name+metadata+`}, spec: {nodes: 3}}`)
	}
	const ours, edit = `{manager: lkeplan, operation: Apply, fieldsType: FieldsV1, fieldsV1: {"f:spec": {}}}`,
		`{manager: kubectl-edit, operation: Update, fieldsType: FieldsV1, fieldsV1: {"f:spec": {}}}`
	in := &memory{objects: []map[string]any{
		limit("ours", `, managedFields: [`+ours+`]`), limit("edited", `, managedFields: [`+ours+`, `+edit+`]`),
		limit("helm", `, labels: {app.kubernetes.io/managed-by: Helm}, managedFields: [`+ours+`]`), limit("bare", ""),
	}}
	h, err := ReadHoldings(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, l := range h.Limits {
		names = append(names, l.Name)
	}
	want := []OwnedLimit{{"edited", "kubectl"}, {"helm", "Helm"}, {"bare", "another client"}}
	if diff := cmp.Diff([]string{"ours"}, names) + cmp.Diff(want, h.LimitsOfOthers); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestBill: each machine is listed once, including those that have not joined.
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
		t.Errorf("total $%s (-want +got)\n%s", total, diff)
	}
}
