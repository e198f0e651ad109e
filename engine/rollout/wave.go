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

// Change is what a revision changes.
type Change struct {
	Declared plan.Plan      // compared with what was last applied
	Live     plan.Plan      // compared with the cluster, which may already have a part of it
	Outdated map[string]int // nodes that do not have the template of the revision, by pool
}

// Wave returns the pools to which a revision is applied first: those canaries whose nodes it replaces, and the
// canaries that it creates. If it changes no canary, or no canary is named, all pools that it changes go first.
// whole means that the wave has all of them.
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
			if rolls && f.Before > 0 { // the wave must have a node of it
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

// creates reports whether the revision creates a pool, or an earlier revision that did not succeed has created it.
// A pool that another NodePlan declared before is not created, and rolls means that its nodes may be replaced.
func (c Change) creates(key manifest.Key) (created, rolls bool) {
	for _, live := range c.Live.Changes {
		if live.Key() == key {
			return live.Action == plan.Create || live.Prune == plan.CancelRemoval || InFirstWave(live.Old), live.Effect == plan.Roll
		}
	}
	return false, false
}

// Stage is the part of a revision that is applied during the first wave.
type Stage struct {
	Head, Base []config.Object               // the revision, and what was last applied
	Pools      []lkeplanv1alpha1.RolloutPool // the pools of the first wave
	// Whole means that the wave has all pools that the revision changes. Then all of the revision is applied, and
	// only the replacement of nodes is limited.
	Whole bool
}

func (s Stage) wavePool(o config.Object) (f lkeplanv1alpha1.RolloutPool, found bool) {
	i := slices.IndexFunc(s.Pools, func(f lkeplanv1alpha1.RolloutPool) bool { return f.Name == o.Name() && isPool(o) })
	if i < 0 {
		return f, false
	}
	return s.Pools[i], true
}

func isPool(o config.Object) bool { return o.Kind() == schemas.Pool.Object.Kind }

// Objects returns the objects to apply. room is how many more nodes of each pool of the wave may be replaced. The
// other pools stay as they were, and their nodes are not replaced if their class changes. Objects that the revision
// removes are left alone until it has succeeded. It returns an error if a pool cannot have another budget.
func (s Stage) Objects(room map[string]int) (objects []config.Object, err error) {
	base, classes := plan.ByKey(s.Base), s.classes()
	for _, o := range s.Head {
		before, existed := base[o.Key()]
		switch first, found := s.wavePool(o); {
		case found && first.Created:
			o = withMark(o, brandNew)
		case found:
			o, err = LimitReplacement(o, room[first.Name])
		case s.Whole, o.Kind() == schemas.Limits.Object.Kind, o.Kind() == schemas.NodeClass.Object.Kind && classes[o.Name()]:
		case !existed:
			continue
		case isPool(o) && classes[classOf(before)]:
			o, err = LimitReplacement(before, 0)
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

// FirstWaveBudgets returns the pools as they were, with budgets that block replacement. They are applied first, so
// that no node is replaced while the objects of the wave are being applied.
func (s Stage) FirstWaveBudgets() (pools []config.Object, err error) {
	objects, err := s.Objects(nil)
	if err != nil {
		return nil, err
	}
	staged := plan.ByKey(objects)
	for _, o := range s.Base {
		if !InFirstWave(staged[o.Key()].Manifest) {
			continue
		}
		if o, err = LimitReplacement(o, 0); err != nil {
			return nil, err
		}
		pools = append(pools, o)
	}
	return pools, nil
}

// PreviousObjects returns the objects as they were, to roll back. Until Karpenter has evaluated the nodes again, it
// would replace some for a template that does not exist any more, so all replacement is blocked until seen is true.
func (s Stage) PreviousObjects(seen bool) (objects []config.Object, err error) {
	if seen {
		return s.Base, nil
	}
	limited, err := s.FirstWaveBudgets()
	if err != nil {
		return nil, err
	}
	byKey := plan.ByKey(limited)
	for _, o := range s.Base {
		if pool, found := byKey[o.Key()]; found {
			o = pool
		}
		objects = append(objects, o)
	}
	return objects, nil
}

// classes returns the node classes of the pools of the wave that the revision changes. Nodes of other pools with
// the same classes are replaced as well.
func (s Stage) classes() map[string]bool {
	used, base, changed := map[string]bool{}, plan.ByKey(s.Base), map[string]bool{}
	for _, o := range s.Head {
		if _, found := s.wavePool(o); found {
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

// mostBudgets is the number of budgets that the CRD of NodePools allows.
const mostBudgets = 50

// Annotation marks a NodePool of a wave. Its value is the number of nodes that the last budget, which the wave has
// added, allows, or says that the wave has created the pool.
const (
	Annotation = "lkeplan.dev/wave"
	brandNew   = "new"
)

// LimitReplacement adds a budget to a pool, so that at most n nodes are replaced at a time. It includes underutilized
// nodes, because their replacements have the new template. Empty nodes may be removed.
func LimitReplacement(o config.Object, nodes int) (config.Object, error) {
	own := poolBudgets(o)
	if len(own) >= mostBudgets {
		return o, fmt.Errorf("NodePool %s has %d budgets, and a rollout needs one more; merge some of them", o.Name(),
			len(own))
	}
	o = withMark(o, fmt.Sprint(nodes))
	obj := o.Manifest
	if _, written := manifest.Lookup(obj, "spec", "disruption"); !written {
		manifest.Ensure(obj, "spec")["disruption"] = runtime.DeepCopyJSON(manifest.Map(o.Defaulted, "spec", "disruption"))
	}
	wave := map[string]any{"nodes": fmt.Sprint(nodes), "reasons": []any{"Drifted", "Underutilized"}}
	manifest.Ensure(obj, "spec", "disruption")["budgets"] = append(own, wave)
	return o, nil
}

func withMark(o config.Object, mark string) config.Object {
	o.Manifest = runtime.DeepCopyJSON(o.Manifest)
	manifest.Ensure(o.Manifest, "metadata", "annotations")[Annotation] = mark
	return o
}

// InFirstWave reports whether a pool has the mark of a wave.
func InFirstWave(pool map[string]any) bool {
	_, waits := manifest.Lookup(pool, "metadata", "annotations", Annotation)
	return waits
}

// HasWaveBudget reports whether a pool has the budget of a wave, which blocks replacement.
func HasWaveBudget(pool map[string]any) bool {
	return InFirstWave(pool) && manifest.Text(pool, "metadata", "annotations", Annotation) != brandNew
}

// WithoutWaveBudget returns a NodePool without the mark and the budget of a wave.
func WithoutWaveBudget(pool map[string]any) map[string]any {
	if !InFirstWave(pool) {
		return pool
	}
	pool = runtime.DeepCopyJSON(pool)
	annotations, budgeted := manifest.Map(pool, "metadata", "annotations"), HasWaveBudget(pool)
	delete(annotations, Annotation)
	if len(annotations) == 0 {
		delete(manifest.Map(pool, "metadata"), "annotations")
	}
	disruption := manifest.Map(pool, "spec", "disruption")
	if own, ok := disruption["budgets"].([]any); ok && budgeted && len(own) > 0 {
		disruption["budgets"] = own[:len(own)-1]
	}
	return pool
}

// poolBudgets returns the budgets of a pool, or Karpenter's default if it has none, because the default does not apply
// once a budget is written.
func poolBudgets(o config.Object) []any {
	for _, obj := range []map[string]any{o.Manifest, o.Defaulted} {
		if all, ok := manifest.Lookup(obj, "spec", "disruption", "budgets"); ok {
			list, _ := runtime.DeepCopyJSONValue(all).([]any)
			return list
		}
	}
	return nil
}

// NotEvaluated returns the objects that a revision does not change, but whose nodes would be replaced if a rollback
// reset them: no guard has evaluated that together with the revision. It leaves out the pools of the wave, and
// pools that the wave keeps from following a class.
func NotEvaluated(base, head []config.Object, set plan.Plan) map[manifest.Key]bool {
	was, same := plan.ByKey(base), map[manifest.Key]bool{}
	for _, o := range head {
		same[o.Key()] = reflect.DeepEqual(was[o.Key()].Manifest, o.Manifest)
	}
	unjudged := map[manifest.Key]bool{}
	for _, c := range set.Changes {
		if same[c.Key()] && !InFirstWave(c.Old) &&
			(c.Effect == plan.Roll || c.Effect == plan.DeleteNodes || c.Effect == plan.MayRemove) {
			unjudged[c.Key()] = true
		}
	}
	return unjudged
}

// Digest returns a digest of objects.
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
