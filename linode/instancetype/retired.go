package instancetype

import (
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"
)

// Retired adds types for plan types that NodeClaims have and a Set does not: the price list with which a controller
// starts may lack a plan that Linode does not sell any more, or that is newer than the built-in list. Without them,
// Karpenter would replace the nodes (karpenter v1.15.0, instanceTypeNotFound in
// pkg/controllers/nodeclaim/disruption).
type Retired struct {
	mu    sync.Mutex
	types map[string]*cloudprovider.InstanceType // by plan
	pools map[string]retiredOf
}

// retiredOf has the missing types of the nodes of one NodePool.
type retiredOf struct {
	asked time.Time
	types []*cloudprovider.InstanceType
}

// askEvery is how often the NodeClaims of a NodePool are checked. It can be rare, because new NodeClaims have types
// of the Set.
const askEvery = 5 * time.Minute

// Add returns types, with an additional one for each plan type of the NodePool's claims that is missing. The
// additional ones have no available offering. It does not change its argument.
func (r *Retired) Add(pool string, types []*cloudprovider.InstanceType,
	claims func() ([]karpv1.NodeClaim, error)) ([]*cloudprovider.InstanceType, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of, asked := r.pools[pool]
	if !asked || time.Since(of.asked) >= askEvery {
		list, err := claims()
		if err != nil {
			return nil, err
		}
		of = retiredOf{time.Now(), r.missing(types, list)}
		if r.pools == nil {
			r.pools = map[string]retiredOf{}
		}
		r.pools[pool] = of
	}
	if len(of.types) == 0 {
		return types, nil
	}
	back := func(it *cloudprovider.InstanceType) bool { // on the price list again
		return slices.ContainsFunc(types, func(other *cloudprovider.InstanceType) bool { return other.Name == it.Name })
	}
	return slices.Concat(types, slices.DeleteFunc(slices.Clone(of.types), back)), nil
}

// missing returns the types that claims have and a list lacks, in order of name.
func (r *Retired) missing(types []*cloudprovider.InstanceType,
	claims []karpv1.NodeClaim) (missing []*cloudprovider.InstanceType) {
	known := make(map[string]bool, len(types))
	for _, it := range types {
		known[it.Name] = true
	}
	for i := range claims {
		if plan := claims[i].Labels[corev1.LabelInstanceTypeStable]; plan != "" && !known[plan] {
			known[plan] = true
			missing = append(missing, r.typeOf(plan, &claims[i]))
		}
	}
	slices.SortFunc(missing, func(a, b *cloudprovider.InstanceType) int { return strings.Compare(a.Name, b.Name) })
	return missing
}

// typeOf returns the type of a plan. Like the types of a Set, it keeps its pointer.
func (r *Retired) typeOf(plan string, nc *karpv1.NodeClaim) *cloudprovider.InstanceType {
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
