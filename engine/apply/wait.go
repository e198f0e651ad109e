package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// How often a cluster is polled. One poll lists each kind once.
const (
	pollObjects    = 500 * time.Millisecond
	pollNodes      = 2 * time.Second
	mostUnfinished = 20 // that an error names
)

// WaitReady returns when all objects that have a readiness are ready, and reports each of them. If ctx ends first,
// the error names the others, and why.
func WaitReady(ctx context.Context, in compare.View, objects []map[string]any, report func(Progress)) error {
	waiting := slices.DeleteFunc(slices.Clone(objects), func(obj map[string]any) bool {
		return manifest.Kind(obj) == schemas.Buffer.Object.Kind // its conditions change with the pods
	})
	return waitEach(ctx, in, waiting, Ready, report, func(_, live map[string]any) (bool, string) {
		if live == nil {
			return false, "the object was deleted in the meantime"
		}
		return kube.Readiness(live)
	})
}

// WaitNodes returns when all current machines of pools have joined the cluster and are ready, or are removed. It does
// not wait for machines that are created later: as pods change, there are always some.
func WaitNodes(ctx context.Context, in compare.View, objects []map[string]any) error {
	pools := map[string]bool{}
	for _, obj := range objects {
		if manifest.Kind(obj) == schemas.Pool.Object.Kind {
			pools[manifest.Name(obj)] = true
		}
	}
	var waiting map[string]bool // nodes to wait for; nil before the first poll
	missing := map[string]int{} // by pool
	return poll(ctx, pollNodes, func(ctx context.Context) (bool, error) {
		nodes, err := in.Nodes(ctx)
		if err != nil {
			return false, err
		}
		left := map[string]bool{}
		clear(missing)
		for _, n := range nodes {
			if pools[n.Pool] && !n.Deleting && (!n.Initialized || n.Unready) && (waiting == nil || waiting[n.Name]) {
				left[n.Name] = true
				missing[n.Pool]++
			}
		}
		waiting = left
		return len(waiting) == 0, nil
	}, func() error {
		var errs []error
		for _, pool := range slices.Sorted(maps.Keys(missing)) {
			errs = append(errs,
				fmt.Errorf("NodePool %s: nodes that have not joined or are not ready: %d", pool, missing[pool]))
		}
		return errors.Join(errs...)
	})
}

// WaitGone returns when none of the objects exists. Pools are deleted after their nodes.
func WaitGone(ctx context.Context, in compare.View, objects []map[string]any, report func(Progress)) error {
	return waitEach(ctx, in, slices.Clone(objects), Gone, report, func(obj, live map[string]any) (bool, string) {
		finalizers, _ := manifest.Lookup(live, "metadata", "finalizers")
		return live == nil || manifest.UID(live) != manifest.UID(obj),
			fmt.Sprintf("the object is being deleted, and waits for %v", finalizers)
	})
}

// waitEach returns when each of the objects is done, and reports each one with an event. It changes the slice. Done
// gets the live object, or nil if there is none; state is why an object is not done.
func waitEach(ctx context.Context, in compare.View, waiting []map[string]any, event Event, report func(Progress),
	done func(obj, live map[string]any) (ok bool, state string)) error {
	states := map[manifest.Key]string{}
	return poll(ctx, pollObjects, func(ctx context.Context) (bool, error) {
		live, err := listLive(ctx, in, waiting)
		if err != nil {
			return false, err
		}
		waiting = slices.DeleteFunc(waiting, func(obj map[string]any) (ok bool) {
			at := manifest.KeyOf(obj)
			ok, states[at] = done(obj, live[at])
			if ok {
				report(Progress{Kind: at.Kind, Name: at.Name, Event: event})
			}
			return ok
		})
		return len(waiting) == 0, nil
	}, func() error { return unfinishedError(waiting, states) })
}

// WaitRolled returns when each node matches its pool and class and has joined, and reports the progress of each pool.
// If ctx ends first, the error has the number of other nodes of each pool.
func WaitRolled(ctx context.Context, in compare.View, head compile.Result, report func(Progress)) error {
	reported := map[string]Progress{}
	var left []plan.Rolling
	return poll(ctx, pollNodes, func(ctx context.Context) (bool, error) {
		var err error
		if left, err = compare.Rolling(ctx, in, head); err != nil {
			return false, err
		}
		done := true
		for _, r := range left {
			p := Progress{Kind: "NodePool", Name: r.Pool, Event: Rolls, Rolled: r.Good(), Of: r.Of}
			_, rolls := reported[r.Pool]
			if (rolls || r.Good() < r.Of) && reported[r.Pool] != p {
				report(p)
				reported[r.Pool] = p
			}
			done = done && r.Good() == r.Of
		}
		return done, nil
	}, func() error {
		var errs []error
		for _, r := range plan.UnderWay(left) {
			errs = append(errs, fmt.Errorf("NodePool %s: %d of %d nodes do not match their pool yet, or have not joined", r.Pool,
				r.Of-r.Good(), r.Of))
		}
		return errors.Join(errs...)
	})
}

// UnfinishedError reports what was missing when a wait ended early, by a deadline or a cancelation. The cluster
// continues.
type UnfinishedError struct {
	Missing error
	Cause   error // of the context
}

// Error implements error.
func (e UnfinishedError) Error() string { return e.Missing.Error() }

// Unwrap is for package errors.
func (e UnfinishedError) Unwrap() []error { return []error{e.Missing, e.Cause} }

// poll checks repeatedly whether something is done. It waits at least twice as long as a check took, to leave the API
// server time for others. If ctx ends first, the error is an UnfinishedError.
func poll(ctx context.Context, every time.Duration, done func(context.Context) (bool, error),
	missing func() error) error {
	for {
		asked := time.Now()
		ok, err := done(ctx)
		if ok || (err != nil && !kube.IsNoResponse(err) && !timeIsUp(ctx)) {
			return err
		}
		select {
		case <-ctx.Done():
			return UnfinishedError{cmp.Or(missing(), err, ctx.Err()), ctx.Err()} // missing returns nil before the first check
		case <-time.After(max(every, 2*time.Since(asked))):
		}
	}
}

// timeIsUp reports whether the time is up. A client with a rate limit returns a separate error shortly before ctx ends.
func timeIsUp(ctx context.Context) bool {
	deadline, bounded := ctx.Deadline()
	return ctx.Err() != nil || bounded && !time.Now().Before(deadline)
}

// listLive lists each kind of the objects once, and returns the live objects.
func listLive(ctx context.Context, in compare.View, objects []map[string]any) (map[manifest.Key]map[string]any, error) {
	found := map[manifest.Key]map[string]any{}
	asked := map[schemas.Object]bool{}
	for _, obj := range objects {
		kind := schemas.Object{APIVersion: manifest.APIVersion(obj), Kind: manifest.Kind(obj)}
		if asked[kind] {
			continue
		}
		asked[kind] = true
		list, err := in.Objects(ctx, kind)
		if err != nil {
			return nil, err
		}
		for _, live := range list {
			found[manifest.KeyOf(live)] = live
		}
	}
	return found, nil
}

// unfinishedError names the objects that are not done, sorted.
func unfinishedError(objects []map[string]any, states map[manifest.Key]string) error {
	var lines []string
	for _, obj := range objects {
		at := manifest.KeyOf(obj)
		state := states[at]
		if state == "" {
			state = "its state is unknown"
		}
		lines = append(lines, fmt.Sprintf("%s is not ready: %s", at, state))
	}
	slices.Sort(lines)
	errs := make([]error, 0, mostUnfinished+1)
	for i, line := range lines {
		if i == mostUnfinished {
			errs = append(errs, fmt.Errorf("and %d more", len(lines)-i))
			break
		}
		errs = append(errs, errors.New(line))
	}
	return errors.Join(errs...)
}
