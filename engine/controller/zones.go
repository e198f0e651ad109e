package controller

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// List implements client.Client. NodePools that allow zones of other regions besides
// this one, such as those of one configuration for many clusters, are shown without
// them: Karpenter takes every zone that some NodePool names for one that is there, and
// would spread pods of others over it, which then wait for ever (karpenter v1.14.1,
// buildDomainGroups in pkg/controllers/provisioning/scheduling/topology.go). A
// NodePool that allows none but others is not ready, and not planned with at all.
func (c claimClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := c.Client.List(ctx, list, opts...); err != nil {
		return err
	}
	if pools, ok := list.(*karpv1.NodePoolList); ok {
		for i := range pools.Items {
			narrow(&pools.Items[i], c.region)
		}
	}
	return nil
}

// narrow leaves of the zones and regions that a NodePool allows the one that is there.
func narrow(pool *karpv1.NodePool, region string) {
	spec := &pool.Spec.Template.Spec
	for i, r := range spec.Requirements {
		place := r.Key == corev1.LabelTopologyZone || r.Key == corev1.LabelTopologyRegion
		if place && r.Operator == corev1.NodeSelectorOpIn && len(r.Values) > 1 && slices.Contains(r.Values, region) {
			spec.Requirements = slices.Clone(spec.Requirements)
			spec.Requirements[i].Values = []string{region}
		}
	}
}
