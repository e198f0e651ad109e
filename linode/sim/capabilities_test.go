package sim

import (
	"strings"
	"testing"
)

// TestAcceleratedPlansAreForAccountsWithTheCapability: in a region that has them.
func TestAcceleratedPlansAreForAccountsWithTheCapability(t *testing.T) {
	const plan, capability = "g1-accelerated-netint-vpu-t1u1-s", "NETINT Quadra T1U"
	for _, has := range [][]string{nil, {"Linodes", capability}} {
		a := newAccount(t, Config{Region: "gb-lon", Capabilities: has})
		var answer struct{ Capabilities []string }
		a.do("GET", "/account", nil, &answer)
		if len(answer.Capabilities) != len(has) {
			t.Errorf("%v: the account has %v", has, answer.Capabilities)
		}
		if has == nil {
			if got := a.refused("POST", "cluster/pools", fields{"type": plan, "count": 1}); !strings.Contains(got, PlanClosed) {
				t.Errorf("without the capability: %s", got)
			}
			continue
		}
		a.do("POST", "cluster/pools", fields{"type": plan, "count": 1}, nil)
	}
}

// TestPlansWithoutASizeAreNotSold: the catalog has them by their id only, and the API would say more.
func TestPlansWithoutASizeAreNotSold(t *testing.T) {
	a := newAccount(t, Config{})
	var list struct{ Data []struct{ ID string } }
	a.do("GET", "/linode/types?page_size=500", nil, &list)
	const plan = "g2-gpu-rtx4000a1-xl"
	for _, p := range list.Data {
		if p.ID == plan {
			t.Errorf("%s is listed", plan)
		}
	}
	if got := a.refused("POST", "cluster/pools", fields{"type": plan, "count": 1}); !strings.Contains(got, "not found") {
		t.Errorf("a pool of %s: %s", plan, got)
	}
}
