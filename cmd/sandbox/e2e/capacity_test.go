package e2e

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// TestTheGuideWorksAsWritten follows the guide of the existing provider, with both
// served versions of the class.
func TestTheGuideWorksAsWritten(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v1alpha1", "v1"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := startSandbox(t)
			s.installCRDs()
			s.startController()
			s.kube(strings.ReplaceAll(file(t, "guide.yaml"), "VERSION", version), "apply", "-f", "-")
			s.applyAll(file(t, "inflate.yaml"))
			s.scale(5)
			up := s.until("5 pods run", time.Minute, func(s state) bool { return s.running == 5 && s.matched() })

			victim := up.nodes[0]
			s.kube("", "delete", "node", victim.Name, "--wait=false")
			s.until("the node is cordoned, drained and gone, and its pods run elsewhere", time.Minute, func(s state) bool {
				for _, n := range s.nodes {
					if n.Name == victim.Name {
						return false
					}
				}
				return s.running == 5 && s.matched()
			})

			s.scale(1)
			s.until("consolidation has found the cheapest node for one pod", 2*time.Minute, func(s state) bool {
				return s.running == 1 && s.matched() && len(s.nodes) == 1 && s.linode.HourlyCost < up.linode.HourlyCost
			})
			s.deleteDeployments("inflate")
			s.until("consolidation has removed the last node", 90*time.Second, state.empty)
		})
	}
}

// TestABurstCreatesExactlyTheNeededNodes: 100 pods of 1 CPU on plan types of 4, at once. LKE
// Enterprise lists new nodes late.
func TestABurstCreatesExactlyTheNeededNodes(t *testing.T) {
	t.Parallel()
	for _, tier := range []string{"standard", "enterprise"} {
		t.Run(tier, func(t *testing.T) {
			t.Parallel()
			recorded := burst(t, startSandbox(t, "--tier", tier, "--list-delay", "5s"))
			if tier == "standard" {
				recorded.recording.check(t, recorded.calls, recorded.took)
			}
		})
	}
}

// burstSeen is how a burst went, in how many calls to the Linode API, and how long.
type burstSeen struct {
	recording recording
	calls     int
	took      time.Duration
}

func burst(t *testing.T, s *sandbox) (seen burstSeen) {
	s.installCRDs()
	s.startController()
	s.run("lkeplan", "apply", "--yes", "testdata/four")
	s.resetStats()
	s.applyAll(file(t, "inflate.yaml"))
	scale := []string{"scale", "deployment", "inflate", "--replicas", "100"}
	seen.recording.start("kubectl "+strings.Join(scale, " "), s.kube("", scale...))
	most, began := 0, time.Now()
	up := s.until("100 pods run", 2*time.Minute, func(s state) bool {
		most = max(most, len(s.claims))
		seen.recording.add(s)
		return s.running == 100 && s.matched()
	})
	seen.recording.end(up)
	seen.calls, seen.took = up.linode.Calls, time.Since(began)
	if up.linode.Made != 25 || most != 25 {
		t.Errorf("%d instances were made and there were up to %d NodeClaims, want 25 of each", up.linode.Made, most)
	}
	if most := 25 + int(seen.took.Seconds()); up.linode.Calls > most {
		t.Errorf("%d Linode calls for 25 nodes in %s, want at most one for each and one a second", up.linode.Calls, seen.took)
	}
	for _, n := range up.nodes {
		if n.Labels[corev1.LabelTopologyZone] != "us-ord" {
			t.Errorf("node %s has zone %q", n.Name, n.Labels[corev1.LabelTopologyZone])
		}
	}
	s.deleteDeployments("inflate")
	down := s.until("nothing is left", 2*time.Minute, state.empty)
	if down.linode.Made != 25 || down.linode.Deleted != 25 {
		t.Errorf("%d instances were made and %d deleted, want 25 of each", down.linode.Made, down.linode.Deleted)
	}
	t.Logf("%d Linode calls until all pods ran, %d more until nothing was left", up.linode.Calls,
		down.linode.Calls-up.linode.Calls)
	return seen
}
