package compare

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/simulate/workload"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// redactObject returns an object without the parts that no comparison reads: its status except Kubernetes versions and
// conditions, and annotations, labels and metadata that others have set, which may contain anything.
func redactObject(obj map[string]any, salt string) map[string]any {
	obj = runtime.DeepCopyJSON(obj)
	read := map[string]any{}
	for _, field := range []string{"kubernetesVersion", "controlPlaneVersion"} {
		if version := manifest.Text(obj, "status", field); version != "" {
			read[field] = version
		}
	}
	if conditions := conditionsOf(obj); len(conditions) > 0 {
		read["conditions"] = conditions
	}
	obj["status"] = read
	if len(read) == 0 {
		delete(obj, "status")
	}
	metadata := manifest.Map(obj, "metadata")
	managed, _ := metadata["managedFields"].([]any)
	ours := keysSetBy(managed)
	for _, part := range []string{"annotations", "labels"} {
		maps.DeleteFunc(manifest.Map(obj, "metadata", part),
			func(name string, _ any) bool {
				return !ours[part+" "+name] && !slices.Contains(readKeys, name)
			})
	}
	maps.DeleteFunc(metadata, func(field string, _ any) bool { return !slices.Contains(kept, field) })
	redactOwners(managed, salt)
	return obj
}

// conditionsOf returns the conditions of an object without their messages: consolidation depends on whether classes
// are ready and overlays are valid.
func conditionsOf(obj map[string]any) (kept []any) {
	status, _ := manifest.Lookup(obj, "status", "conditions")
	all, _ := status.([]any)
	for _, c := range all {
		if c, ok := c.(map[string]any); ok {
			kept = append(kept, map[string]any{"type": c["type"], "status": c["status"], "lastTransitionTime": c["lastTransitionTime"]})
		}
	}
	return kept
}

// readKeys are labels and annotations that a comparison reads, regardless of their owner.
var readKeys = []string{
	kube.InventoryLabel, kube.OriginAnnotation,
	linodev1alpha1.AnnotationCluster, linodev1alpha1.AnnotationRegion, linodev1alpha1.AnnotationMode,
	schemas.AnnotationGPUPlans,
}

// kept are the metadata fields that a comparison reads.
var kept = []string{"name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp",
	"deletionTimestamp", "labels", "annotations", "managedFields"}

// redactOwners keeps from managed fields only those of the spec, which the spec itself names, and only well-known
// managers.
func redactOwners(managed []any, salt string) {
	for _, e := range managed {
		entry, _ := e.(map[string]any)
		manager, _ := entry["manager"].(string)
		if manager == kube.FieldManager {
			continue
		}
		maps.DeleteFunc(manifest.Map(entry, "fieldsV1"), func(field string, _ any) bool { return field != "f:spec" })
		if !slices.ContainsFunc(tools, func(tool string) bool {
			return manager == tool || strings.HasPrefix(manager, tool+"-")
		}) {
			entry["manager"] = workload.Hash(salt, manager)
		}
	}
}

// tools are well-known field managers.
var tools = []string{"kubectl", "helm", "argocd", "kustomize-controller", "helm-controller", "karpenter", "lkeplan",
	"lkeplan-controller", "Terraform", "pulumi"}

// keysSetBy lists the labels and annotations that lkeplan has set.
func keysSetBy(managed []any) map[string]bool {
	names := map[string]bool{}
	for _, e := range managed {
		entry, _ := e.(map[string]any)
		if entry["manager"] != kube.FieldManager {
			continue
		}
		for _, part := range []string{"annotations", "labels"} {
			for name := range manifest.Map(entry, "fieldsV1", "f:metadata", "f:"+part) {
				names[part+" "+strings.TrimPrefix(name, "f:")] = true
			}
		}
	}
	return names
}

// chosen returns the labels that pools set on their nodes or require.
func (s Snapshot) chosen() map[string]bool {
	keys := map[string]bool{}
	for _, obj := range s.Objects {
		for key := range manifest.Map(obj, "spec", "template", "metadata", "labels") {
			keys[key] = true
		}
		asked, _ := manifest.Lookup(obj, "spec", "template", "spec", "requirements")
		list, _ := asked.([]any)
		for _, r := range list {
			requirement, _ := r.(map[string]any)
			key, _ := requirement["key"].(string)
			keys[key] = true
		}
	}
	return keys
}

// domains are the domains of labels and annotations that contain nothing private.
var domains = []string{"karpenter.sh", "karpenter.k8s.linode", "kubernetes.io", "node.kubernetes.io",
	"topology.kubernetes.io", "lkeplan.dev"}

// isKnownKey reports whether Kubernetes or Karpenter define a label or an annotation.
func isKnownKey(name string) bool {
	domain, _, _ := strings.Cut(name, "/")
	return slices.Contains(domains, domain)
}

// redactNodes removes the names of pods that hold a node, and the labels and annotations that Karpenter does not
// compare. A PodDisruptionBudget has the same hash as in the shapes.
func redactNodes(nodes []plan.Node, chosen map[string]bool, salt string) []plan.Node {
	for i := range nodes {
		n := &nodes[i]
		n.Annotations, n.Labels, n.Holds = maps.Clone(n.Annotations), maps.Clone(n.Labels), slices.Clone(n.Holds)
		n.Selects = nil // names of workloads
		maps.DeleteFunc(n.Annotations, func(name, _ string) bool { return !isKnownKey(name) })
		maps.DeleteFunc(n.Labels, func(name, _ string) bool { return !isKnownKey(name) && !chosen[name] })
		for j := range n.Holds {
			switch h := &n.Holds[j]; h.Reason {
			case plan.HeldByDoNotDisrupt, plan.NoOtherPlace:
				h.Workload = ""
				h.Object, _, _ = strings.Cut(h.Object, " ")
			case plan.HeldByPDB:
				h.Object = workload.Hash(salt, h.Object)
			}
		}
	}
	return nodes
}
