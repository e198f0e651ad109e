package kube_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// TestApprovalPolicyProtectsStatus: users who can approve could change a field that the policy does
// not name.
func TestApprovalPolicyProtectsStatus(t *testing.T) {
	raw, err := os.ReadFile("deploy/approval.yaml")
	if err != nil {
		t.Fatal(err)
	}
	policy := string(raw)
	status := reflect.TypeFor[lkeplanv1alpha1.NodePlanStatus]()
	for i := range status.NumField() {
		name, _, _ := strings.Cut(status.Field(i).Tag.Get("json"), ",")
		protected := strings.Contains(policy, "object.?status.?"+name+" == oldObject.?status.?"+name)
		if protected == (name == "approval") {
			t.Errorf("status.%s: the policy protects it: %v", name, protected)
		}
	}
}
