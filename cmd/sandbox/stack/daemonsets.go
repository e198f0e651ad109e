package stack

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/linode/lke"
)

// runDaemonSets returns nil once the cluster has the DaemonSets that LKE runs on each node.
func (c *componentChecker) runDaemonSets(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	for _, set := range lke.DaemonSets() {
		_, err := c.client.AppsV1().DaemonSets(set.Namespace).Create(ctx, set, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}
