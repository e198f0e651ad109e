package schemas

import "strings"

// Ours is the program that this is, as an owner of keys.
const Ours = "lkeplan"

// MovedTo is the annotation by which a migration marks the nodes of a pool that moves: it names
// the pool that they move to.
const MovedTo = "lkeplan.dev/moved-to"

// reserved are the domains whose labels and annotations on objects are for programs to write,
// and who writes them. A subdomain belongs to the same program.
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

// The keys of programs that apply what lkeplan renders, with the values that keep an object or
// order it.
const (
	ArgoWave    = "argocd.argoproj.io/sync-wave"
	ArgoOptions = "argocd.argoproj.io/sync-options"
	FluxPrune   = "kustomize.toolkit.fluxcd.io/prune"
)

// forEveryone is the domain of Kubernetes whose labels are for everyone to write: they say
// which application an object is a part of.
const forEveryone = "app.kubernetes.io"

// ReservedFor returns the program that a key of an object's labels or annotations belongs to;
// "" if a configuration can write it with that value. Programs that apply what lkeplan renders
// can be asked for less than they would do, and not to delete an object or to make it again.
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
