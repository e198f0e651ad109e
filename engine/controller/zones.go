package controller

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode"
)

// List implements client.Client. NodePools that allow zones of other regions besides
// this one, such as those of one configuration for many clusters, are shown without
// them, as linode.Narrow says.
func (c claimClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := c.Client.List(ctx, list, opts...); err != nil {
		return err
	}
	if pools, ok := list.(*karpv1.NodePoolList); ok {
		for i := range pools.Items {
			linode.Narrow(&pools.Items[i], c.region)
		}
	}
	return nil
}
