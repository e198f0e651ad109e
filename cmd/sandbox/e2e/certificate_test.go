package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/linode/instance/token"
	"github.com/lkeplan/lkeplan/linode/sim"
)

// TestATokenIsForOneNode: whoever has the token of a machine that boots gets the certificate of
// no other Node by it, whichever way he joins. The machine itself joins.
func TestATokenIsForOneNode(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, "--mode", "instance", "--join-delay", "20s")
	s.installCRDs()
	s.startController()
	s.run("lkeplan", "apply", "--yes", "testdata/instances")
	s.applyAll(file(t, "inflate.yaml"))
	s.scale(4)
	var secret corev1.Secret
	s.eventually("there is a token", time.Minute, func() error {
		var secrets corev1.SecretList
		err := s.client.List(t.Context(), &secrets, client.InNamespace("kube-system"), client.HasLabels{token.Label})
		if err == nil && len(secrets.Items) != 1 {
			err = fmt.Errorf("%d tokens", len(secrets.Items))
		}
		if err == nil {
			secret = secrets.Items[0]
		}
		return err
	})
	j := &joining{sandbox: s, api: s.apiServer(), good: sim.JoinToken{
		ID: string(secret.Data["token-id"]), Secret: string(secret.Data["token-secret"]),
	}}
	s.signs(j.good, true)
	other := j.join("another")
	for how, userData := range map[string][]byte{"kubeadm": kubeadm(t, other), "k3s": k3s(t, other)} {
		got := s.refusedTo(userData)
		if got.Step != sim.Certificate || !strings.Contains(got.Problem, "denied") {
			t.Errorf("somebody who poses as another Node with %s: %+v", how, got)
		}
	}
	s.eventually("the NodeClaim says that somebody else has its token", time.Minute, func() error {
		if !s.told("NodeClaim", "CertificateDenied", `alone: it asks for that of "system:node:another"`) {
			return fmt.Errorf("there is no such event")
		}
		return nil
	})
	s.until("the machine itself joins", time.Minute, func(now state) bool { return now.running == 4 && now.joined() })
	s.deleteDeployments("inflate")
	s.until("nothing is left", 2*time.Minute, state.empty)
}

// refusedTo is what somebody with a machine elsewhere is told who joins with these user data.
func (s *sandbox) refusedTo(userData []byte) sim.JoinStatus {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience*30*time.Second)
	defer cancel()
	told := make(chan sim.JoinStatus, 1)
	thief := sim.Kubelet{KubeletMachine: sim.KubeletMachine{Linode: 1, Version: "v1.36.0", UserData: userData}}
	thief.Report = func(now sim.JoinStatus) {
		if now.Tries > 0 || now.Joins > 0 {
			select {
			case told <- now:
			default:
			}
		}
	}
	go thief.Run(ctx, nil)
	select {
	case got := <-told:
		return got
	case <-ctx.Done():
		s.t.Fatal("nobody has answered whoever has a token")
		return sim.JoinStatus{}
	}
}
