package simulate_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/engine/simulate/workload"
	"github.com/lkeplan/lkeplan/linode/instancetype"
)

// TestShapesAreScheduledAsTheirPods: pods that a cluster has get the same nodes by their
// shapes as by their manifests, and so they do without names, in each archive of testdata
// and in worlds that are drawn.
func TestShapesAreScheduledAsTheirPods(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no archives", err)
	}
	for _, name := range archives {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(name), func(t *testing.T) {
			in := inputOf(t, archive)
			in.AssumeLKE = false // a cluster has all that it has
			sameByShape(t, in)
		})
	}
	for seed := range uint64(*worlds) / 4 {
		w := draw(t, seed)
		t.Run(fmt.Sprint("world ", seed), func(t *testing.T) { sameByShape(t, w.in) })
	}
}

func sameByShape(t *testing.T, in simulate.Input) {
	t.Helper()
	in.Workloads = slices.DeleteFunc(slices.Clone(in.Workloads), func(load simulate.Workload) bool {
		return load.Barred != "" // by claims, which are not in the cluster here
	})
	slices.SortStableFunc(in.Workloads, func(a, b simulate.Workload) int { return strings.Compare(a.Name, b.Name) })
	want, err := simulate.Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	c, index := running(in)
	set := workload.ShapesOf(c, index, in.Templates...)
	if got, err := simulate.Run(t.Context(), with(in, set)); err != nil {
		t.Fatal(err)
	} else if diff := cmp.Diff(sums(want), sums(got)); diff != "" {
		t.Errorf("-pods +shapes\n%s", diff)
	}
	hashed := set.Hashed("salt")
	text, err := json.Marshal(hashed)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range secrets(in) {
		if bytes.Contains(text, []byte(word)) {
			t.Errorf("%s is in what has no names:\n%s", word, text)
		}
	}
	words := workload.KnownWords(in.Objects, instancetype.New(in.Catalog, in.Region, in.Tier).List())
	readable := hashed.Readable("salt", words)
	if got, err := simulate.Run(t.Context(), with(in, readable)); err != nil {
		t.Fatal(err)
	} else if diff := cmp.Diff(sums(want), sums(got)); diff != "" {
		t.Errorf("-pods +without names\n%s", diff)
	}
}

// with are the pods of shapes on the same pools.
func with(in simulate.Input, set workload.Shapes) simulate.Input {
	found := workload.FromShapes(set)
	in.Workloads, in.DaemonSets, in.Templates = found.Workloads, found.DaemonSets, found.Templates
	return in
}

// sums are a result without the names of workloads.
func sums(r simulate.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d placed, %+v\n", r.Placed, r.Asked, r.Total)
	for _, p := range r.Plans {
		fmt.Fprintf(&b, "%+v\n", p)
	}
	return b.String()
}

// running are the pods in a cluster, some with a node, all with names and more that a
// simulation has nothing to do with.
func running(in simulate.Input) (c cluster.Snapshot, index *simulate.VolumeIndex) {
	var claims []*corev1.PersistentVolumeClaim
	defer func() {
		class := &storagev1.StorageClass{Provisioner: simulate.VolumeDriver}
		class.Name, class.VolumeBindingMode = "secret-class", ptr.To(storagev1.VolumeBindingWaitForFirstConsumer)
		index = simulate.NewVolumeIndex(claims, nil, []*storagev1.StorageClass{class})
	}()
	for i, load := range in.Workloads {
		for n := range load.Pods {
			pod := load.Pod.DeepCopy()
			pod.Name, pod.UID = fmt.Sprintf("secret-name-%d-%d", i, n), types.UID(fmt.Sprint(i, "-", n))
			pod.Namespace = max(pod.Namespace, "default")
			pod.OwnerReferences = []metav1.OwnerReference{{
				Kind: "StatefulSet", Name: fmt.Sprintf("secret-owner-%03d", i), Controller: ptr.To(true),
			}}
			pod.Labels = with1(pod.Labels, "secret-key", "secret-value")
			pod.Annotations = with1(pod.Annotations, "secret-note", "secret-note-value")
			pod.Spec.Hostname, pod.Spec.ServiceAccountName = "secret-host", "secret-account"
			load.Volumes.To(pod)
			for _, v := range pod.Spec.Volumes {
				claim := &corev1.PersistentVolumeClaim{}
				claim.Namespace, claim.Name = pod.Namespace, simulate.ClaimOf(pod.Name, v)
				claim.Spec.StorageClassName = ptr.To("secret-class")
				claims = append(claims, claim)
			}
			pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "secret-volume"})
			if n%2 == 0 {
				pod.Spec.NodeName = "node"
			}
			for j := range pod.Spec.Containers {
				container := &pod.Spec.Containers[j]
				container.Name, container.Image, container.Command = "secret-container", "secret-image", []string{"secret-command"}
				container.Env = []corev1.EnvVar{{Name: "SECRET_NAME", Value: "secret-env"}}
				container.Ports = append(container.Ports, corev1.ContainerPort{Name: "secret-port", ContainerPort: 80})
			}
			c.Pods = append(c.Pods, pod)
		}
	}
	for _, set := range in.DaemonSets {
		c.Daemons = append(c.Daemons, set.DeepCopy())
		if len(set.Spec.Template.Spec.Containers) > 0 {
			pod := &corev1.Pod{Spec: set.Spec.Template.Spec}
			pod.Name, pod.Namespace = "secret-daemon", set.Namespace
			pod.OwnerReferences = []metav1.OwnerReference{{
				APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "DaemonSet", Name: set.Name, Controller: ptr.To(true),
			}}
			c.Pods = append(c.Pods, pod)
		}
	}
	return c, index
}

func with1(labels map[string]string, key, value string) map[string]string {
	if labels == nil {
		labels = map[string]string{}
	}
	labels[key] = value
	return labels
}

// secrets are words of pods that are not to be found in what has no names.
func secrets(in simulate.Input) []string {
	words := []string{"secret", "SECRET"}
	for _, load := range in.Workloads {
		for _, value := range load.Pod.Labels {
			words = append(words, `"`+value+`"`)
		}
		for key, value := range load.Pod.Spec.NodeSelector {
			if !strings.Contains(key, "kubernetes.io/") {
				words = append(words, `"`+key+`"`, `"`+value+`"`)
			}
		}
	}
	for _, set := range in.DaemonSets {
		words = append(words, `"`+set.Name+`"`, "/"+set.Name+`"`)
	}
	return words
}
