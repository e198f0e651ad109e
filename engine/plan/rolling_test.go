package plan

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/config"
)

// TestARollIsUnderWayUntilEachNodeMatchesAndHasJoined: machines that join are not as
// they should be, and what holds the others is said.
func TestARollIsUnderWayUntilEachNodeMatchesAndHasJoined(t *testing.T) {
	pool := map[string]any{
		"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": map[string]any{"name": "web"},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"expireAfter": "720h"}}},
	}
	s := State{
		Objects: []config.Object{{Addr: config.Addr{Type: "pool", Name: "web"}, Manifest: pool, Defaulted: pool}},
		Now:     time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC),
	}
	hash, err := TemplateHash(pool)
	if err != nil {
		t.Fatal(err)
	}
	pdb := Hold{Reason: HeldByPDB, Object: "default/web"}
	node := func(hash string, settled, leaving bool, holds ...Hold) Node {
		return Node{
			Name: fmt.Sprint("web-", len(s.Nodes)), Pool: "web", Initialized: settled, Deleting: leaving, Holds: holds,
			Annotations: map[string]string{
				karpv1.NodePoolHashVersionAnnotationKey: karpv1.NodePoolHashVersion, karpv1.NodePoolHashAnnotationKey: hash,
			},
		}
	}
	for name, tt := range map[string]struct {
		nodes                   []Node
		outdated, joining, good int
		holds                   []Held
	}{
		"no nodes":                    {nil, 0, 0, 0, []Held{}},
		"as they should be":           {[]Node{node(hash, true, false), node(hash, true, false)}, 0, 0, 2, []Held{}},
		"one joins":                   {[]Node{node(hash, true, false), node(hash, false, false)}, 0, 1, 1, []Held{}},
		"one is to be replaced":       {[]Node{node("old", true, false, pdb), node(hash, true, false)}, 1, 0, 1, []Held{{pdb, 1, []string{"web-0"}}}},
		"one is being replaced":       {[]Node{node("old", true, true), node(hash, false, false)}, 1, 1, 0, []Held{}},
		"a match leaves":              {[]Node{node(hash, true, true), node(hash, true, false)}, 0, 0, 2, []Held{}},
		"a machine of the old joins":  {[]Node{node("old", false, false)}, 1, 0, 0, []Held{}},
		"a node of another pool":      {[]Node{{Name: "x", Pool: "other"}}, 0, 0, 0, []Held{}},
		"a match is held, and may be": {[]Node{node(hash, true, false, pdb)}, 0, 0, 1, []Held{}},
	} {
		s.Nodes = tt.nodes
		all, err := Rolls(s)
		if err != nil || len(all) != 1 {
			t.Fatalf("%s: %v, %v", name, all, err)
		}
		got := all[0]
		if got.Outdated != tt.outdated || got.Joining != tt.joining || got.Good() != tt.good {
			t.Errorf("%s: %d outdated, %d join, %d good of %d; want %d, %d, %d", name, got.Outdated, got.Joining, got.Good(), got.Of,
				tt.outdated, tt.joining, tt.good)
		}
		if diff := cmp.Diff(tt.holds, got.Holds); diff != "" {
			t.Errorf("%s: holds (-want +got)\n%s", name, diff)
		}
		if under := len(UnderWay(all)) > 0; under != (tt.outdated+tt.joining > 0) {
			t.Errorf("%s: under way is %t", name, under)
		}
	}
}
