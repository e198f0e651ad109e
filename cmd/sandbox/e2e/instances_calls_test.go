package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestEachCallOfInstanceModeMayFail: refused, answered with a page, lost and done late, three
// times in a row each; in the end there are as many Linodes as nodes, for each call that fails.
func TestEachCallOfInstanceModeMayFail(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, "--mode", "instance")
	s.installCRDs()
	s.startController(expectsLate...)
	s.run("lkeplan", "apply", "--yes", "testdata/instances")
	s.applyAll(file(t, "inflate.yaml"))
	s.scale(4)
	settled := func(what string, pods int) state {
		return s.until(fmt.Sprintf("%s: %d pods run", what, pods), 2*time.Minute, func(now state) bool {
			return now.running == pods && now.pending == 0 && now.joined() && len(now.nodes) == pods/4
		})
	}
	settled("nothing fails", 4)
	pods := 4
	for _, how := range []string{
		`"status":500,"body":"oops"`, `"status":429,"body":"Too many requests","header":{"Retry-After":"1"}`,
		`"status":502,"body":"<html>bad gateway</html>"`, `"lost":true`, `"status":504,"body":"<html></html>","after_work":true`,
	} {
		for _, call := range []string{
			`"method":"POST","path":"/linode/instances"`, `"method":"GET","path":"/linode/instances"`,
			`"method":"DELETE","path":"/linode/instances/*"`, `"method":"PUT","path":"/linode/instances/*"`,
		} {
			s.inject("{" + call + "," + how + `,"count":3}`)
		}
		s.merge("linodenodeclass", "default",
			fmt.Sprintf(`{"spec":{"tags":["team=web","round=%d"]}}`, pods))
		pods = 16 - pods // 12, 4, 12 ...
		s.scale(pods)
		now := settled("with "+how, pods)
		s.eventually("the Linodes have their tags", time.Minute, func() error {
			for _, nc := range now.claims {
				if tags := s.linodeFor(nc).Tags; !slices.Contains(tags, fmt.Sprintf("round=%d", 16-pods)) {
					return fmt.Errorf("the tags of %s are %v", nc.Name, tags)
				}
			}
			return nil
		})
		s.clearFaults()
	}
	s.deleteDeployments("inflate")
	s.until("nothing is left", 2*time.Minute, state.empty)
	s.eventually("no token is left", 30*time.Second, s.noTokens)
}

// TestLinodesAreConsolidatedAndExpire: what is left of pods moves to a cheaper Linode, and
// nodes that are old enough are replaced; there is never a Linode too many at rest.
func TestLinodesAreConsolidatedAndExpire(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, "--mode", "instance")
	s.installCRDs()
	s.startController()
	s.kube(strings.ReplaceAll(file(t, "guide-instance.yaml"), "VERSION", "v1"), "apply", "-f", "-")
	s.applyAll(file(t, "inflate.yaml"))
	s.scale(8)
	up := s.until("8 pods run", time.Minute, func(now state) bool { return now.running == 8 && now.joined() })
	s.scale(1)
	s.until("one pod is on a cheaper Linode, alone", 3*time.Minute, func(now state) bool {
		return now.running == 1 && now.joined() && len(now.nodes) == 1 && now.linode.HourlyCost < up.linode.HourlyCost
	})

	s.merge("nodepool", "default",
		`{"spec":{"template":{"spec":{"expireAfter":"90s"}},"disruption":{"budgets":[{"nodes":"100%"}]}}}`)
	seen := map[string]bool{}
	old := func(now state) bool {
		for _, nc := range now.claims {
			if nc.Spec.ExpireAfter.Duration != nil && *nc.Spec.ExpireAfter.Duration == 90*time.Second {
				seen[nc.Name] = true
			}
		}
		return len(seen) >= 2 && now.running == 1 && now.joined() && len(now.nodes) == 1
	}
	s.until("a node that was 90 s old has been replaced", 4*time.Minute, old)
	s.deleteDeployments("inflate")
	s.until("nothing is left", 3*time.Minute, state.empty)
}
