package lke

import (
	"context"
	"net/http"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/linodetest"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// listed are the pools that LKE shows.
type listed []api.Pool

func (l listed) Pools(context.Context, time.Time) ([]api.Pool, error) { return l, nil }

// TestTaintsAreAddedToCurrentTaints: the cache shows a Node as it joined,
// and others have written to it since.
func TestTaintsAreAddedToCurrentTaints(t *testing.T) {
	const do = karpv1.NodeDoNotSyncTaintsLabelKey
	uninitialized := corev1.Taint{
		Key: "node.cloudprovider.kubernetes.io/uninitialized", Effect: corev1.TaintEffectNoSchedule,
	}
	others := corev1.Taint{Key: "others", Effect: corev1.TaintEffectNoExecute, TimeAdded: new(metav1.Now())}
	tests := map[string]struct {
		since  func(*corev1.Node)
		taints string
		labels map[string]string
	}{
		"nothing has changed": {func(*corev1.Node) {}, "uninitialized unregistered starting", map[string]string{do: "true"}},
		"others have added to it": {func(n *corev1.Node) {
			n.Labels["others"] = "too"
			n.Spec.Taints = append(n.Spec.Taints, others)
		}, "uninitialized others unregistered starting", map[string]string{do: "true", "others": "too"}},
		"the agent has taken away what the controller had added": {func(n *corev1.Node) {
			n.Labels[do] = "true"
			n.Spec.Taints = append(n.Spec.Taints, karpv1.UnregisteredNoExecuteTaint)
		}, "uninitialized unregistered", map[string]string{do: "true"}},
		"Karpenter has registered it": {func(n *corev1.Node) {
			n.Labels[do], n.Labels[karpv1.NodeRegisteredLabelKey] = "true", "true"
			n.Spec.Taints = nil
		}, "", map[string]string{do: "true", karpv1.NodeRegisteredLabelKey: "true"}},
		"all its taints are gone": {func(n *corev1.Node) { n.Spec.Taints = nil }, "", map[string]string{do: ""}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cached := &corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: NodeName(77,
					"1-a"), Labels: map[string]string{corev1.LabelOSStable: "linux"}, ResourceVersion: "1"},
				Spec: corev1.NodeSpec{Taints: []corev1.Taint{uninitialized}},
			}
			node, claim := cached.DeepCopy(), linodetest.NodeClaim("1")
			node.ResourceVersion = "2"
			tt.since(node)
			claim.Status.ProviderID, claim.Spec.Taints = nodeclaim.LinodeID(10), nil
			c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(node, claim).
				WithIndex(&karpv1.NodeClaim{}, "status.providerID",
					func(o client.Object) []string { return []string{o.(*karpv1.NodeClaim).Status.ProviderID} }).
				WithInterceptorFuncs(interceptor.Funcs{
					Get: func(
						ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption,
					) error {
						if node, ok := o.(*corev1.Node); ok {
							cached.DeepCopyInto(node)
							return nil
						}
						return c.Get(ctx, key, o, opts...)
					},
					Patch: asTheServer,
				}).Build()
			pools := listed{
				{ID: 1, Tags: []string{GroupTag + "0123"}, Count: 1, Linodes: []api.Slot{{ID: "1-a", InstanceID: 10}}},
			}
			if _, err := NewEarlyBinder(c, 77, pools).Reconcile(t.Context(),
				ctrl.Request{NamespacedName: client.ObjectKeyFromObject(node)}); err != nil {
				t.Fatal(err)
			}
			var list corev1.NodeList
			if err := c.List(t.Context(), &list); err != nil {
				t.Fatal(err)
			}
			var taints []string
			for _, taint := range list.Items[0].Spec.Taints {
				taints = append(taints, path.Base(taint.Key))
			}
			if got := strings.Join(taints, " "); got != tt.taints {
				t.Errorf("taints %q, want %q", got, tt.taints)
			}
			for key, want := range tt.labels {
				if got := list.Items[0].Labels[key]; got != want {
					t.Errorf("label %s is %q, want %q", key, got, want)
				}
			}
		})
	}
}

// asTheServer answers a JSON patch that does not apply as an API server does: the
// client of tests knows no status for it.
func asTheServer(
	ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption,
) error {
	err := c.Patch(ctx, o, patch, opts...)
	if err != nil && patch.Type() == types.JSONPatchType {
		return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "patch",
			schema.GroupResource{Resource: "nodes"}, o.GetName(), err.Error(), 0, false)
	}
	return err
}

// TestAfterAConflictTheControllerWaits: in a burst the cache lags, and
// tries that cannot succeed keep the API server from what others want of it.
func TestAfterAConflictTheControllerWaits(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: NodeName(77, "1-a")}}
	tries := 0
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(node).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			tries++
			return apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, node.Name, nil)
		},
	}).Build()
	pools := listed{{ID: 1, Tags: []string{GroupTag + "0123"}, Count: 1, Linodes: []api.Slot{{ID: "1-a"}}}}
	again, err := NewEarlyBinder(c, 77, pools).Reconcile(t.Context(),
		ctrl.Request{NamespacedName: client.ObjectKeyFromObject(node)})
	if err != nil || tries != 1 || again.RequeueAfter < time.Second {
		t.Errorf("%d tries, then %+v, %v", tries, again, err)
	}
}

func TestANodeGetsItsTaintsAndLabels(t *testing.T) {
	joining := func() *corev1.Node {
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "lke77-1-a"},
			Spec: corev1.NodeSpec{
				Taints: []corev1.Taint{
					{Key: "node.cloudprovider.kubernetes.io/uninitialized", Effect: corev1.TaintEffectNoSchedule},
				},
			},
		}
	}
	keys := func(n *corev1.Node) (keys []string) {
		for _, taint := range n.Spec.Taints {
			keys = append(keys, taint.Key)
		}
		return keys
	}
	pool := api.Pool{ID: 1, Labels: map[string]string{karpv1.NodePoolLabelKey: "web"}}

	unclaimed := joining()
	prepareNode(unclaimed, pool, nil)
	if diff := cmp.Diff([]string{"node.cloudprovider.kubernetes.io/uninitialized", "karpenter.sh/unregistered"},
		keys(unclaimed)); diff != "" {
		t.Errorf("taints before the claim is known (-want +got):\n%s", diff)
	}
	if unclaimed.Labels[karpv1.NodeDoNotSyncTaintsLabelKey] != "" {
		t.Error("Karpenter must not skip taints that are not added yet")
	}

	claimed := joining()
	nc := linodetest.NodeClaim("1")
	prepareNode(claimed, pool, nc)
	want := []string{
		"node.cloudprovider.kubernetes.io/uninitialized", "karpenter.sh/unregistered", "example.com/only",
		"node.kubernetes.io/x", "example.com/starting",
	}
	if diff := cmp.Diff(want, keys(claimed)); diff != "" {
		t.Errorf("taints (-want +got):\n%s", diff)
	}
	if claimed.Labels["example.com/slot"] != "7" || claimed.Labels[karpv1.NodeDoNotSyncTaintsLabelKey] != "true" {
		t.Errorf("labels = %v", claimed.Labels)
	}

	// An agent has done its work and taken its taint away before Karpenter has
	// registered the node: it must not come back.
	claimed.Spec.Taints = claimed.Spec.Taints[:4]
	prepareNode(claimed, pool, nc)
	if diff := cmp.Diff(want[:4], keys(claimed)); diff != "" {
		t.Errorf("taints after the agent (-want +got):\n%s", diff)
	}
}

// TestNodeOfUnlistedPool is checked again, and one that pods could already use
// gets no taint that would evict them.
func TestNodeOfUnlistedPool(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "lke77-1-a", Labels: map[string]string{corev1.LabelOSStable: "linux"}}}
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(node).
		WithIndex(&karpv1.NodeClaim{}, "status.providerID", func(client.Object) []string { return nil }).Build()
	reconcile := func(pools ...api.Pool) (ctrl.Result, corev1.Node) {
		t.Helper()
		result, err := NewEarlyBinder(c, 77, listed(pools)).Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: node.Name}})
		if err != nil {
			t.Fatal(err)
		}
		var now corev1.Node
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(node), &now); err != nil {
			t.Fatal(err)
		}
		return result, now
	}
	if result, now := reconcile(); result.RequeueAfter == 0 || len(now.Spec.Taints) != 0 {
		t.Errorf("a pool that is not listed: %v, %v", result, now.Spec.Taints)
	}
	if result, now := reconcile(api.Pool{ID: 1}); result.RequeueAfter != 0 || len(now.Spec.Taints) != 0 {
		t.Errorf("another owner's pool: %v, %v", result, now.Spec.Taints)
	}
	ours := api.Pool{ID: 1, Tags: []string{GroupTag + "0123"}}
	ready := node.DeepCopy()
	ready.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Minute)),
	}}
	prepareNode(ready, ours, nil)
	prepareNode(node, ours, nil)
	if len(ready.Spec.Taints) != 0 || len(node.Spec.Taints) != 1 {
		t.Errorf("ready for a minute: %v; joining: %v", ready.Spec.Taints, node.Spec.Taints)
	}
}

// TestNodeBelongsToKarpenterFromTheStart: a Node has the label of its class, by which Karpenter knows its nodes, before
// Karpenter has registered it.
func TestNodeBelongsToKarpenterFromTheStart(t *testing.T) {
	nc := linodetest.NodeClaim("1")
	class := karpv1.NodeClassLabelKey(nc.Spec.NodeClassRef.GroupKind())
	nc.Labels[class] = "default"
	node := &corev1.Node{}
	prepareNode(node, api.Pool{}, nc)
	if class != linodev1alpha1.Group+"/linodenodeclass" || node.Labels[class] != "default" {
		t.Errorf("the node has no label %s: %v", class, node.Labels)
	}
}

// joined is a Node of the slot 1-a, whose Linode is 10, and its claim.
func joined(created time.Time) (*corev1.Node, *karpv1.NodeClaim) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: NodeName(77, "1-a"), CreationTimestamp: metav1.NewTime(created),
		Labels: map[string]string{corev1.LabelOSStable: "linux"},
	}}
	node.Spec.Taints = []corev1.Taint{
		{Key: "node.cloudprovider.kubernetes.io/uninitialized", Effect: corev1.TaintEffectNoSchedule},
	}
	claim := linodetest.NodeClaim("1")
	claim.Status.ProviderID = nodeclaim.LinodeID(10)
	return node, claim
}

// reconciled is the Node and its claim after the controller has seen the Node.
func reconciled(t *testing.T, node *corev1.Node, claim *karpv1.NodeClaim, slot api.Slot) ctrl.Result {
	t.Helper()
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(node, claim).WithStatusSubresource(claim).
		WithIndex(&karpv1.NodeClaim{}, "status.providerID",
			func(o client.Object) []string { return []string{o.(*karpv1.NodeClaim).Status.ProviderID} }).Build()
	pools := listed{{ID: 1, Tags: []string{GroupTag + "0123"}, Count: 1, Linodes: []api.Slot{slot}}}
	again, err := NewEarlyBinder(c, 77, pools).Reconcile(t.Context(),
		ctrl.Request{NamespacedName: client.ObjectKeyFromObject(node)})
	for _, o := range []client.Object{node, claim} {
		if err == nil {
			err = c.Get(t.Context(), client.ObjectKeyFromObject(o), o)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// TestMissingProviderIDIsWritten: the cloud controller has a minute.
func TestMissingProviderIDIsWritten(t *testing.T) {
	slot := api.Slot{ID: "1-a", InstanceID: 10}
	for name, tt := range map[string]struct {
		age  time.Duration
		has  string
		slot api.Slot
		want string
		wait bool
	}{
		"the Node is young":              {30 * time.Second, "", slot, "", true},
		"a minute has passed":            {2 * time.Minute, "", slot, "linode://10", false},
		"the cloud controller wrote one": {2 * time.Minute, "linode://10", slot, "linode://10", false},
	} {
		t.Run(name, func(t *testing.T) {
			node, claim := joined(time.Now().Add(-tt.age))
			node.Spec.ProviderID = tt.has
			again := reconciled(t, node, claim, tt.slot)
			if node.Spec.ProviderID != tt.want || (again.RequeueAfter > 0) != tt.wait {
				t.Errorf("the provider id is %q, again after %s; want %q", node.Spec.ProviderID, again.RequeueAfter, tt.want)
			}
			if again.RequeueAfter > nodeclaim.ProviderIDWithin {
				t.Errorf("again after %s", again.RequeueAfter)
			}
		})
	}
}

// TestRecreatedNode: Karpenter registers a claim once. The pods of the Node
// still run, and must not be evicted; Karpenter has to register the Node again.
func TestRecreatedNode(t *testing.T) {
	for name, tt := range map[string]struct {
		registered time.Duration // after the Node was created
		again      bool
	}{
		"the Node is older than the registration":   {10 * time.Second, false},
		"the Node is younger than the registration": {-time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			node, claim := joined(time.Now().Add(-2 * time.Second))
			conditions := claim.StatusConditions()
			conditions.SetTrue(karpv1.ConditionTypeLaunched)
			conditions.SetTrue(karpv1.ConditionTypeRegistered)
			conditions.SetTrue(karpv1.ConditionTypeInitialized)
			for i := range claim.Status.Conditions {
				claim.Status.Conditions[i].LastTransitionTime = metav1.NewTime(node.CreationTimestamp.Add(tt.registered))
			}
			reconciled(t, node, claim, api.Slot{ID: "1-a", InstanceID: 10})
			unregistered := false
			for _, taint := range node.Spec.Taints {
				unregistered = unregistered || taint.MatchTaint(&karpv1.UnregisteredNoExecuteTaint) ||
					taint.Key == "example.com/starting"
			}
			if unregistered == tt.again {
				t.Errorf("the taints are %v", node.Spec.Taints)
			}
			if node.Labels["example.com/slot"] != "7" {
				t.Errorf("the labels are %v", node.Labels)
			}
			for _, condition := range []string{karpv1.ConditionTypeRegistered, karpv1.ConditionTypeInitialized} {
				if got := claim.StatusConditions().Get(condition); got.IsUnknown() != tt.again {
					t.Errorf("%s is %s", condition, got.Status)
				}
			}
			if !claim.StatusConditions().Get(karpv1.ConditionTypeLaunched).IsTrue() {
				t.Error("the claim is to be launched again")
			}
		})
	}
}
