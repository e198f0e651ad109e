package migrate

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
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
		change, err := Release(parse(t, tt.object))
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(change)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(parse(t, tt.want), parse(t, string(raw))); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

// TestBill: each machine counts once, including those that have not joined and those of other tools. An unknown price is
// not zero.
func TestBill(t *testing.T) {
	h := Holdings{
		Nodes: []*corev1.Node{
			as[corev1.Node](t, `{metadata: {name: lke1, labels: {karpenter.sh/nodepool: a, lke.linode.com/pool-id: "9",
			  node.kubernetes.io/instance-type: g6-standard-2, topology.kubernetes.io/region: us-ord}},
			  spec: {providerID: linode://5}}`),
			as[corev1.Node](t, `{metadata: {name: lke2, labels: {lke.linode.com/pool-id: "8", node.kubernetes.io/instance-type: g6-standard-2,
			  topology.kubernetes.io/region: us-ord}}, spec: {providerID: linode://7}}`),
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
	monthly := 72 * catalog.Dollar
	if diff := cmp.Diff(Bill{Machines: 4, Unpriced: 1, Monthly: monthly}, BillOf(h, prices)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for want, b := range map[string]Bill{
		"No machines are left": {},
		"Machines that are left, and that Linode bills: 1, at an unknown price": {Machines: 1, Unpriced: 1},
		"Machines that are left, and that Linode bills: 2, $24 a month":         {Machines: 2, Monthly: 24 * catalog.Dollar},
		"Machines that are left, and that Linode bills: 2, at least $24 a month: the price of 1 is unknown": {
			Machines: 2, Unpriced: 1, Monthly: 24 * catalog.Dollar,
		},
	} {
		if got := b.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// undone has a claim whose finalizer comes back at a time.
type undone struct {
	claim string
	at    time.Time
}

func (u undone) List(_ context.Context, _, kind string) ([]map[string]any, error) {
	if kind != "NodeClaim" {
		return nil, nil
	}
	obj := map[string]any{}
	if err := json.Unmarshal([]byte(u.claim), &obj); err != nil {
		return nil, err
	}
	if !u.at.IsZero() && !time.Now().Before(u.at) {
		obj["metadata"].(map[string]any)["finalizers"] = []any{"karpenter.sh/termination"}
	}
	return []map[string]any{obj}, nil
}

func TestUninstallReportsAControllerWithoutALease(t *testing.T) {
	const claim = `{"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": {"name": "general-1"},
		"spec": {"requirements": [], "nodeClassRef": {"group": "karpenter.k8s.linode", "kind": "LinodeNodeClass", "name": "default"}}}`
	synctest.Test(t, func(t *testing.T) {
		if err := StayReleased(t.Context(), undone{claim: claim}); err != nil {
			t.Errorf("a claim that stays released: %v", err)
		}
		err := StayReleased(t.Context(), undone{claim: claim, at: time.Now().Add(5 * time.Second)})
		if err == nil || !strings.Contains(err.Error(), "NodeClaim general-1") || !strings.Contains(err.Error(), "stop the controller") {
			t.Errorf("a claim that is held again: %v", err)
		}
	})
}
