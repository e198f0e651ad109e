package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas/manifest"
	"github.com/lkeplan/lkeplan/schemas/task"
)

// DryRun returns the object that an API server would store for a server-side apply of a desired object, and the
// conflicts. The error is kube.ErrMayNotApply if the user has no permission for that. Cluster.DryRun of package kube
// is one.
type DryRun func(ctx context.Context, desired map[string]any) (stored map[string]any, conflicts []manifest.Conflict,
	err error)

// Target is an object of a configuration as it is applied to a cluster.
type Target struct {
	// Desired has the inventory label of its configuration, and uses the spelling of equal values in the live object.
	Desired map[string]any
	Live    map[string]any // as it was read; nil if there is none
	// Unchanged reports that an apply would not change the live object, not even the owners of its fields.
	Unchanged bool

	stored    map[string]any // what the apply stores
	conflicts []plan.Conflict
}

// Judged returns an error if applying the targets would make a change that is not in the plan: guards, windows and
// policies have not seen it, so nothing may be applied. The error means a bug in lkeplan.
func (c Comparison) Judged() error {
	changes := c.Plan.ByKey()
	var unjudged []string
	for _, t := range c.Targets {
		if t.Unchanged {
			continue
		}
		key := manifest.KeyOf(t.Desired)
		if t.Live == nil && changes[key].Action != plan.Create {
			unjudged = append(unjudged, key.String()+": its creation")
			continue
		}
		paths, err := changes[key].Unnamed(t.Live, t.stored)
		if err != nil {
			return fmt.Errorf("compare the target of %s with its plan: %w", key, err)
		}
		for _, path := range paths {
			unjudged = append(unjudged, fmt.Sprintf("%s: %s", key, path))
		}
	}
	for _, t := range c.Condemned {
		// A removal that was started is judged: it only gets back marks that were edited.
		key := manifest.KeyOf(t.Desired)
		if _, draining := plan.ReadRemoval(t.Live); !t.Unchanged && changes[key].Prune == "" && !draining {
			unjudged = append(unjudged, key.String()+": the removal of its nodes")
		}
	}
	for key, c := range changes {
		if c.Released != nil && c.Impact == nil {
			unjudged = append(unjudged, key.String()+": the effect of its release on nodes")
		}
	}
	if len(unjudged) == 0 {
		return nil
	}
	return fmt.Errorf("nothing is applied, because changes are missing in the plan; this is a bug in lkeplan: "+
		"please report it with the objects and the plan:\n  %s", strings.Join(unjudged, "\n  "))
}

// applies computes what the API server stores for objects.
type applies struct {
	dryRun DryRun // nil: there is no API server

	mu      sync.Mutex
	unasked map[string]bool // kinds whose objects were predicted, because the user may not apply them
}

// stored returns the object that an apply of desired to live stores, and the conflicts. It asks the API server,
// because only the server knows the webhooks and admission policies that can change an object. If the prediction is
// that an apply changes nothing, nothing is sent, so the server is not asked.
func (a *applies) stored(ctx context.Context, live, desired map[string]any) (map[string]any, []manifest.Conflict, error) {
	predicted, conflicts, err := kube.BuiltinValidator().Predict(live, desired)
	if err != nil || a.dryRun == nil || len(conflicts) == 0 && kube.Same(live, predicted) {
		return predicted, conflicts, err
	}
	stored, found, err := a.dryRun(ctx, desired)
	if !errors.Is(err, kube.ErrMayNotApply) {
		return stored, found, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.unasked[manifest.Kind(desired)] = true
	return predicted, conflicts, nil
}

// notes name the kinds whose objects were predicted.
func (a *applies) notes() []string {
	if len(a.unasked) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("This user may not apply objects of the kind %s, so the API server was not asked for a dry run. "+
		"If webhooks or policies of admission change these objects, the plan does not show it.",
		strings.Join(slices.Sorted(maps.Keys(a.unasked)), ", "))}
}

// requests is the largest number of simultaneous dry runs.
const requests = 16

// targetsOf computes the results of applying head to the live objects.
func targetsOf(ctx context.Context, head, base compile.Result, live map[manifest.Key]map[string]any,
	by *applies) ([]Target, error) {
	targets := make([]Target, len(head.Objects))
	errs := task.Each(slog.Default(), requests, head.Objects, func(i int, o config.Object) (err error) {
		targets[i], err = targetOf(ctx, head, base, o, live[o.Key()], by)
		return err
	})
	return targets, cmp.Or(append(errs, ctx.Err())...)
}

func targetOf(ctx context.Context, head, base compile.Result, o config.Object, live map[string]any,
	by *applies) (Target, error) {
	if other := originOf(live); sameButUnknown(other, head.Origin()) && strings.Contains(other, "@") {
		head.Directory = other // an apply from a shallow clone does not change it
	}
	t := Target{Desired: withRolledBy(kube.Spelled(head.Labelled(o.Manifest), live), live), Live: live}
	stored, conflicts, err := by.stored(ctx, live, t.Desired)
	if err != nil {
		return t, err
	}
	t.stored, t.conflicts = stored, slices.Concat(conflicts, nodePlanConflict(live, head.Owner()),
		directoryConflict(live, stored, head, base))
	t.Unchanged = len(t.conflicts) == 0 && kube.Same(live, stored)
	return t, nil
}

// addTargets adds the objects of head to the states before and after an apply.
func addTargets(before, after *plan.State, head compile.Result, targets []Target) {
	after.Conflicts = map[manifest.Key][]plan.Conflict{}
	for i, o := range head.Objects {
		t := targets[i]
		if t.Live != nil {
			before.Objects = append(before.Objects,
				config.Object{Addr: o.Addr, Manifest: t.Live, Defaulted: t.Live, Origins: o.Origins})
		}
		o.Defaulted = t.stored
		after.Objects = append(after.Objects, o)
		after.Conflicts[o.Key()] = t.conflicts
	}
}

// directoryConflict returns the conflict about an object that another directory of the cluster has applied. An import
// block takes it over if its values stay, because the guards of the other directory are not evaluated. An object
// that a directory or a NodePlan has released needs no block.
func directoryConflict(live, stored map[string]any, head, base compile.Result) []plan.Conflict {
	if head.Origin() == "" || live == nil {
		return nil
	}
	other, owner, taken := originOf(live), "", false
	switch {
	case other == head.Origin(), sameButUnknown(other, head.Origin()):
		return nil
	case other != "":
		owner = "the directory " + other
		taken = slices.ContainsFunc(handedOver(head, base), func(i config.Import) bool {
			return i.Kind == manifest.Kind(live) && i.Name == manifest.Name(live)
		})
	case manifest.Label(live, kube.InventoryLabel) != "" || !kube.Applied(live):
		return nil
	default: // another directory or a NodePlan has released it, with its guards
		owner = "a configuration that no longer exists"
		taken = true
		if slices.ContainsFunc(base.Objects, func(o config.Object) bool { return o.Key() == manifest.KeyOf(live) }) {
			return nil
		}
	}
	if taken && sameValues(live, stored) {
		return nil
	}
	return []plan.Conflict{{Path: "metadata.annotations[" + kube.OriginAnnotation + "]", Owner: owner}}
}

// TakesOver reports whether an apply makes a live object one of this directory that others have created.
func (t Target) TakesOver() bool {
	if t.Live == nil || t.Unchanged {
		return false
	}
	_, managed := manifest.Lookup(t.Live, "metadata", "managedFields") // a snapshot has none
	return managed && !kube.Applied(t.Live)
}

// takeoverNotes name the objects that others have created and that the directory takes over without an import block. A NodePlan
// takes over none of them.
func takeoverNotes(head compile.Result, targets []Target) (notes []string) {
	for _, t := range targets {
		imported := slices.ContainsFunc(head.Imports, func(i config.Import) bool {
			return i.Kind == manifest.Kind(t.Desired) && i.Name == manifest.Name(t.Desired)
		})
		if head.Inventory == "" && t.TakesOver() && !imported && len(t.conflicts) == 0 {
			notes = append(notes, fmt.Sprintf("%s is in the cluster, and lkeplan has not created it. An apply takes it over, and "+
				"--prune can then delete it. If that is intended, add an import block.", manifest.KeyOf(t.Desired)))
		}
	}
	return notes
}

// KeepsValues reports whether an apply changes only the owner of a live object.
func (t Target) KeepsValues() bool { return sameValues(t.Live, t.stored) }

func sameValues(live, predicted map[string]any) bool {
	return kube.Same(withoutOwnerMarks(live), withoutOwnerMarks(predicted))
}

// withoutOwnerMarks returns an object without the marks of its owner.
func withoutOwnerMarks(obj map[string]any) map[string]any {
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

// originOf returns the directory that an object was applied from; "" if unknown, or if a NodePlan applies it.
func originOf(live map[string]any) string {
	owner := manifest.Label(live, kube.InventoryLabel)
	if owner == "" || strings.HasPrefix(owner, kube.NodePlanOwner+".") {
		return ""
	}
	return manifest.Text(live, "metadata", "annotations", kube.OriginAnnotation)
}

// sameButUnknown reports whether two origins have the same directory, and the repository of one of them is unknown.
func sameButUnknown(a, b string) bool {
	dirA, idA, _ := strings.Cut(a, "@")
	dirB, idB, _ := strings.Cut(b, "@")
	return a != b && dirA == dirB && (idA == "" || idB == "")
}

// handedOver returns the import blocks that take over objects from other directories: none if the directory is not
// in the base, because its guards would then be those of the change.
func handedOver(head, base compile.Result) []config.Import {
	if base.Directory != head.Directory {
		return nil
	}
	return head.Imports
}

// directoryNotes explain what to do about objects of other directories.
func directoryNotes(head, base compile.Result, targets []Target) (notes []string) {
	others := map[string]int{}
	for _, t := range targets {
		if len(directoryConflict(t.Live, t.stored, head, base)) == 0 {
			continue
		}
		if other := originOf(t.Live); other != "" {
			others[other]++
		} else {
			notes = append(notes, fmt.Sprintf("%s is in the cluster, and its directory or NodePlan has released it. "+
				"Declare it with its current values, apply that, and change it in the next commit.", manifest.KeyOf(t.Live)))
		}
	}
	if len(others) > 0 && len(head.Imports) > 0 && base.Directory != head.Directory {
		notes = append(notes, "The base does not have this directory, so its import blocks do not take over objects from other directories yet.")
	}
	for _, other := range slices.Sorted(maps.Keys(others)) {
		notes = append(notes, fmt.Sprintf("This directory is %[3]s, and some of its objects (%[1]d) were applied from the directory %[2]s. "+
			"If the directory was renamed, or if its repository was replaced, set directory = %[2]q in its lkeplan block. To move objects between the two directories, "+
			"add an import block for each here, with its current values, and replace its block there with a removed block.",
			others[other], other, head.Origin()))
	}
	return notes
}

// holder is the NodePlan that applies a directory.
type holder struct {
	Inventory string // the label of its objects
	plan.Conflict
}

// holderOf finds the NodePlan that manages all objects of a directory that exist; nil if there is none, or if a
// NodePlan compares: it takes objects over from another one.
func holderOf(head compile.Result, live map[manifest.Key]map[string]any) *holder {
	if head.Inventory != "" {
		return nil
	}
	label := ""
	for _, o := range head.Objects {
		if obj := live[o.Key()]; obj != nil {
			is := manifest.Label(obj, kube.InventoryLabel)
			if label != "" && label != is || len(nodePlanConflict(obj, head.Owner())) == 0 {
				return nil
			}
			label = is
		}
	}
	if label == "" {
		return nil
	}
	return &holder{label, conflictWith(label)}
}

func (h holder) note() string {
	namespace, name, _ := strings.Cut(h.Holder, "/")
	return fmt.Sprintf("NodePlan %s applies objects of this directory, and only it can change them. To show what it would change: "+
		"lkeplan nodeplan diff -n %s %s DIR", h.Holder, namespace, name)
}

// refuse adds the conflict with the NodePlan to objects that would change.
func (h holder) refuse(targets []Target) {
	for i := range targets {
		if t := &targets[i]; !t.Unchanged {
			t.conflicts = append(t.conflicts, h.Conflict)
		}
	}
}

// nodePlanConflict returns the conflict of another owner with the NodePlan that manages a live object: the NodePlan
// would revert the change.
func nodePlanConflict(live map[string]any, owner string) []plan.Conflict {
	other := manifest.Label(live, kube.InventoryLabel)
	if strings.HasPrefix(other, kube.NodePlanOwner+".") && other != owner {
		return []plan.Conflict{conflictWith(other)}
	}
	return nil
}

// conflictWith returns the conflict with the NodePlan of a label.
func conflictWith(label string) plan.Conflict {
	name := strings.TrimPrefix(label, kube.NodePlanOwner+".")
	return plan.Conflict{
		Path: "metadata.labels[" + kube.InventoryLabel + "]", Owner: "NodePlan " + name,
		Holder: strings.Replace(name, ".", "/", 1), // a namespace has no dot
	}
}
