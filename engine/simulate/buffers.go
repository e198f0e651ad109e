package simulate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	autoscalingv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"
	"sigs.k8s.io/karpenter/pkg/controllers/capacitybuffer"
	"sigs.k8s.io/karpenter/pkg/state/virtualpods"

	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// A Template is an object with a template of pods, for which a CapacityBuffer can reserve capacity.
type Template struct {
	Key      manifest.Key
	Replicas int32 // of a workload
	Pods     corev1.PodTemplateSpec
}

// TemplateLists returns an empty list for each kind of Template, by kind.
func TemplateLists() map[string]client.ObjectList {
	return map[string]client.ObjectList{
		"PodTemplate": &corev1.PodTemplateList{}, autoscalingv1beta1.KindDeployment: &appsv1.DeploymentList{},
		autoscalingv1beta1.KindStatefulSet: &appsv1.StatefulSetList{}, autoscalingv1beta1.KindReplicaSet: &appsv1.ReplicaSetList{},
	}
}

// TemplateOf returns the pod template of an object.
func TemplateOf(o runtime.Object) Template {
	t, replicas := Template{}, (*int32)(nil)
	switch o := o.(type) {
	case *corev1.PodTemplate:
		t.Pods = *o.Template.DeepCopy()
	case *appsv1.Deployment:
		t.Pods, replicas = *o.Spec.Template.DeepCopy(), o.Spec.Replicas
	case *appsv1.StatefulSet:
		t.Pods, replicas = *o.Spec.Template.DeepCopy(), o.Spec.Replicas
	case *appsv1.ReplicaSet:
		t.Pods, replicas = *o.Spec.Template.DeepCopy(), o.Spec.Replicas
	}
	if meta, ok := o.(metav1.Object); ok {
		t.Key = manifest.Key{Kind: kindOf(o), Namespace: meta.GetNamespace(), Name: meta.GetName()}
	}
	t.Replicas = ptr.Deref(replicas, 1)
	DefaultPod(&t.Pods.Spec)
	return t
}

func kindOf(o any) string { return reflect.TypeOf(o).Elem().Name() }

// TemplateKey names the object to which a CapacityBuffer refers; it is empty if the buffer refers to none.
func TemplateKey(b *autoscalingv1beta1.CapacityBuffer) manifest.Key {
	key := manifest.Key{Namespace: cmp.Or(b.Namespace, corev1.NamespaceDefault)}
	if ref := b.Spec.PodTemplateRef; ref != nil && ref.Name != "" {
		key.Kind, key.Name = "PodTemplate", ref.Name
	} else if ref := b.Spec.ScalableRef; ref != nil {
		key.Kind, key.Name = ref.Kind, ref.Name
	}
	if key.Name == "" {
		return manifest.Key{}
	}
	return key
}

// Spare is the capacity that is reserved for CapacityBuffers.
type Spare struct {
	Pods  int  `json:"pods"`
	Nodes int  `json:"nodes"` // nodes on which no other pods run
	Cost  Cost `json:"cost"`  // cost of these nodes
	// Unknown is why the capacity of a buffer is not known; "" if all is.
	Unknown string `json:"unknown,omitempty"`
}

// spare has the pods of buffers. They are never bound: each pass of Karpenter looks for room for them again.
type spare struct {
	cache   *virtualpods.Cache
	pods    []*corev1.Pod
	loads   int                      // number of workloads of buffers, which come last
	on      map[string][]*corev1.Pod // by the existing nodes with room for them
	counts  map[string]int           // of pods, by the provider ids of these nodes
	most    int                      // nodes that can still be made for them
	unknown string
}

// reserve runs Karpenter's controller of CapacityBuffers, which creates the pods of buffers.
func (w *cluster) reserve(ctx context.Context) error {
	w.workloads = w.workloads[:len(w.workloads)-w.spare.loads]
	w.spare = spare{cache: virtualpods.NewVirtualPodCache(w.store)}
	controller := capacitybuffer.NewController(w.store, untriggered{}, w.spare.cache)
	ctx = withSettings(ctx)
	for _, name := range slices.Sorted(maps.Keys(w.store.Buffers)) {
		key := client.ObjectKeyFromObject(w.store.Buffers[name])
		_, err := controller.Reconcile(ctx, reconcile.Request{NamespacedName: key})
		b := w.store.Buffers[name]
		switch ready := apimeta.FindStatusCondition(b.Status.Conditions, autoscalingv1beta1.ReadyForProvisioningCondition); {
		case ready != nil && ready.Status == metav1.ConditionFalse:
			why := ready.Message
			if ready.Reason != capacitybuffer.ReasonResolutionFailed {
				why = fmt.Sprintf("there is no %s", TemplateKey(b))
				w.spare.unknown = fmt.Sprintf("there is no %s for %s", TemplateKey(b), bufferName(b))
			}
			w.note("%s reserves no capacity: %s.", bufferName(b), why)
		case err != nil:
			return err
		case ptr.Deref(b.Status.Replicas, 0) == 0:
			w.note("%s reserves no capacity: it has no pods.", bufferName(b))
		}
	}
	w.spare.pods = w.spare.cache.GetAll(ctx)
	slices.SortFunc(w.spare.pods, func(a, b *corev1.Pod) int { return strings.Compare(string(a.UID), string(b.UID)) })
	last := ""
	for _, pod := range w.spare.pods {
		b := w.store.Buffers[pod.Namespace+"/"+pod.Annotations[autoscalingv1beta1.BufferNameAnnotation]]
		if name := bufferName(b); name != last {
			last = name
			w.workloads = append(w.workloads, Workload{Name: escapeLine(name), Pod: *pod})
			w.spare.loads++
		}
		pod.CreationTimestamp = metav1.Time{} // so that pods of one size are planned in the order of their ids
		w.workloadOf[pod.UID] = len(w.workloads) - 1
	}
	return nil
}

func bufferName(b *autoscalingv1beta1.CapacityBuffer) string {
	return manifest.Key{Kind: schemas.Buffer.Object.Kind, Namespace: b.Namespace, Name: b.Name}.String()
}

// untriggered is a provisioner that plans only when it is called.
type untriggered struct{}

func (untriggered) Trigger(types.UID) {}
func (untriggered) TriggerReconcile() {}

// fit notes the existing node on which a pass has found room for pods of buffers, and returns the other pods, which
// are bound.
func (s *spare) fit(pods []*corev1.Pod, node, providerID string) (bound []*corev1.Pod) {
	for _, pod := range pods {
		if !s.has(pod) {
			bound = append(bound, pod)
			continue
		}
		s.on[node] = append(s.on[node], pod)
		s.counts[providerID]++
	}
	return bound
}

// begin forgets where the last pass found room.
func (s *spare) begin() {
	s.on, s.counts = map[string][]*corev1.Pod{}, map[string]int{}
}

func (s *spare) has(pod *corev1.Pod) bool {
	return len(s.pods) > 0 && pod.Annotations[autoscalingv1beta1.FakePodAnnotationKey] == autoscalingv1beta1.FakePodAnnotationValue
}

// left returns the pods of buffers without room.
func (s *spare) left() (left []*corev1.Pod) {
	room := map[types.UID]bool{}
	for _, pods := range s.on {
		for _, pod := range pods {
			room[pod.UID] = true
		}
	}
	for _, pod := range s.pods {
		if !room[pod.UID] {
			left = append(left, pod)
		}
	}
	return left
}

// spareOf returns the number and cost of nodes that exist only for buffers, and a note for each buffer.
func (w *cluster) spareOf(nodes []Node) (total Spare, notes []string) {
	total = Spare{Pods: len(w.spare.pods), Unknown: w.spare.unknown}
	buffers := w.workloads[len(w.workloads)-w.spare.loads:]
	is := map[string]bool{}
	for _, b := range buffers {
		is[b.Name] = true
	}
	only, cost := map[string][]NodeRef{}, map[string]Cost{}
	for _, n := range nodes {
		if n.Static || len(n.Pods) == 0 || slices.ContainsFunc(n.Pods, func(s Share) bool { return !is[s.Workload] }) {
			continue
		}
		total.Nodes++
		total.Cost.Add(n.Cost)
		for _, s := range n.Pods {
			only[s.Workload] = append(only[s.Workload], NodeRef{Pool: n.Pool, Plan: n.Plan})
			sum := cost[s.Workload]
			sum.Add(n.Cost)
			cost[s.Workload] = sum
		}
	}
	count := func(pods []*corev1.Pod, buffer int) (n int) {
		for _, pod := range pods {
			if w.workloadOf[pod.UID] == len(w.workloads)-w.spare.loads+buffer {
				n++
			}
		}
		return n
	}
	for i, b := range buffers {
		sentence, all := "It needs no additional node.", count(w.spare.pods, i)
		if len(only[b.Name]) > 0 {
			sentence = fmt.Sprintf("It has %s that only buffers use, for %s a month: %s.", text.Count(len(only[b.Name]), "node"),
				cost[b.Name].Monthly.Text(), refsText(only[b.Name]))
		}
		reserved := text.Count(all, "pod")
		if left := count(w.spare.left(), i); left > 0 {
			reserved = fmt.Sprintf("%d of %s", all-left, reserved)
		}
		notes = append(notes, fmt.Sprintf("%s reserves capacity for %s. %s", b.Name, reserved, sentence))
	}
	return total, notes
}
