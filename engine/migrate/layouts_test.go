package migrate

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// layout is what a Terraform configuration has about a linode_lke_cluster.
type layout struct {
	external     []string // external_pool_tags
	declared     []int    // its pools, by id
	ignorePool   bool     // ignore_changes has pool
	ignoreK8s    bool     // ignore_changes has k8s_version
	newerVersion bool     // the configuration names another k8s_version than the cluster has
	forgotten    bool     // there is no linode_lke_cluster any more
}

// providerPlan plays the rules of linode/linode 3.x (linode/lke/resource.go, readResource and updateResource): pools
// without an external tag are read into the state, and those that are not declared are deleted. A new k8s_version
// recycles all pools of the cluster, also filtered ones.
func providerPlan(l layout, pools map[int][]string) (deleted, recycled []int) {
	if l.forgotten {
		return nil, nil
	}
	for id, tags := range pools {
		external := slices.ContainsFunc(tags, func(tag string) bool { return slices.Contains(l.external, tag) })
		if !external && !l.ignorePool && !slices.Contains(l.declared, id) {
			deleted = append(deleted, id)
		}
		if l.newerVersion && !l.ignoreK8s {
			recycled = append(recycled, id)
		}
	}
	slices.Sort(deleted)
	slices.Sort(recycled)
	return deleted, recycled
}

// TestTerraformLeavesPoolsOfLkeplan: pool 1 is the controller's, pool 2 of lkeplan, pool 3 a resource. With the advice of the guide, no
// layout deletes or recycles pool 2. Without it some do, so that the rules are not empty.
func TestTerraformLeavesPoolsOfLkeplan(t *testing.T) {
	pools := map[int][]string{1: {"terraform"}, 2: {"lkeplan", "lkeplan-group=1f2e"}, 3: nil}
	for name, l := range map[string]layout{
		"pool in the cluster":                    {declared: []int{1}},
		"pool in the cluster that was forgotten": {ignorePool: true},
		"pool as a resource":                     {ignorePool: true},
		"pool in the cluster and as a resource":  {declared: []int{1, 3}},
		"the cluster is forgotten":               {forgotten: true, newerVersion: true},
		"the configuration names a new version":  {declared: []int{1}, newerVersion: true},
	} {
		t.Run(name, func(t *testing.T) {
			bad := func(l layout) bool {
				deleted, recycled := providerPlan(l, pools)
				return slices.Contains(deleted, 2) || slices.Contains(recycled, 2)
			}
			guided := l
			guided.external, guided.ignoreK8s = []string{"lkeplan"}, true
			if bad(guided) {
				t.Error("a pool of lkeplan is deleted or recycled, with what the guide says")
			}
			if want := !l.ignorePool && !l.forgotten; bad(l) != want {
				t.Errorf("without the guide it is: %v, want %v", bad(l), want)
			}
		})
	}
	// Neither of the two is enough against a new version.
	_, recycled := providerPlan(layout{external: []string{"lkeplan"}, ignorePool: true, newerVersion: true}, pools)
	if d := cmp.Diff([]int{1, 2, 3}, recycled); d != "" {
		t.Errorf("recycled (-want +got)\n%s", d)
	}
	if deleted, _ := providerPlan(layout{declared: []int{1, 3}, external: []string{"LKEPLAN"}}, pools); len(deleted) != 1 {
		t.Error("tags are compared exactly")
	}
}
