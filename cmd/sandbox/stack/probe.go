package stack

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// probeNode is the node that shows that KWOK plays nodes: an answer on KWOK's port would
// only show that the process listens. It is gone again before the sandbox is reported
// ready.
const probeNode = "sandbox-probe"

func (c *checker) makeProbe(ctx context.Context) error {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: probeNode},
		Spec: corev1.NodeSpec{
			Unschedulable: true,
			Taints:        []corev1.Taint{{Key: "lkeplan.dev/" + probeNode, Effect: corev1.TaintEffectNoExecute}},
		},
	}
	_, err := c.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func (c *checker) probeReady(ctx context.Context) error {
	node, err := c.client.CoreV1().Nodes().Get(ctx, probeNode, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
			return nil
		}
	}
	return fmt.Errorf("node %s does not become ready", probeNode)
}

// removeProbe returns nil when neither the node nor its lease is left. KWOK may renew
// the lease once more after the node went, so it is deleted until it stays away.
func (c *checker) removeProbe(ctx context.Context) error {
	err := c.client.CoreV1().Nodes().Delete(ctx, probeNode, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("node %s does not go away: %w", probeNode, orStill(err))
	}
	err = c.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Delete(ctx, probeNode, metav1.DeleteOptions{})
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("the lease of node %s does not go away: %w", probeNode, orStill(err))
	}
	return nil
}

// orStill returns an error for a deletion that was accepted: it has to be polled.
func orStill(err error) error {
	if err == nil {
		return errors.New("it was there a moment ago")
	}
	return err
}
