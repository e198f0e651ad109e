package main

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/engine/migrate"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// TestUninstallListsWhatIsBilled: an unknown price is not zero.
func TestUninstallListsWhatIsBilled(t *testing.T) {
	for name, tt := range map[string]struct {
		machines []migrate.Machine
		want     string
	}{
		"none": {nil, `
NODE   LINODE  LKE POOL  PLAN TYPE  POOL  MONTHLY COST
total                                     $0
`},
		"known and unknown prices": {[]migrate.Machine{
			{Node: "lke1-9-a", Linode: "5", LKEPool: "9", PlanType: "g6-standard-2", Pool: "web", Monthly: 24 * catalog.Dollar},
			{Claim: "web-1", PlanType: "new", Pool: "web"},
		}, `
NODE             LINODE  LKE POOL  PLAN TYPE      POOL  MONTHLY COST
lke1-9-a         5       9         g6-standard-2  web   $24
NodeClaim web-1  -       -         new            web   ?
total                                                   at least $24
`},
	} {
		var out bytes.Buffer
		if err := writeBill(&out, tt.machines); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, out.String()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}
