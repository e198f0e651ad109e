package status

import (
	"fmt"
	"slices"
	"strings"
)

// The kinds that conclusions are drawn from, as the notes of Lists name them.
const (
	kindNodes   = "Nodes"
	kindClaims  = "NodeClaims"
	kindPods    = "Pods"
	kindBudgets = "PodDisruptionBudgets"
	kindEvents  = "Events"
)

// forbidden is what a note says of a kind that the user may not list.
const forbidden = " cannot be shown: the user may not list them."

// Unread says that the objects of some kinds, named in the plural, could not be listed;
// "" where they could. From a list that was refused nothing follows.
func (l Lists) Unread(kinds ...string) string {
	var unread []string
	for _, kind := range kinds {
		if slices.Contains(l.Notes, kind+forbidden) {
			unread = append(unread, kind)
		}
	}
	if len(unread) == 0 {
		return ""
	}
	return fmt.Sprintf("%s cannot be listed (the user may not)", strings.Join(unread, " and "))
}

// unread are the kinds that the user may not list.
func (l Lists) unread() []string {
	kinds := []string{}
	for _, note := range l.Notes {
		if kind, refused := strings.CutSuffix(note, forbidden); refused {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}
