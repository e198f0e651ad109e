package kube

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// An Owner is a tool that takes an object for its own.
type Owner struct {
	Tool  string   // such as Flux; the field manager where the tool is not known
	What  string   // what of the tool it belongs to, such as "Kustomization flux-system/infra"; "" where nothing says
	Steps []string // what to do there so that it gives the object up and does not delete it
}

// lastApplied is where kubectl keeps what it applied last.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// A tool is known by the names of its field managers and by what it writes on
// objects.
type tool struct {
	name     string
	managers []string // the beginnings of their names
	marks    []string // the beginnings of keys of labels and annotations
	what     func(marks map[string]string) string
	steps    []string
}

func tools() []tool {
	return []tool{
		{
			name: "Argo CD", managers: []string{"argocd-"}, marks: []string{"argocd.argoproj.io/"}, what: argoApplication,
			steps: []string{
				"in Git, give the object the annotation argocd.argoproj.io/sync-options: Prune=false, and let Argo CD sync it",
				"then remove the object from Git; Argo CD shows it as out of sync no longer, and does not delete it",
			},
		},
		{
			name: "Flux", managers: []string{"kustomize-controller", "helm-controller", "flux"},
			marks: []string{"kustomize.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/"}, what: fluxObject,
			steps: []string{
				"in Git, give the object the annotation kustomize.toolkit.fluxcd.io/prune: disabled (of a HelmRelease: " +
					"helm.sh/resource-policy: keep), and let Flux apply it",
				"only then remove the object from Git; otherwise Flux deletes it, and its nodes with it",
			},
		},
		{
			name: "Helm", managers: []string{"helm", "Helm"}, marks: []string{"meta.helm.sh/", "helm.sh/"}, what: helmRelease,
			steps: []string{
				"give the object in the chart the annotation helm.sh/resource-policy: keep, and upgrade the release",
				"only then remove the object from the chart, and upgrade again",
			},
		},
		{
			name: "Terraform", managers: []string{"Terraform", "terraform", "HashiCorp", "OpenTofu", "opentofu"},
			steps: []string{
				"replace the resource by: removed { from = ADDRESS, lifecycle { destroy = false } } (each on a line of its " +
					"own), and apply",
			},
		},
		{
			name: "kubectl", managers: []string{"kubectl", "before-first-apply"}, marks: []string{"kubectl.kubernetes.io/"},
			steps: []string{"delete the manifest, so that nobody applies it again"},
		},
	}
}

// noise begins the keys of labels and annotations that controllers write, and
// that nobody configured.
var noise = []string{"lkeplan.dev/", "karpenter.sh/nodepool-hash", "karpenter.sh/stored-version-migrated",
	"karpenter.k8s.linode/linodenodeclass-hash"}

// Authored returns an object as somebody would have written it: without what
// the API server, controllers, and tools that own objects write on it.
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
		maps.DeleteFunc(entries, func(key string, value any) bool { return written(key, fmt.Sprint(value)) })
		if len(entries) > 0 {
			kept[part] = entries
		}
	}
	obj["metadata"] = kept
	return obj
}

// written reports whether a label or an annotation is a tool's or a
// controller's.
func written(key, value string) bool {
	if key == "app.kubernetes.io/managed-by" && value == "Helm" || begins(key, noise) {
		return true
	}
	return slices.ContainsFunc(tools(), func(t tool) bool { return begins(key, t.marks) })
}

func begins(text string, with []string) bool {
	return slices.ContainsFunc(with, func(prefix string) bool { return strings.HasPrefix(text, prefix) })
}

// Owners returns who takes a live object for its own, besides us: by what they
// wrote on it, and by the fields of its spec that they set.
func Owners(live map[string]any) (owners []Owner) {
	obj := unstructured.Unstructured{Object: live}
	marks := map[string]string{}
	maps.Copy(marks, obj.GetAnnotations())
	maps.Copy(marks, obj.GetLabels())
	managers := setters(obj.GetManagedFields())
	for _, t := range tools() {
		byMark := false
		for key, value := range marks {
			byMark = byMark || begins(key, t.marks) || t.name == "Helm" && key == "app.kubernetes.io/managed-by" &&
				value == "Helm"
		}
		mine := func(manager string) bool { return begins(manager, t.managers) }
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
				Steps: []string{"find out what sets fields as this field manager, and take the object out of it"}})
	}
	return owners
}

// Applied reports whether lkeplan has applied an object: that the object looks as it
// would be applied says nothing.
func Applied(live map[string]any) bool {
	return slices.ContainsFunc((&unstructured.Unstructured{Object: live}).GetManagedFields(), isOurs)
}

// setters are the field managers besides us that set fields of the spec.
func setters(entries []metav1.ManagedFieldsEntry) (names []string) {
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
	return named("Application", "", app)
}

func fluxObject(marks map[string]string) string {
	if name := marks["helm.toolkit.fluxcd.io/name"]; name != "" {
		return named("HelmRelease", marks["helm.toolkit.fluxcd.io/namespace"], name)
	}
	return named("Kustomization", marks["kustomize.toolkit.fluxcd.io/namespace"],
		marks["kustomize.toolkit.fluxcd.io/name"])
}

func helmRelease(marks map[string]string) string {
	return named("release", marks["meta.helm.sh/release-namespace"], marks["meta.helm.sh/release-name"])
}

func named(kind, namespace, name string) string {
	switch {
	case name == "":
		return ""
	case namespace == "":
		return kind + " " + name
	}
	return kind + " " + namespace + "/" + name
}
