package simulate

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/instancetype"
)

// TestAnyTermOfAPodCounts: a pod is for a pool if one of its required terms is, also if it prefers another pool.
func TestAnyTermOfAPodCounts(t *testing.T) {
	pool := &karpv1.NodePool{}
	pool.Name = "web"
	pool.Spec.Template.Labels = map[string]string{"team": "web"}
	in := func(team string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: "team", Operator: corev1.NodeSelectorOpIn, Values: []string{team}}}}
	}
	for name, tt := range map[string]struct {
		required  []corev1.NodeSelectorTerm
		preferred []corev1.PreferredSchedulingTerm
		want      bool
	}{
		"nothing":          {want: true},
		"its second term":  {required: []corev1.NodeSelectorTerm{in("data"), in("web")}, want: true},
		"none of them":     {required: []corev1.NodeSelectorTerm{in("data"), in("ml")}, want: false},
		"prefers another":  {preferred: []corev1.PreferredSchedulingTerm{{Weight: 1, Preference: in("data")}}, want: true},
		"no term at all":   {required: []corev1.NodeSelectorTerm{}, want: false},
		"prefers this one": {preferred: []corev1.PreferredSchedulingTerm{{Weight: 1, Preference: in("web")}}, want: true},
	} {
		affinity := &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: tt.preferred}
		if tt.required != nil {
			affinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: tt.required}
		}
		pod := &corev1.Pod{Spec: corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: affinity}}}
		got := anyTerm(pod, func(pod *corev1.Pod) bool {
			_, ok := instancetype.ForPod(pool, pod)
			return ok
		})
		if got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
