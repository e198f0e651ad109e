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

// Subject is an object that events are about. The UID is "" if the object is gone.
type Subject struct {
	Kind, Namespace, Name string
	UID                   types.UID
}

// SubjectOf is an object of a kind.
func SubjectOf(kind string, obj metav1.Object) Subject {
	return Subject{kind, obj.GetNamespace(), obj.GetName(), obj.GetUID()}
}

// Events are events by what they are about.
type Events struct {
	now time.Time
	by  map[Subject][]*corev1.Event // without UIDs
}

// EventsAt are the events of a snapshot at a time.
//
// An event counts only if it is in the namespace where the API server takes events about its object: that of the
// object, or default for an object without a namespace. So a user who may write events only in another namespace cannot
// say something about an object.
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

// About are the events about some objects, the last ones first. Events about another object of the same name, which has
// another UID, are none. The kubelet writes the name of its Node for the UID.
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

// OfKind are the events about objects of a kind, the last ones first.
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

// LastSeen is when an event was last seen. Its author writes that. If it is a time that is still to come, it is when the
// API server took the event.
func (e Events) LastSeen(event *corev1.Event) time.Time {
	if at := LastSeen(event); !at.After(e.now.Add(ahead)) {
		return at
	}
	return event.CreationTimestamp.Time
}

// LastSeen is when an event was last seen according to its author: the API has three places for it.
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
