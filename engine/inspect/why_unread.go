package inspect

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/lkeplan/lkeplan/engine/simulate"
)

// The kinds that a scheduler looks at: without these there is nothing to plan with, and
// without those a plan is not the whole one.
var (
	kindsToPlan    = []string{"Nodes", "NodeClaims", "Pods", "LinodeNodeClasses"}
	kindsCounted   = []string{"DaemonSets", "CapacityLimits"}
	kindsOfRegion  = []string{"Nodes", "NodeClaims", "LinodeNodeClasses"} // which tell the region
	kindsOfVolumes = []string{"PersistentVolumeClaims", "PersistentVolumes", "StorageClasses"}
)

// unknown says that something is not known as some kinds cannot be listed; nothing where
// they can.
func (w *explainer) unknown(what string, kinds ...string) (texts []string) {
	if unread := w.Unread(kinds...); unread != "" {
		texts = append(texts, fmt.Sprintf("%s is not known: %s", what, unread))
	}
	return texts
}

// but says at the end of a sentence that some kinds cannot be listed; "" where they can.
func (w *explainer) but(kinds ...string) string {
	if unread := w.Unread(kinds...); unread != "" {
		return ", but " + unread
	}
	return ""
}

// doubts says what a plan for pods does not count.
func (w *explainer) doubts(pods ...*corev1.Pod) (texts []string) {
	if unread := w.Unread(kindsCounted...); unread != "" {
		texts = append(texts, "which is without what cannot be counted: "+unread)
	}
	for _, pod := range pods {
		if unread := w.Unread(kindsOfVolumes...); unread != "" && simulate.ClaimsVolumes(pod) {
			return append(texts, "where its volumes can be used is not known: "+unread)
		}
	}
	return texts
}
