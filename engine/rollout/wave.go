package rollout

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/schemas"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Change is what a revision does.
type Change struct {
	Declared plan.Plan      // against what was last applied
	Live     plan.Plan      // against the cluster, which may have a part of it already
	Outdated map[string]int // nodes that are not what the revision asks for, by pool
}

// Wave are the pools that a revision is applied to first: the canaries among those whose
// nodes it replaces and those that it creates. Where it changes no canary, all of them go
// first, and also where none is named. whole tells that these are all.
func (c Change) Wave(t Terms) (first []lkeplanv1alpha1.RolloutPool, whole bool) {
	var all []lkeplanv1alpha1.RolloutPool
	for _, declared := range c.Declared.Changes {
		if declared.Kind != schemas.Pool.Object.Kind {
			continue
		}
		f := lkeplanv1alpha1.RolloutPool{Name: declared.Name, Before: c.Outdated[declared.Name]}
		switch rolls := declared.Effect == plan.Roll; declared.Action {
		case plan.Create:
			f.Created, rolls = c.creates(declared.Key())
			if rolls && f.Before > 0 { // it has nodes, which the wave has to hold
				f.Created = false
				all = append(all, f)
			} else if f.Created {
				all = append(all, f)
			}
		case plan.Update, plan.Keep:
			if rolls && f.Before > 0 {
				all = append(all, f)
			}
		}
	}
	for _, f := range all {
		if slices.Contains(t.Canary, f.Name) {
			first = append(first, f)
		}
	}
	if len(first) == 0 {
		first = all
	}
	return first, len(first) == len(all)
}

// creates reports whether a pool that was not declared before is made by the revision, or
// was by one that did not prove itself. A pool of another NodePlan is not, and may have its
// nodes replaced.
func (c Change) creates(key manifest.Key) (created, rolls bool) {
	for _, live := range c.Live.Changes {
		if live.Key() == key {
			return live.Action == plan.Create || live.Prune == plan.CancelRemoval || Waits(live.Old), live.Effect == plan.Roll
		}
	}
	return false, false
}

// Stage is what is applied of a revision while it proves itself.
type Stage struct {
	Head, Base []config.Object               // the revision, and what was last applied
	Pools      []lkeplanv1alpha1.RolloutPool // of the first wave
	// Whole tells that the wave is all that the revision changes: then all of it is applied,
	// and only the replacement of nodes is held back.
	Whole bool
}

func (s Stage) first(o config.Object) (f lkeplanv1alpha1.RolloutPool, found bool) {
	i := slices.IndexFunc(s.Pools, func(f lkeplanv1alpha1.RolloutPool) bool { return f.Name == o.Name() && isPool(o) })
	if i < 0 {
		return f, false
	}
	return s.Pools[i], true
}

func isPool(o config.Object) bool { return o.Kind() == schemas.Pool.Object.Kind }

// Objects are the objects to apply, of which each pool of the wave may have so many more
// nodes replaced. The others are as they were, with no node replaced where their class
// changes. What the revision removes is not among them: it is left alone until the revision
// is proven. The error is that a pool has no room for another budget.
func (s Stage) Objects(room map[string]int) (objects []config.Object, err error) {
	base, classes := plan.ByKey(s.Base), s.classes()
	for _, o := range s.Head {
		before, existed := base[o.Key()]
		switch first, found := s.first(o); {
		case found && first.Created:
			o = marked(o, brandNew)
		case found:
			o, err = Limited(o, room[first.Name])
		case s.Whole, o.Kind() == schemas.Limits.Object.Kind, o.Kind() == schemas.NodeClass.Object.Kind && classes[o.Name()]:
		case !existed:
			continue
		case isPool(o) && classes[classOf(before)]:
			o, err = Limited(before, 0)
		default:
			o = before
		}
		if err != nil {
			return nil, err
		}
		objects = append(objects, o)
	}
	return objects, nil
}

// Brakes are pools as they were, with no node replaced. Applied before anything else they
// keep nodes from being replaced while the objects of the wave are on their way.
func (s Stage) Brakes() (pools []config.Object, err error) {
	objects, err := s.Objects(nil)
	if err != nil {
		return nil, err
	}
	staged := plan.ByKey(objects)
	for _, o := range s.Base {
		if !Waits(staged[o.Key()].Manifest) {
			continue
		}
		if o, err = Limited(o, 0); err != nil {
			return nil, err
		}
		pools = append(pools, o)
	}
	return pools, nil
}

// Back are the objects as they were, to be applied again. Before Karpenter has seen that
// their nodes are what they should be it would replace some for a template that is gone: so
// none is until it is calm.
func (s Stage) Back(calm bool) (objects []config.Object, err error) {
	if calm {
		return s.Base, nil
	}
	brakes, err := s.Brakes()
	if err != nil {
		return nil, err
	}
	braked := plan.ByKey(brakes)
	for _, o := range s.Base {
		if brake, found := braked[o.Key()]; found {
			o = brake
		}
		objects = append(objects, o)
	}
	return objects, nil
}

// classes are the node classes of the pools of the wave that the revision changes. Other
// pools that use them have their nodes replaced for it, too.
func (s Stage) classes() map[string]bool {
	used, base, changed := map[string]bool{}, plan.ByKey(s.Base), map[string]bool{}
	for _, o := range s.Head {
		if _, found := s.first(o); found {
			used[classOf(o)] = true
		}
	}
	for _, o := range s.Head {
		if o.Kind() == schemas.NodeClass.Object.Kind && !reflect.DeepEqual(o.Manifest, base[o.Key()].Manifest) {
			changed[o.Name()] = used[o.Name()]
		}
	}
	return changed
}

func classOf(pool config.Object) string {
	return manifest.Text(pool.Manifest, "spec", "template", "spec", "nodeClassRef", "name")
}

// mostBudgets is how many budgets the CRD of NodePools takes.
const mostBudgets = 50

// Annotation marks a NodePool of a wave: it says how many nodes its last budget lets go,
// which is the wave's, or that the wave has brought the pool.
const (
	Annotation = "lkeplan.dev/wave"
	brandNew   = "new"
)

// Limited returns a pool of which at most n nodes are replaced at a time, in addition to what its
// own budgets say: those that are underutilized, too, for what takes their place is of the
// new revision. Empty ones may go.
func Limited(o config.Object, nodes int) (config.Object, error) {
	own := budgets(o)
	if len(own) >= mostBudgets {
		return o, fmt.Errorf("NodePool %s has %d budgets, and a rollout needs one more; merge some of them", o.Name(),
			len(own))
	}
	o = marked(o, fmt.Sprint(nodes))
	obj := o.Manifest
	if _, written := manifest.Lookup(obj, "spec", "disruption"); !written {
		manifest.Ensure(obj, "spec")["disruption"] = runtime.DeepCopyJSON(manifest.Map(o.Defaulted, "spec", "disruption"))
	}
	wave := map[string]any{"nodes": fmt.Sprint(nodes), "reasons": []any{"Drifted", "Underutilized"}}
	manifest.Ensure(obj, "spec", "disruption")["budgets"] = append(own, wave)
	return o, nil
}

func marked(o config.Object, mark string) config.Object {
	o.Manifest = runtime.DeepCopyJSON(o.Manifest)
	manifest.Ensure(o.Manifest, "metadata", "annotations")[Annotation] = mark
	return o
}

// Waits reports whether a pool is marked as one of a wave.
func Waits(pool map[string]any) bool {
	_, waits := manifest.Lookup(pool, "metadata", "annotations", Annotation)
	return waits
}

// Braked reports whether a pool has the budget of a wave, which keeps nodes from being replaced.
func Braked(pool map[string]any) bool {
	return Waits(pool) && manifest.Text(pool, "metadata", "annotations", Annotation) != brandNew
}

// Released returns a NodePool without the mark and the budget of a wave.
func Released(pool map[string]any) map[string]any {
	if !Waits(pool) {
		return pool
	}
	pool = runtime.DeepCopyJSON(pool)
	annotations, budgeted := manifest.Map(pool, "metadata", "annotations"), Braked(pool)
	if delete(annotations, Annotation); len(annotations) == 0 {
		delete(manifest.Map(pool, "metadata"), "annotations")
	}
	disruption := manifest.Map(pool, "spec", "disruption")
	if own, ok := disruption["budgets"].([]any); ok && budgeted && len(own) > 0 {
		disruption["budgets"] = own[:len(own)-1]
	}
	return pool
}

// budgets are those of a pool with its defaults, which do not apply any more once there is
// one that is written.
func budgets(o config.Object) []any {
	for _, obj := range []map[string]any{o.Manifest, o.Defaulted} {
		if all, ok := manifest.Lookup(obj, "spec", "disruption", "budgets"); ok {
			list, _ := runtime.DeepCopyJSONValue(all).([]any)
			return list
		}
	}
	return nil
}

// Unjudged are the objects that a revision does not change, and whose nodes would go where
// they were set back: no guard evaluated that together with the revision. Pools of the
// wave are none, nor those that it keeps from following a class.
func Unjudged(base, head []config.Object, set plan.Plan) map[manifest.Key]bool {
	was, same := plan.ByKey(base), map[manifest.Key]bool{}
	for _, o := range head {
		same[o.Key()] = reflect.DeepEqual(was[o.Key()].Manifest, o.Manifest)
	}
	unjudged := map[manifest.Key]bool{}
	for _, c := range set.Changes {
		if same[c.Key()] && !Waits(c.Old) &&
			(c.Effect == plan.Roll || c.Effect == plan.DeleteNodes || c.Effect == plan.MayRemove) {
			unjudged[c.Key()] = true
		}
	}
	return unjudged
}

// Digest names what objects come to.
func Digest(objects []config.Object) (string, error) {
	var all []map[string]any
	for _, o := range objects {
		all = append(all, o.Manifest)
	}
	text, err := json.Marshal(all)
	if err != nil {
		return "", fmt.Errorf("compute the digest of the revision: %w", err)
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(text)), nil
}
