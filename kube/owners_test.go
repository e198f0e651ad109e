package kube

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOwners identifies tools by their labels, annotations and field managers, and
// has steps for each.
func TestOwners(t *testing.T) {
	tests := []struct {
		name, metadata string
		want           []string // tools, and their objects
		step           string   // a part of the steps
	}{
		{"nobody", `{}`, nil, ""},
		{"kubectl by its note", `annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}"}`, []string{"kubectl"},
			"delete the manifest"},
		{"kubectl by its field manager",
			`managedFields: [{manager: kubectl-edit, operation: Update, fieldsV1: {"f:spec": {"f:weight": {}}}}]`,
			[]string{"kubectl"}, ""},
		{"Flux", `labels: {kustomize.toolkit.fluxcd.io/name: a, kustomize.toolkit.fluxcd.io/namespace: b}`,
			[]string{"Flux: Kustomization b/a"}, "kustomize.toolkit.fluxcd.io/prune: disabled"},
		{"Flux with Helm", `labels: {helm.toolkit.fluxcd.io/name: a, helm.toolkit.fluxcd.io/namespace: b}`,
			[]string{"Flux: HelmRelease b/a"}, "helm.sh/resource-policy: keep"},
		{"Argo CD", `annotations: {argocd.argoproj.io/tracking-id: "prod:karpenter.sh/NodePool:default/general"}`,
			[]string{"Argo CD: Application prod"}, "Prune=false"},
		{"Helm", `{labels: {app.kubernetes.io/managed-by: Helm}, annotations: {meta.helm.sh/release-name: a, meta.helm.sh/release-namespace: b}}`, []string{"Helm: release b/a"}, "helm.sh/resource-policy: keep"},
		{"Terraform", `managedFields: [{manager: Terraform, operation: Apply, fieldsV1: {"f:spec": {"f:weight": {}}}}]`,
			[]string{"Terraform"}, "destroy = false"},
		{"an unknown tool", `managedFields: [{manager: robot, operation: Update, fieldsV1: {"f:spec": {"f:weight": {}}}}]`,
			[]string{"robot"}, "find the program"},
		{"ourselves, and who only writes annotations or the status", `managedFields: [
			{manager: lkeplan, operation: Apply, fieldsV1: {"f:spec": {"f:weight": {}}}},
			{manager: karpenter, operation: Update, fieldsV1: {"f:metadata": {"f:annotations": {}}}},
			{manager: karpenter, operation: Update, subresource: status, fieldsV1: {"f:spec": {}}}]`, nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got, steps []string
			for _, o := range Owners(map[string]any{"kind": "NodePool",
				"metadata": fromYAML(t, strings.ReplaceAll(tt.metadata, "\t", " "))}) {
				got = append(got, strings.TrimSuffix(o.Tool+": "+o.What, ": "))
				steps = append(steps, o.Steps...)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if !strings.Contains(strings.Join(steps, "\n"), tt.step) {
				t.Errorf("%q is not in %q", tt.step, steps)
			}
		})
	}
}

// TestAuthored keeps only what users write.
func TestAuthored(t *testing.T) {
	live := fromYAML(t, `
kind: NodePool
metadata:
  name: a
  uid: x
  resourceVersion: "1"
  generation: 2
  creationTimestamp: "2026-01-01T00:00:00Z"
  finalizers: [karpenter.sh/termination]
  managedFields: []
  labels: {team: web, argocd.argoproj.io/instance: prod, app.kubernetes.io/managed-by: Helm}
  annotations: {karpenter.sh/nodepool-hash: "1", karpenter.sh/nodepool-hash-version: v3, karpenter.sh/do-not-disrupt: "true"}
spec: {weight: 1}
status: {conditions: []}
`)
	want := fromYAML(t, `
kind: NodePool
metadata:
  name: a
  labels: {team: web}
  annotations: {karpenter.sh/do-not-disrupt: "true"}
spec: {weight: 1}
`)
	if diff := cmp.Diff(want, Authored(live)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestOnlyApplyCountsAsApplied: not an update by the field manager, nor what it does to a status.
func TestOnlyApplyCountsAsApplied(t *testing.T) {
	for entries, want := range map[string]bool{
		``:                                      false,
		`{manager: lkeplan, operation: Apply}`:  true,
		`{manager: lkeplan, operation: Update}`: false,
		`{manager: lkeplan2, operation: Apply}`: false,
		`{manager: kubectl, operation: Apply}`:  false,
		`{manager: lkeplan, operation: Apply, subresource: status}`:                   false,
		`{manager: kubectl, operation: Update}, {manager: lkeplan, operation: Apply}`: true,
	} {
		if got := Applied(fromYAML(t, "metadata: {managedFields: ["+entries+"]}")); got != want {
			t.Errorf("[%s]: %v", entries, got)
		}
	}
}
