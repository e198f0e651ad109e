// Package linodetest has objects for the tests of several packages under linode. It is for tests only and asserts
// nothing.
package linodetest

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// In returns a requirement that a label has one of the values.
func In(key string, values ...string) karpv1.NodeSelectorRequirementWithMinValues {
	return karpv1.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
}

// NodePool returns the NodePool web.
func NodePool(requirements ...karpv1.NodeSelectorRequirementWithMinValues) *karpv1.NodePool {
	pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "uid-web"}}
	pool.Spec.Template.Labels = map[string]string{"example.com/team": "web", "node.kubernetes.io/team": "web"}
	pool.Spec.Template.Spec.Requirements = requirements
	return pool
}

// NodeClaim returns a claim of the NodePool web as Karpenter creates it, for one pod with a CPU request. Its UID is
// 8f1c.
func NodeClaim(cpu string, requirements ...karpv1.NodeSelectorRequirementWithMinValues) *karpv1.NodeClaim {
	nc := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: "web-abcde", UID: "8f1c", Labels: map[string]string{
			karpv1.NodePoolLabelKey: "web", "example.com/team": "web", "node.kubernetes.io/team": "web",
			"example.com/slot": "7",
		},
	}}
	nc.Spec.NodeClassRef = &karpv1.NodeClassReference{
		Group: linodev1alpha1.Group, Kind: "LinodeNodeClass", Name: "default",
	}
	nc.Spec.Requirements = requirements
	nc.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	nc.Spec.Taints = []corev1.Taint{
		{Key: "example.com/only", Effect: corev1.TaintEffectNoSchedule},
		{Key: "node.kubernetes.io/x", Effect: corev1.TaintEffectNoSchedule},
	}
	nc.Spec.StartupTaints = []corev1.Taint{{Key: "example.com/starting", Effect: corev1.TaintEffectNoExecute}}
	return nc
}

// Undecided returns the nth of many claims for which no plan type was chosen yet. It allows only g6-standard-4.
func Undecided(n int) *karpv1.NodeClaim {
	nc := NodeClaim("3", In(corev1.LabelInstanceTypeStable, "g6-standard-4"))
	nc.Name, nc.UID = fmt.Sprintf("web-%05d", n), types.UID(fmt.Sprintf("uid-%05d", n))
	return nc
}

// Decided returns the nth of many claims that wait for a g6-standard-4.
func Decided(n int) *karpv1.NodeClaim {
	nc := Undecided(n)
	group := capacity.Group{NodePool: "web", Plan: "g6-standard-4"}
	nc.Annotations = map[string]string{nodeclaim.AnnotationGroup: group.Encode()}
	nc.Labels[corev1.LabelInstanceTypeStable] = "g6-standard-4"
	nc.Status.ProviderID = nodeclaim.PendingID(string(nc.UID))
	nc.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}
	return nc
}

// CapacityLimit returns a limit on all NodePools.
func CapacityLimit(name string, set func(*lkeplanv1alpha1.CapacityLimitSpec)) *lkeplanv1alpha1.CapacityLimit {
	limit := &lkeplanv1alpha1.CapacityLimit{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}}
	set(&limit.Spec)
	return limit
}

// Nodes caps the number of nodes.
func Nodes(n int64) func(*lkeplanv1alpha1.CapacityLimitSpec) {
	return func(s *lkeplanv1alpha1.CapacityLimitSpec) { s.Nodes = &n }
}

// Dollars caps the monthly cost.
func Dollars(amount string) func(*lkeplanv1alpha1.CapacityLimitSpec) {
	return func(s *lkeplanv1alpha1.CapacityLimitSpec) { s.MonthlyCost = &amount }
}
