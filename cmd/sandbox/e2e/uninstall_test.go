package e2e

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// inhabited is a sandbox with the CRDs, a running controller, a NodePlan and pods on nodes
// of its pools.
func inhabited(t *testing.T) (*sandbox, *controller) {
	s := startSandbox(t)
	said := s.run("lkeplan", "crds", "apply")
	if n := strings.Count(said, " created\n"); n != 9 {
		t.Errorf("%d CRDs were created:\n%s", n, said)
	}
	if said := s.run("lkeplan", "crds", "apply"); strings.Count(said, " unchanged\n") != 9 {
		t.Errorf("applied again:\n%s", said)
	}
	s.kube("", "create", "namespace", "lkeplan-system")
	c := s.startController("--leader-elect", "true", "--leader-election-namespace", "lkeplan-system")
	s.source("fleet", fleet("", "a", "b"))
	s.kube(strings.ReplaceAll(nodePlanOfConfigMap, "NAME", "fleet"), "apply", "-f", "-")
	s.untilPlan("fleet", "it is ready", because(lkeplanv1alpha1.ReasonSucceeded))
	for _, pool := range []string{"a", "b"} {
		s.kube(workload(pool, 2), "apply", "-f", "-")
	}
	s.until("pods run", time.Minute, func(now state) bool { return now.running == 4 && now.matched() })
	return s, c
}

// withoutCRDs deletes all CRDs of lkeplan, as the last step of an uninstallation.
func (s *sandbox) withoutCRDs() {
	s.t.Helper()
	crds := s.run("lkeplan", "crds", "apply", "--dry-run")
	s.kube(crds, "delete", "--ignore-not-found", "--timeout=40s", "-f", "-")
}

// TestLeavingWithDrain: the controller drains all nodes, nothing is left at Linode, and
// nothing holds up the deletion of the CRDs. The NodePlan does not create its pools again.
func TestLeavingWithDrain(t *testing.T) {
	t.Parallel()
	s, c := inhabited(t)
	said := s.ends(0, "uninstall", "--drain", "--yes")
	mustContain(t, said, "NodePool a, 2 nodes", "These nodes cost $", "NodePlan default/fleet is suspended", "nodes left: ", "kubectl delete crd")
	s.until("nothing is left", 10*time.Second, func(now state) bool { return now.empty() && len(s.pools()) == 0 })
	c.stop()
	s.withoutCRDs()
}

// TestLeavingWithTheNodes: after the controller was removed, the CRDs were deleted, and
// waits. All nodes and pods stay, the deletion continues, and what costs is listed.
func TestLeavingWithTheNodes(t *testing.T) {
	t.Parallel()
	s, c := inhabited(t)
	mustContain(t, s.ends(1, "uninstall", "--leave", "--yes"), "lkeplan-system/lkeplan-controller works", "stop it first")
	c.stop()

	said, refused := s.tries(s.env["KUBECONFIG"], "", "delete", "crd", "nodeclaims.karpenter.sh", "--timeout=5s")
	if !refused {
		t.Errorf("nothing holds the NodeClaims: %s", said)
	}
	said = s.ends(0, "uninstall", "--leave", "--yes")
	var nodes corev1.NodeList // NodeClaims have gone with their definition
	if err := s.client.List(t.Context(), &nodes); err != nil || len(nodes.Items) == 0 {
		t.Fatal(err, "or no nodes")
	}
	for _, n := range nodes.Items {
		mustContain(t, said, n.Name)
		if len(n.Finalizers)+len(n.OwnerReferences) > 0 {
			t.Errorf("node %s has %v and %v", n.Name, n.Finalizers, n.OwnerReferences)
		}
	}
	mustContain(t, said, "LinodeNodeClass default", "NodePlan default/fleet is released", "that Linode bills: 4, $")
	s.kube("", "wait", "--for=delete", "crd/nodeclaims.karpenter.sh", "--timeout=20s")
	s.withoutCRDs()
	// Nothing runs that could still delete something, but for Kubernetes itself, which would
	// have marked it as deleted.
	var left corev1.NodeList
	var pods corev1.PodList
	if err := errors.Join(s.client.List(t.Context(), &left), s.client.List(t.Context(), &pods)); err != nil {
		t.Fatal(err)
	}
	for _, n := range left.Items {
		if !n.DeletionTimestamp.IsZero() {
			t.Errorf("node %s is being deleted", n.Name)
		}
	}
	for _, p := range pods.Items {
		if !p.DeletionTimestamp.IsZero() || p.Status.Phase != corev1.PodRunning {
			t.Errorf("pod %s is %s, deleted: %v", p.Name, p.Status.Phase, p.DeletionTimestamp)
		}
	}
	if len(left.Items) != 4 || len(pods.Items) != 4 || s.stats().Live != 4 {
		t.Fatalf("left are %d nodes, %d pods and %d machines", len(left.Items), len(pods.Items), s.stats().Live)
	}
}

// TestUninstallCanBeCancelled: what was released is the same controller's again when it is
// started.
func TestUninstallCanBeCancelled(t *testing.T) {
	t.Parallel()
	s, c := inhabited(t)
	c.stop()
	before := names(s.state())
	s.ends(0, "uninstall", "--leave", "--yes")
	s.startController("--leader-elect", "true", "--leader-election-namespace", "lkeplan-system")
	s.until("everything is held again", time.Minute, func(now state) bool {
		held := func(finalizers []string) bool { return slices.Contains(finalizers, "karpenter.sh/termination") }
		for i := range now.claims {
			if !held(now.claims[i].Finalizers) {
				return false
			}
		}
		return now.matched() && slices.Equal(names(now), before)
	})
	s.deleteDeployments("a", "b")
	s.until("the nodes go as always", 2*time.Minute, func(now state) bool { return now.empty() })
}

// TestDoctor: on a cluster with nothing of lkeplan, with all of it, and with a right, a CRD
// and the controller taken away.
func TestDoctor(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	said := s.ends(1, "doctor")
	mustContain(t, said, "ok    Kubernetes: v1.36", "fail  CRDs: missing: CapacityBuffer", "-> lkeplan crds apply",
		"warn  installation: there is no Deployment of lkeplan", "warn  controller: no controller has a Lease")
	s.helm("install", "lkeplan", chart, "--namespace", "lkeplan-system", "--create-namespace", "--set",
		"settings.clusterName=sandbox,apiToken=none,replicas=0,gitops.replicas=0,"+setImage)
	c := s.chartController()
	s.startController("--leader-elect", "true", "--leader-election-namespace", "lkeplan-system", "--only", "gitops",
		"--kubeconfig", s.account("lkeplan-system", gitopsAccount), "--cluster-name", "sandbox")
	s.source("fleet", fleet("", "a"))
	s.kube(strings.ReplaceAll(nodePlanOfConfigMap, "NAME", "fleet"), "apply", "-f", "-")
	s.kube("", "create", "clusterrolebinding", "applies", "--clusterrole=lkeplan-apply",
		"--serviceaccount=lkeplan-system:"+gitopsAccount) // it has no account of the namespace
	s.untilPlan("fleet", "it is ready", because(lkeplanv1alpha1.ReasonSucceeded))
	said = s.ends(0, "doctor", "--cluster", "sandbox")
	mustContain(t, said, "ok    CRDs: all 9", "lkeplan-system/lkeplan-controller works",
		"lkeplan-system/lkeplan-gitops works", "the account lkeplan-system/lkeplan-controller has all",
		"the account lkeplan-system/lkeplan-gitops has all", "ok    NodePlan: 1 ready",
		"ok    Linode API: the token has the scope lke:read_write", "ok    LKE cluster: sandbox is")
	if strings.Contains(said, "fail") || strings.Contains(said, "warn") {
		t.Errorf("all is well, and it says:\n%s", said)
	}

	c.kill()
	s.kube("", "delete", "clusterrole", "lkeplan-core")
	s.kube("", "delete", "crd", "capacitylimits.lkeplan.dev")
	s.kube("", "patch", "crd", "nodeplans.lkeplan.dev", "--type=json", "-p",
		`[{"op":"replace","path":"/spec/names/shortNames","value":["other"]}]`)
	s.kube("", "create", "deployment", "karpenter", "--image=karpenter", "-n", "kube-system")
	s.kube("", "label", "deployment", "karpenter", "-n", "kube-system", "app.kubernetes.io/name=karpenter")
	s.until("it is noticed that the controller is gone", time.Minute, func(state) bool {
		said, _ := s.lkeplan(s.env["KUBECONFIG"], "doctor")
		return strings.Contains(said, "lkeplan-controller has not reported for")
	})
	said = s.ends(1, "doctor", "-o", "json")
	for _, want := range []string{"missing: CapacityLimit", "these CRDs have another release: NodePlan",
		"lkeplan-controller cannot list pods", "kube-system/karpenter runs", `"do": "kubectl -n kube-system scale`} {
		mustContain(t, said, want)
	}
}
