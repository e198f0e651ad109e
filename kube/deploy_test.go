package kube_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// TestThePolicyForApprovalsHoldsTheRestOfTheStatus: a field that it does not name could be
// changed by whoever may approve.
func TestThePolicyForApprovalsHoldsTheRestOfTheStatus(t *testing.T) {
	raw, err := os.ReadFile("deploy/approval.yaml")
	if err != nil {
		t.Fatal(err)
	}
	policy := string(raw)
	status := reflect.TypeFor[lkeplanv1alpha1.NodePlanStatus]()
	for i := range status.NumField() {
		name, _, _ := strings.Cut(status.Field(i).Tag.Get("json"), ",")
		held := strings.Contains(policy, "object.?status.?"+name+" == oldObject.?status.?"+name)
		if held == (name == "approval") {
			t.Errorf("status.%s: the policy holds it: %v", name, held)
		}
	}
}
