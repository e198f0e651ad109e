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

// VersionDeadline says by when nodes of a version must follow their control plane: the newest control plane
// that they support, and the last day, if it is known. "" if the text is not a version.
func VersionDeadline(nodes string) string {
	v, ok := ParseVersion(nodes)
	if !ok {
		return ""
	}
	text := fmt.Sprintf("Kubernetes supports nodes of %s with control planes up to %d.%d", v.Minor(), v.major,
		v.minor+mostBehind)
	if v.Exact() {
		return text + "; how long LKE Enterprise keeps a build is unknown: builds come and go for each account"
	}
	if end, known := ended[v.Minor()]; known {
		return text + fmt.Sprintf("; LKE supports %s until shortly before its Kubernetes end of life on %s, and its API "+
			"does not report the exact day", v.Minor(), end.Format(time.DateOnly))
	}
	return text + fmt.Sprintf("; when LKE ends support for %s is unknown", v.Minor())
}

// VersionAhead explains a control plane that is newer than the version of the nodes, which is either set or
// kept from the start.
func VersionAhead(controlPlane, nodes string, written bool) string {
	text := fmt.Sprintf("The control plane runs %s; the nodes stay at %s until kubernetes_version (spec.lkeK8sVersion) "+
		"changes. ", controlPlane, nodes)
	if !written {
		text = fmt.Sprintf("The control plane runs %s, and kubernetes_version (spec.lkeK8sVersion) is not set: the nodes "+
			"keep their version, which was %s at first. ", controlPlane, nodes)
	}
	if v, ok := ParseVersion(nodes); ok && !v.Exact() {
		text += "On the standard tier, new nodes and nodes that a user or Linode recycles always get the control plane's " +
			"version. "
	}
	text += VersionDeadline(nodes) + fmt.Sprintf(". To replace the nodes set kubernetes_version to %q", controlPlane)
	if !written {
		text += fmt.Sprintf("; to pin their current version, set it to %q", nodes)
	}
	return text + "."
}
