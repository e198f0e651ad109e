package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// TestNodesOfTheExistingProviderStay: the LKE pools have its tags, and the NodeClaims
// nothing of lkeplan's, as when its controller was stopped and lkeplan's is started. No
// node goes, new ones come in LKE pools of lkeplan's own, and all are given back.
func TestNodesOfTheExistingProviderStay(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	before := s.startController()
	s.kube("", "apply", "-f", "../../../examples/moving-in/pools.yaml")
	s.applyAll(workload("general", 2))
	up := s.until("two pods run", time.Minute, func(now state) bool { return now.running == 2 && now.matched() })
	before.kill()
	pools, err := s.linodeAPI().Pools(t.Context(), s.clusterID())
	if err != nil {
		t.Fatal(err)
	}
	for _, pool := range pools {
		s.cloudManager(http.MethodPut, fmt.Sprintf("/v4/lke/clusters/%d/pools/%d", s.clusterID(), pool.ID),
			`{"tags":["kubernetes.io/cluster/sandbox=owned","karpenter.sh/nodepool=general","lke-cluster-name=sandbox",
			"karpenter.k8s.linode/linodenodeclass=default","karpenter.k8s.linode/lke-managed=true"]}`)
	}
	const hash = "karpenter.k8s.linode/linodenodeclass-hash"
	foreign := []string{"--overwrite", hash + "=123", hash + "-version=v1"}
	s.kube("", append([]string{"annotate", "nodeclaims", "--all", "lkeplan.dev/group-"}, foreign...)...)
	s.kube("", append([]string{"annotate", "linodenodeclass", "default", "lkeplan.dev/lke-cluster-"}, foreign...)...)

	after := s.startController()
	s.never("a node goes, comes or drifts", func(now state) bool {
		return now.linode.Made != up.linode.Made || !now.matched() || now.running != 2 || len(drifting(now)) > 0 ||
			!sameClaims(now.claims, up.claims)
	}, after.disruption())
	mustContain(t, s.run("lkeplan", "import", "--cluster", "sandbox", "--out-dir", t.TempDir()+"/sandbox"),
		"applying this changes nothing and replaces no node")

	s.scaleTo("general", 3)
	s.until("the third pod has its own node", time.Minute, func(now state) bool {
		return now.running == 3 && now.matched() && now.linode.Pools == len(pools)+1
	})
	s.merge("nodepool", "general", `{"spec":{"disruption":{"consolidateAfter":"0s"}}}`)
	s.deleteDeployments("general")
	s.until("nothing is left", 2*time.Minute, state.empty)
}

// sameClaims reports whether these are the same objects.
func sameClaims(a, b []karpv1.NodeClaim) bool {
	uids := map[string]bool{}
	for _, claim := range a {
		uids[string(claim.UID)] = true
	}
	for _, claim := range b {
		if !uids[string(claim.UID)] {
			return false
		}
	}
	return len(a) == len(b)
}
