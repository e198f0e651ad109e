package kube

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// An Owner is a tool that manages an object.
type Owner struct {
	Tool  string   // such as Flux; the field manager if the tool is unknown
	What  string   // the object of the tool, such as "Kustomization flux-system/infra"; empty if unknown
	Steps []string // how to make the tool release the object without deleting it
}

// lastApplied is the annotation in which kubectl stores what it last applied.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// A tool is identified by the names of its field managers and by the labels and
// annotations that it writes.
type tool struct {
	name     string
	managers []string // prefixes of their names
	marks    []string // prefixes of keys of labels and annotations
	what     func(marks map[string]string) string
	steps    []string
}

func knownTools() []tool {
	return []tool{
		{
			name: "Argo CD", managers: []string{"argocd-"}, marks: []string{"argocd.argoproj.io/"}, what: argoApplication,
			steps: []string{
				"in Git, add the annotation argocd.argoproj.io/sync-options: Prune=false to the object, and let Argo CD sync it",
				"then remove the object from Git; Argo CD does not delete it, and no longer shows it as out of sync",
			},
		},
		{
			name: "Flux", managers: []string{"kustomize-controller", "helm-controller", "flux"},
			marks: []string{"kustomize.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/"}, what: fluxObject,
			steps: []string{
				"in Git, add the annotation kustomize.toolkit.fluxcd.io/prune: disabled to the object (in a HelmRelease: " +
					"helm.sh/resource-policy: keep), and let Flux apply it",
				"then remove the object from Git; without the annotation, Flux deletes the object and its nodes",
			},
		},
		{
			name: "Helm", managers: []string{"helm", "Helm"}, marks: []string{"meta.helm.sh/", "helm.sh/"}, what: helmRelease,
			steps: []string{
				"in the chart, add the annotation helm.sh/resource-policy: keep to the object, and upgrade the release",
				"then remove the object from the chart, and upgrade again",
			},
		},
		{
			name: "Terraform", managers: []string{"Terraform", "terraform", "HashiCorp", "OpenTofu", "opentofu"},
			steps: []string{
				"replace the resource with: removed { from = ADDRESS, lifecycle { destroy = false } } (each on a separate " +
					"line), and apply",
			},
		},
		{
			name: "kubectl", managers: []string{"kubectl", "before-first-apply"}, marks: []string{"kubectl.kubernetes.io/"},
			steps: []string{"delete the manifest, so that it is not applied again"},
		},
	}
}

// noise are prefixes of the keys of labels and annotations that controllers write and
// users do not configure.
var noise = []string{"lkeplan.dev/", "karpenter.sh/nodepool-hash", "karpenter.sh/stored-version-migrated",
	"karpenter.k8s.linode/linodenodeclass-hash"}

// Authored returns an object as a user would write it: without what the API
// server, controllers, and tools that own objects add to it.
func Authored(live map[string]any) map[string]any {
	obj := runtime.DeepCopyJSON(live)
	delete(obj, "status")
	metadata, _ := obj["metadata"].(map[string]any)
	kept := map[string]any{}
	for _, key := range []string{"name", "namespace"} {
		if value, ok := metadata[key]; ok {
			kept[key] = value
		}
	}
	for _, part := range []string{"labels", "annotations"} {
		entries, _ := metadata[part].(map[string]any)
		maps.DeleteFunc(entries, func(key string, value any) bool { return writtenByTool(key, fmt.Sprint(value)) })
		if len(entries) > 0 {
			kept[part] = entries
		}
	}
	obj["metadata"] = kept
	return obj
}

// Dropped lists the labels and annotations that Authored leaves out and that the author of an object may have written.
func Dropped(live map[string]any) (texts []string) {
	for _, part := range []string{"labels", "annotations"} {
		entries := manifest.Map(live, "metadata", part)
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			value := fmt.Sprint(entries[key])
			if hasAnyPrefix(key, noise) || key == lastApplied || !writtenByTool(key, value) {
				continue
			}
			why := "Helm wrote it"
			if owner := schemas.ReservedFor(key, value); owner != "" {
				why = owner + " acts on it, so a configuration cannot have it"
			}
			texts = append(texts, fmt.Sprintf("%s: metadata.%s[%s]: %s", manifest.KeyOf(live), part, key, why))
		}
	}
	return texts
}

// writtenByTool reports whether a tool or a controller wrote a label or an annotation.
func writtenByTool(key, value string) bool {
	if key == schemas.AnnotationInPlace || key == schemas.AnnotationRefreshAfter { // from arguments
		return false
	}
	return hasAnyPrefix(key, noise) || slices.ContainsFunc(knownTools(), func(t tool) bool { return t.wrote(key, value) })
}

// wrote reports whether the tool wrote a label or an annotation. Authors write what a configuration can have, such as
// a sync wave.
func (t tool) wrote(key, value string) bool {
	return hasAnyPrefix(key, t.marks) && schemas.ReservedFor(key, value) != "" || t.name == "Helm" && key == "app.kubernetes.io/managed-by" && value == "Helm"
}

func hasAnyPrefix(text string, with []string) bool {
	return slices.ContainsFunc(with, func(prefix string) bool { return strings.HasPrefix(text, prefix) })
}

// Owners returns the other tools that manage a live object. They are identified by
// the labels and annotations that they wrote, and by the fields of its spec that
// they set.
func Owners(live map[string]any) (owners []Owner) {
	obj := unstructured.Unstructured{Object: live}
	marks := map[string]string{}
	maps.Copy(marks, obj.GetAnnotations())
	maps.Copy(marks, obj.GetLabels())
	managers := specManagers(obj.GetManagedFields())
	for _, t := range knownTools() {
		byMark := false
		for key, value := range marks {
			byMark = byMark || t.wrote(key, value)
		}
		mine := func(manager string) bool { return hasAnyPrefix(manager, t.managers) }
		if !byMark && !slices.ContainsFunc(managers, mine) {
			continue
		}
		managers = slices.DeleteFunc(managers, mine)
		owner := Owner{Tool: t.name, Steps: t.steps}
		if t.what != nil {
			owner.What = t.what(marks)
		}
		owners = append(owners, owner)
	}
	for _, manager := range managers {
		owners = append(owners,
			Owner{Tool: manager,
				Steps: []string{"find the program with this field manager, and remove the object from its configuration"}})
	}
	return owners
}

// Applied reports whether lkeplan has applied an object. An object with the same
// fields can be from another writer.
func Applied(live map[string]any) bool {
	return slices.ContainsFunc((&unstructured.Unstructured{Object: live}).GetManagedFields(), isOurs)
}

// specManagers returns the other field managers that set fields of the spec.
func specManagers(entries []metav1.ManagedFieldsEntry) (names []string) {
	for _, e := range entries {
		if e.Subresource == "" && e.Manager != FieldManager && e.FieldsV1 != nil &&
			strings.Contains(e.FieldsV1.GetRawString(), `"f:spec":`) {
			names = append(names, e.Manager)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func argoApplication(marks map[string]string) string {
	// The id is APPLICATION:GROUP/KIND:NAMESPACE/NAME.
	app, _, _ := strings.Cut(marks["argocd.argoproj.io/tracking-id"], ":")
	return describeOwner("Application", "", app)
}

func fluxObject(marks map[string]string) string {
	if name := marks["helm.toolkit.fluxcd.io/name"]; name != "" {
		return describeOwner("HelmRelease", marks["helm.toolkit.fluxcd.io/namespace"], name)
	}
	return describeOwner("Kustomization", marks["kustomize.toolkit.fluxcd.io/namespace"],
		marks["kustomize.toolkit.fluxcd.io/name"])
}

func helmRelease(marks map[string]string) string {
	return describeOwner("release", marks["meta.helm.sh/release-namespace"], marks["meta.helm.sh/release-name"])
}

func describeOwner(kind, namespace, name string) string {
	switch {
	case name == "":
		return ""
	case namespace == "":
		return kind + " " + name
	}
	return kind + " " + namespace + "/" + name
}
