package moveover

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/lkeplan/lkeplan/schemas/manifest"
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
func (l *leaving) note(ctx context.Context, at scene, node string, pods []map[string]any) error {
	lacking, entries := at.lacking(), map[string]string{}
	for _, pod := range pods {
		if uid := manifest.Text(controller(pod), "uid"); uid != "" {
			l.moved.enter(uid, len(lacking[uid]))
			entries[uid] = fmt.Sprintf("%s=%d", uid, l.moved[uid])
		}
	}
	at.nodes = slices.DeleteFunc(slices.Clone(at.nodes), func(n map[string]any) bool { return manifest.Name(n) != node })
	for _, n := range at.nodes {
		known := ledger{}
		known.read(annotation(n, movedFrom))
		for uid, lacked := range known {
			if _, found := entries[uid]; !found {
				entries[uid] = fmt.Sprintf("%s=%d", uid, lacked)
			}
		}
		if len(known) == len(entries) {
			continue
		}
		text := strings.Join(slices.Sorted(maps.Values(entries)), " ")
		change := map[string]any{"metadata": map[string]any{"annotations": map[string]any{movedFrom: text}}}
		if err := l.Cluster.Merge(ctx, n, change, manager); err != nil {
			return err
		}
	}
	return nil
}

// unsettled says what the makers lack that they did not lack before.
func (l ledger) unsettled(at scene) (why []string) {
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
func (at scene) lacking() map[string][]string {
	lacking, made := map[string][]string{}, map[string]int{}
	newest := slices.SortedStableFunc(slices.Values(at.pods), func(a, b map[string]any) int {
		created := func(pod map[string]any) string { return manifest.Text(pod, "metadata", "creationTimestamp") }
		return cmp.Compare(created(b), created(a))
	})
	for _, pod := range newest {
		uid := manifest.Text(controller(pod), "uid")
		if uid == "" || ended(pod) {
			continue
		}
		made[uid]++ // also one that goes: a StatefulSet waits until it is gone
		if deleted(pod) {
			continue
		}
		if why := idle(pod); why != "" {
			lacking[uid] = append(lacking[uid], nameOf(pod)+" "+why)
		}
	}
	for _, maker := range at.makers {
		uid := manifest.UID(maker)
		for range wanted(maker) - made[uid] {
			lacking[uid] = append(lacking[uid], fmt.Sprintf("%s %s does not make its pod again%s", manifest.Kind(maker),
				nameOf(maker), says(maker, "ReplicaFailure")))
		}
	}
	return lacking
}

// wanted is how many pods a maker should have.
func wanted(maker map[string]any) int {
	if deleted(maker) {
		return 0
	}
	replicas, _ := manifest.Lookup(maker, "spec", "replicas")
	switch n := replicas.(type) {
	case int64:
		return int(n)
	case float64:
		return int(n)
	}
	return 0
}
