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
	kindClasses = "LinodeNodeClasses"
	kindLimits  = "CapacityLimits"
	kindPlans   = "NodePlans"
)

// listed are what is to be said of a kind; nil where it could not be listed.
func listed[T any](l Lists, kind string, say func() []T) []T {
	if l.Unread(kind) != "" {
		return nil
	}
	return say()
}

// doubts say what follows of kinds that could not be listed.
func (w *world) doubts() (notes []string) {
	if w.Unread(kindClasses) != "" {
		notes = append(notes, "Whether nodes differ from their LinodeNodeClasses, and what is wrong with these, is not known.")
	}
	if w.Unread(kindLimits) != "" {
		notes = append(notes, "Whether a CapacityLimit has no room is not known, but for what is said of it to pods.")
	}
	return notes
}

// Unread says that the objects of some kinds, named in the plural, could not be listed;
// "" where they could.
func (l Lists) Unread(kinds ...string) string {
	unread := slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool { return !slices.Contains(l.Unlisted, kind) })
	if len(unread) == 0 {
		return ""
	}
	return strings.Join(unread, " and ") + " cannot be listed"
}
