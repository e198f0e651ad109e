package schemas

import "strings"

// Ours is the owner of the keys of this program.
const Ours = "lkeplan"

// reserved lists the domains of labels and annotations that programs write, with the program. A
// subdomain belongs to the same program.
var reserved = []struct{ domain, owner string }{
	{"lkeplan.dev", Ours},
	{"karpenter.sh", "Karpenter"},
	{"karpenter.k8s.linode", "Karpenter"},
	{"kubernetes.io", "Kubernetes"},
	{"k8s.io", "Kubernetes"},
	{"argoproj.io", "Argo CD"},
	{"fluxcd.io", "Flux"},
	{"helm.sh", "Helm"},
}

// The keys of programs that apply the output of lkeplan render. With some values, they keep an
// object or order it.
const (
	ArgoWave    = "argocd.argoproj.io/sync-wave"
	ArgoOptions = "argocd.argoproj.io/sync-options"
	FluxPrune   = "kustomize.toolkit.fluxcd.io/prune"
)

// forEveryone is the domain of Kubernetes whose labels anyone can write: they name the application
// of an object.
const forEveryone = "app.kubernetes.io"

// ReservedFor returns the program that owns a key of an object's labels or annotations; "" if a
// configuration can write the key with that value. A configuration can tell programs that apply the
// output of lkeplan render to do less, but not to delete or recreate an object.
func ReservedFor(key, value string) string {
	switch key {
	case ArgoWave:
		return ""
	case ArgoOptions:
		for option := range strings.SplitSeq(value, ",") {
			name, set, _ := strings.Cut(strings.TrimSpace(option), "=")
			deletes := (name == "Prune" || name == "Delete") && set != "false" && set != "confirm"
			if deletes || name == "Replace" || name == "Force" {
				return "Argo CD"
			}
		}
		return ""
	case FluxPrune:
		if strings.EqualFold(value, "disabled") {
			return ""
		}
	}
	domain, _, prefixed := strings.Cut(key, "/")
	if !prefixed || domain == forEveryone {
		return ""
	}
	for _, r := range reserved {
		if domain == r.domain || strings.HasSuffix(domain, "."+r.domain) {
			return r.owner
		}
	}
	return ""
}
