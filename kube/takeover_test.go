package kube

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTakeover: we become the owner of what the HCL sets, defaults lose their owners, and
// other fields keep their owners, and so do statuses.
func TestTakeover(t *testing.T) {
	validator := newValidator()
	live := fromYAML(t, `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: a
  labels: {team: web, other: x}
  annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}"}
  managedFields:
  - manager: kubectl-client-side-apply
    operation: Update
    apiVersion: karpenter.sh/v1
    fieldsType: FieldsV1
    fieldsV1:
      "f:metadata":
        "f:annotations": {".": {}, "f:kubectl.kubernetes.io/last-applied-configuration": {}}
        "f:labels": {".": {}, "f:team": {}, "f:other": {}}
      "f:spec":
        ".": {}
        "f:weight": {}
        "f:limits": {".": {}, "f:cpu": {}}
        "f:disruption": {".": {}, "f:consolidateAfter": {}, "f:consolidationPolicy": {}, "f:budgets": {}}
        "f:template": {".": {}, "f:spec": {".": {}, "f:expireAfter": {}, "f:requirements": {}, "f:nodeClassRef": {".": {}, "f:group": {}, "f:kind": {}, "f:name": {}}}}
  - manager: kubectl-edit
    operation: Update
    apiVersion: karpenter.sh/v1
    fieldsType: FieldsV1
    fieldsV1: {"f:spec": {"f:limits": {"f:memory": {}}, "f:disruption": {"f:consolidationPolicy": {}}}}
  - manager: karpenter
    operation: Update
    apiVersion: karpenter.sh/v1
    fieldsType: FieldsV1
    subresource: status
    fieldsV1: {"f:status": {"f:conditions": {}}}
spec:
  weight: 10
  limits: {cpu: 100, memory: 1Gi}
  disruption: {consolidateAfter: 0s, consolidationPolicy: WhenEmpty, budgets: [{nodes: 10%}]}
  template: {spec: {expireAfter: 720h, requirements: [], nodeClassRef: {group: g, kind: k, name: some}}}
`)
	desired := fromYAML(t, `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: a, labels: {team: web}, annotations: {lkeplan.dev/directory: a}}
spec:
  weight: 10
  limits: {cpu: "100"}
  template: {spec: {requirements: [], nodeClassRef: {group: g, kind: k, name: some}}}
`)
	got, err := validator.Takeover(live, desired)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"kubectl-client-side-apply"}, got.From); diff != "" || !got.Needed() {
		t.Errorf("previous owners (-want +got)\n%s", diff)
	}
	owners := map[string]string{}
	for _, e := range got.entries {
		owners[e.Manager] = e.FieldsV1.GetRawString()
	}
	want := map[string]string{
		"lkeplan": `{"f:metadata":{"f:annotations":{"f:lkeplan.dev/directory":{}},"f:labels":{"f:team":{}}},"f:spec":{"f:limits":{"f:cpu":{}},"f:template":{"f:spec":{"f:nodeClassRef":{"f:group":{},"f:kind":{},"f:name":{}},"f:requirements":{}}},"f:weight":{}}}`,
		// A user chose a policy that is not the default.
		"kubectl-client-side-apply": `{"f:metadata":{"f:labels":{".":{},"f:other":{}}},"f:spec":{".":{},"f:disruption":{".":{},"f:consolidationPolicy":{}}}}`,
		"kubectl-edit":              `{"f:spec":{"f:disruption":{"f:consolidationPolicy":{}},"f:limits":{"f:memory":{}}}}`,
		"karpenter":                 `{"f:status":{"f:conditions":{}}}`,
	}
	if diff := cmp.Diff(want, owners); diff != "" {
		t.Errorf("owners of the fields (-want +got)\n%s", diff)
	}

	desired["spec"].(map[string]any)["weight"] = int64(11)
	if _, err := validator.Takeover(live, desired); err == nil || !strings.Contains(err.Error(), ".spec.weight") {
		t.Errorf("a different value is taken over: %v", err)
	}
}
