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

// Retired makes types of the plan types that NodeClaims have and a Set does not: the
// price list that a controller starts with may lack a plan that Linode no longer
// sells, or that is newer than the built-in list. Karpenter replaces nodes whose type
// it is not told of (karpenter v1.15.0, instanceTypeNotFound in
// pkg/controllers/nodeclaim/disruption), which is not wanted.
type Retired struct {
	mu    sync.Mutex
	types map[string]*cloudprovider.InstanceType // by plan
	pools map[string]retiredOf
}

// retiredOf are the types that nodes of one NodePool have.
type retiredOf struct {
	asked time.Time
	types []*cloudprovider.InstanceType
}

// askEvery is how often the NodeClaims of a NodePool are checked: new ones are of
// types that the Set has.
const askEvery = 5 * time.Minute

// Add returns types, and one for each plan type that claims of the NodePool have and
// that is missing. Nothing can be made of it. The types are not changed.
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

// typeOf returns the type of a plan. It keeps its pointer, as those of a Set do.
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
