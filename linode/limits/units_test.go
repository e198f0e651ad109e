package limits

import "testing"

// TestUnitsOfAmounts: singular and plural, and memory in Gi even if its bytes are not a round number.
func TestUnitsOfAmounts(t *testing.T) {
	for _, tt := range []struct {
		name string
		n    int64
		want string
	}{
		{CPU, 2500, "2500m CPUs"}, {CPU, 1000, "1 CPU"}, {Nodes, 1, "1 node"}, {Nodes, 2, "2 nodes"},
		{Memory, 800 << 30, "800Gi of memory"}, {Memory, 854995796798, "796.3Gi of memory"},
		{Memory, 0, "0 of memory"}, {Memory, 512 << 20, "512Mi of memory"},
	} {
		if got := inUnits(tt.name, tt.n); got != tt.want {
			t.Errorf("%s %d: %s, want %s", tt.name, tt.n, got, tt.want)
		}
	}
}
