package sim

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
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

// due is when the machine's next step is to be taken, if there is one that does not wait for the next sync.
func (t *task) due() (at time.Time, ever bool) {
	switch {
	case t.registered.IsZero():
		return t.joins, !t.leaving
	case t.memory.edition != t.edition:
		return t.registered, true
	case !t.memory.finished:
		return t.registered.Add(t.ccm), true
	}
	return time.Time{}, false
}

// reconcile takes one machine through all the steps that are due, each a write of its own as in reality. It returns
// when to come back; zero is never.
func (n *nodes) reconcile(ctx context.Context, t task, now time.Time) (again time.Time, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("node %s: %w", t.name, err)
		}
	}()
	if t.registered.IsZero() {
		if t.leaving {
			return time.Time{}, nil
		}
		if t.joins.After(now) {
			return t.joins, nil
		}
		if again, err = n.join(ctx, &t, now); err != nil || t.registered.IsZero() {
			return again, err
		}
	} else if !t.listed {
		if t.node, err = getNode(ctx, n.objects(), t.name); err != nil {
			return time.Time{}, err
		}
	}
	if t.node == nil || !t.owns(t.node) { // somebody deleted it
		t.memory.edition, t.memory.finished = t.edition, true
		return time.Time{}, nil
	}
	if err := n.imposePool(ctx, &t); err != nil || t.node == nil {
		return time.Time{}, err
	}
	if due := t.registered.Add(t.ccm); due.After(time.Now()) {
		return due, nil
	}
	return time.Time{}, n.finish(ctx, &t)
}

// join registers the machine's Node. Where an older one of the same name is still there, it says when to try again.
func (n *nodes) join(ctx context.Context, t *task, now time.Time) (again time.Time, err error) {
	if t.node == nil {
		t.node, err = n.client.CoreV1().Nodes().Create(ctx, t.bare(metav1.Now()), metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) { // an old one, or an answer was lost
			t.node, err = getNode(ctx, n.objects(), t.name)
		}
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("register: %w", err)
	}
	if t.node == nil || !t.owns(t.node) {
		return now.Add(stale), nil
	}
	t.registered = time.Now()
	n.sim.noteRegistered(t.instance, t.registered)
	n.log.Info("node joined", "node", t.name, "instance", t.instance, "plan", t.plan.ID)
	return time.Time{}, nil
}

// imposePool enrols a new node, and puts the pool's labels and taints on one whose pool changed or whose time has come.
func (n *nodes) imposePool(ctx context.Context, t *task) error {
	if t.enrolled(t.node) && t.memory.edition == t.edition && !t.listed {
		return nil
	}
	wanted := desired{t.labels, t.taints}
	node, err := updateNode(ctx, n.objects(), t.node, func(node *corev1.Node) {
		t.enrol(node)
		wanted.impose(t.memory.imposed, node)
	})
	if err != nil {
		return fmt.Errorf("put the pool's labels and taints on it: %w", err)
	}
	t.node, t.memory.imposed, t.memory.edition = node, wanted, t.edition
	return nil
}

// finish is the cloud controller's update and, after it, that of the storage driver.
func (n *nodes) finish(ctx context.Context, t *task) (err error) {
	if !t.completed(t.node) {
		if t.node, err = updateNode(ctx, n.objects(), t.node, t.complete); err != nil {
			return fmt.Errorf("give it its providerID: %w", err)
		}
	}
	if t.node != nil && t.node.Labels[csiRegionLabel] == "" {
		if _, err := updateNode(ctx, n.objects(), t.node, t.attachVolumes); err != nil {
			return fmt.Errorf("label it for volumes: %w", err)
		}
	}
	t.memory.finished = true
	return nil
}

// updateNode writes a change to a Node, on the newest one where others were quicker. It returns none where the Node is
// gone, and does not write where nothing would change.
func updateNode(
	ctx context.Context, client typedcorev1.NodeInterface, node *corev1.Node, change func(*corev1.Node),
) (*corev1.Node, error) {
	for try := 0; node != nil; try++ {
		next := node.DeepCopy()
		change(next)
		if equality.Semantic.DeepEqual(node, next) {
			return node, nil
		}
		written, err := client.Update(ctx, next, metav1.UpdateOptions{})
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		if !apierrors.IsConflict(err) || try == conflicts {
			return written, err
		}
		if node, err = getNode(ctx, client, node.Name); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// getNode returns the Node of that name, or none.
func getNode(ctx context.Context, client typedcorev1.NodeInterface, name string) (*corev1.Node, error) {
	node, err := client.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get it: %w", err)
	}
	return node, nil
}
