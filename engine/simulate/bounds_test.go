package simulate_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/config/configtest"
	"github.com/lkeplan/lkeplan/engine/simulate"
)

// TestNumberOfPodsIsBounded: a Deployment of some bytes asks for as many, and so may
// several that are each within the bound.
func TestNumberOfPodsIsBounded(t *testing.T) {
	for _, pods := range [][]int{{2_000_000_000}, {60_000, 60_000}} {
		in := simulate.Input{Region: "us-ord"}
		for _, n := range pods {
			in.Workloads = append(in.Workloads, simulate.Workload{Name: "Deployment a", Pods: n})
		}
		_, err := simulate.Run(t.Context(), in)
		if err == nil || !strings.Contains(err.Error(), "more than the 100000 that can be simulated") {
			t.Errorf("%d pods: %v", pods, err)
		}
	}
}

// TestAntiAffinityOfManyPodsIsFast: each would be tried on each node that has one already.
func TestAntiAffinityOfManyPodsIsFast(t *testing.T) {
	const pods = 3000
	in := shaped(t, 1, 1)
	load := &in.Workloads[0]
	load.Pods, load.Pod.Labels = pods, map[string]string{"app": "web"}
	load.Pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: load.Pod.Labels},
		}},
	}}
	configtest.Within(t, 10*time.Second, func() {
		if r, err := simulate.Run(t.Context(), in); err != nil || len(r.Nodes) != pods {
			t.Fatalf("%d pods are on %d nodes: %v", pods, len(r.Nodes), err)
		}
	})
}
