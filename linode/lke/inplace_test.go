package lke

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// TestLabelInPlaceIsNotPartOfAGroup: each value would be another LKE pool. Its value is corrected in the pool, also in that
// of a group that was made before the key joined the list, and is no reason for a warning.
func TestLabelInPlaceIsNotPartOfAGroup(t *testing.T) {
	const team = "example.com/team"
	group := func(list, value string) capacity.Group {
		pool := &karpv1.NodePool{}
		pool.Name, pool.Annotations = "web", map[string]string{schemas.AnnotationInPlace: list}
		pool.Spec.Template.Labels = map[string]string{team: value, "example.com/tier": "1"}
		nc := pool.Spec.Template.ToNodeClaim()
		nc.Labels[karpv1.NodePoolLabelKey] = pool.Name
		g := groupFor(nc, &linodev1alpha1.LinodeNodeClass{}, "g6-standard-2", poolLabels(nc, pool), catalog.Standard)
		g.InPlace = inPlaceLabels(pool)
		return g
	}
	a, b, old := group(team, "a"), group(team, "b"), group("", "a")
	if a.Key() != b.Key() {
		t.Error("another value is another group")
	}
	if old.Key() == group("", "b").Key() {
		t.Error("another value of a label that is not in the list is the same group")
	}
	old.InPlace = b.InPlace
	want := map[string]string{karpv1.NodePoolLabelKey: "web", team: "b", "example.com/tier": "1"}
	for name, g := range map[string]capacity.Group{"a new group": b, "an earlier group": old} {
		if diff := cmp.Diff(want, map[string]string(poolSpec(g, 1, api.Cluster{}).Labels)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	removed := capacity.Group{Labels: want, InPlace: map[string]*string{team: nil}}
	if _, ok := removed.PoolLabels()[team]; ok {
		t.Error("a label that the NodePool does not set stays in the LKE pool")
	}
}
