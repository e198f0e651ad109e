package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/linode/sim"
)

// TestAClaimWhoseTokenIsBadEnds: a machine's token is replaced, expires, or is
// taken away, while the machine boots, each in a cluster that does so to all. The API server
// refuses the machine; after the 15 minutes that Karpenter gives it its claim ends with a
// reason, the Linode goes, and no Secret is left.
func TestAClaimWhoseTokenIsBadEnds(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(s *sandbox, secret *corev1.Secret) error{
		"wrong": func(s *sandbox, secret *corev1.Secret) error {
			secret.Data["token-secret"] = []byte(strings.Repeat("f", 16))
			return s.client.Update(s.t.Context(), secret)
		},
		"expired": func(s *sandbox, secret *corev1.Secret) error {
			secret.Data["expiration"] = []byte(time.Now().Add(-time.Minute).UTC().Format(time.RFC3339))
			return s.client.Update(s.t.Context(), secret)
		},
		"stolen": func(s *sandbox, secret *corev1.Secret) error { return s.client.Delete(s.t.Context(), secret) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startSandbox(t, "--mode", "instance", "--join-delay", "20s")
			s.installCRDs()
			s.startController()
			s.run("lkeplan", "apply", "--yes", "testdata/instances")
			s.applyAll(file(t, "inflate.yaml"))
			s.scale(4)
			var label string
			s.eventually("a Linode boots", time.Minute, func() error {
				for l := range s.linodes() {
					label = l
				}
				if label == "" {
					return fmt.Errorf("there is none")
				}
				return nil
			})
			var secrets corev1.SecretList
			if err := s.client.List(t.Context(), &secrets, client.InNamespace("kube-system"),
				client.HasLabels{"lkeplan.dev/nodeclaim"}); err != nil || len(secrets.Items) != 1 {
				t.Fatalf("%d tokens, %v", len(secrets.Items), err)
			}
			if err := spoil(s, &secrets.Items[0]); err != nil {
				t.Fatal(err)
			}
			first := s.linodes()[label]
			s.eventually("the API server refuses it", time.Minute, func() error {
				if j := s.linodes()[label].Join; j.Problem == "" {
					return fmt.Errorf("it is at %+v", j)
				}
				return nil
			})
			t.Logf("the machine says %+v", s.linodes()[label].Join)
			s.endsWithAReason(first)
			s.deleteDeployments("inflate")
			s.until("nothing is left", 3*time.Minute, state.empty)
			s.eventually("no token is left", time.Minute, s.noTokens)
		})
	}
}

// endsWithAReason waits until the claim of a Linode has ended, with 15 minutes for that.
func (s *sandbox) endsWithAReason(l sim.Linode) {
	s.t.Helper()
	s.eventually("its claim ends and the Linode goes", 18*time.Minute/slowdown, func() error {
		if now, there := s.linodes()[l.Label]; there && now.ID == l.ID {
			return fmt.Errorf("it is there: %+v", now.Join)
		}
		return nil
	})
	s.eventually("an event says why", time.Minute, func() error {
		if events := s.kube("", "get", "events", "-A", "--field-selector", "reason=MachineNotJoined"); !strings.Contains(events, "is deleted: ") {
			return fmt.Errorf("there are %s", events)
		}
		return nil
	})
}
