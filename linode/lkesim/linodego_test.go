package lkesim

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/linode/linodego"
)

// Linode's own client library reads what the simulator answers, and the simulator reads what it sends.
func TestLinodego(t *testing.T) {
	a := newAccount(t, Config{Token: "secret", ClusterLabel: "mine"})
	client := linodego.NewClient(a.Client())
	client.SetToken("secret")
	client.SetRetryCount(0)
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}

	clusters, err := client.ListLKEClusters(ctx, linodego.NewListOptions(0, `{"label":"mine"}`))
	must(err)
	if len(clusters) != 1 || clusters[0].ID != a.ClusterID() || clusters[0].Status != linodego.LKEClusterReady {
		t.Fatalf("clusters %+v", clusters)
	}
	pool, err := client.CreateLKENodePool(ctx, a.ClusterID(), linodego.LKENodePoolCreateOptions{
		Count: 2, Type: "g6-standard-4", Tags: []string{"owner=me"}, Labels: linodego.LKENodePoolLabels{"team": "a"},
		Taints: []linodego.LKENodePoolTaint{{Key: "dedicated", Value: "a", Effect: linodego.LKENodePoolTaintEffectNoSchedule}},
	})
	must(err)
	if pool.Count != 2 || len(pool.Linodes) != 2 || pool.Labels["team"] != "a" {
		t.Errorf("pool %+v", pool)
	}
	pools, err := client.ListLKENodePools(ctx, a.ClusterID(), nil)
	must(err)
	if len(pools) != 1 || pools[0].Linodes[0].InstanceID == 0 || pools[0].Linodes[0].Status != linodego.LKELinodeReady {
		t.Errorf("pools %+v", pools)
	}
	instance, err := client.GetInstance(ctx, pools[0].Linodes[0].InstanceID)
	must(err)
	if want := fmt.Sprintf("lke%d-%s", a.ClusterID(), pools[0].Linodes[0].ID); instance.Label != want || instance.LKEClusterID != a.ClusterID() {
		t.Errorf("instance %s of cluster %d", instance.Label, instance.LKEClusterID)
	}
	types, err := client.ListTypes(ctx, nil)
	must(err)
	regions, err := client.ListRegions(ctx, nil)
	must(err)
	rows, err := client.ListRegionsAvailability(ctx, nil)
	must(err)
	if len(types) != 37 || len(regions) != 34 || len(rows) != 486 {
		t.Errorf("%d types, %d regions, %d rows of availability", len(types), len(regions), len(rows))
	}
	must(client.DeleteLKENodePoolNode(ctx, a.ClusterID(), pools[0].Linodes[0].ID))
	must(client.DeleteLKENodePool(ctx, a.ClusterID(), pool.ID))

	_, err = client.GetLKENodePool(ctx, a.ClusterID(), pool.ID)
	if failure, ok := errors.AsType[*linodego.Error](err); !ok || failure.Code != http.StatusNotFound {
		t.Errorf("a deleted pool: %v", err)
	}
}
