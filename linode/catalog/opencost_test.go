package catalog

import (
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// openCost looks a node up as OpenCost does: by its region and by the label that the rows name, in a map that the lower-case
// names are the keys of.
func openCost(t *testing.T, file, region string, labels map[string]string) string {
	t.Helper()
	r := csv.NewReader(strings.NewReader(file))
	r.FieldsPerRecord = 8
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	prices, label := map[string]string{}, ""
	for _, row := range rows[1:] {
		if row[3] != "node" {
			t.Fatalf("asset class %q", row[3])
		}
		prices[strings.ToLower(row[2]+","+row[1])] = row[6]
		label = strings.Join(strings.Split(row[4], ".")[2:], ".")
	}
	return prices[region+","+labels[label]]
}

func TestOpenCostFindsThePriceOfANode(t *testing.T) {
	both := []string{CapKubernetes, CapLinodes}
	c, err := New("2026-11-28", "test", []Plan{
		{ID: "g6-nanode-1", Class: "nanode", VCPUs: 1, MemoryMiB: 1024, Price: Price{Hourly: 7500}},
		{ID: "g6-standard-2", Class: "standard", VCPUs: 2, MemoryMiB: 4096, Price: Price{Hourly: 36_000},
			RegionPrices: RegionPrices{"br-gru": {Hourly: 50_400}}},
		{ID: "g8-dedicated-4-2", Class: "dedicated"},
	}, []Region{{ID: "br-gru", Capabilities: both}, {ID: "us-ord", Capabilities: both}, {ID: "us-none"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	unpriced, err := c.WriteOpenCost(&out)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"g8-dedicated-4-2"}, unpriced); diff != "" {
		t.Error("without a price:", diff)
	}
	for _, tt := range []struct{ region, plan, want string }{
		{"us-ord", "g6-standard-2", "0.036"},
		{"br-gru", "g6-standard-2", "0.0504"},
		{"us-none", "g6-standard-2", ""},
		{"us-ord", "g8-dedicated-4-2", ""}, // not known, and not free
	} {
		labels := map[string]string{"node.kubernetes.io/instance-type": tt.plan}
		if got := openCost(t, out.String(), tt.region, labels); got != tt.want {
			t.Errorf("%s in %s: %q, want %q", tt.plan, tt.region, got, tt.want)
		}
	}
	if rows := strings.Split(strings.TrimSpace(out.String()), "\n"); !slices.IsSorted(rows[1:]) {
		t.Error("the rows are not sorted")
	}
}
