package plan

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	"k8s.io/utils/ptr"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Diff compares two revisions. Objects with the same kind and name are the same object.
func Diff(ctx context.Context, from, to State) (Plan, error) {
	base, err := sideOf(from)
	if err != nil {
		return Plan{}, err
	}
	head, err := sideOf(to)
	if err != nil {
		return Plan{}, err
	}
	p, err := diffEffects(ctx, base, head)
	if err != nil {
		return Plan{}, err
	}
	for i := range p.Changes {
		p.Changes[i].Conflicts = head.Conflicts[p.Changes[i].Key()]
	}
	p.Changes = slices.DeleteFunc(p.Changes, func(c Change) bool {
		return c.Action == Keep && c.Previous == "" && c.Effect == None && len(c.Conflicts) == 0
	})
	sortChanges(p.Changes)
	if err := p.setImpact(ctx, base, head); err != nil {
		return p, err
	}
	return p, p.cost(ctx, base, head)
}

// diffEffects returns the changes of objects with their effects on nodes, without their numbers of nodes.
func diffEffects(ctx context.Context, base, head side) (Plan, error) {
	p := Plan{Now: head.Now}
	for _, o := range head.objects {
		if ctx.Err() != nil {
			break
		}
		old, existed := base.byKey[o.Key()]
		if !existed {
			p.Changes = append(p.Changes, createdChange(o.Object, head.State))
			continue
		}
		c, err := updatedChange(old, o, base.Unheld)
		if err != nil {
			return Plan{}, fmt.Errorf("compare %s: %w", o.Addr, err)
		}
		p.Changes = append(p.Changes, c)
	}
	for _, o := range base.objects {
		if _, stays := head.byKey[o.Key()]; stays {
			continue
		}
		if c := removedChange(o.Object, base.State, head.State); c.Prune != Draining { // Rolling shows its progress
			p.Changes = append(p.Changes, c)
		}
	}
	p.findSuccessors(base, head)
	p.declaredFirst(base, head)
	p.fanOut(base, head)
	p.outside(head)
	p.loosenOthers(ctx, base, head)
	return p, ctx.Err()
}

// findSuccessors pairs pools that are deleted, and not because of a removed block, with new ones that have the same template.
func (p *Plan) findSuccessors(base, head side) {
	taken := map[string]bool{}
	for i := range p.Changes {
		c := &p.Changes[i]
		old := base.byKey[c.Key()].pool
		if c.Action != Delete || old == nil ||
			slices.ContainsFunc(head.Removed, func(r config.Removal) bool { return r.Key() == c.Key() }) {
			continue
		}
		for _, other := range p.Changes {
			now := head.byKey[other.Key()].pool
			if other.Action == Create && now != nil && !taken[other.Addr] && now.Hash() == old.Hash() &&
				reflect.DeepEqual(now.Spec.Template.Spec.Requirements, old.Spec.Template.Spec.Requirements) {
				c.Successor, taken[other.Addr] = other.Addr, true
				break
			}
		}
	}
}

// ByKey indexes objects by their keys.
func ByKey(objects []config.Object) map[manifest.Key]config.Object {
	m := make(map[manifest.Key]config.Object, len(objects))
	for _, o := range objects {
		m[o.Key()] = o
	}
	return m
}

func changeOf(o config.Object, action Action) Change {
	return Change{
		Addr: o.Addr.String(), Block: o.Addr.Type, APIVersion: o.APIVersion(), Kind: o.Kind(),
		Namespace: o.Namespace(), Name: o.Name(), Source: diag.RangeOf(o.Origins.Find("").Range), Action: action, Effect: None,
	}
}

// withoutServerFields returns an object without the fields that the API server and controllers add.
func withoutServerFields(o config.Object) map[string]any {
	obj := o.Defaulted
	if obj == nil {
		obj = o.Manifest
	}
	kept := map[string]any{}
	for key, value := range obj {
		if key != "metadata" && key != "status" {
			kept[key] = value
		}
	}
	metadata := map[string]any{}
	all, _ := obj["metadata"].(map[string]any)
	for _, key := range []string{"name", "namespace", "labels", "annotations"} {
		if value, ok := all[key]; ok {
			metadata[key] = value
		}
	}
	kept["metadata"] = metadata
	return kept
}

// createdChange lists the fields that the configuration sets, without defaults.
func createdChange(o config.Object, head State) Change {
	c := changeOf(o, Create)
	c.New = withoutServerFields(o)
	// An imported pool exists already, and without a cluster its differences are unknown.
	if o.Kind() == "NodePool" && head.Nodes == nil && slices.ContainsFunc(head.Imports, func(i config.Import) bool {
		return i.Kind == o.Kind() && i.Name == o.Name()
	}) {
		c.worsen(Roll, true)
	}
	fields := flattenFields(o.Manifest)
	for _, path := range slices.Sorted(maps.Keys(fields)) {
		if !isEmptyValue(fields[path]) {
			c.Fields = append(c.Fields, Field{Path: path, After: fields[path], Effect: None, Source: fieldOrigin(o, path)})
		}
	}
	return c
}

// isEmptyValue reports whether a field is an empty map or list.
func isEmptyValue(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// removedChange returns the change of an object that the head does not have: it is deleted, unless a removed block
// keeps it.
func removedChange(o config.Object, base, head State) Change {
	now := base.PruneNow
	for _, r := range head.Removed {
		if r.Key() != o.Key() {
			continue
		}
		if !r.Delete {
			c := changeOf(o, Forget)
			c.UID = manifest.UID(o.Defaulted)
			if base.Released != nil {
				c.Released = base.Released(o.Defaulted)
			}
			return c
		}
		if r.Prune != "" {
			now = r.Prune == schemas.PruneNow
		}
	}
	c := deletedChange(o)
	if c.Kind == "NodePool" && !now {
		c.startRemoval(o, head.Nodes)
	}
	return c
}

// deletedChange returns the deletion of an object. The nodes of a NodePool are deleted with it, regardless of budgets:
// its NodeClaims are its dependents.
func deletedChange(o config.Object) Change {
	c := changeOf(o, Delete)
	c.Old = withoutServerFields(o)
	c.UID = manifest.UID(o.Defaulted)
	if c.Kind == "NodePool" {
		c.Effect = DeleteNodes
	}
	return c
}

// startRemoval makes a pool drain its nodes before it is deleted. Without a cluster, it is assumed to have nodes.
func (c *Change) startRemoval(o config.Object, nodes []Node) {
	c.Prune = StartRemoval
	if nodes != nil {
		c.Prune = NextRemoval(o.Defaulted, len(byPool(nodes)[c.Name]))
	}
	switch c.Prune {
	case StartRemoval:
		c.Effect = Roll
	case Drained:
		c.Effect = None
	}
}

// inventory is the path of the label with the cluster or the NodePlan that an object was applied from. A plan shows the
// label if the owner changes, and not if the first apply adds it.
const inventory = "metadata.labels[lkeplan.dev/part-of]"

// directory is the path of the annotation with the directory of the cluster that an object was applied from. It is
// shown like the label.
const directory = "metadata.annotations[lkeplan.dev/directory]"

// updatedChange compares objects as the API server would store them: an explicit default is not a change.
func updatedChange(old, o object, unheld func(map[string]any) map[string]any) (Change, error) {
	c := changeOf(o.Object, Keep)
	c.Old, c.New = withoutServerFields(old.Object), withoutServerFields(o.Object)
	c.UID = manifest.UID(old.Defaulted)
	if before := old.Addr.String(); before != c.Addr {
		c.Previous = before
	}
	if _, condemned := ReadRemoval(old.Defaulted); condemned { // its nodes stay as they were
		c.Prune = CancelRemoval
	}
	effects := sync.OnceValues(func() (func(string) outcome, error) {
		if unheld == nil && c.Prune != CancelRemoval {
			return effectsOf(old, o), nil
		}
		acted := old.Object
		acted.Defaulted = UnmarkRemoval(acted.Defaulted)
		if unheld != nil && c.Kind == "NodePool" {
			acted.Defaulted = unheld(acted.Defaulted)
		}
		was, err := decodeObject(acted)
		return effectsOf(was, o), err
	})
	before, after := flattenFields(old.Defaulted), flattenFields(o.Defaulted)
	owned, err := ownersIn(old.Defaulted)
	if err != nil {
		return c, err
	}
	paths := maps.Clone(before)
	maps.Copy(paths, after)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if !fieldDiffers(before, after, path) {
			continue
		}
		effectOf, err := effects()
		if err != nil {
			return c, err
		}
		of := effectOf(path)
		who, _ := owned.ownersOf(path)
		c.Fields = append(c.Fields, Field{
			Path: path, Before: before[path], After: after[path], Effect: of.effect, Partial: of.partial,
			Source: fieldOrigin(o.Object, path), Owners: who,
		})
		c.worsen(of.effect, of.partial)
		c.Loosens = c.Loosens || of.loosens
		c.Relabels = c.Relabels || of.relabels
		c.Action = Update
	}
	return c, nil
}

// declaredFirst sets the effect of node classes that the base does not declare. Such a class may exist in the cluster
// with other values: it is compared with that object, or, if that is unknown and existing pools use the class, it may
// replace their nodes.
func (p *Plan) declaredFirst(base, head side) {
	for i := range p.Changes {
		c := &p.Changes[i]
		now := head.byKey[c.Key()].class
		if c.Action != Create || now == nil {
			continue
		}
		switch old, version := base.class(c.Key()), ptr.Deref(now.Spec.LKEK8sVersion, ""); {
		case old == nil && !base.Whole && usesClass(c.Name, base, head):
			c.worsen(Roll, true)
		case old == nil:
		case old.Hash() != now.Hash():
			c.worsen(Roll, false)
		case version != "" && version != ptr.Deref(old.Spec.LKEK8sVersion, ""):
			c.worsen(Roll, true)
		}
	}
}

// usesClass reports whether a pool that exists before and after a change uses a node class: a pool of the base, or of
// the cluster.
func usesClass(class string, base, head side) bool {
	nodes := byPool(head.Nodes)
	for _, o := range base.objects {
		_, stays := head.byKey[o.Key()]
		forgotten := slices.ContainsFunc(head.Removed, func(r config.Removal) bool { return r.Key() == o.Key() && !r.Delete })
		if (stays || forgotten) && o.classRef() == class {
			return true
		}
	}
	return slices.ContainsFunc(slices.Concat(base.others, head.others), func(o object) bool {
		return o.Kind() == schemas.Pool.Object.Kind && slices.Contains(classesOf(o, nodes[o.Name()]), class)
	})
}

// fanOut applies the roll of a class to the pools that refer to it. A forgotten class has not changed.
func (p *Plan) fanOut(base, head side) {
	rolled := p.rolledClasses()
	for i := range p.Changes {
		c := &p.Changes[i]
		if c.Kind != "NodePool" || c.Action == Create || c.Action == Delete {
			continue
		}
		o, declared := head.byKey[c.Key()]
		if !declared {
			o = base.byKey[c.Key()]
		}
		if by, ok := rolled[o.classRef()]; ok {
			c.Because = append(c.Because, by.Addr)
			c.worsen(Roll, by.Partial)
		}
	}
}

// rolledClasses returns the changes of classes that roll nodes, by name.
func (p Plan) rolledClasses() map[string]Change {
	rolled := map[string]Change{}
	for _, c := range p.Changes {
		if c.Kind == "LinodeNodeClass" && c.Effect == Roll {
			rolled[c.Name] = c
		}
	}
	return rolled
}

// fieldOrigin returns the place of a field in the source. A field that is missing has
// none.
func fieldOrigin(o config.Object, path string) diag.Range {
	if written, ok := manifestPath(o.Manifest, path); ok {
		return diag.RangeOf(o.Origins.Find(written).Range)
	}
	return diag.Range{}
}
