package simulate

import (
	"context"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/lkeplan/lkeplan/linode/instancetype"
)

// offered is the provider while no node changes. It offers a pool only the plan types that the pool allows or that
// its nodes have, because Karpenter looks at each plan type of each pool again for each node that it may remove:
// with 30 pools, that was two thirds of the time. The result is the same, because Karpenter drops the other plan
// types later, except as domains of a topology. Therefore it offers all plan types if a pod uses a label of plan
// types as a topology key.
type offered struct {
	cloudprovider.CloudProvider
	overlay func(pool string, types []*cloudprovider.InstanceType) ([]*cloudprovider.InstanceType, error) // nil if there are no NodeOverlays
	all     bool
	has     map[string]map[string]bool // plan types of the nodes of each pool
	known   map[string][]*cloudprovider.InstanceType
}

func (w *cluster) offered() *offered {
	o := &offered{CloudProvider: w.provider, overlay: w.chooser.Overlay, all: w.uncached, has: map[string]map[string]bool{},
		known: map[string][]*cloudprovider.InstanceType{}}
	for _, m := range w.made {
		if o.has[m.pool()] == nil {
			o.has[m.pool()] = map[string]bool{}
		}
		o.has[m.pool()][m.plan()] = true
	}
	for _, load := range w.workloads {
		o.all = o.all || dividesNodes(load.Pod.Spec)
	}
	return o
}

// GetInstanceTypes implements cloudprovider.CloudProvider.
func (o *offered) GetInstanceTypes(ctx context.Context, pool *karpv1.NodePool) ([]*cloudprovider.InstanceType, error) {
	if types, known := o.known[pool.Name]; known {
		return types, nil
	}
	types, err := o.CloudProvider.GetInstanceTypes(ctx, pool)
	if err == nil && o.overlay != nil {
		types, err = o.overlay(pool.Name, types)
	}
	if err != nil {
		return nil, err
	}
	want := instancetype.RequirementsOf(pool)
	var fit []*cloudprovider.InstanceType
	for _, it := range types {
		if o.all || o.has[pool.Name][it.Name] || it.Requirements.Intersects(want) == nil {
			fit = append(fit, it)
		}
	}
	o.known[pool.Name] = fit
	return fit, nil
}
