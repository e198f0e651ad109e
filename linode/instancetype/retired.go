package instancetype

import (
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"
)

// Retired makes types of the plan types that NodeClaims have and a Set does not: the
// price list that a controller starts with may lack a plan that Linode no longer
// sells, or that is newer than the built-in list. Karpenter replaces nodes whose type
// it is not told of (karpenter v1.14.1, instanceTypeNotFound in
// pkg/controllers/nodeclaim/disruption), and that is nobody's wish.
type Retired struct {
	mu    sync.Mutex
	types map[string]*cloudprovider.InstanceType
}

// Add returns types, and one for each plan type of the claims that is missing, as
// the claims describe it. Nothing can be made of it. The types are not changed.
func (r *Retired) Add(types []*cloudprovider.InstanceType, claims []*karpv1.NodeClaim) []*cloudprovider.InstanceType {
	known := make(map[string]bool, len(types))
	for _, it := range types {
		known[it.Name] = true
	}
	missing := map[string]*karpv1.NodeClaim{}
	for _, nc := range claims {
		if plan := nc.Labels[corev1.LabelInstanceTypeStable]; plan != "" && !known[plan] {
			missing[plan] = nc
		}
	}
	if len(missing) == 0 {
		return types
	}
	types = slices.Clone(types)
	for _, plan := range slices.Sorted(maps.Keys(missing)) {
		types = append(types, r.of(plan, missing[plan]))
	}
	return types
}

// of returns the type of a plan. It keeps its pointer, as those of a Set do.
func (r *Retired) of(plan string, nc *karpv1.NodeClaim) *cloudprovider.InstanceType {
	r.mu.Lock()
	defer r.mu.Unlock()
	if it := r.types[plan]; it != nil {
		return it
	}
	in := func(key string) *scheduling.Requirement {
		return scheduling.NewRequirement(key, corev1.NodeSelectorOpIn, nc.Labels[key])
	}
	it := &cloudprovider.InstanceType{
		Name:         plan,
		Requirements: scheduling.NewLabelRequirements(nc.Labels),
		Offerings: cloudprovider.Offerings{{
			Requirements: scheduling.NewRequirements(in(corev1.LabelTopologyZone), in(karpv1.CapacityTypeLabelKey)),
		}},
		Capacity: nc.Status.Capacity.DeepCopy(),
		Overhead: &cloudprovider.InstanceTypeOverhead{},
	}
	if r.types == nil {
		r.types = map[string]*cloudprovider.InstanceType{}
	}
	r.types[plan] = it
	return it
}
