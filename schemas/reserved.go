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
}

// forEveryone is the domain of Kubernetes whose labels are for everyone to write: they say
// which application an object is a part of.
const forEveryone = "app.kubernetes.io"

// ReservedFor returns the program that a key of an object's labels or annotations belongs to;
// "" if a configuration can write it.
func ReservedFor(key string) string {
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
