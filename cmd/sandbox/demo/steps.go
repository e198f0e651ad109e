package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/lkeplan/lkeplan/linode/lkesim"
)

// steps are the steps of the demo, in order.
func (d *demo) steps() []step {
	return []step{
		{"kubectl apply -f schemas/crd/", d.install},
		{"git commit: examples/quickstart becomes a repository", d.firstCommit},
		{"kubectl apply NodePlan: the repository is applied", d.startController},
		{"kubectl scale deployment inflate --replicas 5", d.scaleUp},
		{"git commit: the pool gets a label; its nodes roll", d.rollOut},
		{"kubectl delete node: drained, its Linode deleted", d.deleteNode},
		{"kubectl delete deployment inflate: nodes go", d.scaleDown},
	}
}

func (d *demo) install(ctx context.Context) (string, error) {
	if err := kubectl(ctx, "apply", "-f", filepath.Join(d.root, "schemas/crd")); err != nil {
		return "", err
	}
	return "", d.until(ctx, 20*time.Second, func(ctx context.Context) (bool, string, error) {
		_, err := d.cluster.nodeClaims(ctx)
		return err == nil, "the API server does not serve NodeClaims", nil
	})
}

func (d *demo) firstCommit(ctx context.Context) (string, error) {
	if err := d.repo.create(ctx, filepath.Join(d.root, "examples/quickstart")); err != nil {
		return "", err
	}
	return d.repo.commit(ctx, "Provide nodes for everybody")
}

// nodePlan has the controller follow the branch main of a repository. A forge
// would be asked less often.
const nodePlan = `apiVersion: lkeplan.dev/v1alpha1
kind: NodePlan
metadata: {name: platform, namespace: default}
spec:
  interval: 10m
  retryInterval: 1s
  git: {url: %q, interval: 1s}
`

func (d *demo) startController(ctx context.Context) (string, error) {
	url, stop, err := d.repo.serve()
	if err != nil {
		return "", err
	}
	d.forge = stop
	if err := d.controller.start(); err != nil {
		return "", err
	}
	plan := filepath.Join(d.dir, "nodeplan.yaml")
	if err := os.WriteFile(plan, fmt.Appendf(nil, nodePlan, url), 0o644); err != nil {
		return "", err
	}
	if err := kubectl(ctx, "apply", "-f", plan); err != nil {
		return "", err
	}
	err = d.until(ctx, 30*time.Second, func(ctx context.Context) (bool, string, error) {
		ready, err := d.cluster.poolReady(ctx, "general")
		return ready, "NodePool general is not ready", err
	})
	return "NodePool general is ready", err
}

func (d *demo) scaleUp(ctx context.Context) (string, error) {
	if err := d.cluster.deploy(ctx, "inflate"); err != nil {
		return "", err
	}
	if err := kubectl(ctx, "scale", "deployment", "inflate", "--replicas", "5"); err != nil {
		return "", err
	}
	err := d.settled(ctx, 60*time.Second, func(s state) bool { return s.running == 5 && len(s.nodes) > 0 })
	return fmt.Sprintf("5 pods run on %s", d.cluster.describe()), err
}

func (d *demo) rollOut(ctx context.Context) (string, error) {
	before := d.cluster.nodesSeen
	err := d.repo.edit("consolidate_after = \"30s\"", "consolidate_after = \"1s\"",
		"  limits = { cpu = 1000 }\n", "  limits = { cpu = 1000 }\n\n  labels = { \"example.com/team\" = \"platform\" }\n")
	if err != nil {
		return "", err
	}
	id, err := d.repo.commit(ctx, "Label the nodes; give idle ones back sooner")
	if err != nil {
		return "", err
	}
	err = d.settled(ctx, 90*time.Second, func(s state) bool {
		old := func(n corev1.Node) bool { return n.Labels["example.com/team"] != "platform" || before[n.Name] }
		return s.running == 5 && len(s.nodes) > 0 && !slices.ContainsFunc(s.nodes, old)
	})
	return fmt.Sprintf("%s; 5 pods run on %s", id, d.cluster.describe()), err
}

func (d *demo) deleteNode(ctx context.Context) (string, error) {
	victim := d.cluster.anyNode()
	linodes, err := d.linode.stats(ctx)
	if err != nil {
		return "", err
	}
	if err := kubectl(ctx, "delete", "node", victim); err != nil {
		return "", err
	}
	err = d.settled(ctx, 60*time.Second, func(s state) bool {
		return !d.cluster.nodesSeen[victim] && s.running == 5 && s.linode.Deleted > linodes.Deleted
	})
	return fmt.Sprintf("%s is gone; 5 pods run on %s", victim, d.cluster.describe()), err
}

func (d *demo) scaleDown(ctx context.Context) (string, error) {
	if err := kubectl(ctx, "delete", "deployment", "inflate"); err != nil {
		return "", err
	}
	return "no node, no NodeClaim, no Linode", d.settled(ctx, 90*time.Second, func(s state) bool {
		return len(s.nodes) == 0 && s.claims == 0 && s.linode.Live == 0 && s.linode.Pools == 0
	})
}

// state is what exists at one moment.
type state struct {
	nodes   []corev1.Node
	claims  int
	running int
	linode  lkesim.Stats
}

// consistent reports whether each machine has its claim and its ready node.
func (s state) consistent() bool {
	joining := func(n corev1.Node) bool { return !ready(n) }
	return len(s.nodes) == s.claims && s.claims == s.linode.Slots && !slices.ContainsFunc(s.nodes, joining)
}

// settled waits until the condition holds and every machine has its claim and
// its node.
func (d *demo) settled(ctx context.Context, within time.Duration, holds func(state) bool) error {
	return d.until(ctx, within, func(ctx context.Context) (bool, string, error) {
		s, err := d.read(ctx)
		seen := fmt.Sprintf("%d nodes, %d NodeClaims, %d slots at LKE, %d pods running", len(s.nodes), s.claims,
			s.linode.Slots, s.running)
		return err == nil && s.consistent() && holds(s), seen, err
	})
}

func (d *demo) read(ctx context.Context) (s state, err error) {
	if s.nodes, err = d.cluster.nodes(ctx); err != nil {
		return s, err
	}
	if s.claims, err = d.cluster.nodeClaims(ctx); err != nil {
		return s, err
	}
	if s.running, err = d.cluster.runningPods(ctx); err != nil {
		return s, err
	}
	s.linode, err = d.linode.stats(ctx)
	return s, err
}

// until polls, and fails with what was last seen when it takes too long or when
// the controller has ended.
func (d *demo) until(ctx context.Context, within time.Duration,
	holds func(context.Context) (ok bool, seen string, err error)) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	last := "nothing"
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, seen, err := holds(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			return err
		case ok:
			return nil
		case ctx.Err() == nil:
			last = seen
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("timed out after %s; last seen: %s", within, last)
		case err := <-d.controller.ended:
			return fmt.Errorf("the controller ended: %w", err)
		case <-tick.C:
		}
	}
}
