package simulate

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// store is the client of a cluster in memory, for Karpenter and the provider to read.
// They write nothing: the methods of a client that are not here would panic.
type store struct {
	client.Client
	pools   map[string]*karpv1.NodePool
	classes map[string]*linodev1alpha1.LinodeNodeClass
	limits  map[string]*lkeplanv1alpha1.CapacityLimit
	claims  []*karpv1.NodeClaim
	nodes   map[string]*corev1.Node
	bound   map[string][]*corev1.Pod // by the name of their node
	pods    []*corev1.Pod            // those that are bound
	sets    []*appsv1.DaemonSet
	budgets []*policyv1.PodDisruptionBudget
}

func newStore() *store {
	return &store{
		pools: map[string]*karpv1.NodePool{}, classes: map[string]*linodev1alpha1.LinodeNodeClass{},
		limits: map[string]*lkeplanv1alpha1.CapacityLimit{}, nodes: map[string]*corev1.Node{},
		bound: map[string][]*corev1.Pod{},
	}
}

// bind puts a pod on a node.
func (s *store) bind(pod *corev1.Pod, node string) {
	pod.Spec.NodeName = node
	s.bound[node] = append(s.bound[node], pod)
	s.pods = append(s.pods, pod)
}

// unbind takes pods off their nodes.
func (s *store) unbind(pods []*corev1.Pod) {
	gone := make(map[*corev1.Pod]bool, len(pods))
	for _, pod := range pods {
		gone[pod] = true
	}
	is := func(pod *corev1.Pod) bool { return gone[pod] }
	for _, pod := range pods {
		s.bound[pod.Spec.NodeName] = slices.DeleteFunc(s.bound[pod.Spec.NodeName], is)
		pod.Spec.NodeName = ""
	}
	s.pods = slices.DeleteFunc(s.pods, is)
}

// remove removes a node and its NodeClaim, whose pods are unbound.
func (s *store) remove(name string) {
	s.claims = slices.DeleteFunc(s.claims, func(nc *karpv1.NodeClaim) bool { return nc.Name == name })
	delete(s.nodes, name)
	delete(s.bound, name)
}

// Get implements client.Reader.
func (s *store) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	found := false
	switch o := into.(type) {
	case *karpv1.NodePool:
		found = copied(s.pools, key.Name, o)
	case *linodev1alpha1.LinodeNodeClass:
		found = copied(s.classes, key.Name, o)
	case *corev1.Node:
		found = copied(s.nodes, key.Name, o)
	}
	if !found {
		return apierrors.NewNotFound(schema.GroupResource{Resource: fmt.Sprintf("%T", into)}, key.Name)
	}
	return nil
}

func copied[T any](from map[string]*T, name string, into *T) bool {
	value, found := from[name]
	if found {
		*into = *value
	}
	return found
}

// List implements client.Reader. The objects of the list are shared, and none of those
// who list changes them.
func (s *store) List(_ context.Context, into client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(opts)
	switch list := into.(type) {
	case *karpv1.NodePoolList:
		list.Items = values(sorted(s.pools), o)
	case *linodev1alpha1.LinodeNodeClassList:
		list.Items = values(sorted(s.classes), o)
	case *lkeplanv1alpha1.CapacityLimitList:
		list.Items = values(sorted(s.limits), o)
	case *karpv1.NodeClaimList:
		list.Items = values(s.claims, o)
	case *corev1.NodeList:
		list.Items = values(sorted(s.nodes), o)
	case *corev1.PodList:
		pods := s.pods
		if o.FieldSelector != nil {
			node, _ := o.FieldSelector.RequiresExactMatch("spec.nodeName")
			pods = s.bound[node]
		}
		list.Items = values(pods, o)
	case *appsv1.DaemonSetList:
		for _, set := range s.sets {
			list.Items = append(list.Items, *set.DeepCopy()) // Karpenter takes terms of their affinities off them
		}
	case *policyv1.PodDisruptionBudgetList:
		list.Items = values(s.budgets, o)
	case *corev1.NamespaceList: // none is known: selectors of namespaces select none
	default:
		return fmt.Errorf("a simulated cluster has no %T", into)
	}
	return nil
}

// values are the objects that options ask for.
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
