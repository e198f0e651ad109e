package gitops

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/nodeplan"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// TestStalledNodePlanCountsItsNodes: those of the pools that it has applied, as they are
// now, without a reconciliation.
func TestStalledNodePlanCountsItsNodes(t *testing.T) {
	instancetype.Register()
	if err := lkeplanv1alpha1.AddToScheme(scheme.Scheme); err != nil { // which has Karpenter's kinds
		t.Fatal(err)
	}
	np := &lkeplanv1alpha1.NodePlan{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: "prod"}}
	np.Status.Pools = []lkeplanv1alpha1.PoolStatus{{Name: "web", Nodes: 9, Outdated: 9}}
	pool := func(name string) *karpv1.NodePool {
		p := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{kube.InventoryLabel: nodeplan.InventoryLabel(np)}}}
		p.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: "karpenter.k8s.linode", Kind: "LinodeNodeClass", Name: "default"}
		p.Spec.Template.Spec.ExpireAfter = karpv1.MustParseNillableDuration("720h")
		p.Spec.Disruption.ConsolidateAfter = karpv1.MustParseNillableDuration("30s")
		return p
	}
	web := pool("web")
	class := &linodev1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	claim := func(name, pool, hash string) *karpv1.NodeClaim {
		c := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{karpv1.NodePoolLabelKey: pool},
			Annotations: map[string]string{
				karpv1.NodePoolHashAnnotationKey: hash, karpv1.NodePoolHashVersionAnnotationKey: karpv1.NodePoolHashVersion,
			},
		}}
		c.Spec.NodeClassRef = web.Spec.Template.Spec.NodeClassRef
		c.StatusConditions().SetTrue(karpv1.ConditionTypeInitialized)
		return c
	}
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithStatusSubresource(np).WithObjects(np, web, pool("other"), class,
		claim("a", "web", web.Hash()), claim("b", "web", "0"), claim("c", "other", "0")).Build()
	r := nodeCounter{Client: c, InShard: func(*lkeplanv1alpha1.NodePlan) bool { return true }, Now: time.Now}
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(np)}); err != nil {
		t.Fatal(err)
	}
	var now lkeplanv1alpha1.NodePlan
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(np), &now); err != nil {
		t.Fatal(err)
	}
	want := []lkeplanv1alpha1.PoolStatus{{Name: "web", Nodes: 2, Outdated: 1}}
	if diff := cmp.Diff(want, now.Status.Pools); diff != "" {
		t.Errorf("pools (-want +got):\n%s", diff)
	}
}

func TestTotalOfPools(t *testing.T) {
	at := func(hour int) *metav1.Time {
		return &metav1.Time{Time: time.Date(2026, 11, 20, hour, 0, 0, 0, time.UTC)}
	}
	late, soon := at(20), at(10)
	for name, tt := range map[string]struct {
		pools  []lkeplanv1alpha1.PoolStatus
		nodes  int
		window string
	}{
		"none are known": {nil, -1, ""},
		"all current":    {[]lkeplanv1alpha1.PoolStatus{{Nodes: 3}}, 0, ""},
		"two with windows": {[]lkeplanv1alpha1.PoolStatus{
			{Outdated: 2, NextWindow: late}, {Outdated: 1, NextWindow: soon}, {Outdated: 4},
		}, 7, "10"},
	} {
		nodes, window := totalOf(tt.pools)
		if (nodes == nil) != (tt.nodes < 0) || nodes != nil && *nodes != tt.nodes {
			t.Errorf("%s: %v nodes, want %d", name, nodes, tt.nodes)
		}
		if (window == nil) != (tt.window == "") || window != nil && window.Format("15") != tt.window {
			t.Errorf("%s: window %v, want %s", name, window, tt.window)
		}
	}
}
