package e2e

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/engine/simulate"
)

// TestPodsAreDefaultedAsByTheAPIServer: what simulations add to the resources and ports of pods that are drawn is what a real
// API server adds to those that it takes.
func TestPodsAreDefaultedAsByTheAPIServer(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.eventually("the API server takes pods", time.Minute, func() error {
		return s.client.Create(t.Context(), drawnPod(rand.New(rand.NewPCG(0, 0)), "first"), client.DryRunAll)
	})
	taken, whole := 0, 0
	for seed := range uint64(400) {
		pod := drawnPod(rand.New(rand.NewPCG(seed, 0)), fmt.Sprint("p", seed))
		want, wrote := pod.DeepCopy(), pod.DeepCopy()
		if err := s.client.Create(t.Context(), pod, client.DryRunAll); err != nil {
			continue // requests above limits, say
		}
		taken++
		if want.Spec.Resources != nil {
			whole++
		}
		simulate.DefaultPod(&want.Spec)
		if diff := cmp.Diff(asked(pod.Spec), asked(want.Spec)); diff != "" {
			t.Errorf("seed %d: %+v (-API server +simulated)\n%s", seed, asked(wrote.Spec), diff)
		}
	}
	if taken < 100 || whole < 30 {
		t.Errorf("%d pods were taken, %d of which have resources as a whole", taken, whole)
	}
}

// asked is what the API server defaults of pods that matters to where they go, as text.
func asked(spec corev1.PodSpec) (all []string) {
	list := func(what string, r corev1.ResourceRequirements) {
		for name, q := range r.Requests {
			all = append(all, fmt.Sprintf("%s requests %s %s", what, q.String(), name))
		}
		for name, q := range r.Limits {
			all = append(all, fmt.Sprintf("%s is limited to %s %s", what, q.String(), name))
		}
	}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for _, c := range containers {
			list(c.Name, c.Resources)
			for _, p := range c.Ports {
				all = append(all, fmt.Sprintf("%s has the port %d of the node", c.Name, p.HostPort))
			}
		}
	}
	if spec.Resources != nil {
		list("pod", *spec.Resources)
	}
	slices.Sort(all)
	return all
}

// drawnPod is a pod whose containers, and which itself, may request something or be limited.
func drawnPod(r *rand.Rand, name string) *corev1.Pod {
	amounts := map[corev1.ResourceName][]string{
		corev1.ResourceCPU: {"100m", "200u", "1", "2500m", "4"}, corev1.ResourceMemory: {"64Mi", "1Gi", "3Gi", "100M"},
		"hugepages-2Mi": {"2Mi", "64Mi"}, corev1.ResourceEphemeralStorage: {"1Gi"}, "nvidia.com/gpu": {"1"},
	}
	draw := func(pod bool) (list corev1.ResourceList) {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, "hugepages-2Mi",
			corev1.ResourceEphemeralStorage, "nvidia.com/gpu"} {
			odds := map[corev1.ResourceName]int{corev1.ResourceCPU: 2, corev1.ResourceMemory: 2}[name]
			if odds == 0 && (pod && name != "hugepages-2Mi" || r.IntN(4) > 0) || odds > 0 && r.IntN(odds) > 0 {
				continue
			}
			if list == nil {
				list = corev1.ResourceList{}
			}
			list[name] = resource.MustParse(amounts[name][r.IntN(len(amounts[name]))])
		}
		return list
	}
	resources := func(pod bool) (all corev1.ResourceRequirements) {
		if r.IntN(2) == 0 {
			all.Limits = draw(pod)
		}
		if r.IntN(3) == 0 {
			all.Requests = draw(pod)
		}
		return all
	}
	container := func(name string) corev1.Container {
		return corev1.Container{Name: name, Image: "registry.k8s.io/pause:3.10", Resources: resources(false)}
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	pod.Spec.HostNetwork = r.IntN(4) == 0
	for i := range 1 + r.IntN(2) {
		pod.Spec.Containers = append(pod.Spec.Containers, container(fmt.Sprint("c", i)))
	}
	pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 8080}}
	for i := range r.IntN(3) {
		c := container(fmt.Sprint("i", i))
		if always := corev1.ContainerRestartPolicyAlways; r.IntN(2) == 0 {
			c.RestartPolicy = &always
		}
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
	}
	if r.IntN(2) == 0 {
		whole := resources(true)
		pod.Spec.Resources = &whole
	}
	return pod
}
