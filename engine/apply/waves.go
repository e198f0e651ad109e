package apply

import (
	"context"
	"sync"

	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// applier is the cluster as Objects needs it; kube.Cluster is one.
type applier interface {
	Apply(ctx context.Context, obj map[string]any) (kube.Outcome, error)
}

// Progress is one thing that was done with an object, or that has become of it.
type Progress struct {
	Kind, Name string
	Event      Event
	Rolled, Of int // of a pool that Rolls: nodes that are as they should be, and all
}

// Event is what has happened to an object.
type Event string

// What may happen to an object, beside the outcomes of kube.Cluster.Apply.
const (
	Ready    Event = "ready"
	Deleted  Event = "deleted"  // it will be gone when nothing needs it any more
	Released Event = "released" // it stays, and is no longer managed
	Gone     Event = "gone"
	Rolls    Event = "rolls"
)

// Objects brings objects into a cluster, node classes before the pools that refer
// to them, and tells report of each one in order. It stops at the first object
// that cannot be applied: what was applied before stays, and applying again
// continues there. Objects that are not named stay as they are.
func Objects(ctx context.Context, to applier, objects []map[string]any, report func(Progress)) error {
	for _, wave := range waves(objects) {
		if err := applyWave(ctx, to, wave, report); err != nil {
			return err
		}
	}
	return nil
}

// applyWave applies objects that do not refer to one another, several at a
// time.
func applyWave(ctx context.Context, to applier, objects []map[string]any, report func(Progress)) error {
	const atOnce = 8
	type result struct {
		outcome kube.Outcome
		err     error
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	slots := make(chan struct{}, atOnce)
	results := make([]chan result, len(objects))
	for i := range results {
		results[i] = make(chan result, 1)
	}
	wg.Go(func() {
		for i, obj := range objects {
			slots <- struct{}{}
			if ctx.Err() != nil {
				results[i] <- result{err: ctx.Err()}
				return
			}
			wg.Go(func() {
				defer func() { <-slots }()
				outcome, err := to.Apply(ctx, obj)
				results[i] <- result{outcome, err}
			})
		}
	})
	for i, obj := range objects {
		r := <-results[i]
		if r.err != nil {
			return r.err
		}
		report(Progress{Kind: manifest.Kind(obj), Name: manifest.Name(obj), Event: Event(r.outcome)})
	}
	return nil
}

// becomesReady tells whether some controller says of an object that it is
// ready. A CapacityBuffer has other conditions, which come and go with the
// pods.
func becomesReady(obj map[string]any) bool { return manifest.Kind(obj) != "CapacityBuffer" }

// waves puts what is referred to before what refers to it.
func waves(objects []map[string]any) [][]map[string]any {
	var classes, others []map[string]any
	for _, obj := range objects {
		if manifest.Kind(obj) == "LinodeNodeClass" {
			classes = append(classes, obj)
		} else {
			others = append(others, obj)
		}
	}
	return [][]map[string]any{classes, others}
}
