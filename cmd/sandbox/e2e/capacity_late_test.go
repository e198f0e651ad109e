package e2e

import (
	"context"
	"slices"
	"testing"
	"time"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// lateBy is the delay of a call of the simulator that gets no answer.
const lateBy = 20 * time.Second

// expectsLate has the controller wait for a late call as long as the simulator needs, and not
// as long as Linode may.
var expectsLate = []string{"--late-calls", "40s"}

// TestLateOrPartialCalls: in turn a POST, a PUT and a DELETE are answered 504 and done
// 20 s later, while demand continues, a PUT is clamped, a machine dies before it joins, and LKE
// recycles all nodes. No pod that runs is touched but by the recycle, and each time there are
// as many machines as nodes in the end.
func TestLateOrPartialCalls(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	s.startController()
	s.run("lkeplan", "apply", "--yes", "testdata/four")
	s.applyAll(file(t, "inflate.yaml"))

	s.late("POST", "/lke/clusters/*/pools")
	s.scale(4)
	first := s.whole("the late POST", 4)
	if first.linode.Made != 1 {
		t.Errorf("%d machines were made for one node", first.linode.Made)
	}

	s.late("PUT", "/lke/clusters/*/pools/*")
	s.scale(8)
	s.until("the PUT was sent", time.Minute, func(state) bool { return s.hit() })
	sent := time.Now()
	s.scale(16)
	s.whole("the late PUT", 16)
	up := s.until("it has come, and took nothing", time.Minute, func(now state) bool {
		return time.Since(sent) > lateBy+5*time.Second && now.running == 16 && len(now.nodes) == 4
	})
	if !slices.ContainsFunc(up.claims, func(nc karpv1.NodeClaim) bool { return nc.Name == first.claims[0].Name }) {
		t.Error("the first node was lost")
	}

	s.inject(`{"no_capacity":"clamp"}`)
	puts := s.puts()
	s.scale(20)
	s.until("a clamped PUT was tried again", time.Minute, func(state) bool { return s.puts() >= puts+2 })
	s.clearFaults()
	s.whole("a clamped PUT", 20)

	s.late("DELETE", "/lke/clusters/*/nodes/*")
	s.scale(16)
	s.until("the DELETE was sent", 2*time.Minute, func(state) bool { return s.hit() })
	sent = time.Now()
	s.scale(20)
	s.until("the late DELETE took no machine of a claim", 3*time.Minute, func(now state) bool {
		return time.Since(sent) > lateBy+5*time.Second && now.running == 20 && now.pending == 0 && now.matched()
	})

	s.scale(24)
	s.loseFirst()
	start := time.Now()
	s.whole("a machine that died before it joined", 24)
	if took := time.Since(start); took > slowdown*2*time.Minute {
		t.Errorf("another took %s", took)
	}

	before := s.until("", time.Minute, func(state) bool { return true })
	s.recycleAll()
	after := s.until("all pods run on other machines", 5*time.Minute, func(now state) bool {
		return now.running == 24 && now.pending == 0 && len(now.nodes) == 6 && now.matched() &&
			!slices.ContainsFunc(now.claims, func(nc karpv1.NodeClaim) bool {
				return slices.ContainsFunc(before.claims, func(old karpv1.NodeClaim) bool { return nc.Name == old.Name })
			})
	})
	if made := after.linode.Made - before.linode.Made; made > 7 {
		t.Errorf("the recycle of 6 nodes made %d machines", made)
	}
}

// loseFirst has the host die of the next machine that is bound and has not joined. The time
// between is short, so it watches.
func (s *sandbox) loseFirst() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	seen, err := s.client.Watch(ctx, &karpv1.NodeClaimList{})
	if err != nil {
		s.t.Fatal(err)
	}
	defer seen.Stop()
	for e := range seen.ResultChan() {
		nc, ok := e.Object.(*karpv1.NodeClaim)
		if ok && nodeclaim.InstanceOf(nc.Status.ProviderID) != 0 &&
			!nc.StatusConditions().Get(karpv1.ConditionTypeRegistered).IsTrue() {
			s.lose(*nc)
			return
		}
	}
	s.t.Fatal("no machine was bound that had not joined")
}
