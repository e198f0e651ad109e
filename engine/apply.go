package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/lkeplan/lkeplan/kube"
)

// applier is the cluster as Apply needs it; kube.Cluster is one.
type applier interface {
	Apply(ctx context.Context, obj map[string]any) (kube.Outcome, error)
	WaitReady(ctx context.Context, obj map[string]any) error
}

// Progress is one thing that Apply has done with one object: an Outcome, or
// Ready.
type Progress struct {
	Kind, Name string
	Outcome    kube.Outcome // "" when the object has become ready
	Ready      bool
}

// Apply brings objects into a cluster, node classes before the pools that refer
// to them, and tells report of each one in order. It stops at the first object
// that cannot be applied: what was applied before stays, and applying again
// continues there. Objects that are not named stay as they are.
func Apply(ctx context.Context, to applier, objects []map[string]any, report func(Progress)) error {
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
		report(Progress{Kind: kindOf(obj), Name: nameOf(obj), Outcome: r.outcome})
	}
	return nil
}

// WaitReady returns when all objects are ready that can be, telling report of
// each one as it gets there. When ctx ends first the error names all that are
// not.
func WaitReady(ctx context.Context, in applier, objects []map[string]any, report func(Progress)) error {
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		fails []error
	)
	for _, obj := range objects {
		if !becomesReady(obj) {
			continue
		}
		wg.Go(func() {
			err := in.WaitReady(ctx, obj)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				fails = append(fails, err)
				return
			}
			report(Progress{Kind: kindOf(obj), Name: nameOf(obj), Ready: true})
		})
	}
	wg.Wait()
	slices.SortFunc(fails, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(fails...)
}

// becomesReady tells whether some controller says of an object that it is
// ready. A CapacityBuffer has other conditions, which come and go with the
// pods.
func becomesReady(obj map[string]any) bool { return kindOf(obj) != "CapacityBuffer" }

// waves puts what is referred to before what refers to it.
func waves(objects []map[string]any) [][]map[string]any {
	var classes, others []map[string]any
	for _, obj := range objects {
		if kindOf(obj) == "LinodeNodeClass" {
			classes = append(classes, obj)
		} else {
			others = append(others, obj)
		}
	}
	return [][]map[string]any{classes, others}
}

func kindOf(obj map[string]any) string { return fmt.Sprint(obj["kind"]) }

func nameOf(obj map[string]any) string {
	metadata, _ := obj["metadata"].(map[string]any)
	return fmt.Sprint(metadata["name"])
}
