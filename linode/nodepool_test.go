package linode

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/lke"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// TestNodePoolsReportWhatLKEWouldRefuse: NodePools that were written by hand get
// the same answer as those that were compiled.
func TestNodePoolsReportWhatLKEWouldRefuse(t *testing.T) {
	taint := func(key, value string) func(*karpv1.NodePool) {
		return func(p *karpv1.NodePool) {
			p.Spec.Template.Spec.Taints = []corev1.Taint{{Key: key, Value: value, Effect: corev1.TaintEffectNoSchedule}}
		}
	}
	label := func(key string) func(*karpv1.NodePool) {
		return func(p *karpv1.NodePool) { p.Spec.Template.Labels = map[string]string{key: "x"} }
	}
	wants := func(key string, values ...string) func(*karpv1.NodePool) {
		return func(p *karpv1.NodePool) {
			p.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{in(key, values...)}
		}
	}
	tests := []struct {
		name string
		edit func(*karpv1.NodePool)
		want string // in the condition; "" where the pool is accepted
		hide bool   // nothing is offered, because LKE would refuse each node
	}{
		{"nothing special", func(*karpv1.NodePool) {}, "", false},
		{"keys of LKE's own are not sent", label("node.kubernetes.io/" + strings.Repeat("n", 63)), "", false},
		{
			"a long label", label("example.com/" + strings.Repeat("n",
				63)), "LKE allows 62 characters after the prefix example.com/", true,
		},
		{
			"a long prefix", label(strings.Repeat("p.", 50) + "example.com/" + strings.Repeat("n",
				40)), "LKE allows keys of 128 characters", true,
		},
		{
			"a long taint", taint("example.com/"+strings.Repeat("n", 63),
				""), "spec.template.spec.taints.0.key: LKE allows 62", true,
		},
		{"a taint's reserved value", taint("example.com/x", "linode.com"), `LKE reserves the taint value "linode.com"`, true},
		{"spot only", wants(karpv1.CapacityTypeLabelKey, "spot"), "Linode sells on demand only", false},
		{"spot or on demand", wants(karpv1.CapacityTypeLabelKey, "spot", "on-demand"), "", false},
		{"another zone", wants(corev1.LabelTopologyZone, "us-east"), "the cluster is in region us-ord", false},
		{
			"a plan that is not there", wants(corev1.LabelInstanceTypeStable,
				"g6-standard-3"), "no plan type that Linode sells in us-ord", false,
		},
		{"another architecture", wants(corev1.LabelArchStable, "arm64"), "no plan type that Linode sells in us-ord", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pool := nodePool()
			pool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{
				Group: linodev1alpha1.Group, Kind: "LinodeNodeClass", Name: "default",
			}
			tt.edit(pool)
			p := provider(t, pool)
			c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(pool).WithStatusSubresource(pool).Build()
			if _, err := NewNodePools(c, p.chooser.Types, lkeOf(p).Refused, events.NewFakeRecorder(5)).Reconcile(t.Context(),
				ctrl.Request{NamespacedName: client.ObjectKeyFromObject(pool)}); err != nil {
				t.Fatal(err)
			}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(pool), pool); err != nil {
				t.Fatal(err)
			}
			for _, condition := range []string{ConditionAccepted, karpv1.ConditionTypeValidationSucceeded} {
				got := pool.StatusConditions(status.WithObservedOnly()).Get(condition)
				if got.IsTrue() != (tt.want == "") || !strings.Contains(got.Message, tt.want) {
					t.Errorf("%s is %v: %s; want %q", condition, got.Status, got.Message, tt.want)
				}
			}
			if ready := pool.StatusConditions().Root(); ready.IsFalse() != (tt.want != "") {
				t.Errorf("Ready is %s: %s", ready.Status, ready.Message)
			}
			types, err := p.GetInstanceTypes(t.Context(), pool)
			if err != nil {
				t.Fatal(err)
			}
			offered := 0
			for _, it := range types {
				offered += len(it.Offerings.Available())
			}
			if (offered == 0) != tt.hide {
				t.Errorf("%d offerings", offered)
			}
		})
	}
}

// TestNodePoolsWithUnusablePlansAreNotReady: as too little is known of them, or of the account.
func TestNodePoolsWithUnusablePlansAreNotReady(t *testing.T) {
	facts, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	types := instancetype.New(facts, "gb-lon", catalog.Standard)
	accelerated := in(corev1.LabelInstanceTypeStable, "g1-accelerated-netint-vpu-t1u1-s")
	for _, tt := range []struct {
		want karpv1.NodeSelectorRequirementWithMinValues
		says string
	}{
		{in(corev1.LabelInstanceTypeStable, "g2-gpu-rtx4000a1-xl"), "does not have the price or the size of g2-gpu-rtx4000a1-xl"},
		{in(corev1.LabelInstanceTypeStable, "g8-dedicated-32-8"), "does not have the price or the size of g8-dedicated-32-8"},
		{in(corev1.LabelInstanceTypeStable, "g1-gpu-rtx6000-1"), "no plan type that Linode sells in gb-lon matches them"},
		{in(linodev1alpha1.LabelInstanceGPUCount, "3"), "no plan type that Linode sells in gb-lon matches them"},
		{accelerated, ""},
	} {
		pool := nodePool()
		pool.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{tt.want}
		if got := Unacceptable(pool, types, ""); !strings.Contains(got, tt.says) || (got == "") != (tt.says == "") {
			t.Errorf("%v: %q, want %q", tt.want.Values, got, tt.says)
		}
	}
	pool := nodePool()
	pool.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{accelerated}
	types.SetAccount(nil, "the token may not read it")
	if got := Unacceptable(pool, types, ""); !strings.Contains(got, "the token may not read it") {
		t.Errorf("got %q", got)
	}
}

// TestGPUPlansOfEnterpriseNeedASetting: classes have it from the cluster block. Plans without GPUs need none, and
// the standard tier sells GPUs to all.
func TestGPUPlansOfEnterpriseNeedASetting(t *testing.T) {
	facts, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	gpu, plain := in(corev1.LabelInstanceTypeStable, "g2-gpu-rtx4000a1-s"), in(corev1.LabelInstanceTypeStable, "g6-standard-4")
	both := in(corev1.LabelInstanceTypeStable, "g2-gpu-rtx4000a1-s", "g6-standard-4")
	for _, tt := range []struct {
		name    string
		tier    catalog.Tier
		set     string
		want    karpv1.NodeSelectorRequirementWithMinValues
		refused bool
		offered int
	}{
		{"no setting", catalog.Enterprise, "", gpu, true, 0},
		{"a setting that is not true", catalog.Enterprise, "yes", gpu, true, 0},
		{"set", catalog.Enterprise, "true", gpu, false, 1},
		{"no setting, no GPUs", catalog.Enterprise, "", plain, false, 1},
		{"no setting, GPUs or not", catalog.Enterprise, "", both, false, 1},
		{"set, GPUs or not", catalog.Enterprise, "true", both, false, 2},
		{"standard", catalog.Standard, "", gpu, false, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			class, pool := readyClass(), nodePool()
			class.Annotations = map[string]string{schemas.AnnotationGPUPlans: tt.set}
			pool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{
				Group: linodev1alpha1.Group, Kind: "LinodeNodeClass", Name: "default",
			}
			pool.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{tt.want}
			c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(class, pool).Build()
			types := instancetype.New(facts, "us-ord", tt.tier.WithGPUs(true))
			machines := lke.New(c, types, 77, tt.tier, &shown{})
			if got := machines.Refused(t.Context(), pool); (len(got) > 0) != tt.refused {
				t.Errorf("refused: %v", got)
			}
			offers, err := machines.Offer(t.Context(), "default", pool, types.List())
			if err != nil {
				t.Fatal(err)
			}
			offered := 0
			for _, it := range offers {
				if instancetype.RequirementsOf(pool).Intersects(it.Requirements) == nil {
					offered += len(it.Offerings.Available())
				}
			}
			if offered != tt.offered {
				t.Errorf("%d plans are offered, want %d", offered, tt.offered)
			}
		})
	}
}

// TestNodePoolsReportPlansOutOfStock: for as long as the plan type is not offered, and only
// where the NodePool allows it.
func TestNodePoolsReportPlansOutOfStock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, other := nodePool(), nodePool()
		other.Name = "other"
		for pool, plan := range map[*karpv1.NodePool]string{pool: "g6-standard-4", other: "g6-dedicated-4"} {
			pool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{
				Group: linodev1alpha1.Group, Kind: "LinodeNodeClass", Name: "default",
			}
			pool.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{
				in(corev1.LabelInstanceTypeStable, plan, "g6-standard-6"),
			}
		}
		p := provider(t, pool, other)
		c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(pool, other).WithStatusSubresource(pool).Build()
		pools := NewNodePools(c, p.chooser.Types, lkeOf(p).Refused, events.NewFakeRecorder(5))
		says := func(pool *karpv1.NodePool) (text string, again time.Duration) {
			t.Helper()
			req := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(pool)}
			for range 2 { // the second does not write
				result, err := pools.Reconcile(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				again = result.RequeueAfter
			}
			if err := c.Get(t.Context(), req.NamespacedName, pool); err != nil {
				t.Fatal(err)
			}
			if c := pool.StatusConditions(status.WithObservedOnly()).Get(ConditionOutOfStock); c.IsTrue() {
				text = c.Message
			}
			return text, again
		}
		if text, again := says(pool); text != "" || again != 0 {
			t.Errorf("before anything was asked for: %q, and again in %s", text, again)
		}
		p.chooser.Types.Block("g6-standard-4", time.Now().Add(time.Minute))
		<-p.chooser.Types.Blocking()
		until := time.Now().Add(time.Minute).UTC().Format("15:04:05 UTC")
		want := "Linode has no capacity in us-ord for g6-standard-4 (next attempt at " + until + ")"
		if text, again := says(pool); text != want || again != stockEvery {
			t.Errorf("%q, and again in %s", text, again)
		}
		if got := OutOfStock(pool); !slices.Equal(got, []string{"g6-standard-4"}) {
			t.Errorf("out of stock: %q", got)
		}
		if text, _ := says(other); text != "" {
			t.Errorf("a pool that does not allow it says %q", text)
		}
		time.Sleep(time.Minute)
		if text, again := says(pool); text != "" || again != 0 {
			t.Errorf("after it: %q, and again in %s", text, again)
		}
	})
}

// TestChangedPricesAreAnnounced: on the NodePools that allow the plan type or have a node of it, and on no other.
func TestChangedPricesAreAnnounced(t *testing.T) {
	allows, has, other := nodePool(), nodePool(), nodePool()
	allows.Name, has.Name, other.Name = "allows", "has", "other"
	for pool, plan := range map[*karpv1.NodePool]string{allows: "g6-standard-4", has: "g6-standard-6", other: "g6-standard-6"} {
		pool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: linodev1alpha1.Group, Kind: "LinodeNodeClass", Name: "default"}
		pool.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{in(corev1.LabelInstanceTypeStable, plan)}
	}
	node := &karpv1.NodeClaim{}
	node.Name, node.Labels = "node", map[string]string{karpv1.NodePoolLabelKey: "has", corev1.LabelInstanceTypeStable: "g6-standard-4"}
	p := provider(t, allows, has, other)
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(allows, has, other, node).Build()
	recorder := events.NewFakeRecorder(5)
	price := func(dollars catalog.Money) catalog.Price {
		return catalog.Price{Hourly: dollars * catalog.Dollar / 1000, Monthly: dollars * catalog.Dollar}
	}
	NewNodePools(c, p.chooser.Types, lkeOf(p).Refused, recorder).AnnouncePrices(t.Context(), []instancetype.Repriced{
		{Plan: "g6-standard-4", Was: price(48), Now: price(36)}, {Plan: "g6-standard-8", Was: price(96), Now: price(72)},
	})
	close(recorder.Events)
	var said []string
	for e := range recorder.Events {
		said = append(said, e)
	}
	const want = "Normal PriceChanged the monthly price of plan types has changed, and Karpenter may move nodes for it: g6-standard-4 from $48 to $36"
	if !slices.Equal(said, []string{want, want}) {
		t.Errorf("events: %q", said)
	}
}
