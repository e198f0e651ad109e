package api

import (
	"slices"
	"testing"

	"github.com/lkeplan/lkeplan/linode/sim"
)

// TestCapabilitiesOfTheAccount: a token without access to the account gets an error that explains this, and
// not that the account has none.
func TestCapabilitiesOfTheAccount(t *testing.T) {
	for scopes, want := range map[string]Class{"lke:read_write": ClassAuth, "lke:read_write account:read_only": ""} {
		sim, err := sim.New(sim.Config{Scopes: scopes, Capabilities: []string{"NETINT Quadra T1U"}})
		if err != nil {
			t.Fatal(err)
		}
		c, err := New("http://linode.test", "token", Options{Transport: sim.Client().Transport})
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Capabilities(t.Context())
		if want != "" && ClassOf(err) != want {
			t.Errorf("%s: %v, %v", scopes, got, err)
		}
		if want == "" && (err != nil || !slices.Equal(got, []string{"NETINT Quadra T1U"})) {
			t.Errorf("%s: %v, %v", scopes, got, err)
		}
	}
}
