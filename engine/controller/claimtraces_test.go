package controller

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awslabs/operatorpkg/object"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/trace"
	"github.com/lkeplan/lkeplan/engine/trace/tracetest"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// traceWorld is a cluster with a NodePool of a NodePlan, and a NodeClaim.
type traceWorld struct {
	t      *testing.T
	client client.Client
	sink   *tracetest.Sink
	tracer *claimTracer
	claim  *karpv1.NodeClaim
}

func newTraceWorld(t *testing.T) *traceWorld {
	linode.Register()
	pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{
		Name: "web", Labels: map[string]string{kube.InventoryLabel: kube.LabelValue(kube.NodePlanOwner, "fleet", "prod")},
	}}
	nc := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: "web-1", UID: "uid", Finalizers: []string{karpv1.TerminationFinalizer}, CreationTimestamp: metav1.Now(),
		Labels: map[string]string{karpv1.NodePoolLabelKey: "web", corev1.LabelInstanceTypeStable: "g6-standard-2"},
	}}
	nc.Spec.NodeClassRef = &karpv1.NodeClassReference{
		Group: linodev1alpha1.Group, Kind: object.GVK(&linodev1alpha1.LinodeNodeClass{}).Kind,
	}
	w := &traceWorld{t: t, sink: &tracetest.Sink{T: t, Durations: true}, claim: nc}
	w.client = fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(pool, nc).Build()
	w.start()
	return w
}

// start starts another process.
func (w *traceWorld) start() {
	w.tracer = newClaimTracer(w.sink)
	w.tracer.client = w.client
	w.look()
}

func (w *traceWorld) look() {
	w.t.Helper()
	req := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.claim)}
	if _, err := w.tracer.Reconcile(w.t.Context(), req); err != nil {
		w.t.Fatal(err)
	}
}

// after changes the NodeClaim some time later, which is seen immediately.
func (w *traceWorld) after(wait time.Duration, change func(nc *karpv1.NodeClaim)) {
	w.t.Helper()
	time.Sleep(wait)
	if change(w.claim); w.client.Update(w.t.Context(), w.claim) != nil {
		w.t.Fatal("the NodeClaim cannot be changed")
	}
	w.look()
}

func isTrue(condition string) func(*karpv1.NodeClaim) {
	return func(nc *karpv1.NodeClaim) { nc.StatusConditions().SetTrue(condition) }
}

func bound(nc *karpv1.NodeClaim) { nc.Status.ProviderID = nodeclaim.LinodeID(4711) }

func pending(nc *karpv1.NodeClaim) {
	nc.Status.ProviderID = nodeclaim.PendingID(string(nc.UID))
	isTrue(karpv1.ConditionTypeLaunched)(nc)
}

func (w *traceWorld) check(want ...string) {
	w.t.Helper()
	got, ids := w.sink.Taken()
	if diff := cmp.Diff(strings.Join(want, "\n"), got); diff != "" {
		w.t.Errorf("want -, got +\n%s", diff)
	}
	if len(want) > 0 && !slices.Equal(ids, []trace.ID{trace.OfClaim("uid")}) {
		w.t.Errorf("the ids are %x", ids)
	}
	if len(w.tracer.open) > 0 && len(want) > 0 {
		w.t.Errorf("left: %v", w.tracer.open)
	}
}

const traceAbout = " nodeclaim=web-1 nodepool=web nodeplan=fleet/prod plan_type=g6-standard-2"

// TestTraceOfNodeClaim, requests to Linode included, also those that
// failed.
func TestTraceOfNodeClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTraceWorld(t)
		w.after(200*time.Millisecond, pending)
		time.Sleep(3 * time.Second)
		grow := api.Call{
			Method: "PUT", Route: "lke/clusters/{}/pools/{}", Status: 503, Class: api.ClassBusy, Err: errors.New("busy"),
			Duration: time.Second, Waited: 500 * time.Millisecond, For: []string{"uid", "another", "gone"},
		}
		w.tracer.Call(grow)
		time.Sleep(2 * time.Second)
		grow.Status, grow.Class, grow.Err, grow.For = 200, api.ClassNone, nil, []string{"uid"}
		w.tracer.Call(grow)
		w.tracer.Call(api.Call{Method: "GET", Route: "lke/clusters/{}/pools"}) // for no NodeClaim
		w.after(40*time.Second, bound)
		w.after(50*time.Second, isTrue(karpv1.ConditionTypeRegistered))
		w.check()
		w.after(10*time.Second, func(nc *karpv1.NodeClaim) {
			nc.Status.NodeName = "lke1-2"
			isTrue(karpv1.ConditionTypeInitialized)(nc)
		})
		want := []string{
			"nodeclaim 105.2s" + traceAbout + " linode=4711 name=lke1-2",
			"  nodeclaim.linode 1.5s method=PUT template=lke/clusters/{}/pools/{} status_code=503 rate_limit_wait=0.5 nodeclaims=3 type=busy ! busy",
			"  nodeclaim.linode 1.5s method=PUT template=lke/clusters/{}/pools/{} status_code=200 rate_limit_wait=0.5 nodeclaims=1",
			"  nodeclaim.choose 0.2s",
			"  nodeclaim.machine 45s",
			"  nodeclaim.join 50s",
			"  nodeclaim.initialize 10s",
		}
		w.check(want...)
		w.after(time.Hour, func(nc *karpv1.NodeClaim) { nc.Labels["a"] = "b" })
		w.start()
		w.check()
	})
}

// TestNextProcessContinuesTrace with what the NodeClaim says, and leaves out what it does not say.
func TestNextProcessContinuesTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTraceWorld(t)
		w.after(time.Second, pending)
		time.Sleep(time.Minute)
		bound(w.claim)
		if err := w.client.Update(t.Context(), w.claim); err != nil { // while no process runs
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		w.start()
		w.after(10*time.Second, isTrue(karpv1.ConditionTypeRegistered))
		w.after(20*time.Second, isTrue(karpv1.ConditionTypeInitialized))
		w.check(
			"nodeclaim 150s"+traceAbout+" linode=4711",
			"  nodeclaim.choose 1s",
			"  nodeclaim.initialize 20s",
		)
	})
}

// TestTraceOfDeletedNodeClaimHasFailed in the step that it was in.
func TestTraceOfDeletedNodeClaimHasFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTraceWorld(t)
		w.after(time.Second, pending)
		time.Sleep(time.Minute)
		if err := w.client.Delete(t.Context(), w.claim); err != nil {
			t.Fatal(err)
		}
		w.look()
		w.look()
		w.check(
			"nodeclaim 61s"+traceAbout+" ! it was deleted before its node was initialized",
			"  nodeclaim.choose 1s",
			"  nodeclaim.machine 60s ! it was deleted",
		)
	})
}

// TestDeletedNodeClaimsAreForgotten: even if its deletion was missed, and of requests as many as
// a trace can have.
func TestDeletedNodeClaimsAreForgotten(t *testing.T) {
	w := newTraceWorld(t)
	for i := range 3 * mostCalls {
		w.tracer.Call(api.Call{Route: fmt.Sprint(i), For: []string{"uid"}})
	}
	s := w.tracer.open["uid"]
	first, last := s.calls[0].Attributes[1].Value, s.calls[len(s.calls)-1].Attributes[1].Value
	if len(s.calls) != mostCalls || s.left != 2*mostCalls || first != "0" || last != fmt.Sprint(3*mostCalls-1) {
		t.Errorf("%d calls, from %v to %v, without %d", len(s.calls), first, last, s.left)
	}
	w.claim.Finalizers = nil
	if err := w.client.Update(t.Context(), w.claim); err != nil {
		t.Fatal(err)
	}
	if err := w.client.Delete(t.Context(), w.claim); err != nil {
		t.Fatal(err)
	}
	w.look()
	if len(w.tracer.open) > 0 {
		t.Errorf("left: %v", w.tracer.open)
	}
	w.check()
}

// TestForeignNodeClaimsAreNotTraced, and without a sink none is.
func TestForeignNodeClaimsAreNotTraced(t *testing.T) {
	newClaimTracer(nil).Call(api.Call{For: []string{"uid"}})
	w := newTraceWorld(t)
	other := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "other", UID: types.UID("other")}}
	if err := w.client.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	w.claim = other
	if w.look(); w.tracer.open["other"] != nil {
		t.Error("it is traced")
	}
}
