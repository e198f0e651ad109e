package follow

import (
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// NewStatus returns a Follower of what status shows. What it cannot watch, it lists in each interval.
func NewStatus(c client.WithWatch, every time.Duration) *Follower {
	linode.Register()
	return New(c, every, statusKinds()...)
}

// NewStatusOfAll returns one that also reads DaemonSets, volumes and all events, as why does.
func NewStatusOfAll(c client.WithWatch, every time.Duration) *Follower {
	linode.Register()
	return New(c, every, allStatusKinds()...)
}

// NewTop returns a Follower of what top shows.
func NewTop(c client.WithWatch, every time.Duration) *Follower {
	return New(c, every, topKinds()...)
}

func allStatusKinds() []Kind {
	all := slices.DeleteFunc(statusKinds(), func(k Kind) bool { return strings.HasPrefix(k.Name, "Events") })
	return append(all,
		Kind{Name: "Events", Empty: &corev1.EventList{}},
		Kind{Name: "DaemonSets", Group: "apps", Empty: &appsv1.DaemonSetList{}},
		Kind{Name: "PersistentVolumeClaims", Empty: &corev1.PersistentVolumeClaimList{}},
		Kind{Name: "PersistentVolumes", Empty: &corev1.PersistentVolumeList{}},
		Kind{Name: "StorageClasses", Group: "storage.k8s.io", Empty: &storagev1.StorageClassList{}})
}

// statusKinds are what is read. Of events, warnings count, and which node a pod is to have.
func statusKinds() []Kind {
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

func topKinds() []Kind {
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
