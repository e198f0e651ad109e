package migrate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podutils "sigs.k8s.io/karpenter/pkg/utils/pod"
)

// ledger has the makers of the pods that were moved, by their UIDs, with how many of its
// pods each lacked before the first of them was. What it lacks beyond that, the move took
// from it. Pods of others wait for their own reasons.
type ledger map[string]int

// movedFrom is the annotation of a cordoned Node that has a ledger, for the next run of a move
// that has stopped: UID=NUMBER, with spaces in between.
const movedFrom = "lkeplan.dev/moved-from"

// read takes over what an annotation says.
func (l ledger) read(entries string) {
	for entry := range strings.FieldsSeq(entries) {
		uid, number, _ := strings.Cut(entry, "=")
		if lacked, err := strconv.Atoi(number); err == nil {
			l.enter(uid, lacked)
		}
	}
}

func (l ledger) enter(uid string, lacked int) {
	if known, found := l[uid]; !found || lacked < known {
		l[uid] = lacked
	}
}

// note enters the makers of pods that are about to go, in the ledger and on their node.
func (l *drainRun) note(ctx context.Context, at drainState, name string, pods []*corev1.Pod) error {
	lacking, entries := at.lacking(), map[string]string{}
	for _, pod := range pods {
		if uid := makerOf(pod); uid != "" {
			l.moved.enter(uid, len(lacking[uid]))
			entries[uid] = fmt.Sprintf("%s=%d", uid, l.moved[uid])
		}
	}
	node := at.node(name)
	if node == nil {
		return nil
	}
	known := ledger{}
	known.read(node.Annotations[movedFrom])
	for uid, lacked := range known {
		if _, found := entries[uid]; !found {
			entries[uid] = fmt.Sprintf("%s=%d", uid, lacked)
		}
	}
	if len(known) == len(entries) {
		return nil
	}
	text := strings.Join(slices.Sorted(maps.Values(entries)), " ")
	change := map[string]any{"metadata": map[string]any{"annotations": map[string]any{movedFrom: text}}}
	return l.Cluster.Merge(ctx, reference(node), change, drainer)
}

// missing says what the makers lack that they did not lack before.
func (l ledger) missing(at drainState) (why []string) {
	lacking := at.lacking()
	for _, uid := range slices.Sorted(maps.Keys(l)) {
		now := lacking[uid]
		l.enter(uid, len(now))
		why = append(why, now[:len(now)-l[uid]]...)
	}
	return why
}

// lacking says what each maker lacks, by its UID: pods that do not run, newest first, and
// those that are not made.
func (at drainState) lacking() map[string][]string {
	lacking, made := map[string][]string{}, map[string]int{}
	newest := slices.SortedStableFunc(slices.Values(at.pods), func(a, b *corev1.Pod) int {
		return b.CreationTimestamp.Compare(a.CreationTimestamp.Time)
	})
	for _, pod := range newest {
		uid := makerOf(pod)
		if uid == "" || podutils.IsTerminal(pod) {
			continue
		}
		made[uid]++ // also one that goes: a StatefulSet waits until it is gone
		if why := idle(pod); why != "" && pod.DeletionTimestamp.IsZero() {
			lacking[uid] = append(lacking[uid], keyOf(pod)+" "+why)
		}
	}
	for _, m := range at.makers {
		for range m.wants - made[m.uid] {
			lacking[m.uid] = append(lacking[m.uid], m.name+" does not make its pod again"+m.says)
		}
	}
	return lacking
}

// makerOf is the UID of what makes a pod again; "" if nothing does.
func makerOf(pod *corev1.Pod) string {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		return string(owner.UID)
	}
	return ""
}

// idle says why a pod does not run; "" if it does.
func idle(pod *corev1.Pod) string {
	node := pod.Spec.NodeName
	if node == "" {
		return "finds no room on another node" + colon(podCondition(pod, corev1.PodScheduled).Message)
	}
	if ready := podCondition(pod, corev1.PodReady); ready.Status != corev1.ConditionTrue {
		return "is not ready on node " + node + colon(ready.Message)
	}
	return ""
}

func podCondition(pod *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	for _, c := range pod.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return corev1.PodCondition{}
}
