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
		g.InPlace = inPlaceLabels(nc, pool, g.Labels)
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

// TestLabelThatLeavesTheListStaysInItsLKEPool: the group of a claim does not have the value, because the key was in the list
// when the claim was created, or has an earlier one. LKE would remove or change the label of the nodes.
func TestLabelThatLeavesTheListStaysInItsLKEPool(t *testing.T) {
	const team = "example.com/team"
	for _, tt := range []struct {
		name, list         string
		claim, group, pool map[string]string
		want               string // the label of the LKE pool
		none               bool
	}{
		{name: "it was always in the list", claim: map[string]string{team: "b"}, pool: map[string]string{team: "b"}, want: "b"},
		{name: "it joined the list later", claim: map[string]string{team: "b"}, group: map[string]string{team: "a"},
			pool: map[string]string{team: "b"}, want: "b"},
		{name: "a label that replaces nodes", claim: map[string]string{team: "a"}, group: map[string]string{team: "a"},
			pool: map[string]string{team: "b"}, want: "a"},
		{name: "a label that was added and replaces nodes", pool: map[string]string{team: "b"}, none: true},
		{name: "it is in the list", list: team, claim: map[string]string{team: "a"}, pool: map[string]string{team: "b"}, want: "b"},
		{name: "a key of LKE", claim: map[string]string{"a.linode.com/x": "b"}, pool: map[string]string{"a.linode.com/x": "b"},
			none: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pool, nc := &karpv1.NodePool{}, &karpv1.NodeClaim{}
			pool.Annotations = map[string]string{schemas.AnnotationInPlace: tt.list}
			pool.Spec.Template.Labels, nc.Labels = tt.pool, tt.claim
			g := capacity.Group{Labels: tt.group, InPlace: inPlaceLabels(nc, pool, tt.group)}
			if got, ok := g.PoolLabels()[team]; got != tt.want || ok == tt.none || tt.none && len(g.PoolLabels()) > 0 {
				t.Errorf("the LKE pool has the labels %v", g.PoolLabels())
			}
		})
	}
}
