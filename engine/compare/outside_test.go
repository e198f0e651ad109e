package compare

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/catalog"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// TestNodesOfPoolsThatAreNotDeclaredRoll: a class rolls the nodes of all pools that use it,
// regardless of their creator.
func TestNodesOfPoolsThatAreNotDeclaredRoll(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	monday := time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)
	base := compiled(t, "node_class \"default\" {}\n")
	head := compiled(t, "node_class \"default\" {\n  disk_encryption = \"disabled\"\n}\n"+
		"guards {\n  max_rolled_nodes = 1\n}\n")
	hash, err := plan.TemplateHash(base.Objects[0].Defaulted)
	if err != nil {
		t.Fatal(err)
	}
	pool := func(name, more string) string {
		return fmt.Sprintf(`{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": %q%s},
			"spec": {"template": {"spec": {"nodeClassRef": {"group": "karpenter.k8s.linode", "kind": "LinodeNodeClass",
			"name": "default"}, "requirements": []}}, "disruption": {"budgets": [{"nodes": "1"}]}}}`, name, more)
	}
	claim := func(name, pool, class, hash string) string {
		return fmt.Sprintf(`{"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": {"name": %q, "labels":
			{"karpenter.sh/nodepool": %q}, "annotations": {%q: %q, %q: %q}}, "spec": {"nodeClassRef": {"name": %q},
			"requirements": [], "resources": {}}}`, name, pool, linodev1alpha1.AnnotationHash, hash,
			linodev1alpha1.AnnotationHashVersion, linodev1alpha1.HashVersion, class)
	}
	hand := []string{claim("a", "hand", "default", hash), claim("b", "hand", "default", hash)}
	const draining = `, "annotations": {"lkeplan.dev/condemned": "2026-11-20T00:00:00Z"}`
	for name, tt := range map[string]struct {
		pools, claims []string
		want          []string
		blocked       bool
	}{
		"none is there": {},
		"two nodes, within its own budgets": {[]string{pool("hand", "")}, hand,
			[]string{"NodePool hand: 2 of 2 because of [node_class.default], 1 at a time"}, true},
		"a pool that may not be read": {nil, hand,
			[]string{"NodePool hand: 2 of 2 because of [node_class.default]"}, true},
		"one that differed before": {[]string{pool("hand", "")},
			[]string{hand[0], claim("b", "hand", "default", "1")},
			[]string{"NodePool hand: 1 of 2 because of [node_class.default], 1 at a time"}, false},
		"of another class": {nil, []string{claim("a", "hand", "other", hash)}, nil, false},
		"of no pool":       {nil, []string{claim("a", "", "default", hash)}, nil, false},
		"of a pool without nodes": {[]string{pool("hand", "")}, nil,
			[]string{"NodePool hand: 0 of 0 because of [node_class.default]"}, false},
		"of a draining pool": {[]string{pool("hand", draining)}, hand, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			view := LiveView(cluster{"NodePool": tt.pools, "NodeClaim": tt.claims})
			p, err := RevisionsOn(t.Context(), base, head, view, prices, monday)
			if err != nil {
				t.Fatal(err)
			}
			if err := Guard(&p, head, head, nil); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range p.Changes {
				if !c.Outside {
					continue
				}
				text := fmt.Sprintf("%s: %d of %d because of %v", c.Addr, c.Impact.Rolled, c.Impact.Of, c.Because)
				if c.Impact.Pace != nil {
					text += fmt.Sprintf(", %d at a time", c.Impact.Pace.Wave)
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if p.Refused() != tt.blocked {
				t.Errorf("verdicts %+v", p.Verdicts)
			}
			last := slices.IndexFunc(p.Verdicts, func(v plan.Verdict) bool { return v.Permission != "" })
			if tt.blocked && p.Verdicts[last].Permission != "max_rolled_nodes:node_class.default" {
				t.Errorf("permission %s", p.Verdicts[last].Permission)
			}
		})
	}
}
