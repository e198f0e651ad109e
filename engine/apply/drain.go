package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Drain waits until draining pools have no nodes, and then deletes each of them. It reports how many nodes are left. If ctx
// ends first, the error has that number, and another apply with pruning continues.
func Drain(ctx context.Context, to executor, in compare.View, pools []compare.Target, report func(Progress)) error {
	waiting, left := slices.Clone(pools), map[string]int{}
	reported := map[string]int{}
	return poll(ctx, pollNodes, func(ctx context.Context) (bool, error) {
		nodes, err := in.Nodes(ctx)
		if err != nil {
			return false, err
		}
		clear(left)
		for _, n := range nodes {
			left[n.Pool]++
		}
		for _, t := range slices.Clone(waiting) {
			name := manifest.Name(t.Live)
			if n, known := reported[name]; left[name] > 0 && (!known || n != left[name]) {
				report(Progress{Kind: manifest.Kind(t.Live), Name: name, Event: Drains, Of: left[name]})
				reported[name] = left[name]
			}
			if left[name] > 0 {
				continue
			}
			if err := to.Delete(ctx, t.Live); err != nil {
				return false, err
			}
			report(Progress{Kind: manifest.Kind(t.Live), Name: name, Event: Deleted})
			waiting = slices.DeleteFunc(waiting, func(other compare.Target) bool { return manifest.Name(other.Live) == name })
		}
		return len(waiting) == 0, nil
	}, func() error {
		var errs []error
		for _, t := range waiting {
			errs = append(errs, fmt.Errorf("NodePool %s: it is draining, nodes left: %d", manifest.Name(t.Live),
				left[manifest.Name(t.Live)]))
		}
		return errors.Join(errs...)
	})
}
