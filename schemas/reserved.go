package schemas

import "strings"

// Ours is the owner of the keys of this program.
const Ours = "lkeplan"

// reserved lists the keys of an object's labels and annotations on which programs act, with the
// program: a key, or all keys of a domain and its subdomains. Other keys are the author's, such as
// kubernetes.io/description.
var reserved = []struct{ key, owner string }{
	{"lkeplan.dev", Ours},
	{"karpenter.sh", "Karpenter"},
	{"karpenter.k8s.linode", "Karpenter"},
	{"kubectl.kubernetes.io/last-applied-configuration", "kubectl"},
	{"applyset.kubernetes.io", "kubectl"},
	{"config.kubernetes.io/local-config", "kustomize"},
	{"config.k8s.io/owning-inventory", "kpt"},
	{"argoproj.io", "Argo CD"},
	{"fluxcd.io", "Flux"},
	{"helm.sh", "Helm"},
}

// onNodes lists the domains of labels and annotations that programs write on nodes, in addition.
var onNodes = []struct{ key, owner string }{
	{"kubernetes.io", "Kubernetes"},
	{"k8s.io", "Kubernetes"},
	{LinodeDomain, "Linode"},
}

// LinodeDomain is the domain of the labels and taints that LKE and Linode's controllers write.
const LinodeDomain = "linode.com"

// The keys of programs that apply the output of lkeplan render. With some values, they keep an
// object or order it.
const (
	ArgoWave       = "argocd.argoproj.io/sync-wave"
	ArgoOptions    = "argocd.argoproj.io/sync-options"
	FluxPrune      = "kustomize.toolkit.fluxcd.io/prune"
	FluxSubstitute = "kustomize.toolkit.fluxcd.io/substitute"
)

// The domains whose keys anyone can write: labels that name the application of an object, and records
// of Karpenter's conversion from v1beta1.
const (
	forEveryone = "app.kubernetes.io"
	converted   = "compatibility.karpenter.sh"
)

// ReservedFor returns the program that acts on a key of an object's labels or annotations; "" if a
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
	return ownerOf(key, reserved)
}

// ReservedOnNodes returns the program that owns a key of the labels or annotations of nodes; "" if a
// configuration can change the key in place.
func ReservedOnNodes(key string) string {
	if owner := ReservedFor(key, ""); owner != "" {
		return owner
	}
	return ownerOf(key, onNodes)
}

func ownerOf(key string, of []struct{ key, owner string }) string {
	domain, _, prefixed := strings.Cut(key, "/")
	if !prefixed || domain == forEveryone || domain == converted {
		return ""
	}
	for _, r := range of {
		if key == r.key || InDomain(key, r.key) {
			return r.owner
		}
	}
	return ""
}

// InDomain reports whether a key of labels or annotations has a domain or one of its subdomains.
func InDomain(key, domain string) bool {
	of, _, prefixed := strings.Cut(key, "/")
	return prefixed && (of == domain || strings.HasSuffix(of, "."+domain))
}
