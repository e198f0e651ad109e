package gitops

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/forecast"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/catalog"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// TestForecastIsStoredBeforeTheEffect: once for each revision that changes an object, and before the
// first object is changed.
func TestForecastIsStoredBeforeTheEffect(t *testing.T) {
	w := newWorld(t)
	np := w.plan("fleet", "a", "fleet")
	w.commit(map[string]string{"a": pools("a", "web")})
	written, recorded := -1, 0
	step := func(record Recorder) outcome {
		return w.worker.Work(t.Context(), np, func(ctx context.Context) error {
			if recorded++; len(np.Status.Forecasts) > 0 {
				written = w.written
			}
			return record(ctx)
		})
	}
	if o := step(func(context.Context) error { return errors.New("no answer") }); !o.failed || w.written > 0 ||
		len(np.Status.Forecasts) > 0 {
		t.Fatalf("without a record of the forecast: %+v, %d objects written, forecasts %+v", o, w.written,
			np.Status.Forecasts)
	}
	if o := step(w.record(np)); o.failed || written != 0 {
		t.Fatalf("%+v; %d objects were written before the forecast", o, written)
	}
	first := np.Status.Forecasts
	if len(first) != 1 || first[0].Revision != "main@sha1:0" || len(first[0].Pools) != 1 ||
		first[0].Pools[0].Name != "web" {
		t.Fatalf("forecasts %+v", first)
	}
	if f := first[0].Total.Forecast; f.Replaced == nil || *f.Replaced != 0 || !f.Unlimited || f.CostFloor != "0" {
		t.Errorf("forecast %+v", f)
	}
	recorded = 0
	step(w.record(np)) // again, after a restart
	w.commit(map[string]string{"a": pools("a", "web") + "# a comment\n"})
	step(w.record(np)) // a commit that changes no object
	if len(np.Status.Forecasts) != 1 || recorded != 0 {
		t.Errorf("%d forecasts, %d of them written, after revisions that change nothing", len(np.Status.Forecasts), recorded)
	}
	w.commit(map[string]string{"a": pools("a", "web", "batch")})
	if step(w.record(np)); len(np.Status.Forecasts) != 2 || np.Status.Forecasts[0].Revision != "main@sha1:2" ||
		np.Status.Forecasts[1].Closed == nil {
		t.Errorf("forecasts %+v", np.Status.Forecasts)
	}
}

// TestForecastersCountNothingTwice: two leaders, one of which restarts, measure the same NodePlan in
// the API server.
func TestForecastersCountNothingTwice(t *testing.T) {
	linode.Register()
	if err := lkeplanv1alpha1.AddToScheme(scheme.Scheme); err != nil {
		t.Fatal(err)
	}
	began := time.Date(2026, 11, 27, 8, 0, 0, 0, time.UTC)
	np := &lkeplanv1alpha1.NodePlan{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: "prod", UID: "1"}}
	np.Status.Pools = []lkeplanv1alpha1.PoolStatus{{Name: "web", Nodes: 2, Outdated: 1}}
	two := forecast.Revision{Name: "main@sha1:2", Objects: "b"}
	forecast.Open(np, forecast.Foretell(two, plan.Plan{}, forecast.Pools{}, began), nil)
	class := &linodev1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	class.Status.Gone = []linodev1alpha1.GoneNode{{NodeClaim: "web-0", NodePool: "web", Reason: "Drifted",
		Time:     metav1.NewTime(began),
		NodePlan: "fleet/prod", Revision: "main@sha1:2"}}
	claim := func(name, pool string) *karpv1.NodeClaim {
		return &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			karpv1.NodePoolLabelKey: pool, corev1.LabelInstanceTypeStable: "g6-standard-2",
		}}}
	}
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithStatusSubresource(np).
		WithObjects(np, class, claim("a", "web"), claim("b", "web"), claim("c", "other"), claim("d", "")).Build()
	now := began
	leader := func() *forecaster {
		f := &forecaster{Client: c, Reader: c, InShard: func(*lkeplanv1alpha1.NodePlan) bool { return true },
			Now: func() time.Time { return now }}
		f.setPrices(np, func(string) (catalog.Money, bool) { return 24 * catalog.Dollar, true })
		return f
	}
	look := func(f *forecaster) {
		t.Helper()
		if _, err := f.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(np)}); err != nil {
			t.Fatal(err)
		}
	}
	one, other := leader(), leader()
	for range 20 { // one restarts each quarter of an hour
		look(one)
		look(other)
		now = now.Add(5 * time.Minute)
		look(other)
		now = now.Add(10 * time.Minute)
		look(one)
		look(other)
		one = leader()
	}
	var live lkeplanv1alpha1.NodePlan
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(np), &live); err != nil {
		t.Fatal(err)
	}
	a := live.Status.Forecasts[0].Total.Actual
	got := fmt.Sprint(a.Replaced, " replaced, ", a.NodesMean, " nodes at $", a.CostMean)
	if most := int64(now.Sub(began) / time.Second); got != "1 replaced, 2 nodes at $48" || a.Seconds > most ||
		a.Seconds < most/2 {
		t.Errorf("%s, measured for %d of %d seconds", got, a.Seconds, most)
	}
	if err := c.Delete(t.Context(), &live); err != nil {
		t.Fatal(err)
	}
	if look(other); len(other.measured) > 0 {
		t.Error("a deleted NodePlan is still measured")
	}
}

// TestReconciliationKeepsWhatWasMeasured: it records the status that it has read before the last
// measurement.
func TestReconciliationKeepsWhatWasMeasured(t *testing.T) {
	if err := lkeplanv1alpha1.AddToScheme(scheme.Scheme); err != nil {
		t.Fatal(err)
	}
	np := &lkeplanv1alpha1.NodePlan{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: "prod"}}
	forecast.Open(np, forecast.Foretell(forecast.Revision{Name: "1", Objects: "a"}, plan.Plan{}, forecast.Pools{},
		time.Now()), nil)
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithStatusSubresource(np).WithObjects(np).Build()
	var was lkeplanv1alpha1.NodePlan
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(np), &was); err != nil {
		t.Fatal(err)
	}
	measured := was.DeepCopy()
	measured.Status.Forecasts[0].Total.Actual.Seconds = 600
	if err := c.Status().Update(t.Context(), measured); err != nil {
		t.Fatal(err)
	}
	r, now := &Reconciler{Client: c, Worker: &Worker{Reader: c}}, was.DeepCopy()
	forecast.Open(now, forecast.Foretell(forecast.Revision{Name: "2", Objects: "b"}, plan.Plan{}, forecast.Pools{},
		time.Now()), nil)
	if err := r.record(t.Context(), &was, now); err != nil {
		t.Fatal(err)
	}
	var live lkeplanv1alpha1.NodePlan
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(np), &live); err != nil {
		t.Fatal(err)
	}
	if all := live.Status.Forecasts; len(all) != 2 || all[1].Total.Actual.Seconds != 600 || all[1].Closed == nil ||
		all[0].Closed != nil {
		t.Errorf("forecasts %+v", all)
	}
}
