package instancetype

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// TestPreferNoScheduleKeepsNoPodAway: Karpenter makes nodes of such a pool for pods that do not tolerate the taint, if no
// other pool can.
func TestPreferNoScheduleKeepsNoPodAway(t *testing.T) {
	for effect, want := range map[corev1.TaintEffect]bool{
		corev1.TaintEffectNoSchedule: false, corev1.TaintEffectNoExecute: false, corev1.TaintEffectPreferNoSchedule: true,
	} {
		pool := &karpv1.NodePool{}
		pool.Spec.Template.Spec.Taints = []corev1.Taint{{Key: "example.com/batch", Effect: effect}}
		if _, ok := ForPod(pool, &corev1.Pod{}); ok != want {
			t.Errorf("%s: %v, want %v", effect, ok, want)
		}
	}
}
