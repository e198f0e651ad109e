package instancetype

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/lkeplan/lkeplan/linode/catalog"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

func typesIn(t *testing.T, region string) *Set {
	t.Helper()
	Register()
	facts, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	return New(facts, region, catalog.Standard)
}

func byName(t *testing.T, types *Set, name string) *cloudprovider.InstanceType {
	t.Helper()
	for _, it := range types.List() {
		if it.Name == name {
			return it
		}
	}
	t.Fatalf("there is no %s", name)
	return nil
}

func TestEveryTypeHasAllFieldsThatKarpenterReads(t *testing.T) {
	for _, it := range typesIn(t, "us-ord").List() {
		for key := range karpv1.WellKnownLabels {
			if key != karpv1.NodePoolLabelKey && !it.Requirements.Has(key) {
				t.Errorf("%s says nothing of %s", it.Name, key)
			}
		}
		for _, o := range it.Offerings {
			if o.Zone() != "us-ord" || o.CapacityType() != karpv1.CapacityTypeOnDemand ||
				o.Available && o.Price <= 0 {
				t.Errorf("%s is offered in zone %s as %s for %v", it.Name, o.Zone(), o.CapacityType(), o.Price)
			}
		}
		known := it.Requirements.Get(linodev1alpha1.LabelInstanceDisk).Operator() == corev1.NodeSelectorOpIn
		if a := it.Allocatable(); a.Cpu().IsZero() || a.Memory().Sign() <= 0 || known != (a.StorageEphemeral().Sign() > 0) ||
			a.Pods().Value() != 110 {
			t.Errorf("%s has %v", it.Name, a)
		}
	}
}

// TestAllocatableIsNotMoreThanNodesReport: of the two plans whose nodes were
// recorded (lke-nodes.json), in KiB.
func TestAllocatableIsNotMoreThanNodesReport(t *testing.T) {
	for plan, recorded := range map[string]int64{"g6-standard-1": 1924896, "g6-standard-2": 3919624} {
		allocatable := byName(t, typesIn(t, "us-ord"), plan).Allocatable()
		got := allocatable.Memory().Value() / 1024
		if got > recorded || got < recorded*96/100 {
			t.Errorf("%s: %d KiB of memory, and a node has %d", plan, got, recorded)
		}
	}
}

func TestRegionsHaveTheirOwnPrices(t *testing.T) {
	for region, want := range map[string]float64{"us-ord": 0.036, "id-cgk": 0.043, "br-gru": 0.05} {
		if got := byName(t, typesIn(t, region), "g6-standard-2").Offerings[0].Price; got != want {
			t.Errorf("g6-standard-2 in %s costs %v, want %v", region, got, want)
		}
	}
}

func TestGPUPlansHaveGPUs(t *testing.T) {
	it := byName(t, typesIn(t, "us-ord"), "g1-gpu-rtx6000-2")
	gpus := it.Capacity[ResourceGPU]
	if gpus.Value() != 2 || it.Requirements.Get(linodev1alpha1.LabelInstanceGPUCount).Any() != "2" ||
		it.Requirements.Get(linodev1alpha1.LabelInstanceGPUName).Any() == "" {
		t.Errorf("capacity %v, requirements %v", it.Capacity, it.Requirements)
	}
	none := byName(t, typesIn(t, "us-ord"), "g6-standard-2").Requirements.Get(linodev1alpha1.LabelInstanceGPUCount)
	if none.Operator() != corev1.NodeSelectorOpDoesNotExist {
		t.Error("a plan without GPUs may have some")
	}
}

func TestBlockedPlanReturnsAndOtherPlansAreUnchanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		types := typesIn(t, "us-ord")
		other, plan := byName(t, types, "g6-standard-6"), byName(t, types, "g6-standard-4")
		types.Block("g6-standard-4", time.Now().Add(3*time.Minute))
		if len(byName(t, types, "g6-standard-4").Offerings.Available()) != 0 {
			t.Error("a blocked plan is offered")
		}
		if len(plan.Offerings.Available()) != 1 {
			t.Error("a type that Karpenter may hold was changed")
		}
		if byName(t, types, "g6-standard-6") != other {
			t.Error("another plan got a new pointer")
		}
		time.Sleep(3 * time.Minute)
		if len(byName(t, types, "g6-standard-4").Offerings.Available()) != 1 {
			t.Error("the plan does not come back")
		}
	})
}

// TestNodesReportSizesOfPlans: in KiB of memory. What was recorded of
// g6-standard-2 is 3919624, of which 3 % are held back until a node is seen.
func TestNodesReportSizesOfPlans(t *testing.T) {
	const plan = "g6-standard-2"
	reports := func(kib int64) catalog.NodeResources {
		r := catalog.Resources{MemoryBytes: kib << 10, EphemeralBytes: 70 << 30}
		return catalog.NodeResources{
			Capacity: catalog.Resources{MemoryBytes: kib<<10 + 100<<20, EphemeralBytes: 78 << 30}, Allocatable: r,
		}
	}
	const unseen = 3798963
	tests := []struct {
		name  string
		learn func(*Set)
		want  int64
	}{
		{"no node was seen", func(*Set) {}, unseen},
		{"a node has more than was expected", func(ts *Set) { ts.Record(plan, "1.35", reports(3919624)) }, 3919624},
		{"a node has less", func(ts *Set) { ts.Record(plan, "1.35", reports(3700000)) }, 3700000},
		{"of several the least counts", func(ts *Set) {
			ts.Record(plan, "1.35", reports(3919624))
			ts.Record(plan, "1.35", reports(3919000))
			ts.Record(plan, "1.35", reports(3919800))
		}, 3919000},
		{"more under an older version promises nothing", func(ts *Set) { ts.Record(plan, "1.34", reports(3919624)) }, unseen},
		{"less under an older version is heeded", func(ts *Set) { ts.Record(plan, "1.34", reports(3700000)) }, 3700000},
		{"after an upgrade the new version counts", func(ts *Set) {
			ts.Record(plan, "1.34", reports(3700000))
			ts.Record(plan, "1.36", reports(3900000))
			ts.SetVersion("v1.36.1+lke1")
		}, 3900000},
		{"a node of a newer version shows that the cluster was upgraded", func(ts *Set) {
			ts.Record(plan, "1.35", reports(3919624))
			ts.Record(plan, "1.36", reports(3800000))
		}, 3800000},
		{"more than the plan has is a mistake", func(ts *Set) { ts.Record(plan, "1.35", reports(5<<20)) }, unseen},
		{"less than the plan can have is no report", func(ts *Set) { ts.Record(plan, "1.35", reports(3000000)) }, unseen},
		{"more disk than the plan has", func(ts *Set) {
			r := reports(3919624)
			r.Capacity.EphemeralBytes <<= 10
			ts.Record(plan, "1.35", r)
		}, unseen},
		{"more for pods than there is", func(ts *Set) {
			r := reports(3919624)
			r.Allocatable.MemoryBytes <<= 10
			ts.Record(plan, "1.35", r)
		}, unseen},
		{"another plan's node", func(ts *Set) { ts.Record("g6-standard-4", "1.35", reports(3919624)) }, unseen},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			types := typesIn(t, "us-ord")
			types.SetVersion("1.35")
			tt.learn(types)
			allocatable := byName(t, types, plan).Allocatable()
			if got := allocatable.Memory().Value() / 1024; got != tt.want {
				t.Errorf("%d KiB, want %d", got, tt.want)
			}
		})
	}
}

func TestNodeReportsAreRead(t *testing.T) {
	status := corev1.NodeStatus{
		Capacity: corev1.ResourceList{
			"cpu": resource.MustParse("2"), "memory": resource.MustParse("4022024Ki"),
			"ephemeral-storage": resource.MustParse("82470344Ki"), "pods": resource.MustParse("110"),
		},
		Allocatable: corev1.ResourceList{
			"cpu": resource.MustParse("2"), "memory": resource.MustParse("3919624Ki"),
			"ephemeral-storage": resource.MustParse("76004668905"), "pods": resource.MustParse("110"),
		},
	}
	want := catalog.NodeResources{
		Capacity:    catalog.Resources{MilliCPU: 2000, MemoryBytes: 4022024 << 10, EphemeralBytes: 82470344 << 10, Pods: 110},
		Allocatable: catalog.Resources{MilliCPU: 2000, MemoryBytes: 3919624 << 10, EphemeralBytes: 76004668905, Pods: 110},
	}
	if diff := cmp.Diff(want, resourcesOf(status)); diff != "" {
		t.Error(diff)
	}
	for version, want := range map[string]string{"1.33": "1.33", "v1.33.4": "1.33", "v1.33.4+lke2": "1.33"} {
		if got := minorVersion(version); got != want {
			t.Errorf("minor(%q) = %q", version, got)
		}
	}
}

// TestEveryRegionWithKubernetesSellsSomething, and none a plan that it does not
// have: a class without its capability, a nanode.
func TestEveryRegionWithKubernetesSellsSomething(t *testing.T) {
	facts, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	regions := 0
	for _, region := range facts.Regions() {
		for _, tier := range []catalog.Tier{catalog.Standard, catalog.Enterprise} {
			offered := 0
			for _, it := range New(facts, region.ID, tier).List() {
				if len(it.Offerings.Available()) == 0 {
					continue
				}
				offered++
				plan, _ := facts.Plan(it.Name)
				if plan.Class == "nanode" || !region.Has(plan.Gate()) || !facts.Sold(it.Name, region.ID, tier) {
					t.Errorf("%s is offered in %s, which does not sell it", it.Name, region.ID)
				}
			}
			if runs := region.Has(tier.Capability()); runs != (offered > 0) {
				t.Errorf("%s: %d plans are offered for %s; it runs such clusters: %v", region.ID, offered, tier, runs)
			} else if runs {
				regions++
			}
		}
	}
	if regions < 40 {
		t.Errorf("only %d regions and tiers were checked", regions)
	}
}

func TestAcceleratedPlansHaveTheirCards(t *testing.T) {
	const card = "g1-accelerated-netint-vpu-t1u1-s"
	for region, want := range map[string]int{"us-lax": 1, "us-ord": 0} {
		it := byName(t, typesIn(t, region), card)
		cards := it.Capacity[ResourceVPU]
		if cards.Value() != 1 || len(it.Offerings.Available()) != want ||
			it.Requirements.Get(linodev1alpha1.LabelInstanceAcceleratedDevices).Any() != "1" {
			t.Errorf("%s: %d offerings, capacity %v", region, len(it.Offerings.Available()), it.Capacity)
		}
	}
}

// TestPlanWithoutPriceIsNotUsed: it is there for the nodes that it has, and Karpenter, which would compare it
// with the others, makes none. Without a size it is no type. Both are said to be missing.
func TestPlanWithoutPriceIsNotUsed(t *testing.T) {
	size := catalog.Plan{Class: "dedicated", VCPUs: 2, MemoryMiB: 4096, Price: catalog.Price{Hourly: 50_000}}
	plan := func(id string, change func(*catalog.Plan)) catalog.Plan {
		p := size
		p.ID = id
		change(&p)
		return p
	}
	list, err := catalog.New("2026-01-02", "test", []catalog.Plan{
		plan("known", func(*catalog.Plan) {}),
		plan("unpriced", func(p *catalog.Plan) { p.Price = catalog.Price{} }),
		plan("unpriced-here", func(p *catalog.Plan) { p.RegionPrices = catalog.RegionPrices{"us-ord": {}} }),
		plan("unsized", func(p *catalog.Plan) { p.VCPUs, p.MemoryMiB = 0, 0 }),
		plan("shared-one", func(p *catalog.Plan) { p.Class, p.Price = "nanode", catalog.Price{} }),
	}, []catalog.Region{{ID: "us-ord", Capabilities: []string{catalog.CapKubernetes, catalog.CapLinodes}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	types := New(list, "us-ord", catalog.Standard)
	offered := map[string]bool{}
	for _, it := range types.List() {
		offered[it.Name] = len(it.Offerings.Available()) > 0
	}
	want := map[string]bool{"known": true, "unpriced": false, "unpriced-here": false, "shared-one": false}
	if d := cmp.Diff(want, offered); d != "" {
		t.Errorf("offered (-want +got)\n%s", d)
	}
	if p := types.Price("unpriced-here"); p.Known() {
		t.Errorf("the list price %s is taken for that of a region that has its own", p)
	}
	var missing []string
	for id := range types.Unknown() {
		missing = append(missing, id)
	}
	if d := cmp.Diff([]string{"unpriced", "unpriced-here", "unsized"}, missing); d != "" {
		t.Errorf("missing (-want +got)\n%s", d)
	}
	in := func(key, value string) scheduling.Requirements {
		return scheduling.NewRequirements(scheduling.NewRequirement(key, corev1.NodeSelectorOpIn, value))
	}
	for _, tt := range []struct {
		want scheduling.Requirements
		why  string
	}{
		{in(linodev1alpha1.LabelInstanceClass, "dedicated"), "unpriced, unpriced-here, unsized;"},
		{in(linodev1alpha1.LabelInstanceCPU, "64"), "does not have the price or the size of unsized;"},
		{in(linodev1alpha1.LabelInstanceClass, "standard"), ""},
	} {
		if why := types.WhyNothing(tt.want); !strings.Contains(why, tt.why) || (why == "") != (tt.why == "") {
			t.Errorf("%v: %q, want %q", tt.want, why, tt.why)
		}
	}
}

// TestTypesHaveOneValueForEachLabel: Karpenter v1.15.0 counts for
// minValues also those values of a type that the NodePool excludes. A type with
// one value for each label has none.
func TestTypesHaveOneValueForEachLabel(t *testing.T) {
	for _, it := range typesIn(t, "us-ord").List() {
		for key, r := range it.Requirements {
			if r.Operator() != corev1.NodeSelectorOpDoesNotExist && r.Len() != 1 {
				t.Errorf("%s has %d values for %s", it.Name, r.Len(), key)
			}
		}
		if len(it.Offerings) != 1 {
			t.Errorf("%s has %d offerings", it.Name, len(it.Offerings))
		}
	}
}

// TestStockFirst: of plan types with one price the one in stock comes first, then g7-dedicated; a cheaper one that the
// region says is out of stock is still tried before.
func TestStockFirst(t *testing.T) {
	plan := func(id, class string, hourly catalog.Money) catalog.Plan {
		return catalog.Plan{ID: id, Class: class, VCPUs: 2, MemoryMiB: 4096, DiskMiB: 81920, Price: catalog.Price{Hourly: hourly}}
	}
	list, err := catalog.New("", "", []catalog.Plan{
		plan("g6-standard-2", "standard", 36_000), plan("g7-dedicated-4-2", "dedicated", 64_500),
		plan("g7-premium-2", "premium", 64_500),
	}, []catalog.Region{{
		ID: "us-ord", Capabilities: []string{catalog.CapKubernetes, catalog.CapLinodes, catalog.CapPremium},
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	types := New(list, "us-ord", catalog.Standard)
	for _, tt := range []struct{ out, want []string }{
		{nil, []string{"g6-standard-2", "g7-dedicated-4-2", "g7-premium-2"}},
		{[]string{"g6-standard-2", "g7-dedicated-4-2"}, []string{"g6-standard-2", "g7-premium-2", "g7-dedicated-4-2"}},
	} {
		var rows []catalog.Availability
		for _, id := range tt.out {
			rows = append(rows, catalog.Availability{Region: "us-ord", Plan: id})
		}
		types.SetStock(rows)
		want := scheduling.NewRequirements()
		fit := Candidates(types.List(), want, nil)
		types.StockFirst(fit, want)
		var got []string
		for _, it := range fit {
			got = append(got, it.Name)
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("out of stock %v (-want +got)\n%s", tt.out, d)
		}
	}
}

// TestStockDoesNotChangeTheSize: the order of plan types with one price and different sizes does not depend on stock.
func TestStockDoesNotChangeTheSize(t *testing.T) {
	plan := func(id, class string, cpus int) catalog.Plan {
		return catalog.Plan{ID: id, Class: class, VCPUs: cpus, MemoryMiB: 65536, DiskMiB: 81920, Price: catalog.Price{Hourly: 864_000}}
	}
	list, err := catalog.New("", "", []catalog.Plan{
		plan("g6-dedicated-32", "dedicated", 32), plan("g6-standard-20", "standard", 20), plan("g7-dedicated-x", "dedicated", 32),
		plan("g7-premium-20", "premium", 20), plan("g8-dedicated-20", "dedicated", 20),
	}, []catalog.Region{{
		ID: "us-ord", Capabilities: []string{catalog.CapKubernetes, catalog.CapLinodes, catalog.CapPremium},
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	types := New(list, "us-ord", catalog.Standard)
	for _, tt := range []struct{ out, want []string }{
		{nil, []string{"g6-dedicated-32", "g6-standard-20", "g7-dedicated-x", "g8-dedicated-20", "g7-premium-20"}},
		{[]string{"g6-dedicated-32"}, []string{"g7-dedicated-x", "g6-standard-20", "g6-dedicated-32", "g8-dedicated-20", "g7-premium-20"}},
		{[]string{"g6-dedicated-32", "g7-dedicated-x"}, []string{"g6-dedicated-32", "g6-standard-20", "g7-dedicated-x", "g8-dedicated-20", "g7-premium-20"}},
	} {
		var rows []catalog.Availability
		for _, id := range tt.out {
			rows = append(rows, catalog.Availability{Region: "us-ord", Plan: id})
		}
		types.SetStock(rows)
		want := scheduling.NewRequirements()
		fit := Candidates(types.List(), want, nil)
		types.StockFirst(fit, want)
		var got []string
		for _, it := range fit {
			got = append(got, it.Name)
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("out of stock %v (-want +got)\n%s", tt.out, d)
		}
	}
}

// TestEnterpriseNodesAreNotOverestimated: about 6 GiB of 8 are for pods there. What a node has reported
// counts from then on.
func TestEnterpriseNodesAreNotOverestimated(t *testing.T) {
	facts, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	const plan, real = "g6-standard-4", int64(6) << 30
	types := New(facts, "us-ord", catalog.Enterprise)
	memory := func(types *Set) int64 {
		free := byName(t, types, plan).Allocatable()
		return free.Memory().Value()
	}
	free := func() int64 { return memory(types) }
	if free() > real {
		t.Errorf("%d bytes are promised, the node has %d", free(), real)
	}
	p, _ := facts.Plan(plan)
	reports := p.Reported()
	reports.Allocatable.MemoryBytes = real
	if !types.Record(plan, "1.33", reports) || free() != real {
		t.Errorf("%d bytes after a node has reported %d", free(), real)
	}
	if memory(New(facts, "us-ord", catalog.Standard)) < real {
		t.Error("the margin of Enterprise counts on standard")
	}
}
