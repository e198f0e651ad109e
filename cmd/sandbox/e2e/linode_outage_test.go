package e2e

import (
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// TestATokenIsRevokedAndWorksAgain: for as long as it is refused, the class is not
// ready and says why, pods hear of it, and nothing is taken away. Then the pods get
// their nodes without help.
func TestATokenIsRevokedAndWorksAgain(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	s.startController()
	s.run("lkeplan", "apply", "--yes", "testdata/four")
	s.applyAll(file(t, "inflate.yaml"))
	s.scale(4)
	before := s.until("four pods run", time.Minute, func(now state) bool { return now.running == 4 && now.matched() })

	s.inject(`{"path":"/lke/**","status":401,"body":"Invalid Token"}`)
	s.scale(8)
	s.until("the class says that the token is refused", 90*time.Second, func(state) bool {
		reason, ready := s.answers()
		return reason == "TokenRefused" && !ready
	})
	if !s.told("LinodeNodeClass", "TokenRefused", "give the controller a token with the scope lke:read_write") {
		t.Error("no event of the class reports it")
	}
	s.never("something is taken away, or the class is ready", func(now state) bool {
		_, ready := s.answers()
		return ready || now.running < 4 || len(now.nodes) != len(before.nodes)
	}, s.refusals())
	s.clearFaults()
	s.until("the token works again", 90*time.Second, func(state) bool {
		reason, ready := s.answers()
		return reason == linodev1alpha1.ConditionLinodeAnswers && ready
	})
	s.until("all pods run", time.Minute, func(now state) bool { return now.running == 8 && now.matched() })
}

// TestAStartWhileLinodeIsDown: the controller has run before, and finds no Linode when
// it starts again. It keeps running and ready, a NodePlan is applied, NodeClaims
// wait, and when Linode is back they get their machines.
func TestAStartWhileLinodeIsDown(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	elect := []string{"--leader-elect", "true", "--leader-election-namespace", "kube-system"}
	first := s.startController(elect...)
	s.source("fleet", fleet("", "general"))
	s.kube(strings.ReplaceAll(nodePlanOfConfigMap, "NAME", "fleet"), "apply", "-f", "-")
	s.untilPlan("fleet", "it is ready", because(lkeplanv1alpha1.ReasonSucceeded))
	s.applyAll(workload("general", 1))
	s.until("a pod runs", time.Minute, func(now state) bool { return now.running == 1 && now.matched() })
	first.stop()

	s.inject(`{"status":503,"body":"<html>down for maintenance</html>"}`)
	probes := freeAddress(t)
	second := s.startController(append(elect, "--health-probe-bind-address", probes)...)
	s.until("it is ready", 30*time.Second, func(state) bool {
		resp, err := http.Get("http://" + probes + "/readyz")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	s.source("fleet", fleet("", "general", "another"))
	s.until("the NodePlan's new pool is applied", time.Minute, func(state) bool { return len(s.pools()) == 2 })
	s.scaleTo("general", 3)
	s.until("NodeClaims wait, and the class says why", time.Minute, func(now state) bool {
		reason, ready := s.answers()
		return len(now.claims) == 3 && reason == "NoAnswer" && ready
	})
	s.never("the controller ends, or takes something away", func(now state) bool {
		return len(second.ended) > 0 || len(now.nodes) != 1 || now.running != 1
	}, s.refusals(), second.disruption())
	s.clearFaults()
	s.until("all pods run", time.Minute, func(now state) bool { return now.running == 3 && now.matched() })
}

// lastPort is the last port that freeAddress has returned.
var lastPort atomic.Int32

// freeAddress is an address that nothing listens on. Its port is below those that the
// kernel gives to clients and to listeners that ask for any, so that no test takes another's
// between the answer and its use.
func freeAddress(t testing.TB) string {
	t.Helper()
	const first, ports = 12000, 20000
	for range ports {
		port := first + (os.Getpid()*37+int(lastPort.Add(1)))%ports
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		if l, err := net.Listen("tcp", address); err == nil {
			l.Close()
			return address
		}
	}
	t.Fatal("no port is free")
	return ""
}
