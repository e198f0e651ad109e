package lkesim

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// conflicts is how often a write is tried again on a newer Node; others write to it as well.
	conflicts = 8
	// stale is how long to wait for an old Node of the same name to go.
	stale = time.Second
)

// owns holds where the Node is of this machine, and not of one that had the slot before. A Node that does not say
// whose it is, is taken for ours.
func (m *machine) owns(node *corev1.Node) bool {
	id := node.Status.NodeInfo.SystemUUID
	return id == "" || id == m.machineID
}

// tend takes one machine through all the steps that are due, each a write of its own as in reality. It returns when
// to come back; zero is never.
func (n *nodes) tend(ctx context.Context, m machine, node *corev1.Node, syncing bool, now time.Time) (again time.Time, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("node %s: %w", m.name, err)
		}
	}()
	if node == nil || !m.owns(node) {
		switch {
		case !m.registered.IsZero() || m.leaving:
			return time.Time{}, nil
		case m.joins.After(now):
			return m.joins, nil
		case node != nil:
			return now.Add(stale), nil
		}
		created, err := n.join(ctx, m)
		if err != nil || created == nil {
			return now.Add(stale), err
		}
		node = created
	}
	if m.registered.IsZero() {
		m.registered = time.Now()
		n.sim.noteRegistered(m.instance, m.registered)
	}
	node, err = n.imposePool(ctx, m, node, syncing)
	if err != nil || node == nil {
		return time.Time{}, err
	}
	if due := m.registered.Add(m.ccm); due.After(time.Now()) {
		return due, nil
	}
	return time.Time{}, n.finish(ctx, m, node)
}

// join registers the Node. It returns none where an older one of the same name is still there.
func (n *nodes) join(ctx context.Context, m machine) (*corev1.Node, error) {
	node, err := n.client.CoreV1().Nodes().Create(ctx, m.bare(metav1.Now()), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) { // an answer was lost, or the list was old
		node, err = n.client.CoreV1().Nodes().Get(ctx, m.name, metav1.GetOptions{})
		if err == nil && !m.owns(node) {
			return nil, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("register: %w", err)
	}
	n.log.Info("node joined", "node", m.name, "instance", m.instance, "plan", m.plan.ID)
	return node, nil
}

// imposePool enrols a new node, and puts the pool's labels and taints on one whose pool changed or whose time has come.
func (n *nodes) imposePool(ctx context.Context, m machine, node *corev1.Node, syncing bool) (*corev1.Node, error) {
	n.mu.Lock()
	before, known := n.imposed[m.instance]
	n.mu.Unlock()
	if m.enrolled(node) && known && before.edition == m.edition && !syncing {
		return node, nil
	}
	now := imposed{desired: desired{m.labels, m.taints}, edition: m.edition}
	node, err := n.update(ctx, node, func(node *corev1.Node) {
		m.enrol(node)
		now.impose(before.desired, node)
	})
	if err != nil {
		return nil, fmt.Errorf("put the pool's labels and taints on it: %w", err)
	}
	n.mu.Lock()
	n.imposed[m.instance] = now
	n.mu.Unlock()
	return node, nil
}

// finish is the cloud controller's update and, after it, that of the storage driver.
func (n *nodes) finish(ctx context.Context, m machine, node *corev1.Node) error {
	if !m.completed(node) {
		updated, err := n.update(ctx, node, m.complete)
		if err != nil {
			return fmt.Errorf("give it its providerID: %w", err)
		}
		node = updated
	}
	if node == nil || node.Labels[csiRegionLabel] != "" {
		return nil
	}
	if _, err := n.update(ctx, node, m.attachVolumes); err != nil {
		return fmt.Errorf("label it for volumes: %w", err)
	}
	return nil
}

// update writes a change to a Node, on the newest one where others were quicker. It returns none where the Node is
// gone, and does not write where nothing would change.
func (n *nodes) update(ctx context.Context, node *corev1.Node, change func(*corev1.Node)) (*corev1.Node, error) {
	for try := 0; ; try++ {
		next := node.DeepCopy()
		change(next)
		if equality.Semantic.DeepEqual(node, next) {
			return node, nil
		}
		written, err := n.client.CoreV1().Nodes().Update(ctx, next, metav1.UpdateOptions{})
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		if !apierrors.IsConflict(err) || try == conflicts {
			return written, err
		}
		node, err = n.client.CoreV1().Nodes().Get(ctx, node.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// delete removes exactly that Node, not one that has come to its name since.
func (n *nodes) delete(ctx context.Context, node *corev1.Node) error {
	options := metav1.DeleteOptions{}
	if node.UID != "" {
		options.Preconditions = &metav1.Preconditions{UID: &node.UID}
	}
	err := n.client.CoreV1().Nodes().Delete(ctx, node.Name, options)
	if err == nil {
		n.log.Info("node removed, its instance is gone", "node", node.Name)
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete node %s: %w", node.Name, err)
	}
	return nil
}
