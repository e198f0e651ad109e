package apply

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
	"github.com/lkeplan/lkeplan/schemas/task"
)

// Progress is one event of an object.
type Progress struct {
	Kind, Name string
	Event      Event
	Rolled, Of int // for Rolls: nodes that match their pool, and all its nodes
}

// Event is what happened to an object.
type Event string

// The events, in addition to the outcomes of kube.Cluster.Apply.
const (
	Ready    Event = "ready"
	Deleted  Event = "deleted"  // its deletion has been requested
	Orphaned Event = "orphaned" // it stays, and is no longer managed
	Draining Event = "draining" // its removal has started: the pool is deleted after its nodes
	Drains   Event = "drains"   // a draining pool has Of nodes left
	Gone     Event = "gone"
	Rolls    Event = "rolls"
)

// applyObjects applies objects, and reports each one in order. Node classes come first: if one fails, the pools that
// may refer to it are not applied. Objects that were applied stay, and another apply continues there.
func applyObjects(ctx context.Context, to executor, targets []compare.Target, report func(Progress)) error {
	isClass := func(t compare.Target) bool { return manifest.Kind(t.Desired) == schemas.NodeClass.Object.Kind }
	classes := slices.DeleteFunc(slices.Clone(targets), func(t compare.Target) bool { return !isClass(t) })
	if err := applyWave(ctx, to, classes, report); err != nil {
		return err
	}
	return applyWave(ctx, to, slices.DeleteFunc(slices.Clone(targets), isClass), report)
}

// atOnce is how many objects are applied in parallel.
const atOnce = 8

// applyWave applies objects that do not refer to one another, in parallel. An unchanged object needs no request. It
// reports all objects that were applied, and returns all errors. If all of some objects fail, it does not try the
// others.
func applyWave(ctx context.Context, to executor, targets []compare.Target, report func(Progress)) error {
	var failures []error
	for some := range slices.Chunk(targets, atOnce) {
		outcomes := make([]kube.Outcome, len(some))
		errs := task.Each(slog.Default(), atOnce, some, func(i int, t compare.Target) (err error) {
			outcomes[i] = kube.Unchanged
			if !t.Unchanged {
				outcomes[i], err = to.Apply(ctx, t.Desired, t.Live)
			}
			return err
		})
		for i, t := range some {
			if errs[i] == nil {
				report(Progress{Kind: manifest.Kind(t.Desired), Name: manifest.Name(t.Desired), Event: Event(outcomes[i])})
			}
		}
		failures = append(failures, errs...)
		if !slices.Contains(errs, nil) {
			break
		}
	}
	return errors.Join(failures...)
}
