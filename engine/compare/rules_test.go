package compare

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRuleChanges: what judges changes, or says which cluster they are for, does not change
// without a word.
func TestRuleChanges(t *testing.T) {
	const cluster = "cluster {\n  name   = \"a\"\n  region = \"us-ord\"\n}\n"
	const guards = cluster + "guards {\n  max_deleted_pools = 0\n  max_rolled_nodes = \"10%\"\n}\n"
	policy := func(condition string) string {
		return cluster + "policy \"few\" {\n  condition     = " + condition + "\n  error_message = \"Too many.\"\n}\n"
	}
	const judged = " The guards of the base apply to this change, and the new guards to the next change."
	const policed = " The policies of the base apply to this change, and the new policies to the next change."
	for name, tt := range map[string]struct {
		base, head string
		want       []string
	}{
		"nothing": {guards, guards, nil},
		"guards go": {guards, cluster,
			[]string{"guards: max_deleted_pools: 0 → 1; max_rolled_nodes: 10% → any number." + judged}},
		"a freeze comes": {cluster, cluster + "guards {\n  freeze \"w\" {\n    schedule = \"0 16 * * fri\"\n    " +
			"duration = \"64h\"\n  }\n}\n",
			[]string{"guards: freeze w: none → 0 16 * * fri for 64h0m0s." + judged}},
		"a window goes": {cluster + "guards {\n  window \"n\" {\n    schedule = \"0 22 * * *\"\n    " +
			"duration = \"6h\"\n  }\n}\n", cluster,
			[]string{"guards: window n: 0 22 * * * for 6h0m0s → none." + judged}},
		"a policy is weakened": {policy("plan.nodes.rolled < 1"), policy("plan.nodes.rolled < 9"),
			[]string{"policies: few: condition = plan.nodes.rolled < 1, error_message = \"Too many.\" → condition = plan.nodes.rolled < 9, " +
				"error_message = \"Too many.\"." + policed}},
		"a policy goes": {policy("plan.nodes.rolled < 1"), cluster,
			[]string{"policies: few: condition = plan.nodes.rolled < 1, error_message = \"Too many.\" → none." + policed}},
		"another cluster": {
			cluster, "cluster {\n  name   = \"b\"\n  region = \"us-ord\"\n  tier   = \"enterprise\"\n}\n",
			[]string{"cluster: name: a → b; tier: standard → enterprise. Check that the objects still " +
				"belong to this cluster and this directory."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, v := range ruleChanges(compiledWhole(t, tt.base), compiledWhole(t, tt.head)) {
				got = append(got, v.Guard+": "+v.Detail)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}
