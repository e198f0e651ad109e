package linode

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// TestNodePoolReportsHowManyNodesAreRolledOut compares the condition with nodes in each state that a rollout has.
func TestNodePoolReportsHowManyNodesAreRolledOut(t *testing.T) {
	type edits = []func(*karpv1.NodeClaim)
	old := func(nc *karpv1.NodeClaim) { nc.Annotations[karpv1.NodePoolHashAnnotationKey] = "1" }
	version := func(v string) func(*karpv1.NodeClaim) {
		return func(nc *karpv1.NodeClaim) { nc.Annotations[karpv1.NodePoolHashVersionAnnotationKey] = v }
	}
	deleted := func(nc *karpv1.NodeClaim) {
		nc.DeletionTimestamp, nc.Finalizers = ptr.To(metav1.NewTime(time.Now())), []string{karpv1.TerminationFinalizer}
	}
	joining := func(nc *karpv1.NodeClaim) {
		nc.StatusConditions().SetUnknown(karpv1.ConditionTypeInitialized)
	}
	drifts := func(reason string) func(*karpv1.NodeClaim) {
		return func(nc *karpv1.NodeClaim) {
			nc.StatusConditions().SetTrueWithReason(karpv1.ConditionTypeDrifted, reason, reason)
		}
	}
	both := func(all ...func(*karpv1.NodeClaim)) func(*karpv1.NodeClaim) {
		return func(nc *karpv1.NodeClaim) {
			for _, edit := range all {
				edit(nc)
			}
		}
	}
	fine := func(*karpv1.NodeClaim) {}
	const newer = "; the others have no hash of this version of Karpenter, which updates it"
	for name, tt := range map[string]struct {
		pool   func(*karpv1.NodePool)
		claims edits
		want   metav1.Condition
	}{
		"no nodes":         {nil, nil, metav1.Condition{Status: "True", Reason: "NoNodes", Message: "the pool has no nodes"}},
		"all are":          {nil, edits{fine, fine}, metav1.Condition{Status: "True", Reason: "RolledOut", Message: "2 of 2 nodes have the template of the pool"}},
		"one is":           {nil, edits{fine, old, old}, metav1.Condition{Status: "False", Reason: "Rolling", Message: "1 of 3 nodes have the template of the pool"}},
		"one joins":        {nil, edits{fine, joining}, metav1.Condition{Status: "True", Reason: "RolledOut", Message: "1 of 1 nodes have the template of the pool"}},
		"the new one":      {nil, edits{joining, old}, metav1.Condition{Status: "False", Reason: "Rolling", Message: "0 of 1 nodes have the template of the pool"}},
		"the old one goes": {nil, edits{fine, both(old, deleted)}, metav1.Condition{Status: "False", Reason: "Rolling", Message: "1 of 2 nodes have the template of the pool"}},
		"a new one goes":   {nil, edits{fine, deleted}, metav1.Condition{Status: "True", Reason: "RolledOut", Message: "1 of 1 nodes have the template of the pool"}},
		"another version of the hash": {nil, edits{fine, both(old, version("v2"))}, metav1.Condition{Status: "Unknown", Reason: "NotCompared",
			Message: "1 of 2 nodes have the template of the pool" + newer}},
		"no hash": {nil, edits{func(nc *karpv1.NodeClaim) { nc.Annotations = nil }}, metav1.Condition{Status: "Unknown", Reason: "NotCompared",
			Message: "0 of 1 nodes have the template of the pool" + newer}},
		"another version and an old one": {nil, edits{old, version("v2")}, metav1.Condition{Status: "False", Reason: "Rolling",
			Message: "0 of 2 nodes have the template of the pool"}},
		"drifted from its class":  {nil, edits{fine, drifts("NodeClassDrift")}, metav1.Condition{Status: "False", Reason: "Rolling", Message: "1 of 2 nodes have the template of the pool"}},
		"maintenance of its host": {nil, edits{fine, drifts("HostMaintenance")}, metav1.Condition{Status: "True", Reason: "RolledOut", Message: "2 of 2 nodes have the template of the pool"}},
		"changed requirements": {func(p *karpv1.NodePool) {
			p.Spec.Template.Spec.Requirements = append(p.Spec.Template.Spec.Requirements, in(corev1.LabelInstanceTypeStable, "g6-dedicated-48"))
		}, edits{fine}, metav1.Condition{Status: "False", Reason: "Rolling", Message: "0 of 1 nodes have the template of the pool"}},
		"replicas that are missing": {func(p *karpv1.NodePool) { p.Spec.Replicas = ptr.To[int64](3) }, edits{fine, joining},
			metav1.Condition{Status: "False", Reason: "Rolling", Message: "1 of 3 nodes have the template of the pool"}},
		"more nodes than replicas": {func(p *karpv1.NodePool) { p.Spec.Replicas = ptr.To[int64](1) }, edits{fine, old},
			metav1.Condition{Status: "False", Reason: "Rolling", Message: "1 of 2 nodes have the template of the pool"}},
		"no replicas": {func(p *karpv1.NodePool) { p.Spec.Replicas = ptr.To[int64](0) }, nil,
			metav1.Condition{Status: "True", Reason: "NoNodes", Message: "the pool has no nodes"}},
		"a pool that is deleted": {func(p *karpv1.NodePool) {
			p.DeletionTimestamp, p.Finalizers = ptr.To(metav1.NewTime(time.Now())), []string{karpv1.TerminationFinalizer}
		}, edits{old}, metav1.Condition{}},
	} {
		t.Run(name, func(t *testing.T) {
			pool := nodePool()
			pool.Generation = 7
			pool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: linodev1alpha1.Group, Kind: "LinodeNodeClass", Name: "default"}
			objects := []client.Object{pool}
			for i, edit := range tt.claims {
				nc := decided(i + 1)
				nc.Labels[karpv1.NodePoolLabelKey] = pool.Name
				nc.Annotations[karpv1.NodePoolHashAnnotationKey] = pool.Hash()
				nc.Annotations[karpv1.NodePoolHashVersionAnnotationKey] = karpv1.NodePoolHashVersion
				for _, kind := range []string{karpv1.ConditionTypeLaunched, karpv1.ConditionTypeInitialized} {
					nc.StatusConditions().SetTrue(kind)
				}
				edit(nc)
				objects = append(objects, nc)
			}
			if tt.pool != nil {
				tt.pool(pool)
			}
			p := provider(t, readyClass())
			c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(objects...).WithStatusSubresource(objects...).Build()
			pools := NewNodePools(c, p.chooser.Types, lkeOf(p).Refused, events.NewFakeRecorder(5))
			var version string
			for range 2 { // the second does not write
				if _, err := pools.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(pool)}); err != nil {
					t.Fatal(err)
				}
				was := version
				if err := c.Get(t.Context(), client.ObjectKeyFromObject(pool), pool); err != nil {
					t.Fatal(err)
				}
				if version = pool.ResourceVersion; was != "" && was != version {
					t.Error("the status was written again without a change")
				}
			}
			got := metav1.Condition{}
			if found := pool.StatusConditions().Get(ConditionRolledOut); found != nil && found.Reason != "AwaitingReconciliation" {
				got = metav1.Condition{Status: found.Status, Reason: found.Reason, Message: found.Message}
				if found.ObservedGeneration != 7 {
					t.Errorf("the generation of the condition is %d", found.ObservedGeneration)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
