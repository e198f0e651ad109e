package e2e

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestABurstOfLinodesOfItsOwn: in instance mode 100 pods of 1 CPU have 25 Linodes made, within
// the rate of new Linodes, and all are gone when the pods are. No token outlives its claim.
func TestABurstOfLinodesOfItsOwn(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, "--mode", "instance")
	s.installCRDs()
	s.startController()
	s.run("lkeplan", "apply", "--yes", "testdata/instances")
	s.resetStats()
	s.kube(file(t, "inflate.yaml"), "apply", "-f", "-")
	s.kube("", "scale", "deployment", "inflate", "--replicas", "100")
	most := 0
	up := s.until("100 pods run", 2*time.Minute, func(s state) bool {
		most = max(most, len(s.claims))
		return s.running == 100 && s.joined()
	})
	if up.linode.Made != 25 || most != 25 {
		t.Errorf("%d Linodes were made and there were up to %d NodeClaims, want 25 of each", up.linode.Made, most)
	}
	s.eventually("no token is left", 30*time.Second, s.noTokens)
	s.kube("", "delete", "deployment", "inflate")
	down := s.until("nothing is left", 2*time.Minute, state.empty)
	if down.linode.Made != 25 || down.linode.Deleted != 25 {
		t.Errorf("%d Linodes were made and %d deleted, want 25 of each", down.linode.Made, down.linode.Deleted)
	}
	t.Logf("%d Linode calls until all pods ran, %d more until nothing was left", up.linode.Calls,
		down.linode.Calls-up.linode.Calls)
}

// joined reports whether each NodeClaim has its Linode and its ready node.
func (s state) joined() bool {
	s.linode.Slots = s.linode.Live // there is none
	return s.matched()
}

// noTokens is an error while a bootstrap token of a NodeClaim is there.
func (s *sandbox) noTokens() error {
	var secrets corev1.SecretList
	err := s.client.List(s.t.Context(), &secrets, client.InNamespace("kube-system"), client.HasLabels{"lkeplan.dev/nodeclaim"})
	if err == nil && len(secrets.Items) > 0 {
		err = fmt.Errorf("%d tokens are left", len(secrets.Items))
	}
	return err
}
