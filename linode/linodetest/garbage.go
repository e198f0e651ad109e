package linodetest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// Garbage returns a NodeClaim with random fields: each is missing, has a usual value, or has a value that another
// program could have written. Its name is unique for a number.
func Garbage(rng *rand.Rand, n int) *karpv1.NodeClaim {
	one := func(of ...string) string { return of[rng.IntN(len(of))] }
	some := func(percent int) bool { return rng.IntN(100) < percent }
	nc := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("garbage-%d", n), UID: types.UID(fmt.Sprintf("uid-%d", n))}}
	odd := []string{"", "web", "default", "g6-standard-2", "no-such", "\x00", "true", "{}", "null", `{"plan":1}`, `{"plan":"p","image":"i"}`,
		`{"Plan":"g6-standard-2","Version":{}}`, `{"plan":"g6-standard-2","image":"i","poolGroup":{},"kubelet":{},"bootstrap":{"kind":"custom"}}`}
	for _, m := range []*map[string]string{&nc.Labels, &nc.Annotations} {
		if some(30) {
			continue
		}
		*m = map[string]string{}
		for _, key := range []string{
			karpv1.NodePoolLabelKey, corev1.LabelInstanceTypeStable, corev1.LabelTopologyRegion, karpv1.CapacityTypeLabelKey,
			nodeclaim.AnnotationGroup, nodeclaim.AnnotationOrder, linodev1alpha1.AnnotationHash, linodev1alpha1.AnnotationHashVersion,
			karpv1.NodePoolHashAnnotationKey, "", "example.com/a",
		} {
			if some(50) {
				(*m)[key] = one(odd...)
			}
		}
	}
	if some(85) {
		nc.Spec.NodeClassRef = &karpv1.NodeClassReference{
			Group: one(linodev1alpha1.Group, linodev1alpha1.Group, "", "karpenter.k8s.aws"), Kind: one("LinodeNodeClass", "LinodeNodeClass", ""),
			Name: one("default", "default", "", "no-such"),
		}
	}
	for range rng.IntN(4) {
		r := karpv1.NodeSelectorRequirementWithMinValues{
			Key:      one(corev1.LabelInstanceTypeStable, linodev1alpha1.LabelInstanceClass, corev1.LabelTopologyZone, "", "example.com/a"),
			Operator: corev1.NodeSelectorOperator(one("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")),
			Values:   []string{one(odd...)},
		}
		switch {
		case r.Operator == "Gt" || r.Operator == "Lt":
			r.Values = []string{one("4", "0", "99999999")}
		case r.Operator == "Exists" || r.Operator == "DoesNotExist" || some(20):
			r.Values = nil
		}
		if some(20) {
			r.MinValues = new(rng.IntN(60) - 5)
		}
		nc.Spec.Requirements = append(nc.Spec.Requirements, r)
	}
	if some(50) {
		nc.Spec.Resources.Requests = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(one("1", "0", "-1", "9E", "100m")), "": resource.MustParse("1"), "a/b": resource.MustParse("1e400"),
		}
	}
	for _, taints := range []*[]corev1.Taint{&nc.Spec.Taints, &nc.Spec.StartupTaints} {
		for range rng.IntN(3) {
			*taints = append(*taints, corev1.Taint{Key: one(odd...), Value: one(odd...), Effect: corev1.TaintEffect(one("", "NoSchedule", "x"))})
		}
	}
	if some(20) {
		nc.Spec.ExpireAfter.Duration = new(time.Duration(rng.Int64()))
	}
	if some(70) {
		nc.CreationTimestamp = metav1.NewTime(time.Unix(rng.Int64N(1<<33), 0))
	}
	if some(30) {
		nc.DeletionTimestamp, nc.Finalizers = new(metav1.NewTime(time.Unix(rng.Int64N(1<<33), 0))), []string{"karpenter.sh/termination"}
	}
	nc.Status.ProviderID = one("", nodeclaim.PendingID(string(nc.UID)), nodeclaim.PendingID(string(nc.UID)), nodeclaim.PendingID("another"),
		nodeclaim.LinodeID(7), nodeclaim.LinodeID(8), "linode://", "linode://-1", "linode://99999999999999999999", "aws:///a/i-1", "\x00")
	nc.Status.NodeName = one("", "", "node-7", "\x00")
	for _, kind := range []string{
		karpv1.ConditionTypeLaunched, karpv1.ConditionTypeRegistered, karpv1.ConditionTypeInitialized, karpv1.ConditionTypeDrifted,
		karpv1.ConditionTypeDisruptionReason, nodeclaim.ConditionMachineDeleted, "",
	} {
		if some(40) {
			nc.Status.Conditions = append(nc.Status.Conditions, status.Condition{
				Type: kind, Status: metav1.ConditionStatus(one("True", "False", "Unknown", "", "maybe")), Reason: one(odd...),
				LastTransitionTime: metav1.NewTime(time.Unix(rng.Int64N(1<<33), 0)),
			})
		}
	}
	return nc
}

// Panics returns the names of the calls that panic, with the values of the panics.
func Panics(calls map[string]func()) map[string]any {
	found := map[string]any{}
	for name, call := range calls {
		func() {
			defer func() {
				if cause := recover(); cause != nil {
					found[name] = cause
				}
			}()
			call()
		}()
	}
	return found
}
