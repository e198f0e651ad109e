package compare

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/catalog"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// TestClassDeclaredFirst checks that a node class that the base does not declare, and that a pool uses, is compared
// with the class of the cluster. If that class is unknown, the guards refuse the change.
func TestClassDeclaredFirst(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	monday := time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)
	const (
		team = "pool \"team\" {\n  node_class = { kind = \"LinodeNodeClass\", name = \"shared\" }\n  requirements = { cpu = 4 }\n}\n"
		own  = "node_class \"own\" {}\npool \"team\" {\n  node_class = node_class.own\n  requirements = { cpu = 4 }\n}\n"
		kept = "pool \"team\" {\n  node_class = { kind = \"LinodeNodeClass\", name = \"shared\" }\n  requirements = { cpu = 4 }\n" +
			"  disruption {\n    consolidate_after = \"Never\"\n  }\n}\n"
		strict = `{"consolidation": {"minimumMonthlySaving": "20"}}`
		early  = `{"replaceBeforeMaintenance": "24h"}`
		open   = `{"diskEncryption": "disabled"}`
	)
	class := func(lines string) string { return "node_class \"shared\" {\n" + lines + "\n}\n" }
	const disabled, soon, saving = `disk_encryption = "disabled"`, `replace_before_maintenance = "2h"`,
		"consolidation {\n  minimum_monthly_saving = \"10\"\n}"
	hash, err := plan.TemplateHash(compiled(t, class("")+team).Objects[0].Defaulted)
	if err != nil {
		t.Fatal(err)
	}
	claim := func(name, pool string) string {
		return fmt.Sprintf(`{"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": {"name": %q, "labels":
			{"karpenter.sh/nodepool": %q, "node.kubernetes.io/instance-type": "g6-dedicated-4", "karpenter.k8s.linode/instance-cpu": "4",
			"karpenter.sh/capacity-type": "on-demand"},
			"annotations": {%q: %q, %q: %q}}, "spec": {"nodeClassRef": {"name": "shared"}, "requirements": [], "resources": {}}}`,
			name, pool, linodev1alpha1.AnnotationHash, hash, linodev1alpha1.AnnotationHashVersion, linodev1alpha1.HashVersion)
	}
	live := func(spec string) []string {
		return []string{fmt.Sprintf(`{"apiVersion": "karpenter.k8s.linode/v1alpha1", "kind": "LinodeNodeClass", "metadata":
			{"name": "shared"}, "spec": %s}`, spec)}
	}
	const replaced, removable = "2 replaced", "2 may be removed"
	for name, tt := range map[string]struct {
		base, head string   // without the class, and with it
		live       []string // the class in the cluster
		offline    bool
		pool       string // of the nodes, if it is not team
		want       string // what happens to nodes; "" for nothing
	}{
		"offline":                               {base: team, head: class("") + team, offline: true, want: "unknown"},
		"offline, another encryption":           {base: team, head: class(disabled) + team, offline: true, want: "unknown"},
		"offline, a pool without consolidation": {base: kept, head: class(soon) + kept, offline: true, want: "unknown"},
		"offline, the pool is forgotten": {base: team, offline: true, want: "unknown",
			head: class("") + "removed {\n  from = pool.team\n  delete = false\n}\n"},
		"offline, no pool of the base uses it": {base: own, head: own + class(disabled), offline: true},
		"offline, with its first pool":         {head: class(disabled) + team, offline: true},
		"the same":                             {base: team, head: class("") + team, live: live(`{}`)},
		"the same encryption":                  {base: team, head: class(disabled) + team, live: live(open)},
		"another encryption":                   {base: team, head: class(disabled) + team, live: live(`{}`), want: replaced},
		"a smaller saving":                     {base: team, head: class(saving) + team, live: live(strict), want: removable},
		"a saving":                             {base: team, head: class(saving) + team, live: live(`{}`)},
		"maintenance":                          {base: kept, head: class(soon) + kept, live: live(`{}`), want: removable},
		"later before maintenance":             {base: kept, head: class(soon) + kept, live: live(early)},
		"no class in the cluster":              {base: team, head: class("") + team, want: removable},
		"no class, another encryption":         {base: team, head: class(disabled) + team, want: replaced},
		"a pool of the cluster":                {base: own, head: own + class(disabled), live: live(`{}`), pool: "hand", want: replaced},
		"a pool of the cluster, no class":      {base: own, head: own + class(""), pool: "hand", want: removable},
		"with its first pool":                  {head: class(soon) + team, live: live(`{}`), want: removable},
	} {
		t.Run(name, func(t *testing.T) {
			var base compile.Result
			if tt.base != "" {
				base = compiled(t, tt.base)
			}
			head, pool := compiled(t, tt.head), tt.pool
			if pool == "" {
				pool = "team"
			}
			view := cluster{"LinodeNodeClass": tt.live, "NodeClaim": {claim("a", pool), claim("b", pool)},
				"CapacityBuffer": {`{"apiVersion": "autoscaling.x-k8s.io/v1beta1", "kind": "CapacityBuffer", "metadata": {"name": "any", "namespace": "any"}}`}} // so that moves are unknown
			if pool == "team" && tt.base == "" {
				view["NodePool"] = []string{`{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "team"},
					"spec": {"template": {"spec": {"nodeClassRef": {"group": "karpenter.k8s.linode", "kind": "LinodeNodeClass",
					"name": "shared"}, "requirements": []}}, "disruption": {"consolidateAfter": "0s"}}}`}
			}
			var p plan.Plan
			if tt.offline {
				p, err = Revisions(t.Context(), base, head, prices, monday)
			} else {
				p, err = RevisionsOn(t.Context(), base, head, LiveView(view), prices, monday)
			}
			if err != nil {
				t.Fatal(err)
			}
			s, got := p.Summary(), ""
			switch {
			case !s.Moved().Known:
				got = "unknown"
			case s.NodesRolled.Nodes > 0:
				got = fmt.Sprintf("%d replaced", s.NodesRolled.Nodes)
			case s.NodesRemovable.Nodes > 0:
				got = fmt.Sprintf("%d may be removed", s.NodesRemovable.Nodes)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s\n%+v", diff, p.Changes)
			}
			rules := base
			rules.Guards.MaxRolledNodes = config.Share{Text: "0"}
			rules.Guards.RefuseUnknown = true
			if err := Guard(&p, rules, head, nil); err != nil {
				t.Fatal(err)
			}
			if refused := slices.ContainsFunc(p.Verdicts, func(v plan.Verdict) bool {
				return v.Guard == plan.MaxRolledNodes && v.Status == plan.Blocked
			}); refused != (tt.want != "") {
				t.Errorf("max_rolled_nodes = 0 refuses: %v", refused)
			}
		})
	}
}
