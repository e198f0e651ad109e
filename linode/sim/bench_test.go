package sim

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// BenchmarkServeHTTP is what the calls of a provider cost with 250 nodes.
func BenchmarkServeHTTP(b *testing.B) {
	sim, err := New(Config{})
	if err != nil {
		b.Fatal(err)
	}
	now := sim.state
	cluster := now.clusters[sim.first]
	plan := "g6-standard-4"
	for range 5 {
		count := 50
		p := now.addPool(cluster, poolSpec{Plan: &plan, Count: &count})
		now.grow(p, count, time.Now())
	}
	pools := sim.Pools()
	for name, path := range map[string]string{
		"pools":     fmt.Sprintf("/v4/lke/clusters/%d/pools", sim.first),
		"node":      fmt.Sprintf("/v4/lke/clusters/%d/nodes/%s", sim.first, pools[0].Nodes[0].ID),
		"cluster":   fmt.Sprintf("/v4/lke/clusters/%d", sim.first),
		"instances": "/v4/linode/instances?page_size=500",
	} {
		b.Run(name, func(b *testing.B) {
			client := sim.Client()
			for b.Loop() {
				res, err := client.Get("http://linode.test" + path)
				if err != nil || res.StatusCode != http.StatusOK {
					b.Fatal(res, err)
				}
			}
		})
	}
}
