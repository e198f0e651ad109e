package limits

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/linodetest"
)

// poolWith is a NodePool with a limit of CPUs; "" is no limit.
func poolWith(cpu string) *karpv1.NodePool {
	pool := linodetest.NodePool()
	pool.Spec.Limits = nil
	if cpu != "" {
		pool.Spec.Limits = karpv1.Limits{corev1.ResourceCPU: resource.MustParse(cpu)}
	}
	return pool
}

// TestNodePoolReportsReachedLimit: for as long as that lasts, with one event, and again
// where another writer has dropped what it said.
func TestNodePoolReportsReachedLimit(t *testing.T) {
	pool := poolWith("8") // the plan types that it may have begin with 1 CPU; two nodes of 4 are there
	stored := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithStatusSubresource(pool).
		WithObjects(pool, linodetest.Decided(1), linodetest.Decided(2)).Build()
	conflicts := 0
	c := interceptor.NewClient(stored, interceptor.Funcs{SubResourcePatch: func(ctx context.Context, c client.Client,
		sub string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
		if conflicts--; conflicts >= 0 {
			return apierrors.NewConflict(schema.GroupResource{Resource: "nodepools"}, o.GetName(), nil)
		}
		return c.SubResource(sub).Patch(ctx, o, patch, opts...)
	}})
	recorder := events.NewFakeRecorder(10)
	controller := NewController(c, enforcer(t, c), recorder, nobody)
	says := func(step, want string) {
		t.Helper()
		if _, err := controller.Reconcile(t.Context(), ctrl.Request{}); err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(pool), pool); err != nil {
			t.Fatal(err)
		}
		if c := pool.StatusConditions().Get(ConditionLimitReached); c != nil {
			got = c.Message
		}
		if got != want {
			t.Errorf("%s: it says %q; want %q", step, got, want)
		}
	}
	limit := func(cpu string) {
		t.Helper()
		pool.Spec.Limits = poolWith(cpu).Spec.Limits
		if err := c.Update(t.Context(), pool); err != nil {
			t.Fatal(err)
		}
	}
	const eight = "NodePool web has no capacity for a node of g6-standard-1: it allows 8 CPUs and " +
		"uses 8 CPUs; the node needs 1 CPU; to create one more such node, raise the limit to 9 CPUs"
	conflicts = 1
	says("the cache is behind", "")
	says("it is full", eight)
	says("nothing has changed", eight)
	pool.Status.Conditions = nil
	if err := c.Status().Update(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	says("another writer dropped it", eight)
	limit("9")
	says("there is room", "")
	limit("8")
	says("it is full again", eight)
	controller.announced = map[types.UID]bool{}
	says("the next process does not know whether the event was sent", eight)
	limit("")
	says("the limit is lifted", "")
	if n := len(recorder.Events); n != 3 {
		t.Errorf("%d events, want 3: when it was full, when it was full again, and of the next process", n)
	}
}

// TestWhichNodePoolChangesAreWatched: not each of Karpenter's writes.
func TestWhichNodePoolChangesAreWatched(t *testing.T) {
	says := poolWith("8")
	says.StatusConditions().SetTrueWithReason(ConditionLimitReached, "NoRoom", "")
	raised := poolWith("9")
	raised.Generation = 2
	for name, tc := range map[string]struct {
		was, is *karpv1.NodePool
		want    bool
	}{
		"nothing":     {poolWith("8"), poolWith("8"), false},
		"it is said":  {poolWith("8"), says, false},
		"it is lost":  {says, poolWith("8"), true},
		"another cap": {poolWith("8"), raised, true},
	} {
		if got := poolChanges.Update(event.UpdateEvent{ObjectOld: tc.was, ObjectNew: tc.is}); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
