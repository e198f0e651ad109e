package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// TestTheControllerMayBeKilledAtEachCall kills the process during a Linode call of
// each kind: once before LKE has done anything, and once when it has done everything
// and the answer is lost. The result is the same as without a kill.
func TestTheControllerMayBeKilledAtEachCall(t *testing.T) {
	t.Parallel()
	for _, tier := range []string{"standard", "enterprise"} {
		t.Run(tier, func(t *testing.T) {
			t.Parallel()
			s := startSandbox(t, "--tier", tier, "--list-delay", "5s")
			s.installCRDs()
			c := s.startController()
			s.run("lkeplan", "apply", "--yes", "testdata/four")
			s.applyAll(file(t, "inflate.yaml"))
			// A process that has just begun makes new pools: a PUT of the last one may still come.
			steps := []struct {
				pods                             int
				first, firstPath, then, thenPath string
			}{
				{4, http.MethodPost, "/lke/clusters/*/pools", http.MethodPost, "/lke/clusters/*/pools"},
				{8, "", "", "", ""}, // without a kill, so that a pool is there that the process has made itself
				{16, http.MethodPut, "/lke/clusters/*/pools/*", http.MethodPost, "/lke/clusters/*/pools"},
				{4, http.MethodDelete, "", http.MethodDelete, ""},
				{0, http.MethodDelete, "", http.MethodDelete, ""},
			}
			for _, step := range steps {
				kills := 0
				if step.first != "" {
					kills = 2
					s.inject(fmt.Sprintf(`[{"method":%q,"path":%q,"count":1,"hang":true}]`, step.first, step.firstPath))
				}
				hung := s.hung()
				s.scale(step.pods)
				for kill := range kills {
					s.until(fmt.Sprintf("%s hangs, for time %d", step.first, kill+1), 2*time.Minute,
						func(state) bool { return s.hung() > hung+kill })
					c.kill()
					if kill == 0 {
						s.clearFaults()
						s.inject(fmt.Sprintf(`[{"method":%q,"path":%q,"count":1,"hang":true,"after_work":true}]`,
							step.then, step.thenPath))
					}
					c = s.startController()
				}
				s.clearFaults()
				s.until(fmt.Sprintf("%d pods run, each node with its claim", step.pods), 2*time.Minute, func(now state) bool {
					return now.running == step.pods && now.pending == 0 && now.matched() && len(now.nodes) == step.pods/4
				})
			}
			down := s.until("nothing is left", time.Minute, state.empty)
			if down.linode.Made != 4 || down.linode.Deleted != 4 {
				t.Errorf("%d instances were made and %d deleted, want 4 of each", down.linode.Made, down.linode.Deleted)
			}
		})
	}
}
