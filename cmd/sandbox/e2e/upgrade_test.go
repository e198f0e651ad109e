package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// TestVersionsOfNodesMoveByGitOnly: a user upgrades the control plane through the
// API. It is said, and no node is replaced. A commit that names the new version is
// refused by the guard, and with its permission pools follow one after another. On
// Enterprise the version was written before, on the standard tier it was not.
func TestVersionsOfNodesMoveByGitOnly(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		tier, old, next, written string
		kubelets                 [2]string // before and after
		said                     []string
	}{
		{"standard", "1.34", "1.35", "", [2]string{"v1.34.1", "v1.35.1"},
			[]string{"kubernetes_version (spec.lkeK8sVersion) is not set", "always get the control plane's version"}},
		{"enterprise", "v1.31.8+lke1", "v1.33.6+lke7", "v1.31.8+lke1", [2]string{"v1.31.8", "v1.33.6"},
			[]string{"stay at v1.31.8+lke1", "up to 1.34"}},
	} {
		t.Run(tt.tier, func(t *testing.T) {
			t.Parallel()
			s := startSandbox(t, "--tier", tt.tier, "--kubernetes-version", tt.old, "--list-delay", "1s")
			s.installCRDs()
			c := s.startController()
			before := versioned(t, tt.tier, tt.written)
			s.run("lkeplan", "apply", "--yes", before)
			s.kube(workload("a", 2)+"\n---\n"+workload("b", 2), "apply", "-f", "-")
			s.until("each pool has its nodes", 2*time.Minute, func(now state) bool {
				return now.running == 4 && now.matched() && kubelets(now)[tt.kubelets[0]] == 4
			})

			s.upgrade(tt.next)
			s.until("the class says where the control plane is", 3*time.Minute, func(state) bool {
				class := s.class()
				return class.Status.ControlPlaneVersion == tt.next && class.Status.KubernetesVersion == tt.old
			})
			s.until("so does an event", time.Minute, func(state) bool {
				return s.hasEvent("LinodeNodeClass", "default", "", "The control plane runs "+tt.next)
			})
			mustContain(t, spaced(s.run("lkeplan", "diff", "--base", "live", before)),
				append(tt.said, "by Linode; apply keeps it", "No changes.")...)
			s.never("a node is replaced for an upgrade of the control plane",
				func(now state) bool { return now.linode.Made != 4 || len(drifting(now)) > 0 }, c.disruption())

			after := versioned(t, tt.tier, tt.next)
			mustContain(t, spaced(s.ends(3, "diff", "--base", "live", after)),
				"2 of 2 nodes replaced (Kubernetes "+tt.kubelets[0], "→ "+tt.next+")", "4 of 4 nodes would be replaced")
			s.ends(3, "apply", "--yes", after)
			s.run("lkeplan", "apply", "--yes", "--allow", "max_rolled_nodes:*", after)
			s.until("pools follow one after another", 5*time.Minute, func(now state) bool {
				if drifts := drifting(now); drifts["a"] && drifts["b"] {
					t.Fatalf("both pools roll at a time: %s", now)
				}
				return now.running == 4 && now.matched() && kubelets(now)[tt.kubelets[1]] == 4
			})
			s.until("the class reports it", 20*time.Second, func(state) bool {
				class := s.class()
				return class.Status.OutdatedNodes == 0 && class.Status.KubernetesVersion == tt.next
			})
			if made := s.stats().Made; made != 8 {
				t.Errorf("%d machines were made, want 8", made)
			}
		})
	}
}

// versioned writes a directory of two pools, whose nodes have a version, and of which
// no node may be replaced.
func versioned(t *testing.T, tier, version string) string {
	t.Helper()
	if version != "" {
		version = fmt.Sprintf("\n  kubernetes_version = %q\n", version)
	}
	text := fmt.Sprintf(`cluster {
  name   = "sandbox"
  region = "us-ord"
  tier   = %q
%s}

guards {
  max_rolled_nodes = "0"
}

node_class "default" {}
`, tier, version)
	for _, name := range []string{"a", "b"} {
		text += fmt.Sprintf("\npool %q {\n  node_class   = node_class.default\n"+
			"  requirements = { class = \"standard\", cpu = 4 }\n}\n", name)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.lke.hcl"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// kubelets counts the nodes of each version.
func kubelets(now state) map[string]int {
	versions := map[string]int{}
	for _, n := range now.nodes {
		versions[n.Status.NodeInfo.KubeletVersion]++
	}
	return versions
}

// drifting are the NodePools whose nodes Karpenter replaces. A claim outlives its node for a
// moment, in which it is the next pool's turn.
func drifting(now state) map[string]bool {
	pools := map[string]bool{}
	for _, nc := range now.claims {
		there := slices.ContainsFunc(now.nodes, func(n corev1.Node) bool { return n.Name == nc.Status.NodeName })
		if there && nc.StatusConditions().Get(karpv1.ConditionTypeDrifted).IsTrue() {
			pools[nc.Labels[karpv1.NodePoolLabelKey]] = true
		}
	}
	return pools
}

// spaced is text with each run of blanks and line ends as one blank.
func spaced(text string) string { return strings.Join(strings.Fields(text), " ") }
