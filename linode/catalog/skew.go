package catalog

import (
	"fmt"
	"time"
)

// mostBehind is how many minor versions a kubelet may be behind its API server
// (kubernetes.io/releases/version-skew-policy, since 1.28).
const mostBehind = 3

// ended are the days on which the Kubernetes project ends minor versions, as
// kubernetes.io/releases has them. LKE keeps a version until shortly before that
// day, and then upgrades the clusters that have it
// (techdocs.akamai.com/cloud-computing/docs/lke-versioning-and-life-cycle-policy). That is
// the standard tier: LKE Enterprise had builds of 1.32 on offer half a year after its end.
//
// Unverified: on which day. Its API does not say.
var ended = map[string]time.Time{
	"1.31": time.Date(2025, time.November, 11, 0, 0, 0, 0, time.UTC),
	"1.32": time.Date(2026, time.February, 28, 0, 0, 0, 0, time.UTC),
	"1.33": time.Date(2026, time.June, 28, 0, 0, 0, 0, time.UTC),
	"1.34": time.Date(2026, time.October, 27, 0, 0, 0, 0, time.UTC),
	"1.35": time.Date(2027, time.February, 28, 0, 0, 0, 0, time.UTC),
	"1.36": time.Date(2027, time.June, 28, 0, 0, 0, 0, time.UTC),
}

// VersionDeadline says by when nodes of a version must follow their control plane: the
// last version of the control plane that they may have, and the last day, as far as
// it is known. "" for what is no version.
func VersionDeadline(nodes string) string {
	v, ok := ParseVersion(nodes)
	if !ok {
		return ""
	}
	text := fmt.Sprintf("Kubernetes supports nodes of %s until the control plane goes beyond %d.%d", v.Minor(), v.major,
		v.minor+mostBehind)
	if v.Exact() {
		return text + "; until when LKE Enterprise keeps a build is not known: they come and go for each account"
	}
	if end, known := ended[v.Minor()]; known {
		return text + fmt.Sprintf("; LKE keeps %s until shortly before Kubernetes ends it, on %s, and its API does not "+
			"say on which day", v.Minor(), end.Format(time.DateOnly))
	}
	return text + fmt.Sprintf("; when LKE ends %s is not known", v.Minor())
}

// VersionAhead says what follows from a control plane that is newer than the nodes are to
// be, whether a version is written for them or they keep what they had at first.
func VersionAhead(controlPlane, nodes string, written bool) string {
	text := fmt.Sprintf("The control plane has %s; the nodes stay at %s until kubernetes_version (spec.lkeK8sVersion) "+
		"names another. ", controlPlane, nodes)
	if !written {
		text = fmt.Sprintf("The control plane has %s, and no kubernetes_version (spec.lkeK8sVersion) is written: the nodes "+
			"keep what they have, which was %s at first. ", controlPlane, nodes)
	}
	if v, ok := ParseVersion(nodes); ok && !v.Exact() {
		text += "What cannot be held back on the standard tier: new nodes get the control plane's version, and so do all " +
			"that somebody, or Linode, recycles. "
	}
	text += VersionDeadline(nodes) + fmt.Sprintf(". To replace the nodes set kubernetes_version to %q", controlPlane)
	if !written {
		text += fmt.Sprintf("; to write down what they have, to %q", nodes)
	}
	return text + "."
}
