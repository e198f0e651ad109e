package linode

import (
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/lkeplan/lkeplan/linode/age"
	"github.com/lkeplan/lkeplan/linode/maintenance"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// TestNodesDriftAtTheAgeOfTheirPool: only from then on, only for a valid age, and only if they do not drift for another
// reason. A clock that is set back takes it back.
func TestNodesDriftAtTheAgeOfTheirPool(t *testing.T) {
	const after = 720 * time.Hour
	created := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	class := readyClass()
	class.Spec.ReplaceBeforeMaintenance = &metav1.Duration{Duration: time.Hour}
	nc := nodeClaim("1")
	nc.CreationTimestamp = metav1.NewTime(created)
	nc.Annotations = map[string]string{
		linodev1alpha1.AnnotationHash: class.Hash(), linodev1alpha1.AnnotationHashVersion: linodev1alpha1.HashVersion,
	}
	maintained := nc.DeepCopy()
	maintained.Annotations[maintenance.AnnotationReplace] = "true"
	due := age.Due(created, nc.Name, after)
	for _, tt := range []struct {
		name, value string
		nc          *karpv1.NodeClaim
		now         time.Time
		want        cloudprovider.DriftReason
	}{
		{"a second before", "720h", nc, due.Add(-time.Second), ""},
		{"from then on", "720h", nc, due, nodeclaim.AgeDrifted},
		{"a year later", "720h", nc, due.AddDate(1, 0, 0), nodeclaim.AgeDrifted},
		{"a clock that was set back", "720h", nc, created.AddDate(-1, 0, 0), ""},
		{"a higher age", "721h", nc, due, ""},
		{"maintenance is sooner", "720h", maintained, due, nodeclaim.MaintenanceDrifted},
		{"no value", "", nc, due, ""},
		{"zero", "0s", nc, due, ""},
		{"a negative value", "-720h", nc, due, ""},
		{"garbage", "soon", nc, due, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pool := nodePool()
			pool.Annotations = map[string]string{schemas.AnnotationRefreshAfter: tt.value}
			p := provider(t, class, pool)
			p.Now = func() time.Time { return tt.now }
			if got, err := p.IsDrifted(t.Context(), tt.nc); err != nil || got != tt.want {
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			}
		})
	}
	if got, err := provider(t, class, nodePool()).IsDrifted(t.Context(), nc); err != nil || got != "" {
		t.Errorf("without the annotation: %q, %v", got, err)
	}
}

// TestInvalidAgeIsReportedOnce: as a condition while it lasts, and as one event.
func TestInvalidAgeIsReportedOnce(t *testing.T) {
	pool := nodePool()
	pool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: linodev1alpha1.Group, Kind: "LinodeNodeClass", Name: "default"}
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(pool).WithStatusSubresource(pool).Build()
	p, told := provider(t, pool), events.NewFakeRecorder(10)
	pools := NewNodePools(c, p.chooser.Types, lkeOf(p).Refused, told)
	for _, tt := range []struct {
		value  string
		told   int
		status bool
	}{{"720h", 0, false}, {"soon", 1, true}, {"soon", 0, true}, {"1s", 1, true}, {"720h", 0, false}} {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(pool), pool); err != nil {
			t.Fatal(err)
		}
		pool.Annotations = map[string]string{schemas.AnnotationRefreshAfter: tt.value}
		if err := c.Update(t.Context(), pool); err != nil {
			t.Fatal(err)
		}
		if _, err := pools.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(pool)}); err != nil {
			t.Fatal(err)
		}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(pool), pool); err != nil {
			t.Fatal(err)
		}
		conditions := pool.StatusConditions(status.WithObservedOnly())
		if got := conditions.Get(ConditionRefreshInvalid); got.IsTrue() != tt.status || len(told.Events) != tt.told ||
			!conditions.Get(ConditionAccepted).IsTrue() {
			t.Errorf("%q: condition %v, %d events", tt.value, got, len(told.Events))
		}
		for range len(told.Events) {
			<-told.Events
		}
	}
}
