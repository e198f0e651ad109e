package controller

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/node/health"

	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/linodetest"
	"github.com/lkeplan/lkeplan/linode/maintenance"
)

// TestNodesAreNotRepairedDuringMaintenance: while maintenance explains that a Node is not ready. After that they are.
func TestNodesAreNotRepairedDuringMaintenance(t *testing.T) {
	linode.Register()
	const announced = `{"start": "2026-11-02T00:00:00Z", "type": "cold_migration"}`
	for name, tt := range map[string]struct {
		announced string
		now       time.Duration // after the start
		want      bool
	}{
		"no maintenance":        {now: time.Hour, want: true},
		"during maintenance":    {announced: announced, now: time.Hour},
		"a day before":          {announced: announced, now: -24 * time.Hour, want: true},
		"longer than it lasts":  {announced: announced, now: maintenance.Lasts, want: true},
		"an annotation by hand": {announced: "soon", now: time.Hour, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			clk := clocktesting.NewFakeClock(worldStart.Add(tt.now))
			nc := linodetest.NodeClaim("1")
			nc.Status.ProviderID, nc.Finalizers = "linode://1", nil
			if tt.announced != "" {
				metav1.SetMetaDataAnnotation(&nc.ObjectMeta, maintenance.Annotation, tt.announced)
			}
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: nc.Labels}}
			node.Spec.ProviderID = nc.Status.ProviderID
			node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown,
				LastTransitionTime: metav1.NewTime(clk.Now().Add(-time.Hour))}}
			c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(nc, node).WithIndex(&karpv1.NodeClaim{},
				"status.providerID", func(o client.Object) []string { return []string{o.(*karpv1.NodeClaim).Status.ProviderID} }).Build()
			r := repair{health.NewController(c, &linode.Provider{}, clk, noEvents{}), c, &linode.Provider{}, clk}
			again, err := r.Reconcile(t.Context(), node)
			if err != nil || (again.RequeueAfter == 0) != tt.want {
				t.Errorf("%+v, %v", again, err)
			}
			if gone := c.Get(t.Context(), client.ObjectKeyFromObject(nc), nc) != nil; gone != tt.want {
				t.Errorf("the node is replaced: %v, want %v", gone, tt.want)
			}
		})
	}
}
