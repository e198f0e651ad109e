package cluster

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestEventsCountForTheirObject only, in its namespace.
func TestEventsCountForTheirObject(t *testing.T) {
	now := time.Date(2026, 11, 2, 14, 0, 0, 0, time.UTC)
	event := func(in, kind, namespace, name, uid string) *corev1.Event {
		return &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: in, CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))},
			InvolvedObject: corev1.ObjectReference{Kind: kind, Namespace: namespace, Name: name, UID: types.UID(uid)},
		}
	}
	for name, tt := range map[string]struct {
		event *corev1.Event
		of    Subject
		want  bool
	}{
		"of its pod":                        {event("ten", "Pod", "ten", "a", "1"), Subject{"Pod", "ten", "a", "1"}, true},
		"of a pod that is gone":             {event("ten", "Pod", "ten", "a", "1"), Subject{"Pod", "ten", "a", ""}, true},
		"of another pod of the name":        {event("ten", "Pod", "ten", "a", "2"), Subject{"Pod", "ten", "a", "1"}, false},
		"of a pod elsewhere":                {event("ten", "Pod", "ten", "a", "1"), Subject{"Pod", "shop", "a", ""}, false},
		"that says another namespace":       {event("ten", "Pod", "shop", "a", "1"), Subject{"Pod", "shop", "a", ""}, false},
		"of a node":                         {event("default", "Node", "", "a", "1"), Subject{"Node", "", "a", "1"}, true},
		"of a node, by its kubelet":         {event("default", "Node", "", "a", "a"), Subject{"Node", "", "a", "1"}, true},
		"of a node, by a tenant":            {event("ten", "Node", "", "a", "1"), Subject{"Node", "", "a", "1"}, false},
		"of a node in a tenant's namespace": {event("ten", "Node", "ten", "a", "1"), Subject{"Node", "", "a", "1"}, false},
		"of a pod with the name of a node":  {event("ten", "Pod", "ten", "a", "1"), Subject{"Node", "", "a", ""}, false},
		"of a pod in default":               {event("default", "Pod", "default", "a", "1"), Subject{"Node", "", "a", ""}, false},
		"of a NodeClaim":                    {event("default", "NodeClaim", "", "a", ""), Subject{"NodeClaim", "", "a", "1"}, true},
	} {
		events := Snapshot{Events: []*corev1.Event{tt.event}}.EventsAt(now)
		if got := len(events.About(tt.of)) == 1; got != tt.want {
			t.Errorf("%s: it counts: %v", name, got)
		}
	}
}

// TestAnEventOfTheFutureIsNotTheLast: it was seen when the API server took it.
func TestAnEventOfTheFutureIsNotTheLast(t *testing.T) {
	now := time.Date(2026, 11, 2, 14, 0, 0, 0, time.UTC)
	event := func(reason string, made, last time.Duration) *corev1.Event {
		return &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: "default", CreationTimestamp: metav1.NewTime(now.Add(made))},
			InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: "a"}, Reason: reason, LastTimestamp: metav1.NewTime(now.Add(last)),
		}
	}
	events := Snapshot{Events: []*corev1.Event{
		event("forged", -time.Hour, 100*365*24*time.Hour), event("last", -2*time.Hour, -time.Minute), event("clock", -3*time.Hour, 30*time.Second),
	}}.EventsAt(now)
	var order []string
	for _, e := range events.About(Subject{Kind: "Node", Name: "a"}) {
		order = append(order, e.Reason)
	}
	if len(order) != 3 || order[0] != "clock" || order[1] != "last" || order[2] != "forged" {
		t.Error(order)
	}
}
