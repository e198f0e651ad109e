package cluster

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// AllKinds are what why looks at: those of StatusKinds, all events, DaemonSets and volumes.
func AllKinds() []Kind {
	all := slices.DeleteFunc(StatusKinds(), func(k Kind) bool { return strings.HasPrefix(k.Name, "Events") })
	return append(all,
		Kind{Name: "Events", Empty: &corev1.EventList{}},
		Kind{Name: "DaemonSets", Group: "apps", Empty: &appsv1.DaemonSetList{}},
		Kind{Name: "PersistentVolumeClaims", Empty: &corev1.PersistentVolumeClaimList{}},
		Kind{Name: "PersistentVolumes", Empty: &corev1.PersistentVolumeList{}},
		Kind{Name: "StorageClasses", Group: "storage.k8s.io", Empty: &storagev1.StorageClassList{}})
}

// StatusKinds are what status looks at. Of events, warnings count, and which node a pod is to have.
func StatusKinds() []Kind {
	warnings := fields.OneTermEqualSelector("type", corev1.EventTypeWarning)
	nominated := fields.OneTermEqualSelector("reason", "Nominated")
	return []Kind{
		{Name: "Nodes", Empty: &corev1.NodeList{}},
		{Name: "Pods", Empty: &corev1.PodList{}, Opts: some(notEnded)},
		{Name: "NodeClaims", Group: "karpenter.sh", Empty: &karpv1.NodeClaimList{}},
		{Name: "NodePools", Group: "karpenter.sh", Empty: &karpv1.NodePoolList{}, Needed: true},
		{Name: "LinodeNodeClasses", Group: linodev1alpha1.Group, Empty: &linodev1alpha1.LinodeNodeClassList{}},
		{Name: "CapacityLimits", Group: lkeplanv1alpha1.GroupVersion.Group, Empty: &lkeplanv1alpha1.CapacityLimitList{}},
		{Name: "NodePlans", Group: lkeplanv1alpha1.GroupVersion.Group, Empty: &lkeplanv1alpha1.NodePlanList{}},
		{Name: "PodDisruptionBudgets", Group: "policy", Empty: &policyv1.PodDisruptionBudgetList{}},
		{Name: "Events", Empty: &corev1.EventList{}, Opts: some(warnings)},
		{Name: "Events of nominated pods", Empty: &corev1.EventList{}, Opts: some(nominated)},
	}
}

// TopKinds are what top looks at.
func TopKinds() []Kind {
	return []Kind{
		{Name: "Nodes", Empty: &corev1.NodeList{}, Needed: true},
		{Name: "Pods", Empty: &corev1.PodList{}, Opts: some(notEnded)},
		{Name: "NodeClaims", Group: "karpenter.sh", Empty: &karpv1.NodeClaimList{}},
		{Name: "NodePools", Group: "karpenter.sh", Empty: &karpv1.NodePoolList{}},
	}
}

// notEnded selects pods that have not ended.
var notEnded = fields.AndSelectors(fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
	fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)))

func some(selector fields.Selector) []client.ListOption {
	return []client.ListOption{client.MatchingFieldsSelector{Selector: selector}}
}
