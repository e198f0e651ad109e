package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// TestMachinesAndClaimsDeletedByOthers: one node is deleted in Cloud Manager, the
// host of another dies and LKE recreates the machine, the NodeClaim of a third is
// deleted with its finalizer, and that of a fourth had lost its machine's id. The pods
// get new NodeClaims, one of which may adopt the machine without a claim, and in the end
// every machine has one.
func TestMachinesAndClaimsDeletedByOthers(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	s.startController()
	s.run("lkeplan", "apply", "--yes", "testdata/four")
	s.applyAll(file(t, "inflate.yaml"))
	s.scale(16)
	up := s.until("16 pods run on 4 nodes", time.Minute, func(now state) bool {
		return now.running == 16 &&
			now.matched()
	})

	s.forget(up.claims[3])
	deleted, died, forced := up.claims[0], up.claims[1], up.claims[2]
	if err := s.linodeAPI().DeleteSlot(t.Context(), s.clusterID(),
		strings.TrimPrefix(deleted.Status.NodeName, "lke"+s.env["LKE_CLUSTER_ID"]+"-")); err != nil {
		t.Fatal(err)
	}
	s.lose(died)
	s.kube("", "patch", "nodeclaim", forced.Name, "--type=json", "-p", `[{"op":"remove","path":"/metadata/finalizers"}]`)
	s.kube("", "delete", "nodeclaim", forced.Name)

	again := s.until("all pods run, and none of the three claims is left", 4*time.Minute, func(now state) bool {
		left := slices.ContainsFunc(now.claims, func(nc karpv1.NodeClaim) bool {
			return slices.Contains([]string{deleted.Name, died.Name, forced.Name}, nc.Name)
		})
		return !left && now.running == 16 && now.pending == 0 && len(now.nodes) == 4 && now.matched()
	})
	owned := func(id string) bool {
		return slices.ContainsFunc(again.claims, func(nc karpv1.NodeClaim) bool { return nc.Status.ProviderID == id })
	}
	if owned(deleted.Status.ProviderID) || owned(died.Status.ProviderID) {
		t.Error("a claim has a machine that is gone")
	}
	s.deleteDeployments("inflate")
	down := s.until("nothing is left", 2*time.Minute, state.empty)
	if down.linode.Made != down.linode.Deleted {
		t.Errorf("%d instances were made and %d deleted", down.linode.Made, down.linode.Deleted)
	}
}

// forget writes the pending id over the machine of a NodeClaim, as Karpenter does where
// its cache lags, and waits until the machine is stored again: the next poll is a minute
// away.
func (s *sandbox) forget(nc karpv1.NodeClaim) {
	s.t.Helper()
	s.kube("", "patch", "nodeclaim", nc.Name, "--subresource", "status", "--type=merge", "-p",
		fmt.Sprintf(`{"status":{"providerID":%q}}`, nodeclaim.PendingID(string(nc.UID))))
	s.until("the machine is stored again", 30*time.Second, func(now state) bool {
		return slices.ContainsFunc(now.claims, func(c karpv1.NodeClaim) bool {
			return c.Name == nc.Name && c.Status.ProviderID == nc.Status.ProviderID
		})
	})
}
