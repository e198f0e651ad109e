package instance

import (
	"context"
	"fmt"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// neededGroups are the placement groups that NodeClaims are ordered in and those that
// NodePools ask for, read live.
func (i *Machines) neededGroups(ctx context.Context) (needed []PoolGroup, err error) {
	var claims karpv1.NodeClaimList
	if err := i.cfg.Live.List(ctx, &claims); err != nil {
		return nil, fmt.Errorf("list the NodeClaims: %w", err)
	}
	for k := range claims.Items {
		o, err := DecodeOrder(claims.Items[k].Annotations[AnnotationOrder])
		if err == nil && o.PoolGroup != nil {
			needed = append(needed, *o.PoolGroup)
		}
	}
	var classes linodev1alpha1.LinodeNodeClassList
	if err := i.cfg.Live.List(ctx, &classes); err != nil {
		return nil, fmt.Errorf("list the LinodeNodeClasses: %w", err)
	}
	byName := map[string]*linodev1alpha1.LinodeNodeClass{}
	for k := range classes.Items {
		byName[classes.Items[k].Name] = &classes.Items[k]
	}
	var pools karpv1.NodePoolList
	if err := i.cfg.Live.List(ctx, &pools); err != nil {
		return nil, fmt.Errorf("list the NodePools: %w", err)
	}
	for k := range pools.Items {
		needed = append(needed, askedFor(&pools.Items[k], byName)...)
	}
	return needed, nil
}

// askedFor are the groups that a NodePool may ask for: where its class is not there, of any
// policy.
func askedFor(pool *karpv1.NodePool, classes map[string]*linodev1alpha1.LinodeNodeClass) (groups []PoolGroup) {
	policies := []string{linodev1alpha1.PolicyStrict, linodev1alpha1.PolicyFlexible}
	if ref := pool.Spec.Template.Spec.NodeClassRef; ref != nil && classes[ref.Name] != nil {
		policies = nil
		if of := perPool(classes[ref.Name]); of != nil {
			policies = []string{of.Policy}
		}
	}
	for _, policy := range policies {
		groups = append(groups, PoolGroup{Pool: pool.Name, Policy: policy})
	}
	return groups
}
