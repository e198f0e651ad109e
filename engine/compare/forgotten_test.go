package compare

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/catalog"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// TestNodesOfPoolsThatComeAndGoRoll: those of a pool that is forgotten follow its class as
// before, and those of a pool that the cluster has before it is declared become what it says.
func TestNodesOfPoolsThatComeAndGoRoll(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	monday := time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)
	const class, changed, guards = "node_class \"default\" {}\n",
		"node_class \"default\" {\n  disk_encryption = \"disabled\"\n}\n", "guards {\n  max_rolled_nodes = 1\n}\n"
	const pool = "pool \"hand\" {\n  node_class = node_class.default\n  labels     = { team = \"a\" }\n}\n"
	const other = "pool \"hand\" {\n  node_class = node_class.default\n  labels     = { team = \"b\" }\n}\n"
	const forgotten = "removed {\n  from   = pool.hand\n  delete = false\n}\n"
	made := compiled(t, class+pool)
	hashes := map[string]string{}
	for _, o := range made.Objects {
		if hashes[o.Kind()], err = plan.TemplateHash(o.Defaulted); err != nil {
			t.Fatal(err)
		}
	}
	live := cluster{}
	for _, o := range made.Objects {
		live[o.Kind()] = append(live[o.Kind()], jsonOf(o.Defaulted))
	}
	for _, name := range []string{"a", "b"} {
		live["NodeClaim"] = append(live["NodeClaim"], fmt.Sprintf(`{"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
			"metadata": {"name": %q, "labels": {"karpenter.sh/nodepool": "hand", "karpenter.sh/capacity-type": "on-demand",
			"team": "a"}, "annotations": {%q: %q, %q: %q, "karpenter.sh/nodepool-hash": %q, "karpenter.sh/nodepool-hash-version": "v3"}},
			"spec": {"nodeClassRef": {"name": "default"}, "requirements": [], "resources": {}}}`, name,
			linodev1alpha1.AnnotationHash, hashes["LinodeNodeClass"], linodev1alpha1.AnnotationHashVersion,
			linodev1alpha1.HashVersion, hashes["NodePool"]))
	}
	for name, tt := range map[string]struct {
		base, head string
		want       string
		blocked    bool
	}{
		"forgotten, and its class changes":   {class + pool, changed + forgotten, "forget 2 of 2 because of node_class.default", true},
		"forgotten, and its class stays":     {class + pool, class + forgotten, "forget", false},
		"new, and as it is in the cluster":   {class, class + pool, "create 0 of 2", false},
		"new, and otherwise in the cluster":  {class, class + other, "create 2 of 2", true},
		"new, and its class changes as well": {class, changed + pool, "create 2 of 2", true},
	} {
		t.Run(name, func(t *testing.T) {
			base, head := compiled(t, tt.base), compiled(t, tt.head+guards)
			p, err := RevisionsOn(t.Context(), base, head, LiveView(live), prices, monday)
			if err != nil {
				t.Fatal(err)
			}
			if err := Guard(&p, head, head, nil); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range p.Changes {
				if c.Kind != "NodePool" {
					continue
				}
				text := string(c.Action)
				if c.Impact != nil {
					text += fmt.Sprintf(" %d of %d", c.Impact.Rolled, c.Impact.Of)
				}
				if len(c.Because) > 0 {
					text += " because of " + strings.Join(c.Because, ", ")
				}
				got = append(got, text)
			}
			if diff := cmp.Diff([]string{tt.want}, got); diff != "" {
				t.Error(diff)
			}
			if p.Refused() != tt.blocked {
				t.Errorf("verdicts %+v", p.Verdicts)
			}
		})
	}
}
