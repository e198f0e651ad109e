package plan

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Diff compares two revisions. Objects are the same when kind and name are; an
// object that is called otherwise is another one.
func Diff(from, to State) (Plan, error) {
	base, err := sideOf(from)
	if err != nil {
		return Plan{}, err
	}
	head, err := sideOf(to)
	if err != nil {
		return Plan{}, err
	}
	p := Plan{Now: head.Now}
	for _, o := range head.objects {
		old, existed := base.byKey[o.Key()]
		if !existed {
			p.Changes = append(p.Changes, created(o.Object, head.State))
			continue
		}
		c, err := updated(old, o, base.Unheld)
		if err != nil {
			return Plan{}, fmt.Errorf("compare %s: %w", o.Addr, err)
		}
		p.Changes = append(p.Changes, c)
	}
	for _, o := range base.objects {
		if _, stays := head.byKey[o.Key()]; stays {
			continue
		}
		if c := gone(o.Object, base.State, head.State); c.Prune != Draining { // Rolling says how far it is
			p.Changes = append(p.Changes, c)
		}
	}
	p.fanOut(base, head)
	p.outside(head)
	p.loosenOthers(base, head)
	for i := range p.Changes {
		p.Changes[i].Conflicts = head.Conflicts[p.Changes[i].Key()]
	}
	p.Changes = slices.DeleteFunc(p.Changes, func(c Change) bool {
		return c.Action == Keep && c.Previous == "" && c.Effect == None && len(c.Conflicts) == 0
	})
	sortChanges(p.Changes)
	if err := p.migrations(base, head); err != nil {
		return p, err
	}
	if err := p.setImpact(base, head); err != nil {
		return p, err
	}
	return p, p.cost(base, head)
}

// ByKey are objects by their keys.
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
		Namespace: o.Namespace(), Name: o.Name(), Source: o.Origins.Find("").Range, Action: action, Effect: None,
	}
}

// stored is an object without what the API server and controllers put into it.
func stored(o config.Object) map[string]any {
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
	for _, key := range []string{"name", "labels", "annotations"} {
		if value, ok := all[key]; ok {
			metadata[key] = value
		}
	}
	kept["metadata"] = metadata
	return kept
}

// created lists what was written; defaults are no news.
func created(o config.Object, head State) Change {
	c := changeOf(o, Create)
	c.New = stored(o)
	// A pool that is taken over is there, and without a cluster it is not known how it differs.
	if o.Kind() == "NodePool" && head.Nodes == nil && slices.ContainsFunc(head.Imports, func(i config.Import) bool {
		return i.Kind == o.Kind() && i.Name == o.Name()
	}) {
		c.worsen(Roll, true)
	}
	fields := flatten(o.Manifest)
	for _, path := range slices.Sorted(maps.Keys(fields)) {
		if !empty(fields[path]) {
			c.Fields = append(c.Fields, Field{Path: path, After: fields[path], Effect: None, Source: origin(o, path)})
		}
	}
	return c
}

// empty reports whether a field is a map or a list with nothing in it.
func empty(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// gone is what becomes of an object that the head does not have: it is deleted,
// unless a removed block says that it stays.
func gone(o config.Object, base, head State) Change {
	now := base.PruneNow
	for _, r := range head.Removed {
		if r.Key() != o.Key() {
			continue
		}
		if !r.Delete {
			c := changeOf(o, Forget)
			c.UID = manifest.UID(o.Defaulted)
			return c
		}
		if r.Prune != "" {
			now = r.Prune == schemas.PruneNow
		}
	}
	c := deleted(o)
	if c.Kind == "NodePool" && !now {
		c.startRemoval(o, head.Nodes)
	}
	return c
}

// deleted is the end of an object. The nodes of a NodePool go with it, at once
// and past its budgets: its NodeClaims are its dependents.
func deleted(o config.Object) Change {
	c := changeOf(o, Delete)
	c.Old = stored(o)
	c.UID = manifest.UID(o.Defaulted)
	if c.Kind == "NodePool" {
		c.Effect = DeleteNodes
	}
	return c
}

// startRemoval has a pool that goes give up its nodes first. Without a cluster they are not
// known, and it is as if it had some.
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

// inventory is the path of the label that says which cluster's directory, or which NodePlan,
// an object was applied from. One that another has applied changes hands; that a first
// apply puts the label on is no news.
const inventory = "metadata.labels[lkeplan.dev/part-of]"

// directory is the path of the annotation that says which of the directories of a cluster
// an object was applied from, and is shown as the label is.
const directory = "metadata.annotations[lkeplan.dev/directory]"

// updated compares the objects as the API server would store them: a default
// that is written out is no change.
func updated(old, o object, unheld func(map[string]any) map[string]any) (Change, error) {
	c := changeOf(o.Object, Keep)
	c.Old, c.New = stored(old.Object), stored(o.Object)
	c.UID = manifest.UID(old.Defaulted)
	if before := old.Addr.String(); before != c.Addr {
		c.Previous = before
	}
	if _, condemned := ReadRemoval(old.Defaulted); condemned { // its nodes are what they were before
		c.Prune = CancelRemoval
	}
	acted := old.Object
	acted.Defaulted = UnmarkRemoval(acted.Defaulted)
	if unheld != nil && c.Kind == "NodePool" {
		acted.Defaulted = unheld(acted.Defaulted)
	}
	effects := sync.OnceValues(func() (func(string) outcome, error) {
		was, err := typed(acted)
		return effectsOf(was, o), err
	})
	before, after := flatten(old.Defaulted), flatten(o.Defaulted)
	owned, err := ownersOf(old.Defaulted)
	if err != nil {
		return c, err
	}
	paths := maps.Clone(before)
	maps.Copy(paths, after)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if !differs(before, after, path) {
			continue
		}
		effectOf, err := effects()
		if err != nil {
			return c, err
		}
		of := effectOf(path)
		c.Fields = append(c.Fields, Field{
			Path: path, Before: before[path], After: after[path], Effect: of.effect, Partial: of.partial,
			Source: origin(o.Object, path), Owners: owned.of(path),
		})
		c.worsen(of.effect, of.partial)
		c.Loosens = c.Loosens || of.loosens
		c.Action = Update
	}
	return c, nil
}

// fanOut carries a roll from a class to the pools that refer to it. One that is forgotten is
// as it was before.
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

// rolledClasses are the changes of classes that roll nodes, by the name of the class.
func (p Plan) rolledClasses() map[string]Change {
	rolled := map[string]Change{}
	for _, c := range p.Changes {
		if c.Kind == "LinodeNodeClass" && c.Effect == Roll {
			rolled[c.Name] = c
		}
	}
	return rolled
}

// origin is the place of a field in the source. A field that is missing has
// none.
func origin(o config.Object, path string) hcl.Range {
	if written, ok := position(o.Manifest, path); ok {
		return o.Origins.Find(written).Range
	}
	return hcl.Range{}
}
