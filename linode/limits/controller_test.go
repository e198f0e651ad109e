package limits

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/linodetest"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// enforcer returns an Enforcer in us-ord of what the client shows.
func enforcer(t *testing.T, c client.Client) *Enforcer {
	t.Helper()
	facts, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	return NewEnforcer(c, c, instancetype.New(facts, "us-ord", catalog.Standard))
}

func TestMain(m *testing.M) {
	if err := errors.Join(lkeplanv1alpha1.AddToScheme(scheme.Scheme), linodev1alpha1.AddToScheme(scheme.Scheme)); err != nil {
		panic(err)
	}
	instancetype.Register()
	m.Run()
}

func TestALimitSaysWhatIsUsedAndLeft(t *testing.T) {
	full := linodetest.CapacityLimit("full", linodetest.Nodes(2))
	roomy := linodetest.CapacityLimit("roomy", func(s *lkeplanv1alpha1.CapacityLimitSpec) {
		s.CPU, s.MonthlyCost, s.NodePools = new(resource.MustParse("20")), new("500"), []string{"web", "absent"}
	})
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithStatusSubresource(full).WithObjects(
		linodetest.NodePool(), full, roomy, linodetest.Decided(1), linodetest.Decided(2), linodetest.Undecided(3)).Build()
	recorder := events.NewFakeRecorder(10)
	controller := NewController(c, enforcer(t, c), recorder, nobody)
	if _, err := controller.Reconcile(t.Context(), ctrl.Request{}); err != nil {
		t.Fatal(err)
	}
	for _, cl := range []*lkeplanv1alpha1.CapacityLimit{full, roomy} {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(cl), cl); err != nil {
			t.Fatal(err)
		}
	}
	got := []string{
		fmt.Sprint(*full.Status.Used.Nodes, *full.Status.Room.Nodes,
			meta.IsStatusConditionTrue(full.Status.Conditions,
				"Reached"), meta.IsStatusConditionTrue(full.Status.Conditions, "Ready")),
		fmt.Sprint(roomy.Status.Used.CPU, " ", roomy.Status.Room.CPU, " ", *roomy.Status.Room.MonthlyCost, " ",
			meta.IsStatusConditionTrue(roomy.Status.Conditions, "Reached"), roomy.Status.Room.Nodes == nil),
		meta.FindStatusCondition(roomy.Status.Conditions, "Ready").Message,
	}
	want := []string{
		"2 0 true true", "8 12 404 false true",
		"NodePool absent does not exist; create it or remove it from spec.nodePools; the other pools are limited",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(recorder.Events) != 2 { // on the limit and on the NodePool
		t.Errorf("%d events, want 2", len(recorder.Events))
	}
	for _, again := range []*Controller{controller, NewController(c, enforcer(t, c), recorder, nobody)} {
		if _, err := again.Reconcile(t.Context(), ctrl.Request{}); err != nil {
			t.Fatal(err)
		}
	}
	if len(recorder.Events) != 4 { // the next process does not know whether its predecessor's were sent
		t.Errorf("%d events after a restart, want 4", len(recorder.Events))
	}
	if nodes, money := series(t, "lkeplan_capacity_limit_used")["full nodes"], series(t,
		"lkeplan_capacity_limit_max")["roomy monthly_cost"]; nodes != 2 || money != 500 {
		t.Errorf("the metrics show %v nodes used and a cap of %v dollars", nodes, money)
	}
	if err := c.Delete(t.Context(), full); err != nil {
		t.Fatal(err)
	}
	if _, err := controller.Reconcile(t.Context(), ctrl.Request{}); err != nil {
		t.Fatal(err)
	}
	if left := series(t, "lkeplan_capacity_limit_used"); len(left) != 4 {
		t.Errorf("the metrics show a limit that is no more: %v", left)
	}
}

// TestWithoutLimitsNothingIsCounted: NodeClaims change often, and to count all of
// them each time is work that grows with the square of a burst.
func TestWithoutLimitsNothingIsCounted(t *testing.T) {
	limit, lists := linodetest.CapacityLimit("total", linodetest.Nodes(5)), 0
	stored := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithStatusSubresource(limit).
		WithObjects(linodetest.NodePool(), linodetest.Decided(1)).Build()
	c := interceptor.NewClient(stored, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, claims := list.(*karpv1.NodeClaimList); claims {
				lists++
			}
			return c.List(ctx, list, opts...)
		},
	})
	controller := NewController(c, enforcer(t, c), events.NewFakeRecorder(10), nobody)
	reconciled := func() int {
		lists = 0
		if _, err := controller.Reconcile(t.Context(), ctrl.Request{}); err != nil {
			t.Fatal(err)
		}
		return lists
	}
	if n := reconciled(); n != 0 {
		t.Errorf("%d lists of NodeClaims without a limit", n)
	}
	if err := c.Create(t.Context(), limit); err != nil {
		t.Fatal(err)
	}
	if n := reconciled(); n != 1 {
		t.Errorf("%d lists of NodeClaims for a limit, want 1", n)
	}
	// It is gone before the controller has seen it, and Reserve has.
	controller.known = nil
	if err := c.Delete(t.Context(), limit); err != nil {
		t.Fatal(err)
	}
	if n := reconciled(); n != 1 || !controller.enforcer.unlimited() {
		t.Errorf("%d lists of NodeClaims after the last limit went, want 1", n)
	}
}

// series returns the values of a metric by its labels' values.
func series(t *testing.T, name string) map[string]float64 {
	t.Helper()
	families, err := crmetrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			values[strings.Join(labels, " ")] = m.GetGauge().GetValue()
		}
	}
	return values
}

func TestAmountsAreRoundedDown(t *testing.T) {
	tests := []struct {
		name, quantity string
		want           int64
	}{
		{"cpu", "1500m", 1500}, {"memory", "1Ki", 1024}, {"nodes", "2500m", 2}, {"nodes", "3", 3},
		{"cpu", "1E", 1<<63 - 1}, {"memory", "100E", 1<<63 - 1},
	}
	for _, tt := range tests {
		if got := wholeAmount(corev1.ResourceName(tt.name), resource.MustParse(tt.quantity)); got != tt.want {
			t.Errorf("amount(%s, %s) = %d, want %d", tt.name, tt.quantity, got, tt.want)
		}
	}
}

// no pod is to get a node.
func nobody(*corev1.Pod) bool { return false }

// podEvents are the texts of events, by the name of the pod.
type podEvents map[string][]string

func (e podEvents) Eventf(about, _ runtime.Object, _, _, _, format string, args ...any) {
	if pod, ok := about.(*corev1.Pod); ok {
		e[pod.Name] = append(e[pod.Name], fmt.Sprintf(format, args...))
	}
}

// TestPodsGetEventsAboutLimits: of a NodePool's own, too, with what the pod would fit with; but
// not where the pod has a node on order, which may be what has taken the last room.
func TestPodsGetEventsAboutLimits(t *testing.T) {
	for name, tt := range map[string]struct {
		limits map[corev1.ResourceName]string
		placed bool
		want   string
	}{
		"the pool's own": {limits: map[corev1.ResourceName]string{"cpu": "8"}, want: "8 CPUs and uses 8 CPUs; the node " +
			"needs 1 CPU; to create one more such node, raise the limit to 9 CPUs"},
		"two in the pool": {limits: map[corev1.ResourceName]string{"cpu": "8", "nodes": "2"}, want: "to create one more " +
			"such node, raise the limits to 9 CPUs and 3 nodes"},
		"its node comes":   {limits: map[corev1.ResourceName]string{"cpu": "8"}, placed: true},
		"there is room":    {limits: map[corev1.ResourceName]string{"cpu": "9"}},
		"no node is meant": {limits: map[corev1.ResourceName]string{"nodes": "0"}},
	} {
		t.Run(name, func(t *testing.T) {
			pool, pod := linodetest.NodePool(), &corev1.Pod{}
			pool.Spec.Limits = karpv1.Limits{}
			for key, value := range tt.limits {
				pool.Spec.Limits[key] = resource.MustParse(value)
			}
			pod.Namespace, pod.Name, pod.UID = "shop", "web", "web"
			pod.Status.Conditions = []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			}}
			c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(pool, pod, linodetest.Decided(1),
				linodetest.Decided(2)).Build()
			recorder := podEvents{}
			controller := NewController(c, enforcer(t, c), recorder, func(*corev1.Pod) bool { return tt.placed })
			for range 2 { // it is said once
				if _, err := controller.Reconcile(t.Context(), ctrl.Request{}); err != nil {
					t.Fatal(err)
				}
			}
			said := recorder["web"]
			if tt.want == "" && len(said) > 0 || tt.want != "" && (len(said) != 1 || !strings.Contains(said[0], tt.want)) {
				t.Errorf("the pod hears %q, want %q", said, tt.want)
			}
		})
	}
}

// TestAPlanWithoutAMonthlyPriceCountsByTheHour: GPU plans have none, and would count nothing against monthly_cost.
func TestAPlanWithoutAMonthlyPriceCountsByTheHour(t *testing.T) {
	e := enforcer(t, fake.NewClientBuilder().WithScheme(scheme.Scheme).Build())
	for plan, want := range map[string]string{
		"g2-gpu-rtx4000a1-l": "700.8", // 0.96 an hour, 730 hours
		"g1-gpu-rtx6000-1":   "1000",  // 1.5 an hour, and 1000 a month at most
		"g6-standard-4":      "48",
	} {
		if got := catalog.Money(e.sold(plan)[MonthlyCost]).String(); got != want {
			t.Errorf("%s counts for $%s a month, want $%s", plan, got, want)
		}
	}
	for _, it := range e.types.List() {
		if price := e.types.Price(it.Name); price.Hourly > 0 && e.sold(it.Name)[MonthlyCost] <= 0 {
			t.Errorf("%s counts nothing", it.Name)
		}
	}
	nc := linodetest.Decided(1)
	nc.Labels[corev1.LabelInstanceTypeStable] = "g2-gpu-rtx4000a1-l"
	if held := e.nodeOf(nc); held.Sold[MonthlyCost] != 700_800_000 {
		t.Errorf("a NodeClaim of it counts for %d", held.Sold[MonthlyCost])
	}
}
