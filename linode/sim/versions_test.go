package sim

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMachinesKeepTheirVersion: an upgrade of the control plane reaches
// new machines on the standard tier, and none on Enterprise.
func TestMachinesKeepTheirVersion(t *testing.T) {
	for _, tt := range []struct {
		tier, from, to string
		want           []string // of kubelets, the first one made before the upgrade
	}{
		{"standard", "1.34", "1.35", []string{"v1.34.1", "v1.35.1"}},
		{"enterprise", "v1.31.8+lke1", "v1.33.6+lke7", []string{"v1.31.8", "v1.31.8"}},
	} {
		t.Run(tt.tier, func(t *testing.T) {
			a := newAccount(t, Config{Tier: tt.tier, KubernetesVersion: tt.from})
			pool := a.makePool(1, nil)
			a.do("PUT", "cluster", fields{"k8s_version": tt.to}, nil)
			a.do("PUT", fmt.Sprintf("cluster/pools/%d", pool.ID), fields{"count": 2}, nil)
			machines, _ := a.machines(a.ClusterID())
			var got []string
			for _, m := range machines {
				got = append(got, m.version)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("versions (-want +got):\n%s", diff)
			}
			if got := a.refused("PUT", "cluster", fields{"k8s_version": tt.from}); got !=
				"400 k8s_version: k8s_version must not be older than the present one" {
				t.Errorf("the control plane goes back: %q", got)
			}
		})
	}
}

func TestPoolsAreNotAheadOfTheControlPlane(t *testing.T) {
	a := newAccount(t, Config{Tier: "enterprise", KubernetesVersion: "v1.31.8+lke1"})
	spec := fields{"type": "g6-standard-2", "count": 1, "update_strategy": "on_recycle",
		"k8s_version": "v1.33.6+lke7"}
	const want = "400 k8s_version: k8s_version must not be newer than that of the cluster"
	if got := a.refused("POST", "cluster/pools", spec); got != want {
		t.Errorf("refused with %q, want %q", got, want)
	}
}
