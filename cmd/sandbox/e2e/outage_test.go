package e2e

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// stoppedFor stops a process of the sandbox (SIGSTOP) for a while.
func (s *sandbox) stoppedFor(name string, d time.Duration) {
	s.t.Helper()
	process := s.process(name)
	if err := syscall.Kill(process, syscall.SIGSTOP); err != nil {
		s.t.Fatal(err)
	}
	<-time.After(d)
	if err := syscall.Kill(process, syscall.SIGCONT); err != nil {
		s.t.Fatal(err)
	}
}

// TestAMinuteWithoutTheAPIServer: the API server stops during an apply. The controller
// loses its lease, ends, and is started again. Only what the plan says is deleted; the
// NodePlan becomes ready without help, nodes stay, and pods get new ones.
func TestAMinuteWithoutTheAPIServer(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, "--audit")
	s.installCRDs()
	ended := s.keepController("--leader-elect", "true", "--leader-election-namespace", "kube-system")
	s.source("fleet", fleet("", "general", "old"))
	s.kube(strings.ReplaceAll(nodePlanOfConfigMap, "NAME", "fleet")+"  retryInterval: 1s\n", "apply", "-f", "-")
	s.applyAll(workload("general", 2))
	s.untilPlan("fleet", "it is ready", because(lkeplanv1alpha1.ReasonSucceeded))
	before := s.until("two pods run", time.Minute, func(now state) bool { return now.running == 2 && now.matched() })
	general := s.poolsByName()["general"].UID

	pools := []string{"general"}
	for i := range 200 {
		pools = append(pools, fmt.Sprintf("p%03d", i))
	}
	s.source("fleet", fleet("", pools...))
	for started := time.Now(); len(s.pools()) == 2; {
		if time.Since(started) > slowdown*time.Minute {
			t.Fatal("timed out waiting for the first pool")
		}
	}
	began := time.Now()
	s.stoppedFor("kube-apiserver", time.Minute)

	// the kubelet's restart delay can take one of the three minutes
	s.until("all is applied after the API server is back", 3*time.Minute, func(state) bool {
		np := s.nodePlan("fleet")
		return because(lkeplanv1alpha1.ReasonSucceeded)(np) && len(np.Status.Inventory) == len(pools)+1 &&
			len(s.pools()) == len(pools)
	})
	if ended.Load() == 0 {
		t.Error("the controller has kept its lease for a minute without an API server")
	}
	early, late := 0, 0
	for _, pool := range s.poolsByName() {
		if pool.CreationTimestamp.After(began.Add(30 * time.Second)) {
			late++
		} else {
			early++
		}
	}
	if early < 2 || late == 0 {
		t.Errorf("%d pools are older and %d newer than the outage: it was not during the apply", early, late)
	}
	if got := s.poolsByName()["general"].UID; got != general {
		t.Errorf("pool general was %s and is %s: it was lost in between", general, got)
	}
	if got := s.deleted("nodepools", "linodenodeclasses", "nodeclaims"); !slices.Equal(got, []string{"nodepools old"}) {
		t.Errorf("deleted: %v, want only the pool old", got)
	}

	s.scaleTo("general", 3)
	after := s.until("a new pod gets its node", time.Minute, func(now state) bool {
		return now.running == 3 && now.matched()
	})
	for _, n := range before.nodes {
		if !slices.ContainsFunc(after.nodes, func(now corev1.Node) bool { return now.UID == n.UID }) {
			t.Errorf("node %s is gone", n.Name)
		}
	}
}
