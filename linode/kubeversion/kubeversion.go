// Package kubeversion reads versions of Kubernetes as LKE writes them, and says
// how far nodes may be behind their control plane, and until when.
//
// It is pure. It knows no API and no clock.
package kubeversion

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A Version is one of three: a minor version, as the control plane of a standard
// cluster has it (1.34); what a kubelet reports (v1.34.1); the version of a
// control plane or a node pool of LKE Enterprise (v1.34.1+lke2).
type Version struct {
	text                         string
	major, minor, patch, release int // -1 where it says nothing of it
}

var pattern = regexp.MustCompile(`^v?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?(?:\+lke(\d{1,4}))?$`)

// Parse reads a version; false where it is none.
func Parse(text string) (Version, bool) {
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

// String is the version as it was written.
func (v Version) String() string { return v.text }

// Minor is the minor version, as in 1.34.
func (v Version) Minor() string { return fmt.Sprintf("%d.%d", v.major, v.minor) }

// Exact reports whether it is a version of LKE Enterprise.
func (v Version) Exact() bool { return v.release >= 0 }

// Compare is negative where v is older than w, and positive where it is newer. What
// one of them says nothing of is the same in both.
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

// Newer reports whether version a is newer than b. Of what is no version nothing is
// known: it is not.
func Newer(a, b string) bool {
	v, ok := Parse(a)
	w, alsoOK := Parse(b)
	return ok && alsoOK && v.Compare(w) > 0
}

// Outdated reports whether nodes of a version are to be replaced where another is
// wanted. LKE Enterprise makes nodes of any version that it has: they are replaced
// by older ones, too, where Git goes back. On the standard tier new nodes have the
// version of the control plane, whatever is wanted: only those that are behind are
// replaced. Of nodes whose version is not known none is.
func Outdated(have, want string) bool {
	v, ok := Parse(have)
	w, alsoOK := Parse(want)
	switch {
	case !ok || !alsoOK:
		return false
	case w.Exact():
		return v.Compare(w) != 0
	}
	return v.Compare(w) < 0
}

// Reaches reports whether a control plane has at least a version, so that LKE can
// make nodes of it: kubelets must not be newer than their API server. Where either
// is not known LKE has the word.
func Reaches(controlPlane, want string) bool { return !Newer(want, controlPlane) }

// Newest returns the newest of several versions; "" where there is none.
func Newest(versions ...string) (newest string) {
	for _, v := range versions {
		if _, ok := Parse(v); ok && (newest == "" || Newer(v, newest)) {
			newest = v
		}
	}
	return newest
}

// Fits says what is wrong with a version that nodes of a tier are to have; "" where
// nothing is.
func Fits(text string, enterprise bool) string {
	v, ok := Parse(text)
	switch {
	case enterprise && !(ok && v.Exact() && strings.HasPrefix(text, "v")):
		return fmt.Sprintf("%q is not a version of LKE Enterprise, which are written like v1.34.1+lke2", text)
	case !enterprise && !(ok && text == v.Minor()):
		return fmt.Sprintf("%q is not a version of LKE, which on the standard tier are minor versions, such as 1.34",
			text)
	}
	return ""
}
