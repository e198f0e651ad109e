package lke

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/inplace"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// poolLabels returns the labels that all nodes of the claim's NodePool have, as far as LKE accepts them. It leaves
// out labels of single claims, because they would appear on all nodes of an LKE pool. Cloud Manager rejects keys of
// kubernetes.io and linode.com; Karpenter sets those on the Node.
func poolLabels(nc *karpv1.NodeClaim, pool *karpv1.NodePool) map[string]string {
	if pool == nil {
		return nil
	}
	labels := map[string]string{karpv1.NodePoolLabelKey: pool.Name}
	keys := inplace.Keys(pool)
	for key := range pool.Spec.Template.Labels {
		// A label that changes in place is not part of a group's identity: each value would be another LKE pool.
		if value, ok := nc.Labels[key]; ok && !Reserved(key) && !slices.Contains(keys, key) {
			labels[key] = value
		}
	}
	return labels
}

// inPlaceLabels returns the labels of a NodePool that change in place, as far as LKE accepts them; the value is nil
// for a label that the group may have and the NodePool does not set. It includes a key that does not change in
// place any more, if the claim has the NodePool's value and the group does not: otherwise LKE would remove the
// label from existing nodes.
func inPlaceLabels(nc *karpv1.NodeClaim, pool *karpv1.NodePool, group map[string]string) map[string]*string {
	labels := map[string]*string{}
	if pool == nil {
		return labels
	}
	for key, value := range pool.Spec.Template.Labels {
		has, ok := nc.Labels[key]
		if was, in := group[key]; ok && has == value && (!in || was != value) && !Reserved(key) {
			labels[key] = &value
		}
	}
	for _, key := range inplace.Keys(pool) {
		if Reserved(key) {
			continue
		}
		labels[key] = nil
		if value, ok := pool.Spec.Template.Labels[key]; ok {
			labels[key] = &value
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

// groupFor returns the group of LKE pools for the claim's machine. Version and firewall are set only on Enterprise:
// a pool of the standard tier is created without them, and would never match a group with them.
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

// Problem is a field of a NodePool that LKE would refuse.
type Problem struct {
	Path string // of the field, such as spec.template.spec.taints.0.key
	Text string // one sentence
}

// Limits of LKE, from the Linode API's specification and Cloud Manager.
const (
	maxKey     = 128 // of a label or a taint, with its prefix
	maxKeyName = 62  // after the prefix
)

// PoolProblems returns what LKE would refuse of a NodePool's labels and taints. Keys that LKE reserves are not
// problems: they are not sent, and Karpenter sets them on the Node.
func PoolProblems(pool *karpv1.NodePool) (problems []Problem) {
	for key := range pool.Spec.Template.Labels {
		if text := keyProblem(key); text != "" {
			problems = append(problems, Problem{"spec.template.metadata.labels." + key, text})
		}
	}
	slices.SortFunc(problems, func(a, b Problem) int { return strings.Compare(a.Path, b.Path) })
	for i, t := range pool.Spec.Template.Spec.Taints {
		if text := keyProblem(t.Key); text != "" {
			problems = append(problems, Problem{fmt.Sprintf("spec.template.spec.taints.%d.key", i), text})
		}
		if !Reserved(t.Key) && (t.Value == "kubernetes.io" || t.Value == "linode.com") {
			path := fmt.Sprintf("spec.template.spec.taints.%d.value", i)
			problems = append(problems, Problem{path, fmt.Sprintf("LKE reserves the taint value %q.", t.Value)})
		}
	}
	return problems
}

// Refused says in one line what LKE would refuse of a NodePool; "" if it accepts everything.
func Refused(pool *karpv1.NodePool) string {
	var texts []string
	for _, p := range PoolProblems(pool) {
		texts = append(texts, p.Path+": "+p.Text)
	}
	return strings.Join(texts, " ")
}

func keyProblem(key string) string {
	prefix, name, prefixed := strings.Cut(key, "/")
	switch {
	case !prefixed, Reserved(key):
		return "" // Kubernetes has the same limit, or it is not sent
	case len(key) > maxKey:
		return fmt.Sprintf("LKE allows keys of %d characters with their prefix, and %q has %d.", maxKey, key, len(key))
	case len(name) == maxKeyName+1: // Kubernetes rejects longer names
		return fmt.Sprintf("LKE allows %d characters after the prefix %s/, and %q has %d.", maxKeyName, prefix, name,
			len(name))
	}
	return ""
}
