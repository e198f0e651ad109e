package apply

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/loop"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Progress is one thing that was done to an object, or that happened to it.
type Progress struct {
	Kind, Name string
	Event      Event
	Rolled, Of int // of a pool that Rolls: nodes that match it, and all of its nodes
}

// Event is what has happened to an object.
type Event string

// What may happen to an object, besides the outcomes of kube.Cluster.Apply.
const (
	Ready    Event = "ready"
	Deleted  Event = "deleted"  // it will be gone when nothing needs it any more
	Orphaned Event = "orphaned" // it stays, and is no longer managed
	// Condemned is of a pool that gives up its nodes from now on, to be deleted after
	// them.
	Condemned Event = "condemned"
	Drains    Event = "drains" // a condemned pool has Of nodes left
	Gone      Event = "gone"
	Rolls     Event = "rolls"
)

// objects brings objects into a cluster, node classes before the pools that refer
// to them, and reports each one in order. It stops at the first object that cannot
// be applied: what was applied before stays, and applying again continues there.
func objects(ctx context.Context, to executor, targets []compare.Target, report func(Progress)) error {
	isClass := func(t compare.Target) bool { return manifest.Kind(t.Desired) == schemas.NodeClass.Object.Kind }
	classes := slices.DeleteFunc(slices.Clone(targets), func(t compare.Target) bool { return !isClass(t) })
	if err := applyWave(ctx, to, classes, report); err != nil {
		return err
	}
	return applyWave(ctx, to, slices.DeleteFunc(slices.Clone(targets), isClass), report)
}

// atOnce is how many objects are applied at a time.
const atOnce = 8

// applyWave applies objects that do not refer to one another, several at a time.
// One that is as it should be costs no request.
func applyWave(ctx context.Context, to executor, targets []compare.Target, report func(Progress)) error {
	for some := range slices.Chunk(targets, atOnce) {
		outcomes, errs := make([]kube.Outcome, len(some)), make([]error, len(some))
		var wg sync.WaitGroup
		for i, t := range some {
			if outcomes[i] = kube.Unchanged; !t.Unchanged {
				wg.Go(func() {
					errs[i] = loop.Try(slog.Default(), func() (err error) {
						outcomes[i], err = to.Apply(ctx, t.Desired, t.Live)
						return err
					})
				})
			}
		}
		wg.Wait()
		for i, t := range some {
			if errs[i] != nil {
				return errs[i]
			}
			report(Progress{Kind: manifest.Kind(t.Desired), Name: manifest.Name(t.Desired), Event: Event(outcomes[i])})
		}
	}
	return nil
}
