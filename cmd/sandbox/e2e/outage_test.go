package e2e

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// keepController runs the controller until the test ends, and again when it ends
// before, as the kubelet does: at once, and then after a while that grows. The
// number returned is how often it has ended.
func (s *sandbox) keepController(args ...string) *atomic.Int32 {
	s.t.Helper()
	var ended atomic.Int32
	current, err := s.runController(args...)
	if err != nil {
		s.t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for pause := time.Duration(0); err == nil; pause = max(2*pause, 10*time.Second) {
			select {
			case <-stop:
				current.stop()
				return
			case <-current.ended:
				ended.Add(1)
				s.t.Logf("the controller has ended, and is started again in %s:\n%s", pause, tail(current.log.String(), 2))
			}
			select {
			case <-stop:
				return
			case <-time.After(pause):
				current, err = s.runController(args...)
			}
		}
	}()
	s.t.Cleanup(func() {
		close(stop)
		<-stopped
		if err != nil {
			s.t.Errorf("start the controller again: %v", err)
		}
	})
	return &ended
}

// stoppedFor has a process of the sandbox stand still.
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

// TestAMinuteWithoutTheAPIServer: it stands still in the middle of an apply. The
// controller loses its lease, ends, and is started again. Nothing is lost, and
// nothing deleted but what the plan says; the NodePlan becomes ready by itself,
// nodes stay, and new ones come.
func TestAMinuteWithoutTheAPIServer(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, "--audit")
	s.installCRDs()
	ended := s.keepController("--leader-elect", "true", "--leader-election-namespace", "kube-system")
	s.source("fleet", fleet("", "general", "old"))
	s.kube(strings.ReplaceAll(nodePlanOfConfigMap, "NAME", "fleet")+"  retryInterval: 1s\n", "apply", "-f", "-")
	s.kube(workload("general", 2), "apply", "-f", "-")
	s.untilPlan("fleet", "it is ready", because(lkeplanv1alpha1.ReasonSucceeded))
	before := s.until("two pods run", time.Minute, func(now state) bool { return now.running == 2 && now.matched() })
	general := s.poolsByName()["general"].UID

	pools := []string{"general"}
	for i := range 200 {
		pools = append(pools, fmt.Sprintf("p%03d", i))
	}
	s.source("fleet", fleet("", pools...))
	for started := time.Now(); len(s.pools()) == 2; {
		if time.Since(started) > time.Minute {
			t.Fatal("in a minute no pool was applied")
		}
	}
	began := time.Now()
	s.stoppedFor("kube-apiserver", time.Minute)

	// the kubelet may wait for one of them
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
		t.Errorf("%d pools are from before and %d from after: that was not in the middle", early, late)
	}
	if got := s.poolsByName()["general"].UID; got != general {
		t.Errorf("pool general was %s and is %s: it was lost in between", general, got)
	}
	if got := s.deleted("nodepools", "linodenodeclasses", "nodeclaims"); !slices.Equal(got, []string{"nodepools old"}) {
		t.Errorf("deleted were %v, and the plan was to delete the pool old", got)
	}

	s.kube("", "scale", "deployment", "general", "--replicas", "3")
	after := s.until("a new pod gets its node", time.Minute, func(now state) bool {
		return now.running == 3 && now.matched()
	})
	for _, n := range before.nodes {
		if !slices.ContainsFunc(after.nodes, func(now corev1.Node) bool { return now.UID == n.UID }) {
			t.Errorf("node %s is gone", n.Name)
		}
	}
}

// deleted are the objects of some resources that somebody asked to be deleted.
func (s *sandbox) deleted(resources ...string) (names []string) {
	s.t.Helper()
	for _, r := range s.audited() {
		if r.ObjectRef != nil && (r.Verb == "delete" || r.Verb == "deletecollection") &&
			slices.Contains(resources, r.ObjectRef.Resource) {
			names = append(names, r.ObjectRef.Resource+" "+r.ObjectRef.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
