package catalog

// Versions of Kubernetes in LKE's forms: how far nodes may be behind their control plane, and until when. This
// needs no API and no clock.

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A Version has one of three forms: a minor version, as that of the control plane of a standard cluster (1.34); the
// version that a kubelet reports (v1.34.1); or the version of a control plane or a node pool of LKE Enterprise
// (v1.34.1+lke2).
type Version struct {
	text                         string
	major, minor, patch, release int // -1 if the form does not have it
}

var pattern = regexp.MustCompile(`^v?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?(?:\+lke(\d{1,4}))?$`)

// ParseVersion reads a version; it returns false if the text is not one.
func ParseVersion(text string) (Version, bool) {
	found := pattern.FindStringSubmatch(text)
	if found == nil {
		return Version{}, false
	}
	number := func(digits string) int {
		n, err := strconv.Atoi(digits)
		if err != nil {
			return -1
		}
		return n
	}
	v := Version{text, number(found[1]), number(found[2]), number(found[3]), number(found[4])}
	return v, v.release < 0 || v.patch >= 0
}

// String returns the version as it was written.
func (v Version) String() string { return v.text }

// Minor returns the minor version, as in 1.34.
func (v Version) Minor() string { return fmt.Sprintf("%d.%d", v.major, v.minor) }

// Exact reports whether it is a version of LKE Enterprise.
func (v Version) Exact() bool { return v.release >= 0 }

// Compare is negative if v is older than w, and positive if it is newer. It ignores parts that one of them does not
// have.
func (v Version) Compare(w Version) int {
	said := func(a, b int) int {
		if a < 0 || b < 0 {
			return 0
		}
		return cmp.Compare(a, b)
	}
	return cmp.Or(cmp.Compare(v.major, w.major), cmp.Compare(v.minor, w.minor), said(v.patch, w.patch),
		said(v.release, w.release))
}

// NewerVersion reports whether version a is newer than b. It is false if one of them is not a version.
func NewerVersion(a, b string) bool {
	v, ok := ParseVersion(a)
	w, alsoOK := ParseVersion(b)
	return ok && alsoOK && v.Compare(w) > 0
}

// OutdatedVersion reports whether nodes of a version must be replaced if another version is set. LKE Enterprise
// creates nodes of any version that it offers, so nodes are replaced even by older ones if Git goes back. On the
// standard tier new nodes have the version of the control plane, regardless of the version that is set, so only
// nodes that are behind are replaced. Nodes of an unknown version are not replaced.
func OutdatedVersion(have, want string) bool {
	v, ok := ParseVersion(have)
	w, alsoOK := ParseVersion(want)
	switch {
	case !ok || !alsoOK:
		return false
	case w.Exact():
		return v.Compare(w) != 0
	}
	return v.Compare(w) < 0
}

// ReachesVersion reports whether a control plane has at least a version, so that LKE can create nodes of it:
// kubelets must not be newer than their API server. If either is unknown, the result is true, and LKE decides.
func ReachesVersion(controlPlane, want string) bool { return !NewerVersion(want, controlPlane) }

// NewestVersion returns the newest of several versions; "" if there is none.
func NewestVersion(versions ...string) (newest string) {
	for _, v := range versions {
		if _, ok := ParseVersion(v); ok && (newest == "" || NewerVersion(v, newest)) {
			newest = v
		}
	}
	return newest
}

// VersionProblem says what is wrong with a version for nodes of a tier; "" if nothing is.
func VersionProblem(text string, enterprise bool) string {
	v, ok := ParseVersion(text)
	switch {
	case enterprise && !(ok && v.Exact() && strings.HasPrefix(text, "v")):
		return fmt.Sprintf("%q is not a version of LKE Enterprise, which are written like v1.34.1+lke2", text)
	case !enterprise && !(ok && text == v.Minor()):
		return fmt.Sprintf("%q is not a version of LKE, which on the standard tier are minor versions, such as 1.34",
			text)
	}
	return ""
}
