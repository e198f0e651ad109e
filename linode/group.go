package linode

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// requirements returns the requirements that a claim has of its machine.
//
// When Karpenter replaces a node by a cheaper one, and the NodePool does not
// mention capacity types, it requires spot (karpenter v1.14.1, computeConsolidation
// in pkg/controllers/disruption/consolidation.go), which Linode does not have. It
// means "cheaper", and the plan types that it allows are cheaper on demand: hence
// on-demand wherever the NodePool allows it.
func requirements(nc *karpv1.NodeClaim, pool *karpv1.NodePool) scheduling.Requirements {
	want := scheduling.NewNodeSelectorRequirementsWithMinValues(nc.Spec.Requirements...)
	if pool == nil {
		return want
	}
	if instancetype.RequirementsOf(pool).Get(karpv1.CapacityTypeLabelKey).Has(karpv1.CapacityTypeOnDemand) {
		want[karpv1.CapacityTypeLabelKey] = scheduling.NewRequirement(
			karpv1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, karpv1.CapacityTypeOnDemand)
	}
	return want
}

// claimLabels are the labels of the claim's Node as far as they are known: the plan
// type's, and those for which the claim's requirements allow one value only. Pods
// select nodes by them before those have joined.
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

// poolLabels returns the labels that all nodes of the claim's NodePool have, as far
// as LKE takes them: labels of single claims would end up on all nodes of an LKE
// pool. Cloud Manager refuses keys of kubernetes.io and linode.com; Karpenter puts
// those on the Node itself.
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

// Reserved reports whether LKE keeps a key of labels and taints to itself. The
// provider does not send such keys.
//
// Unverified: that LKE refuses them.
func Reserved(key string) bool {
	return strings.Contains(key, "kubernetes.io") || strings.Contains(key, "linode.com")
}

// groupFor is the group of LKE pools that the claim's machine comes from. Version and firewall are for
// Enterprise: a pool of the standard tier is made without them, and would never match a group that
// has one.
func groupFor(
	nc *karpv1.NodeClaim, class *linodev1alpha1.LinodeNodeClass, plan string, labels map[string]string, tier catalog.Tier,
) capacity.Group {
	group := capacity.Group{
		NodePool:       nc.Labels[karpv1.NodePoolLabelKey],
		Plan:           plan,
		Labels:         labels,
		DiskEncryption: class.Spec.DiskEncryption,
		Tags:           slices.Sorted(slices.Values(class.Spec.Tags)),
	}
	if tier == catalog.Enterprise {
		group.Version = class.Status.KubernetesVersion
		group.FirewallID = ptr.Deref(class.Spec.FirewallID, 0)
	}
	for _, t := range nc.Spec.Taints {
		if !Reserved(t.Key) {
			group.Taints = append(group.Taints, capacity.Taint{Key: t.Key, Value: t.Value, Effect: string(t.Effect)})
		}
	}
	return group
}
