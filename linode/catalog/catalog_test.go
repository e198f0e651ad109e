package catalog

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEveryKubernetesRegionSellsSomething(t *testing.T) {
	c := embedded(t)
	for _, tier := range []Tier{Standard, Enterprise} {
		regions := 0
		for _, r := range c.Regions() {
			sold := 0
			for _, p := range c.Plans() {
				if c.Sold(p.ID, r.ID, tier) {
					sold++
				}
			}
			if r.Has(tier.Capability()) {
				regions++
			}
			if (sold > 0) != r.Has(tier.Capability()) {
				t.Errorf("%s in %s: %d plans sold, capability %v", tier, r.ID, sold, r.Has(tier.Capability()))
			}
		}
		t.Logf("%s: %d regions", tier, regions)
	}
}

func TestSold(t *testing.T) {
	c := embedded(t)
	for _, tc := range []struct {
		plan, region string
		tier         Tier
		want         bool
		why          string
	}{
		{"g6-standard-2", "us-east", Standard, true, "not limited; the existing provider sells nothing here"},
		{"g6-standard-2", "us-east", Enterprise, false, "no Kubernetes Enterprise"},
		{"g6-standard-2", "us-ord", Enterprise, true, ""},
		{"g7-highmem-1", "eu-west", Standard, true, "without its own gate"},
		{"g6-nanode-1", "us-ord", Standard, false, "nanodes are never LKE plans"},
		{"g7-premium-8", "us-sea", Standard, true, ""},
		{"g7-premium-2", "us-east", Standard, false, "no Premium Plans"},
		{"g1-gpu-rtx6000-1", "ap-south", Standard, false, "LKE takes none"},
		{"g1-gpu-rtx6000-1", "ap-south", Instances, true, "a Linode without LKE"},
		{"g1-gpu-rtx4000a-1", "us-ord", Standard, false, "in the availability list, but not a plan"},
		{"g8-dedicated-8-4", "us-east", Standard, true, "without its own gate"},
		{"g8-dedicated-256-128", "us-ord", Enterprise, true, ""},
		{"g2-gpu-rtx4000a1-s", "us-ord", Enterprise, false, "hidden by Cloud Manager"},
		{"g2-gpu-rtx4000a1-s", "us-ord", EnterpriseGPU, true, "the owners say that it is sold to them"},
		{"g1-gpu-rtx6000-1", "us-ord", EnterpriseGPU, false, "LKE takes none"},
		{"g2-gpu-rtx4000a1-s", "us-east", EnterpriseGPU, false, "no Kubernetes Enterprise"},
		{"g8-dedicated-512-128", "us-ord", Standard, false, "LKE takes no plan with 512 GB"},
		{"g8-dedicated-512-256", "us-ord", Instances, true, "a Linode without LKE"},
		{"g9-none-1", "us-ord", Standard, false, "unknown plan"},
		{"g6-standard-2", "xx-yyy", Standard, false, "unknown region"},
	} {
		if got := c.Sold(tc.plan, tc.region, tc.tier); got != tc.want {
			t.Errorf("Sold(%s, %s, %s) = %v (%s)", tc.plan, tc.region, tc.tier, got, tc.why)
		}
	}
}

// TestSoldWithoutLKE: a cluster outside LKE needs a region with Linodes, and no LKE.
func TestSoldWithoutLKE(t *testing.T) {
	c, err := New("", "", []Plan{{ID: "g6-standard-2", Class: "standard"}, {ID: "g6-nanode-1", Class: "nanode"}},
		[]Region{{ID: "plain", Capabilities: []string{CapLinodes}}, {ID: "other", Capabilities: []string{CapKubernetes}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		plan, region string
		tier         Tier
		want         bool
	}{
		{"g6-standard-2", "plain", Instances, true}, {"g6-standard-2", "plain", Standard, false},
		{"g6-standard-2", "other", Instances, false}, {"g6-nanode-1", "plain", Instances, false},
	} {
		if got := c.Sold(tc.plan, tc.region, tc.tier); got != tc.want {
			t.Errorf("%+v: %v", tc, got)
		}
	}
}

func TestPrice(t *testing.T) {
	c := embedded(t)
	for _, tc := range []struct{ plan, region, want string }{
		{"g6-standard-2", "us-ord", "0.036/24"},
		{"g6-standard-2", "br-gru", "0.05/33.6"},
		{"g6-standard-2", "id-cgk", "0.043/28.8"},
		{"g7-premium-2", "id-cgk", "0.078/51.84"},
		{"g6-nanode-1", "us-ord", "0.0075/5"},
		{"g1-gpu-rtx6000-1", "br-gru", "1.5/1000"},
		{"g8-dedicated-8-2", "us-ord", "0.11/0"},
	} {
		got, ok := c.Price(tc.plan, tc.region)
		if !ok || got.String() != tc.want {
			t.Errorf("Price(%s, %s) = %s, %v; want %s", tc.plan, tc.region, got, ok, tc.want)
		}
	}
	for _, tc := range [][2]string{
		{"g9-none-1", "us-ord"}, {"g8-dedicated-32-8", "us-ord"}, {"g8-dedicated-8-2", "br-gru"},
	} {
		if got, ok := c.Price(tc[0], tc[1]); ok || got != (Price{}) || got.String() != "?" {
			t.Errorf("%s in %s has the price %s, %v", tc[0], tc[1], got, ok)
		}
	}
}

// TestChangeIsEvaluatedWithTheStricterCatalogue: neither prices and sizes that change, nor plans that go, nor prices that
// were unknown, make one cheaper.
func TestChangeIsEvaluatedWithTheStricterCatalogue(t *testing.T) {
	price := func(dollars Money) Price { return Price{Hourly: dollars * Dollar} }
	make := func(plans ...Plan) *Catalog {
		c, err := New("", "", plans, []Region{{ID: "r"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	before := make(
		Plan{ID: "cheaper", VCPUs: 2, MemoryMiB: 1, Price: price(2), RegionPrices: RegionPrices{"r": price(4)}},
		Plan{ID: "dearer", VCPUs: 2, MemoryMiB: 1, Price: price(2)},
		Plan{ID: "gone", VCPUs: 2, MemoryMiB: 1, Price: price(2)},
		Plan{ID: "larger", Class: "standard", VCPUs: 2, MemoryMiB: 1, Price: price(2)},
		Plan{ID: "lost", VCPUs: 2, MemoryMiB: 1, Price: price(2)},
		Plan{ID: "unknown"},
	)
	after := make(
		Plan{ID: "cheaper", VCPUs: 2, MemoryMiB: 1, Price: price(1), RegionPrices: RegionPrices{"r": price(1)}},
		Plan{ID: "dearer", VCPUs: 2, MemoryMiB: 1, Price: price(3), RegionPrices: RegionPrices{"r": price(5)}},
		Plan{ID: "larger", Class: "dedicated", VCPUs: 64, MemoryMiB: 64, Price: price(2)},
		Plan{ID: "new", VCPUs: 1, MemoryMiB: 1, Price: price(1)},
		Plan{ID: "lost", VCPUs: 2, MemoryMiB: 1},
		Plan{ID: "unknown", VCPUs: 8, MemoryMiB: 8, Price: price(7)},
	)
	got, err := Stricter(before, after)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		id, class   string
		vcpus       int
		here, there Money // in the region r, and elsewhere
	}{
		{"cheaper", "", 2, 4, 2}, {"dearer", "", 2, 5, 3}, {"gone", "", 2, 2, 2}, {"larger", "standard", 2, 2, 2}, {"new", "", 1, 0, 0},
		{"unknown", "", 8, 0, 0},
	} {
		p, ok := got.Plan(want.id)
		here, _ := got.Price(want.id, "r")
		there, _ := got.Price(want.id, "elsewhere")
		if !ok || p.Class != want.class || p.VCPUs != want.vcpus || here != price(want.here) || there != price(want.there) {
			t.Errorf("%+v; want %+v", p, want)
		}
	}
	if p, known := got.Price("lost", "r"); known || p.Known() {
		t.Errorf("a price that becomes unknown is %+v", p)
	}
}

func TestPlanNames(t *testing.T) {
	for _, tc := range []struct {
		id, generation, gpu string
		gpus                int
	}{
		{"g6-standard-2", "6", "", 0},
		{"g7-premium-2", "7", "", 0},
		{"g8-dedicated-8-4", "8", "", 0},
		{"g1-gpu-rtx6000-1", "1", "rtx6000", 1},
		{"g2-gpu-rtx4000a1-s", "2", "rtx4000_ada", 1},
		{"g1-gpu-rtx4000a-8", "1", "rtx4000_ada", 8},
		{"g3-gpu-rtxpro6000-blackwell-1", "3", "rtxpro6000_blackwell", 1},
		{"g4-gpu-next9000-1", "4", "next9000", 1},
		{"g10-accelerated-netint-vpu-t1u1-s", "10", "", 0},
		{"standard-2", "", "", 0},
	} {
		p := Plan{ID: tc.id, GPUs: tc.gpus}
		if p.Generation() != tc.generation || p.GPUName() != tc.gpu {
			t.Errorf("%s: generation %q, GPU %q", tc.id, p.Generation(), p.GPUName())
		}
	}
}

// A catalog is a value: what its maker or its readers do to their slices does not reach it.
func TestCatalogSharesNothing(t *testing.T) {
	plans := []Plan{{ID: "b", RegionPrices: map[string]Price{"r": {Hourly: 1}}}, {ID: "a"}}
	c, err := New("", "", plans, []Region{{ID: "r", Capabilities: []string{"Z", "A", "A"}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	plans[0].RegionPrices["r"] = Price{Hourly: 2}
	c.Plans()[0].ID = "changed"
	if p, _ := c.Price("b", "r"); p.Hourly != 1 {
		t.Errorf("price became %s", p)
	}
	if got := c.Plans()[0].ID; got != "a" {
		t.Errorf("first plan is %q", got)
	}
	if r, _ := c.Region("r"); cmp.Diff([]string{"A", "Z"}, r.Capabilities) != "" || !r.Has("Z") || r.Has("B") {
		t.Errorf("capabilities %v", r.Capabilities)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, tc := range []struct {
		name    string
		plans   []Plan
		regions []Region
		rows    []Availability
		want    string
	}{
		{"twice", []Plan{{ID: "a"}, {ID: "a"}}, nil, nil, `plan "a": listed twice`},
		{"empty", nil, []Region{{}}, nil, `region id ""`},
		{"space", []Plan{{ID: "a b"}}, nil, nil, "plain word"},
		{"negative", []Plan{{ID: "a", VCPUs: -1}}, nil, nil, "negative"},
		{"too large", []Plan{{ID: "a", MemoryMiB: 1 << 40}}, nil, nil, "beyond"},
		{"too dear", []Plan{{ID: "a", Price: Price{Hourly: 1_000_001 * Dollar}}}, nil, nil, "above"},
		{"too dear in a region", []Plan{{ID: "a", RegionPrices: RegionPrices{"r": {Hourly: 1, Monthly: 1 << 62}}}}, nil, nil, "above"},
		{"price", []Plan{{ID: "a", RegionPrices: map[string]Price{"x=y": {}}}}, nil, nil, "plain word"},
		{"row", nil, nil, []Availability{{Plan: "a", Region: "x,y"}}, "plain word"},
	} {
		_, err := New("", "", tc.plans, tc.regions, tc.rows)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v; want %q", tc.name, err, tc.want)
		}
	}
}
