package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lkeplan/lkeplan/engine/inspect"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// pricedPods are two pods for nodes with a monthly price, one for a node without, and one with a GPU.
const pricedPods = `
{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "standard"}, "spec": {"replicas": 2,
  "selector": {"matchLabels": {"app": "standard"}}, "template": {"metadata": {"labels": {"app": "standard"}}, "spec": {
  "nodeSelector": {"karpenter.sh/nodepool": "standard"},
  "containers": [{"name": "c", "image": "registry.k8s.io/pause:3.10", "resources": {"requests": {"cpu": "3"}}}]}}}}
---
{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "dedicated"}, "spec": {"replicas": 1,
  "selector": {"matchLabels": {"app": "dedicated"}}, "template": {"metadata": {"labels": {"app": "dedicated"}}, "spec": {
  "nodeSelector": {"karpenter.sh/nodepool": "dedicated"},
  "containers": [{"name": "c", "image": "registry.k8s.io/pause:3.10", "resources": {"requests": {"cpu": "3"}}}]}}}}
---
{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "gpu"}, "spec": {"replicas": 1,
  "selector": {"matchLabels": {"app": "gpu"}}, "template": {"metadata": {"labels": {"app": "gpu"}}, "spec": {
  "nodeSelector": {"karpenter.sh/nodepool": "gpu"},
  "containers": [{"name": "c", "image": "registry.k8s.io/pause:3.10", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}}}}
`

// TestPricesAgreeToTheCent: in a region with its own prices, and with plans without a monthly cap, what
// simulate predicts, and what diff, status, top and the controller's limits say of the nodes, is the same
// amount, from the catalogue that refresh has pinned. A pod for a GPU that is out of stock is foretold a
// node, waits with the reason, and gets it once there is stock.
func TestPricesAgreeToTheCent(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, "--lke-daemonsets", "--region", "br-gru", "--catalog", "testdata/prices/sold.catalog")
	s.installCRDs()
	dir := t.TempDir()
	hcl, err := os.ReadFile("testdata/prices/main.lke.hcl")
	if err != nil {
		t.Fatal(err)
	}
	s.run("lkeplan", "catalog", "refresh", filepath.Join(dir, catalog.FileName))
	said := s.simulated(dir, string(hcl), pricedPods)
	// 2 * 67.20 with a monthly price; 730 hours of 0.196 and 0.728 without.
	const withoutGPU, all = "277.48", "808.92"
	if got := cents(said.Head.Total.Monthly); got != all || said.Head.Placed != 4 {
		t.Errorf("simulate says %s, and %s", got, all)
	}

	s.startController()
	s.run("lkeplan", "apply", "--yes", dir)
	s.applyAll(pricedPods)
	viewer := s.viewer()
	s.until("three pods run", 2*time.Minute, func(now state) bool { return now.running == 3 && now.matched() })
	s.until("status names the stock", toldWithin, func(state) bool {
		return says("gpu", inspect.RemarkStock, "Linode has no capacity in br-gru for g2-gpu-rtx4000a1-s")(s.status(viewer))
	})
	s.eventually("the GPU is in no sum", time.Minute, func() error { return s.costs(dir, withoutGPU) })

	resp, err := http.Post(s.env["LINODE_URL"]+"/simulator/stock", "application/json",
		strings.NewReader(`{"plan": "g2-gpu-rtx4000a1-s", "region": "br-gru", "available": true}`))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	s.until("the GPU pod runs", 8*time.Minute, func(now state) bool { return now.running == 4 && now.matched() })
	s.eventually("the GPU is in each sum", time.Minute, func() error { return s.costs(dir, all) })
}

// cents is an amount as JSON of plans has it.
func cents(m catalog.Money) string { return fmt.Sprintf("%.2f", m.Float64()) }

// costs is an error if anything says that the nodes cost another amount a month.
func (s *sandbox) costs(dir, want string) error {
	s.t.Helper()
	read := func(out string, into any) {
		s.t.Helper()
		if err := json.Unmarshal([]byte(out), into); err != nil {
			s.t.Fatalf("%v:\n%s", err, out)
		}
	}
	pinned := filepath.Join(dir, catalog.FileName)
	var status inspect.Status
	var plan struct {
		Cost struct{ Monthly struct{ Current string } }
	}
	read(s.run("lkeplan", "status", "-o", "json", "--catalog", pinned), &status)
	read(s.run("lkeplan", "plan", "-o", "json", dir), &plan)
	said := map[string]string{
		"status": cents(status.Cost.Monthly), "plan": plan.Cost.Monthly.Current,
		"limits": strings.TrimSpace(s.kube("", "get", "capacitylimit", "all", "-o", "jsonpath={.status.used.monthlyCost}")),
	}
	for of, got := range said {
		if got != want {
			return fmt.Errorf("%s says %s, not %s: %v", of, got, want, said)
		}
	}
	return nil
}
