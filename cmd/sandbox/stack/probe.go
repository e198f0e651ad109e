package stack

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// probeNode is the node that shows that KWOK plays nodes. It is gone again before
// anybody is told that the sandbox is ready.
const probeNode = "sandbox-probe"

// probeKWOK makes a node, waits until KWOK has made it ready, and removes it with
// what else bears its name. An answer on KWOK's port would only show that the
// process listens.
func (c *checker) probeKWOK(ctx context.Context) error {
	nodes := c.client.CoreV1().Nodes()
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: probeNode},
		Spec: corev1.NodeSpec{
			Unschedulable: true,
			Taints:        []corev1.Taint{{Key: "lkeplan.dev/" + probeNode, Effect: corev1.TaintEffectNoExecute}},
		},
	}
	if _, err := nodes.Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create a node: %w", err)
	}
	err := poll(ctx, nil, func(ctx context.Context) error {
		node, err := nodes.Get(ctx, probeNode, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return nodeReady(node)
	})
	if err != nil {
		return err
	}
	if err := nodes.Delete(ctx, probeNode, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}); err != nil {
		return fmt.Errorf("delete a node: %w", err)
	}
	return poll(ctx, nil, c.probeGone)
}

func nodeReady(node *corev1.Node) error {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
			return nil
		}
	}
	return fmt.Errorf("node %s does not become ready", node.Name)
}

// probeGone returns nil when neither the node nor its lease is left. KWOK may
// renew the lease once more after the node went, so it is deleted until it stays
// away.
func (c *checker) probeGone(ctx context.Context) error {
	_, err := c.client.CoreV1().Nodes().Get(ctx, probeNode, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("node %s does not go away: %v", probeNode, err)
	}
	err = c.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Delete(ctx, probeNode, metav1.DeleteOptions{})
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("the lease of node %s does not go away: %v", probeNode, err)
	}
	return nil
}
