package cluster

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Subject is the object of an event. The UID is "" if the object does not exist any more.
type Subject struct {
	Kind, Namespace, Name string
	UID                   types.UID
}

// SubjectOf returns an object of a kind as a Subject.
func SubjectOf(kind string, obj metav1.Object) Subject {
	return Subject{kind, obj.GetNamespace(), obj.GetName(), obj.GetUID()}
}

// Events are events by their subjects.
type Events struct {
	now time.Time
	by  map[Subject][]*corev1.Event // the keys have no UIDs
}

// EventsAt returns the events of a snapshot at a time.
//
// An event counts only if it is in the namespace in which the API server requires events about its object: the
// namespace of the object, or default for an object without a namespace. So a user who may write events only in
// another namespace cannot make statements about an object.
func (s Snapshot) EventsAt(now time.Time) Events {
	e := Events{now: now, by: map[Subject][]*corev1.Event{}}
	for _, event := range s.Events {
		of := event.InvolvedObject
		if event.Namespace != cmp.Or(of.Namespace, metav1.NamespaceDefault) {
			continue
		}
		of.Namespace = event.Namespace
		if clusterWide(of.Kind) {
			of.Namespace = ""
			if event.Namespace != metav1.NamespaceDefault {
				continue
			}
		}
		subject := Subject{Kind: of.Kind, Namespace: of.Namespace, Name: of.Name}
		e.by[subject] = append(e.by[subject], event)
	}
	for _, events := range e.by {
		slices.SortStableFunc(events, func(a, b *corev1.Event) int { return e.LastSeen(b).Compare(e.LastSeen(a)) })
	}
	return e
}

func clusterWide(kind string) bool {
	return slices.Contains([]string{"Node", "NodeClaim", "NodePool", "LinodeNodeClass"}, kind)
}

// About returns the events about some objects, the last ones first. It ignores events about an earlier object of
// the same name, which has another UID. The kubelet writes the name of its Node in place of the UID.
func (e Events) About(of ...Subject) (about []*corev1.Event) {
	for _, subject := range of {
		uid := subject.UID
		subject.UID = ""
		for _, event := range e.by[subject] {
			said := event.InvolvedObject.UID
			if uid == "" || said == "" || said == uid || subject.Kind == "Node" && string(said) == subject.Name {
				about = append(about, event)
			}
		}
	}
	if len(of) > 1 {
		slices.SortStableFunc(about, func(a, b *corev1.Event) int { return e.LastSeen(b).Compare(e.LastSeen(a)) })
	}
	return about
}

// OfKind returns the events about objects of a kind, the last ones first.
func (e Events) OfKind(kind string) (about []*corev1.Event) {
	for subject, events := range e.by {
		if subject.Kind == kind {
			about = append(about, events...)
		}
	}
	slices.SortFunc(about, func(a, b *corev1.Event) int {
		return cmp.Or(e.LastSeen(b).Compare(e.LastSeen(a)), strings.Compare(a.Name, b.Name))
	})
	return about
}

// ahead is how far the clock of the author of an event may be ahead.
const ahead = time.Minute

// LastSeen returns when an event was last seen. The author of the event writes that time; if it is in the future,
// the time at which the API server created the event counts.
func (e Events) LastSeen(event *corev1.Event) time.Time {
	if at := LastSeen(event); !at.After(e.now.Add(ahead)) {
		return at
	}
	return event.CreationTimestamp.Time
}

// LastSeen returns when an event was last seen according to its author. The API has three fields for it.
func LastSeen(event *corev1.Event) time.Time {
	at := event.LastTimestamp.Time
	if event.EventTime.After(at) {
		at = event.EventTime.Time
	}
	if event.Series != nil && event.Series.LastObservedTime.After(at) {
		at = event.Series.LastObservedTime.Time
	}
	if at.IsZero() {
		return event.CreationTimestamp.Time
	}
	return at
}
