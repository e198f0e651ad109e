package compare

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"k8s.io/client-go/util/workqueue"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Predictor says what a server-side apply of a desired object makes of the live
// one, which is nil where there is none, and which fields it would take over.
// Validator.Predict and Cluster.DryRun of package kube are two.
type Predictor func(ctx context.Context, live, desired map[string]any) (predicted map[string]any,
	conflicts []manifest.Conflict, err error)

// Target is an object of a configuration as it is to be applied to a cluster.
type Target struct {
	// Desired has the inventory label of its configuration, and spells what the
	// live object says as well as that does.
	Desired map[string]any
	Live    map[string]any // as it was read; nil where there is none
	// Unchanged tells that an apply would change nothing of the live object, not
	// even who owns its fields.
	Unchanged bool

	predicted map[string]any
	conflicts []plan.Conflict
}

// Judged returns an error if applying the targets would change something that no change of
// the plan names: guards, windows and policies have not seen it, and nothing may be applied.
// The error means a bug in lkeplan.
func (c Comparison) Judged() error {
	changes := c.Plan.ByKey()
	var unjudged []string
	for _, t := range c.Targets {
		if t.Unchanged {
			continue
		}
		key := manifest.KeyOf(t.Desired)
		if t.Live == nil && changes[key].Action != plan.Create {
			unjudged = append(unjudged, key.String()+": that it is created")
			continue
		}
		paths, err := changes[key].Unnamed(t.Live, t.predicted)
		if err != nil {
			return fmt.Errorf("compare what is applied to %s with its plan: %w", key, err)
		}
		for _, path := range paths {
			unjudged = append(unjudged, fmt.Sprintf("%s: %s", key, path))
		}
	}
	for _, t := range c.Condemned {
		if key := manifest.KeyOf(t.Desired); !t.Unchanged && changes[key].Prune == "" {
			unjudged = append(unjudged, key.String()+": that its nodes are removed")
		}
	}
	if len(unjudged) == 0 {
		return nil
	}
	return fmt.Errorf("the plan does not name all that it would change, so nothing is applied; this is a bug in lkeplan: "+
		"report it with the objects and the plan:\n  %s", strings.Join(unjudged, "\n  "))
}

// predictor is the one that is given, or the local one.
func predictor(given Predictor) (Predictor, error) {
	if given != nil {
		return given, nil
	}
	validator, err := kube.BuiltinValidator()
	if err != nil {
		return nil, err
	}
	return func(_ context.Context, live, desired map[string]any) (map[string]any, []manifest.Conflict, error) {
		return validator.Predict(live, desired)
	}, nil
}

// targetsOf predicts what head makes of the live objects, on all processors.
func targetsOf(ctx context.Context, head, base compile.Result, live map[manifest.Key]map[string]any,
	predict Predictor) ([]Target, error) {
	targets, errs := make([]Target, len(head.Objects)), make([]error, len(head.Objects))
	workqueue.ParallelizeUntil(ctx, runtime.GOMAXPROCS(0), len(targets), func(i int) {
		o := head.Objects[i]
		targets[i], errs[i] = targetOf(ctx, head, base, o, live[o.Key()], predict)
	})
	return targets, cmp.Or(append(errs, ctx.Err())...)
}

func targetOf(ctx context.Context, head, base compile.Result, o config.Object, live map[string]any,
	predict Predictor) (Target, error) {
	t := Target{Desired: carried(kube.Spelled(head.Labelled(o.Manifest), live), live), Live: live}
	predicted, conflicts, err := predict(ctx, live, t.Desired)
	if err != nil {
		return t, err
	}
	t.predicted, t.conflicts = predicted, slices.Concat(conflicts, keptByNodePlan(live, head.Owner()),
		keptByDirectory(live, predicted, head, base))
	t.Unchanged = len(t.conflicts) == 0 && kube.Same(live, predicted)
	return t, nil
}

// addTargets puts the objects of head into the states before and after an apply.
func addTargets(before, after *plan.State, head compile.Result, targets []Target) {
	after.Conflicts = map[manifest.Key][]plan.Conflict{}
	for i, o := range head.Objects {
		t := targets[i]
		if t.Live != nil {
			before.Objects = append(before.Objects,
				config.Object{Addr: o.Addr, Manifest: t.Live, Defaulted: t.Live, Origins: o.Origins})
		}
		o.Defaulted = t.predicted
		after.Objects = append(after.Objects, o)
		after.Conflicts[o.Key()] = t.conflicts
	}
}

// keptByDirectory is the conflict about an object that another directory of the cluster has
// applied. An import block takes it over if it keeps its values: the guards of the other
// directory are not asked. What a directory or a NodePlan has released needs no block.
func keptByDirectory(live, predicted map[string]any, head, base compile.Result) []plan.Conflict {
	if head.Origin() == "" || live == nil {
		return nil
	}
	other, owner, taken := originOf(live), "", false
	switch {
	case other == head.Origin():
		return nil
	case other != "":
		owner = "the directory " + other
		taken = slices.ContainsFunc(handedOver(head, base), func(i config.Import) bool {
			return i.Kind == manifest.Kind(live) && i.Name == manifest.Name(live)
		})
	case manifest.Label(live, kube.InventoryLabel) != "" || !kube.Applied(live):
		return nil
	default: // another directory or a NodePlan has released it, with its guards
		owner = "a configuration that is gone"
		taken = true
		if slices.ContainsFunc(base.Objects, func(o config.Object) bool { return o.Key() == manifest.KeyOf(live) }) {
			return nil
		}
	}
	if taken && kube.Same(unowned(live), unowned(predicted)) {
		return nil
	}
	return []plan.Conflict{{Path: "metadata.annotations[" + kube.OriginAnnotation + "]", Owner: owner}}
}

// unowned is an object without what says who applies it.
func unowned(obj map[string]any) map[string]any {
	obj = maps.Clone(obj)
	metadata := maps.Clone(manifest.Map(obj, "metadata"))
	delete(metadata, "managedFields")
	for part, key := range map[string]string{"labels": kube.InventoryLabel, "annotations": kube.OriginAnnotation} {
		keys := maps.Clone(manifest.Map(metadata, part))
		delete(keys, key)
		metadata[part] = keys
	}
	obj["metadata"] = metadata
	return obj
}

// originOf is the directory that an object was applied from; "" where none is known, or a
// NodePlan applies it.
func originOf(live map[string]any) string {
	owner := manifest.Label(live, kube.InventoryLabel)
	if owner == "" || strings.HasPrefix(owner, kube.NodePlanOwner+".") {
		return ""
	}
	return manifest.Text(live, "metadata", "annotations", kube.OriginAnnotation)
}

// handedOver are the import blocks by which head takes objects over from other directories:
// none if the base does not have the directory, whose guards would be those of the change.
func handedOver(head, base compile.Result) []config.Import {
	if base.Directory != head.Directory {
		return nil
	}
	return head.Imports
}

// directoryNotes say what to do about objects of other directories.
func directoryNotes(head, base compile.Result, targets []Target) (notes []string) {
	others := map[string]int{}
	for _, t := range targets {
		if len(keptByDirectory(t.Live, t.predicted, head, base)) == 0 {
			continue
		}
		if other := originOf(t.Live); other != "" {
			others[other]++
		} else {
			notes = append(notes, fmt.Sprintf("%s is in the cluster, and the directory or NodePlan that had it has released it. "+
				"Declare it with the values that it has, apply that, and change it in the next commit.", manifest.KeyOf(t.Live)))
		}
	}
	if len(others) > 0 && len(head.Imports) > 0 && base.Directory != head.Directory {
		notes = append(notes, "The base does not have this directory, so its import blocks take nothing over from others yet.")
	}
	for _, other := range slices.Sorted(maps.Keys(others)) {
		notes = append(notes, fmt.Sprintf("This is the directory %[3]s, and objects of it were applied from the directory %[2]s: %[1]d. "+
			"If it has been moved, write directory = %[2]q into its lkeplan block. If objects are to be moved between the two, "+
			"give each an import block here, with the values that it has, and there a removed block in the place of its block.",
			others[other], other, head.Origin()))
	}
	return notes
}

// keptByNodePlan is the conflict about an object that a NodePlan keeps, for
// everybody else: it would be taken from the NodePlan, and taken back.
func keptByNodePlan(live map[string]any, owner string) []plan.Conflict {
	other := manifest.Label(live, kube.InventoryLabel)
	if name, kept := strings.CutPrefix(other, kube.NodePlanOwner+"."); kept && other != owner {
		return []plan.Conflict{{
			Path: "metadata.labels[" + kube.InventoryLabel + "]", Owner: "NodePlan " + name,
			Holder: strings.Replace(name, ".", "/", 1), // a namespace has no dot
		}}
	}
	return nil
}
