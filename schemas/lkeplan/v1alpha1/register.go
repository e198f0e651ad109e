package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is the API group of lkeplan's own kinds.
const Group = "lkeplan.dev"

// GroupVersion is the version that Go code reads and writes.
var GroupVersion = schema.GroupVersion{Group: Group, Version: "v1alpha1"}

// AddToScheme registers the types of this package.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &CapacityLimit{}, &CapacityLimitList{},
		&DisruptionStop{}, &DisruptionStopList{}, &NodePlan{}, &NodePlanList{}, &NodePlanRecord{}, &NodePlanRecordList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
