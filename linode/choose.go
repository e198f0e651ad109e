package linode

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/lkeplan/lkeplan/linode/capacity"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// requirements are what the claim wants of its machine.
//
// When the core replaces a node by a cheaper one, and the NodePool says nothing
// of capacity types, it asks for spot (karpenter v1.14.1, computeConsolidation
// in pkg/controllers/disruption/consolidation.go), which Linode does not have.
// It means "cheaper", and the plans that it leaves are cheaper on demand: so
// where the NodePool allows on-demand, on-demand it is.
func requirements(nc *karpv1.NodeClaim, pool *karpv1.NodePool) scheduling.Requirements {
	want := scheduling.NewNodeSelectorRequirementsWithMinValues(nc.Spec.Requirements...)
	if pool == nil {
		return want
	}
	if poolRequirements(pool).Get(karpv1.CapacityTypeLabelKey).Has(karpv1.CapacityTypeOnDemand) {
		want[karpv1.CapacityTypeLabelKey] = scheduling.NewRequirement(karpv1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, karpv1.CapacityTypeOnDemand)
	}
	return want
}

// poolRequirements are what a NodePool wants of all its nodes.
func poolRequirements(pool *karpv1.NodePool) scheduling.Requirements {
	return scheduling.NewNodeSelectorRequirementsWithMinValues(pool.Spec.Template.Spec.Requirements...)
}

// candidates returns the types that have an available offering which the
// requirements allow, and that the requests fit in, cheapest first. Equal prices
// are in the order of names, so that claims of one shape end up in one group.
func candidates(types []*cloudprovider.InstanceType, want scheduling.Requirements, requests corev1.ResourceList) []*cloudprovider.InstanceType {
	var fit []*cloudprovider.InstanceType
	price := map[string]float64{}
	for _, it := range types {
		offerings := it.Offerings.Available().Compatible(want)
		if len(offerings) == 0 || want.Intersects(it.Requirements) != nil || !fits(requests, it.Allocatable()) {
			continue
		}
		fit = append(fit, it)
		price[it.Name] = offerings.Cheapest().Price
	}
	slices.SortStableFunc(fit, func(a, b *cloudprovider.InstanceType) int { return cmp.Compare(price[a.Name], price[b.Name]) })
	return fit
}

func fits(requests, allocatable corev1.ResourceList) bool {
	for name, want := range requests {
		if have := allocatable[name]; want.Cmp(have) > 0 {
			return false
		}
	}
	return true
}

// claimLabels are the labels of the claim's Node as far as they are decided:
// the plan's, and those that the claim's requirements leave one value for. Pods
// select in-flight nodes by them.
func claimLabels(nc *karpv1.NodeClaim, want scheduling.Requirements, plan map[string]string) map[string]string {
	labels := map[string]string{}
	for key, r := range want {
		if r.Operator() == corev1.NodeSelectorOpIn && r.Len() == 1 {
			labels[key] = r.Values()[0]
		}
	}
	maps.Copy(labels, plan)
	maps.Copy(labels, nc.Labels)
	return labels
}

// poolLabels returns the labels that all nodes of the claim's NodePool have, as
// far as LKE takes them: labels of single claims would end up on all nodes of
// an LKE pool. Cloud Manager refuses keys of kubernetes.io and linode.com; the
// core puts those on the Node itself.
func poolLabels(nc *karpv1.NodeClaim, pool *karpv1.NodePool) map[string]string {
	if pool == nil {
		return nil
	}
	labels := map[string]string{karpv1.NodePoolLabelKey: pool.Name}
	for key := range pool.Spec.Template.Labels {
		if value, ok := nc.Labels[key]; ok && !Reserved(key) {
			labels[key] = value
		}
	}
	return labels
}

// Reserved tells keys of labels and taints that LKE keeps to itself. The
// provider does not send them.
func Reserved(key string) bool {
	return strings.Contains(key, "kubernetes.io") || strings.Contains(key, "linode.com")
}

// groupFor is the group of LKE pools that the claim's machine comes from.
func groupFor(nc *karpv1.NodeClaim, class *linodev1alpha1.LinodeNodeClass, plan string, labels map[string]string) capacity.Group {
	group := capacity.Group{
		NodePool:       nc.Labels[karpv1.NodePoolLabelKey],
		Plan:           plan,
		Labels:         labels,
		DiskEncryption: class.Spec.DiskEncryption,
		Tags:           slices.Sorted(slices.Values(class.Spec.Tags)),
	}
	if class.Spec.FirewallID != nil {
		group.FirewallID = *class.Spec.FirewallID
	}
	for _, t := range nc.Spec.Taints {
		if !Reserved(t.Key) {
			group.Taints = append(group.Taints, capacity.Taint{Key: t.Key, Value: t.Value, Effect: string(t.Effect)})
		}
	}
	return group
}
