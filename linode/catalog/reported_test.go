package catalog

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The two sizes of nodes that were recorded on real LKE clusters are reproduced to the byte.
func TestReportedReproducesRecordedNodes(t *testing.T) {
	c := embedded(t)
	for _, tc := range []struct {
		plan string
		want NodeResources
	}{
		{"g6-standard-1", NodeResources{
			Capacity:    Resources{1000, 2027296 << 10, 51524172 << 10, 110, 0},
			Allocatable: Resources{1000, 1924896 << 10, 47484676837, 110, 0},
		}},
		{"g6-standard-2", NodeResources{
			Capacity:    Resources{2000, 4022024 << 10, 82470344 << 10, 110, 0},
			Allocatable: Resources{2000, 3919624 << 10, 76004668905, 110, 0},
		}},
	} {
		p, _ := c.Plan(tc.plan)
		if diff := cmp.Diff(tc.want, p.Reported()); diff != "" {
			t.Errorf("%s (-recorded +model):\n%s", tc.plan, diff)
		}
	}
}

func TestReportedIsPlausible(t *testing.T) {
	for _, p := range embedded(t).Plans() {
		if !p.Sized() {
			continue
		}
		r := p.Reported()
		if got, want := r.Capacity.MemoryBytes, int64(p.MemoryMiB)*mib; got > want*97/100 || got < want*93/100 {
			t.Errorf("%s: memory capacity %d of %d", p.ID, got, want)
		}
		if r.Allocatable.MemoryBytes != r.Capacity.MemoryBytes-100*mib {
			t.Errorf("%s: allocatable memory %d", p.ID, r.Allocatable.MemoryBytes)
		}
		if r.Allocatable.MilliCPU != int64(p.VCPUs)*1000 || r.Allocatable.GPUs != int64(p.GPUs) {
			t.Errorf("%s: %+v", p.ID, r.Allocatable)
		}
	}
}

// The numbers in the test above are those of the recording.
func TestRecordedNodes(t *testing.T) {
	data, err := os.ReadFile("../sim/testdata/nodes.json")
	if err != nil {
		t.Fatal(err)
	}
	var nodes []struct{ Labels, Capacity, Allocatable map[string]string }
	if err := json.Unmarshal(data, &nodes); err != nil {
		t.Fatal(err)
	}
	c := embedded(t)
	for _, n := range nodes {
		p, ok := c.Plan(n.Labels["node.kubernetes.io/instance-type"])
		if !ok {
			t.Fatalf("plan of %v", n.Labels)
		}
		r := p.Reported()
		for what, got := range map[string]bool{
			"memory capacity":       kibString(r.Capacity.MemoryBytes) == n.Capacity["memory"],
			"memory allocatable":    kibString(r.Allocatable.MemoryBytes) == n.Allocatable["memory"],
			"ephemeral capacity":    kibString(r.Capacity.EphemeralBytes) == n.Capacity["ephemeral-storage"],
			"ephemeral allocatable": jsonString(r.Allocatable.EphemeralBytes) == n.Allocatable["ephemeral-storage"],
			"pods":                  jsonString(r.Allocatable.Pods) == n.Allocatable["pods"],
			"cpu":                   jsonString(r.Allocatable.MilliCPU/1000) == n.Allocatable["cpu"],
		} {
			if !got {
				t.Errorf("%s: %s is not as recorded: %+v, %+v", p.ID, what, r, n)
			}
		}
	}
}

func jsonString(n int64) string { b, _ := json.Marshal(n); return string(b) }

func kibString(n int64) string { return jsonString(n/kib) + "Ki" }
