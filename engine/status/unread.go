package status

import (
	"slices"
	"strings"
)

// The kinds that conclusions are drawn from, as Lists.Unlisted names them.
const (
	kindNodes   = "Nodes"
	kindClaims  = "NodeClaims"
	kindPods    = "Pods"
	kindBudgets = "PodDisruptionBudgets"
	kindEvents  = "Events"
)

// Unread says that the objects of some kinds, named in the plural, could not be listed;
// "" where they could.
func (l Lists) Unread(kinds ...string) string {
	unread := slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool { return !slices.Contains(l.Unlisted, kind) })
	if len(unread) == 0 {
		return ""
	}
	return strings.Join(unread, " and ") + " cannot be listed"
}
