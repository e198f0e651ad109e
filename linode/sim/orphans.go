package sim

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// orphan is the Node of a machine that is gone. Another machine may have its name by now.
type orphan struct{ name, machineID string }

// adopt finds the Nodes of this cluster whose machine is not there and was never seen, as after a restart.
func (n *nodes) adopt(objects map[string]*corev1.Node, machines []machine, now time.Time) {
	alive := map[string]machine{}
	for _, m := range machines {
		alive[m.name] = m
	}
	for name, node := range objects {
		if m, ok := alive[name]; (ok && m.owns(node)) || !n.ours(name) {
			continue
		}
		key := orphan{name, node.Status.NodeInfo.SystemUUID}
		if _, known := n.orphans[key]; !known {
			n.orphans[key] = now
		}
	}
}

// ours holds for the names that LKE gives to the nodes of this cluster.
func (n *nodes) ours(name string) bool {
	return strings.HasPrefix(name, fmt.Sprintf("lke%d-", n.cluster))
}

// bury deletes the orphans whose time has come, as the cloud controller's node lifecycle does. (The real one waits for
// the Node to be not ready first; here it is the configured delay.) It returns when the next one is due.
func (n *nodes) bury(ctx context.Context, now time.Time) (next time.Time, err error) {
	var due []orphan
	for key, since := range n.orphans {
		if at := since.Add(n.sim.cfg.NodeGoneDelay); at.After(now) {
			next = earlier(next, at)
		} else {
			due = append(due, key)
		}
	}
	_, err = each(due, func(key orphan) (time.Time, error) { return time.Time{}, n.delete(ctx, key) })
	if err != nil {
		return next, err // all of them again; who is gone is found gone
	}
	for _, key := range due {
		delete(n.orphans, key)
	}
	return next, nil
}

// delete removes exactly that Node, not one that has come to its name since. One that is being deleted already, and
// waits for somebody's finalizer, is left to them.
func (n *nodes) delete(ctx context.Context, key orphan) error {
	node, err := getNode(ctx, n.objects(), key.name)
	if err != nil {
		return fmt.Errorf("node %s: %w", key.name, err)
	}
	if node == nil || node.Status.NodeInfo.SystemUUID != key.machineID || node.DeletionTimestamp != nil {
		return nil
	}
	return deleteNode(ctx, n.objects(), node, n.log)
}
