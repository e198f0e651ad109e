package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is the API group of LinodeNodeClass, and the domain of the labels and
// annotations that describe Linode plans.
const Group = "karpenter.k8s.linode"

// GroupVersion is the version that Go code reads and writes.
var GroupVersion = schema.GroupVersion{Group: Group, Version: "v1alpha1"}

// AddToScheme registers the types of this package.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &LinodeNodeClass{}, &LinodeNodeClassList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
