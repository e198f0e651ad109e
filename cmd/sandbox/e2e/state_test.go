package e2e

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/lkesim"
)

// state is what exists at one moment.
type state struct {
	nodes   []corev1.Node // without the system's
	claims  []karpv1.NodeClaim
	running int // pods
	pending int
	linode  lkesim.Stats
}

func (s state) String() string {
	return fmt.Sprintf("%d nodes, %d NodeClaims, %d slots and %d instances at LKE, %d pods running, %d not",
		len(s.nodes), len(s.claims), s.linode.Slots, s.linode.Live, s.running, s.pending)
}

// empty reports whether no capacity is left anywhere.
func (s state) empty() bool {
	return len(s.nodes)+len(s.claims)+s.linode.Slots+s.linode.Live+s.linode.Pools == 0
}

// matched reports whether each NodeClaim has its slot and its ready node.
func (s state) matched() bool {
	for _, n := range s.nodes {
		if n.Labels[karpv1.NodeInitializedLabelKey] != "true" || !n.DeletionTimestamp.IsZero() {
			return false
		}
	}
	return len(s.nodes) == len(s.claims) && len(s.claims) == s.linode.Slots && s.linode.Slots == s.linode.Live
}

// deleting reports whether a node or a NodeClaim is marked as deleted.
func (s state) deleting() bool {
	return slices.ContainsFunc(s.nodes, func(n corev1.Node) bool { return !n.DeletionTimestamp.IsZero() }) ||
		slices.ContainsFunc(s.claims, func(nc karpv1.NodeClaim) bool { return !nc.DeletionTimestamp.IsZero() })
}

// state lists what exists. An API server that is short of processors may not answer in
// time: it is asked again, for a minute.
func (s *sandbox) state() state {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		now, err := s.look()
		if err == nil {
			return now
		}
		if time.Now().After(deadline) {
			s.t.Fatal(err)
		}
	}
}

func (s *sandbox) look() (state, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
	defer cancel()
	var nodes corev1.NodeList
	var claims karpv1.NodeClaimList
	var pods corev1.PodList
	for _, list := range []client.ObjectList{&nodes, &claims, &pods} {
		if err := s.client.List(ctx, list); err != nil {
			return state{}, err
		}
	}
	nodes.Items = slices.DeleteFunc(nodes.Items, func(n corev1.Node) bool { return n.Name == systemNode })
	now := state{nodes: nodes.Items, claims: claims.Items, linode: s.stats()}
	for _, p := range pods.Items {
		if p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp.IsZero() {
			now.running++
		} else {
			now.pending++
		}
	}
	return now, nil
}

// patience is how much longer than on a machine of its own a test waits for what must
// come about: with other sandboxes beside it, a sandbox has a part of the processors only.
const patience = 3

// until polls the state until it holds, and fails the test with the last state when the
// time is up: within, on a machine of its own.
func (s *sandbox) until(what string, within time.Duration, holds func(state) bool) state {
	s.t.Helper()
	started := time.Now()
	deadline := started.Add(patience * within)
	for {
		now := s.state()
		if holds(now) {
			s.t.Logf("after %s: %s", time.Since(started).Round(100*time.Millisecond), what)
			return now
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("timed out after %s waiting until %s; last seen: %s\n%s\n%s", patience*within, what, now,
				s.kube("", "get", "pods,nodes,nodeclaims,poddisruptionbudgets", "-A", "-o", "wide"),
				tail(s.kube("", "get", "events", "-A", "--sort-by=.lastTimestamp"), 40))
		}
		time.Sleep(200 * time.Millisecond)
	}
}
