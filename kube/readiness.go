package kube

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// registration is a condition of NodePools that Karpenter sets to false after several machines
// have not become nodes.
const registration = "NodeRegistrationHealthy"

// Readiness reads the Ready condition of a live object for its current
// generation, and explains why it is not true, with the messages of the conditions
// that it depends on. A NodePool whose nodes do not register is not ready even if
// Ready is true, because Ready does not depend on registration.
func Readiness(obj map[string]any) (ready bool, state string) {
	var status struct {
		Conditions []metav1.Condition `json:"conditions"`
	}
	var all []metav1.Condition
	if runtime.DefaultUnstructuredConverter.FromUnstructured(manifest.Map(obj, "status"), &status) == nil {
		all = status.Conditions
	}
	generation := (&unstructured.Unstructured{Object: obj}).GetGeneration()
	cond := meta.FindStatusCondition(all, "Ready")
	switch {
	case cond == nil:
		return false, "no controller has reported on it; is the lkeplan controller running?"
	case cond.ObservedGeneration != 0 && cond.ObservedGeneration < generation:
		return false, "the controller has not seen the change yet"
	case meta.IsStatusConditionFalse(all, registration):
		cond := meta.FindStatusCondition(all, registration)
		return false, "its nodes do not register: " + cmp.Or(cond.Message, cond.Reason)
	case cond.Status == metav1.ConditionTrue:
		return true, ""
	}
	var reasons []string
	for _, c := range all {
		if c.Type != "Ready" && c.Status != metav1.ConditionTrue && c.Message != "" {
			reasons = append(reasons, c.Message)
		}
	}
	if len(reasons) == 0 {
		reasons = []string{cmp.Or(cond.Message, cond.Reason)}
	}
	return false, strings.Join(reasons, "; ")
}
