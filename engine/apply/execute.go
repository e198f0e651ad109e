// Package apply applies a plan to a cluster: it applies objects in the order of their references, deletes or orphans
// left-over objects, and can wait until everything is ready.
//
// It decides nothing: the plan has the changes, and the caller has checked permissions.
package apply

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// executor is the cluster that Run changes; kube.Cluster is one.
type executor interface {
	Apply(ctx context.Context, desired, before map[string]any) (kube.Outcome, error)
	ApplyForced(ctx context.Context, desired, before map[string]any) (kube.Outcome, error)
	DryRun(ctx context.Context, desired map[string]any) (map[string]any, []manifest.Conflict, error)
	Delete(ctx context.Context, obj map[string]any) error
	Orphan(ctx context.Context, obj map[string]any) error
}

// Run applies a comparison: it applies the objects, node classes before the pools that refer to them, starts the
// removal of pools that have nodes to drain, and then deletes left-over objects, pools before their classes. It
// reports each step, and stops after a step with errors; another run continues there. It returns the objects that are
// being deleted. If others have set fields, or changes are missing in the plan, nothing is applied.
func Run(ctx context.Context, to executor, found compare.Comparison,
	report func(Progress)) (deleted []map[string]any, err error) {
	contested := ""
	for _, c := range found.Plan.Changes {
		for _, conflict := range c.Conflicts {
			contested += fmt.Sprintf("\n  %s %s: %s was set by %q", c.Kind, c.Name, conflict.Path, conflict.Owner)
		}
	}
	if contested != "" {
		return nil, fmt.Errorf("other owners have set fields to other values, so nothing was applied:%s", contested)
	}
	if err := found.Judged(); err != nil {
		return nil, err
	}
	if err := applyObjects(ctx, to, found.Targets, report); err != nil {
		return nil, err
	}
	if err := startRemovals(ctx, to, found.Condemned, report); err != nil {
		return nil, err
	}
	return deleteObjects(ctx, to, found.Plan.Changes, report)
}

// startRemovals starts to drain pools. It takes over fields that others have set, because the pools are removed anyway.
func startRemovals(ctx context.Context, to executor, pools []compare.Target, report func(Progress)) error {
	for _, t := range pools {
		if t.Unchanged {
			continue
		}
		if _, err := to.ApplyForced(ctx, t.Desired, t.Live); err != nil {
			return err
		}
		report(Progress{Kind: manifest.Kind(t.Desired), Name: manifest.Name(t.Desired), Event: Draining})
	}
	return nil
}

// deleteObjects deletes or orphans objects.
func deleteObjects(ctx context.Context, to executor, changes []plan.Change,
	report func(Progress)) (deleted []map[string]any, err error) {
	for _, c := range deletions(changes) {
		obj := minimalObject(c)
		event := Deleted
		if c.Action == plan.Forget {
			event, err = Orphaned, stopManaging(ctx, to, c, obj)
		} else {
			deleted, err = append(deleted, obj), to.Delete(ctx, obj)
		}
		if err != nil {
			return deleted, err
		}
		report(Progress{Kind: c.Kind, Name: c.Name, Event: event})
	}
	return deleted, nil
}

// stopManaging stops managing an object. It first removes the marks of a removal or of a rollout from a pool, unless
// the API server would store another pool than the one whose effect was judged.
func stopManaging(ctx context.Context, to executor, c plan.Change, obj map[string]any) error {
	if c.Released != nil {
		stored, _, err := to.DryRun(ctx, c.Released)
		if err != nil {
			return err
		}
		others, err := c.Unnamed(c.Released, stored)
		if err != nil {
			return err
		}
		if len(others) > 0 {
			return fmt.Errorf("release %s: a webhook or a policy of the API server would change it as well, which no guard has "+
				"judged (%s): exclude the pool from it, and retry", manifest.KeyOf(c.Released), strings.Join(others, ", "))
		}
		if _, err := to.ApplyForced(ctx, c.Released, nil); err != nil {
			return err
		}
	}
	return to.Orphan(ctx, obj)
}

// deletions returns the changes that delete or orphan an object, node classes last.
func deletions(changes []plan.Change) []plan.Change {
	ends := slices.DeleteFunc(slices.Clone(changes), func(c plan.Change) bool {
		return c.UID == "" || c.Prune == plan.StartRemoval || (c.Action != plan.Delete && c.Action != plan.Forget)
	})
	isClass := func(c plan.Change) bool { return c.Kind == schemas.NodeClass.Object.Kind }
	classes := slices.DeleteFunc(slices.Clone(ends), func(c plan.Change) bool { return !isClass(c) })
	return append(slices.DeleteFunc(ends, isClass), classes...)
}

// minimalObject returns an object with only the identity of a changed object, as a request to the API server needs
// it.
func minimalObject(c plan.Change) map[string]any {
	metadata := map[string]any{"name": c.Name, "uid": c.UID}
	if c.Namespace != "" {
		metadata["namespace"] = c.Namespace
	}
	return map[string]any{"apiVersion": c.APIVersion, "kind": c.Kind, "metadata": metadata}
}

// Orphan stops managing all objects of an owner: it removes the inventory label. If the user may not list one kind,
// it still orphans the objects of the others, and returns an error.
func Orphan(ctx context.Context, to executor, view compare.View, owner string) error {
	var changes []plan.Change
	var forbidden error
	for _, kind := range compare.Kinds() {
		objects, err := view.Objects(ctx, kind)
		if apierrors.IsForbidden(err) {
			forbidden = err
			continue
		}
		if err != nil {
			return err
		}
		for _, obj := range objects {
			if manifest.Label(obj, kube.InventoryLabel) == owner {
				changes = append(changes, orphanChange(obj))
			}
		}
	}
	_, err := deleteObjects(ctx, to, changes, func(Progress) {})
	return cmp.Or(err, forbidden)
}

func orphanChange(obj map[string]any) plan.Change {
	key := manifest.KeyOf(obj)
	return plan.Change{
		APIVersion: manifest.APIVersion(obj), Kind: key.Kind, Namespace: key.Namespace, Name: key.Name,
		UID: manifest.UID(obj), Action: plan.Forget, Released: compare.Released(obj),
	}
}
