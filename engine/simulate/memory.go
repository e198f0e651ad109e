package simulate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	autoscalingv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	karpv1alpha1 "sigs.k8s.io/karpenter/pkg/apis/v1alpha1"
	"sigs.k8s.io/karpenter/pkg/events"

	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// store has the objects of a cluster in memory. It is the Kubernetes client of Karpenter's code and the provider,
// which read the objects from it and whose writes it ignores. It makes no decisions. Methods of a client that it
// does not implement panic.
type store struct {
	client.Client
	Pools    map[string]*karpv1.NodePool
	Classes  map[string]*linodev1alpha1.LinodeNodeClass
	Limits   map[string]*lkeplanv1alpha1.CapacityLimit
	Overlays map[string]*karpv1alpha1.NodeOverlay
	Buffers  map[string]*autoscalingv1beta1.CapacityBuffer // by namespace and name
	Claims   []*karpv1.NodeClaim
	Nodes    map[string]*corev1.Node
	Bound    map[string][]*corev1.Pod // by the name of their node
	Pods     []*corev1.Pod            // bound pods
	Sets     []*appsv1.DaemonSet
	Budgets  []*policyv1.PodDisruptionBudget
	// Templates are the objects to which Buffers refer.
	Templates []Template
	MostSpare int // the largest number of pods of Buffers; 0 means MaxPods
	// Attachable is how many Linode volumes nodes can attach, by their names. All claims of pods are for such
	// volumes.
	Attachable map[string]int
}

func newStore() *store {
	return &store{
		Pools: map[string]*karpv1.NodePool{}, Classes: map[string]*linodev1alpha1.LinodeNodeClass{},
		Limits: map[string]*lkeplanv1alpha1.CapacityLimit{}, Overlays: map[string]*karpv1alpha1.NodeOverlay{}, Nodes: map[string]*corev1.Node{},
		Buffers: map[string]*autoscalingv1beta1.CapacityBuffer{},
		Bound:   map[string][]*corev1.Pod{}, Attachable: map[string]int{},
	}
}

// Bind binds a pod to a node.
func (s *store) Bind(pod *corev1.Pod, node string) {
	pod.Spec.NodeName = node
	s.Bound[node] = append(s.Bound[node], pod)
	s.Pods = append(s.Pods, pod)
}

// Unbind unbinds pods from their nodes.
func (s *store) Unbind(pods []*corev1.Pod) {
	gone := make(map[*corev1.Pod]bool, len(pods))
	for _, pod := range pods {
		gone[pod] = true
	}
	is := func(pod *corev1.Pod) bool { return gone[pod] }
	for _, pod := range pods {
		s.Bound[pod.Spec.NodeName] = slices.DeleteFunc(s.Bound[pod.Spec.NodeName], is)
		pod.Spec.NodeName = ""
	}
	s.Pods = slices.DeleteFunc(s.Pods, is)
}

// Remove removes a node and its NodeClaim, and unbinds the pods.
func (s *store) Remove(name string) {
	s.Claims = slices.DeleteFunc(s.Claims, func(nc *karpv1.NodeClaim) bool { return nc.Name == name })
	delete(s.Nodes, name)
	delete(s.Bound, name)
}

// Get implements client.Reader.
func (s *store) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	found := false
	switch o := into.(type) {
	case *karpv1.NodePool:
		found = copyObject(s.Pools[key.Name], o)
	case *linodev1alpha1.LinodeNodeClass:
		found = copyObject(s.Classes[key.Name], o)
	case *corev1.Node:
		found = copyObject(s.Nodes[key.Name], o)
	case *autoscalingv1beta1.CapacityBuffer:
		found = copyObject(s.Buffers[key.String()], o)
	case *corev1.PodTemplate, *appsv1.Deployment, *appsv1.StatefulSet, *appsv1.ReplicaSet:
		found = s.template(key, o)
	default:
		found = simulatedVolume(key, o, s.Attachable)
	}
	if !found {
		return apierrors.NewNotFound(schema.GroupResource{Resource: fmt.Sprintf("%T", into)}, key.Name)
	}
	return nil
}

// List implements client.Reader. The objects of the list are shared; callers must not change them.
func (s *store) List(_ context.Context, into client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(opts)
	switch list := into.(type) {
	case *karpv1.NodePoolList:
		list.Items = values(sortedValues(s.Pools), o)
	case *linodev1alpha1.LinodeNodeClassList:
		list.Items = values(sortedValues(s.Classes), o)
	case *lkeplanv1alpha1.CapacityLimitList:
		list.Items = values(sortedValues(s.Limits), o)
	case *karpv1alpha1.NodeOverlayList:
		for _, overlay := range sortedValues(s.Overlays) {
			list.Items = append(list.Items, *overlay.DeepCopy()) // Karpenter sets their conditions
		}
	case *autoscalingv1beta1.CapacityBufferList:
		list.Items = values(sortedValues(s.Buffers), o)
	case *karpv1.NodeClaimList:
		list.Items = values(s.Claims, o)
	case *corev1.NodeList:
		list.Items = values(sortedValues(s.Nodes), o)
	case *corev1.PodList:
		pods := s.Pods
		if o.FieldSelector != nil {
			node, _ := o.FieldSelector.RequiresExactMatch("spec.nodeName")
			pods = s.Bound[node]
		}
		list.Items = values(pods, o)
	case *appsv1.DaemonSetList:
		for _, set := range s.Sets {
			list.Items = append(list.Items, *set.DeepCopy()) // Karpenter removes terms of their affinities
		}
		if len(s.Sets) > 0 {
			list.Items = append(list.Items, *emptyDaemon())
		}
	case *policyv1.PodDisruptionBudgetList:
		list.Items = values(s.Budgets, o)
	case *corev1.NamespaceList: // namespaces are unknown, so that namespace selectors select none
	default:
		return fmt.Errorf("the simulated cluster does not support %T", into)
	}
	return nil
}

// values returns the objects that match list options.
func values[T any, P interface {
	*T
	client.Object
}](all []*T, o client.ListOptions) (items []T) {
	for _, object := range all {
		meta := P(object)
		if o.Namespace != "" && meta.GetNamespace() != o.Namespace {
			continue
		}
		if o.LabelSelector == nil || o.LabelSelector.Matches(labels.Set(meta.GetLabels())) {
			items = append(items, *object)
		}
	}
	return items
}

// template copies an object with a pod template to which a buffer refers, and reports whether it exists.
func (s *store) template(key client.ObjectKey, into client.Object) bool {
	i := slices.IndexFunc(s.Templates, func(t Template) bool {
		return t.Key == manifest.Key{Kind: kindOf(into), Namespace: key.Namespace, Name: key.Name}
	})
	if i < 0 {
		return false
	}
	t := s.Templates[i]
	switch o := into.(type) {
	case *corev1.PodTemplate:
		o.Name, o.Template = key.Name, t.Pods
	case *appsv1.Deployment:
		o.Spec.Replicas, o.Spec.Template = &t.Replicas, t.Pods
	case *appsv1.StatefulSet:
		o.Spec.Replicas, o.Spec.Template = &t.Replicas, t.Pods
	case *appsv1.ReplicaSet:
		o.Spec.Replicas, o.Spec.Template = &t.Replicas, t.Pods
	}
	return true
}

// Status implements client.Client. It keeps only the status of buffers.
func (s *store) Status() client.SubResourceWriter { return statusWriter{store: s} }

type statusWriter struct {
	client.SubResourceWriter
	store *store
}

// Patch implements client.SubResourceWriter.
func (w statusWriter) Patch(_ context.Context, o client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
	b, ok := o.(*autoscalingv1beta1.CapacityBuffer)
	if !ok {
		return nil
	}
	w.store.Buffers[b.Namespace+"/"+b.Name] = b.DeepCopy()
	all := 0
	for _, buffer := range w.store.Buffers {
		all += int(ptr.Deref(buffer.Status.Replicas, 0))
	}
	if most := cmp.Or(w.store.MostSpare, MaxPods); all > most { // checked before the pods are created
		return fmt.Errorf("CapacityBuffers have %d pods, more than the %d that can be simulated", all, most)
	}
	return nil
}

// sortedValues returns the values of a map in the order of their keys.
func sortedValues[T any](of map[string]*T) (list []*T) {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		list = append(list, of[name])
	}
	return list
}

// Declare adds copies of the objects of a configuration to the cluster, and returns the kind and name of each object
// that the simulation ignores.
func (s *store) Declare(objects []client.Object) (others []string) {
	for _, obj := range objects {
		switch o := obj.DeepCopyObject().(type) {
		case *karpv1.NodePool:
			s.Pools[o.Name] = o
		case *linodev1alpha1.LinodeNodeClass:
			s.Classes[o.Name] = o
		case *lkeplanv1alpha1.CapacityLimit:
			s.Limits[o.Name] = o
		case *karpv1alpha1.NodeOverlay:
			s.Overlays[o.Name] = o
		case *autoscalingv1beta1.CapacityBuffer:
			o.Namespace = cmp.Or(o.Namespace, corev1.NamespaceDefault)
			name := o.Namespace + "/" + o.Name
			o.UID, o.Status, s.Buffers[name] = types.UID(name), autoscalingv1beta1.CapacityBufferStatus{}, o
		default:
			others = append(others, obj.GetObjectKind().GroupVersionKind().Kind+" "+obj.GetName())
		}
	}
	return others
}

// poolsLeftOut is a recorder of events that notes the pools that the scheduler ignores.
type poolsLeftOut map[string]bool

// Publish implements events.Recorder.
func (l poolsLeftOut) Publish(all ...events.Event) {
	for _, e := range all {
		if pool, ok := e.InvolvedObject.(*karpv1.NodePool); ok && e.Reason == events.NoCompatibleInstanceTypes {
			l[pool.Name] = true
		}
	}
}
