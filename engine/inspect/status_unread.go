package inspect

import "github.com/lkeplan/lkeplan/engine/cluster"

// ifListed are what is to be said of a kind; nil where it could not be listed.
func ifListed[T any](l cluster.Snapshot, kind string, say func() []T) []T {
	if l.Unread(kind) != "" {
		return nil
	}
	return say()
}

// doubts say what follows of kinds that could not be listed.
func (w *statusReader) doubts() (notes []string) {
	if w.Unread(cluster.KindClasses) != "" {
		notes = append(notes, "Whether nodes differ from their LinodeNodeClasses, and what is wrong with these, is not known.")
	}
	if w.Unread(cluster.KindLimits) != "" {
		notes = append(notes, "Whether a CapacityLimit has no room is not known, but for what is said of it to pods.")
	}
	return notes
}
