package plan

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/during"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Both states of a plan have objects in their declared form (package during), so a switch between values is no change.
// A change of during blocks is a change of the fields during.NAME. Its effect is that of setting each value
// permanently.

// duringField is the path of the pseudo-field for a during block.
const duringField = schemas.DuringPath + "."

// flattenDuring adds a field for each during block of an object.
func flattenDuring(fields, obj map[string]any) {
	d, err := manifest.ReadDuring(obj)
	if err != nil { // changed by another user
		fields[schemas.DuringPath] = manifest.Text(obj, "metadata", "annotations", manifest.AnnotationDuring)
		return
	}
	if d == nil {
		return
	}
	for _, w := range d.Windows {
		set := map[string]any{}
		for path, value := range w.Set {
			set[path] = value
		}
		block := map[string]any{"schedule": w.Schedule, "duration": w.Duration, "set": set}
		if w.TimeZone != "" {
			block["timeZone"] = w.TimeZone
		}
		fields[duringField+w.Name] = block
	}
}

// A pair is the windows that are active in two states of an object: none is the object outside of all windows.
type pair struct{ before, after []string }

// pairsOf are the pairs of states of an object that a change of it is evaluated with, in addition to its declared
// forms. Windows with the same times are active together, in both states. Values of a new window follow those of the
// base or of a removed window. Values of a removed window are followed by those of the base or of a new window.
//
// Two removed windows are never active together in a pair: the values before a change are compared one by one. Those
// after it are not. For example, consolidateAfter of one window decides what the policy of another one does.
func pairsOf(before, after *manifest.During) (pairs []pair) {
	old, now := timesOf(before), timesOf(after)
	removed := []times{{}}
	for _, t := range windowTimes(before) {
		if _, stays := now[t]; !stays {
			removed = append(removed, t)
		}
	}
	all := windowTimes(after)
	for bits := range 1 << len(all) {
		var active []times
		for i, t := range all {
			if bits&(1<<i) != 0 {
				active = append(active, t)
			}
		}
		is, possible := activeIn(now, active)
		if !possible {
			continue
		}
		for _, t := range removed {
			was, possible := activeIn(old, append(slices.Clone(active), t))
			if possible && len(was)+len(is) > 0 {
				pairs = append(pairs, pair{was, is})
			}
		}
	}
	return pairs
}

// times are when a window is active.
type times struct{ schedule, duration, zone string }

// timesOf groups windows by their times.
func timesOf(d *manifest.During) map[times][]manifest.DuringWindow {
	groups := map[times][]manifest.DuringWindow{}
	for _, w := range windowsOf(d) {
		t := times{w.Schedule, w.Duration, w.TimeZone}
		groups[t] = append(groups[t], w)
	}
	return groups
}

// windowTimes are the different times of windows, in the order of the windows.
func windowTimes(d *manifest.During) (all []times) {
	for _, w := range windowsOf(d) {
		if t := (times{w.Schedule, w.Duration, w.TimeZone}); !slices.Contains(all, t) {
			all = append(all, t)
		}
	}
	return all
}

// activeIn are the names of the windows with some times. It returns false if two of them set the same field: they are
// not active together.
func activeIn(windows map[times][]manifest.DuringWindow, some []times) (names []string, possible bool) {
	taken := map[string]bool{}
	for _, t := range some {
		for _, w := range windows[t] {
			names = append(names, w.Name)
			for path := range w.Set {
				if taken[path] {
					return nil, false
				}
				taken[path] = true
			}
		}
	}
	return names, true
}

func windowsOf(d *manifest.During) []manifest.DuringWindow {
	if d == nil {
		return nil
	}
	return d.Windows
}

// A variant is the two states of a plan in which changed objects have the values of windows.
type variant struct {
	base, head side
	windows    map[manifest.Key]pair
	plan       Plan // the effects of the change
}

// variants are the states that show the effects of values of during blocks. The objects that change are evaluated at
// the same time, because each is compared with itself. What does not change is left out.
func variants(base, head side) (all []variant, err error) {
	pairs, most := map[manifest.Key][]pair{}, 0
	for key, now := range head.byKey {
		old, existed := base.byKey[key]
		if !existed || reflect.DeepEqual(old.Defaulted, now.Defaulted) {
			continue
		}
		before, err := manifest.ReadDuring(old.Defaulted)
		if err != nil {
			return nil, err
		}
		after, err := manifest.ReadDuring(now.Defaulted)
		if err != nil {
			return nil, err
		}
		if found := pairsOf(before, after); len(found) > 0 {
			pairs[key], most = found, max(most, len(found))
		}
	}
	for i := range most {
		v := variant{windows: map[manifest.Key]pair{}}
		for key, some := range pairs {
			if i < len(some) {
				v.windows[key] = some[i]
			}
		}
		if v.base, err = base.during(func(key manifest.Key) []string { return v.windows[key].before }); err != nil {
			return nil, err
		}
		if v.head, err = head.during(func(key manifest.Key) []string { return v.windows[key].after }); err != nil {
			return nil, err
		}
		v.head.Now = time.Time{} // Pace, which takes long with many blocks, follows from the objects that are applied
		if v.plan, err = effects(v.base, v.head); err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// during is the side in which windows of its objects are active.
func (s side) during(active func(manifest.Key) []string) (side, error) {
	state := s.State
	state.Objects = slices.Clone(s.State.Objects)
	for i, o := range state.Objects {
		names := active(o.Key())
		if len(names) == 0 {
			continue
		}
		d, err := manifest.ReadDuring(o.Defaulted)
		if err != nil || d == nil {
			return s, err
		}
		state.Objects[i].Defaulted = during.With(o.Defaulted, d, names...)
	}
	return sideOf(state)
}

// readable is the side without the during blocks that another user has changed so that they cannot be read, or whose
// values the object cannot have: the controller does not switch them, and an apply replaces them.
func (s side) readable() (side, error) {
	state, all := s.State, true
	state.Objects = slices.Clone(s.State.Objects)
	for i, o := range s.objects {
		_, err := manifest.ReadDuring(o.Defaulted)
		if err == nil && o.pool != nil {
			_, err = variantsOf(o)
		}
		if err != nil {
			state.Objects[i].Defaulted, all = manifest.Annotated(o.Defaulted, manifest.AnnotationDuring, ""), false
		}
	}
	if all {
		return s, nil
	}
	return sideOf(state)
}

// worsenDuring applies the effects of a variant to the plan: those of the objects, and those of the during blocks that
// cause them.
func (p *Plan) worsenDuring(v variant) {
	found := v.plan.ByKey()
	for i := range p.Changes {
		c, is := &p.Changes[i], found[p.Changes[i].Key()]
		c.worsen(is.Effect, is.Partial)
		c.Loosens = c.Loosens || is.Loosens
		for _, addr := range is.Because {
			if !slices.Contains(c.Because, addr) {
				c.Because = append(c.Because, addr)
			}
		}
		active := v.windows[c.Key()]
		for j := range c.Fields {
			f := &c.Fields[j]
			name, isBlock := strings.CutPrefix(f.Path, duringField)
			if !isBlock || !slices.Contains(slices.Concat(active.before, active.after), name) {
				continue
			}
			for _, changed := range is.Fields {
				if setsField(f.Before, changed.Path) || setsField(f.After, changed.Path) {
					if gravity[changed.Effect] > gravity[f.Effect] {
						f.Effect = changed.Effect
					}
				}
			}
		}
	}
}

// deeper is how many nodes the switches of a pool's during blocks delete at most, beyond those that they deleted before
// the change. Karpenter selects these nodes among all nodes of the pool, and so can select nodes that existed already.
func deeper(before, after config.Object) int {
	return max(0, switchedReplicas(after)-switchedReplicas(before))
}

// switchedReplicas is the difference between the most and the fewest replicas of a pool, during and outside of all
// windows.
func switchedReplicas(o config.Object) int {
	d, err := manifest.ReadDuring(o.Defaulted)
	if d == nil || err != nil { // changed by another user: before it, no switch is known to delete nodes
		return 0
	}
	var all []int
	for _, values := range d.Values() {
		if replicas, set := values[replicasPath].(int64); set {
			all = append(all, int(replicas))
		}
	}
	if len(all) == 0 {
		return 0
	}
	return slices.Max(all) - slices.Min(all)
}

// switchesReplicas reports whether a path is that of the replicas of a pool, or of a during block of it that sets them.
func switchesReplicas(path string, o config.Object) bool {
	name, isBlock := strings.CutPrefix(path, duringField)
	if d, err := manifest.ReadDuring(o.Defaulted); isBlock && err == nil {
		return slices.ContainsFunc(windowsOf(d), func(w manifest.DuringWindow) bool {
			_, sets := w.Set[replicasPath]
			return sets && w.Name == name
		})
	}
	return path == replicasPath
}

const replicasPath = "spec.replicas"

// setsField reports whether a during block, as a value of flatten, sets a field.
func setsField(block any, path string) bool {
	fields, _ := block.(map[string]any)
	set, _ := fields["set"].(map[string]any)
	for unit := range set {
		if path == unit || strings.HasPrefix(path, unit+".") || strings.HasPrefix(path, unit+"[") {
			return true
		}
	}
	return false
}

// worsenImpact applies the numbers of nodes of a variant.
func (p *Plan) worsenImpact(q Plan) {
	found := q.ByKey()
	for i := range p.Changes {
		c := &p.Changes[i]
		is := found[c.Key()]
		if c.Impact == nil || is.Impact == nil {
			continue
		}
		c.Impact.Deleted = max(c.Impact.Deleted, is.Impact.Deleted)
		c.Impact.Rolled = max(c.Impact.Rolled, is.Impact.Rolled)
		c.Impact.Removable = min(max(c.Impact.Removable, is.Impact.Removable), c.Impact.Of)
	}
}

// weighs are the changed during blocks of a change that set a weight.
func weighs(c Change) (fields []string) {
	for _, f := range c.Fields {
		if strings.HasPrefix(f.Path, duringField) && (setsField(f.Before, weight) || setsField(f.After, weight)) {
			fields = append(fields, f.Path)
		}
	}
	return fields
}

// variantsOf are the forms of a pool with the values of the windows that may be active at the same time.
func variantsOf(o object) (pools []object, err error) {
	d, err := manifest.ReadDuring(o.Defaulted)
	if d == nil || err != nil {
		return nil, err
	}
	for _, names := range during.Combinations(d) {
		form, err := typed(config.Object{Addr: o.Addr, Manifest: o.Manifest,
			Defaulted: during.With(o.Defaulted, d, names...)})
		if err != nil {
			return nil, err
		}
		pools = append(pools, form)
	}
	return pools, nil
}

// forms are the forms of a pool over time: its during blocks change them.
type forms struct {
	object  map[string]any // nil if its budgets do not change
	current *karpv1.NodePool
	until   time.Time // when another form applies; zero: not within a year
}

// formsOf returns the forms of a pool. A pool whose budgets another user has set keeps them: they do not switch. Nor do
// those of a pool whose during blocks another user has made unreadable.
func formsOf(pool *karpv1.NodePool) (*forms, error) {
	f := &forms{current: pool}
	if pool.Annotations[manifest.AnnotationDuring] == "" {
		return f, nil
	}
	obj, err := manifest.Untyped(pool)
	if err != nil {
		return nil, err
	}
	if _, _, err := during.At(obj, time.Unix(0, 0)); err != nil {
		return f, nil
	}
	d, err := manifest.ReadDuring(obj)
	if err != nil {
		return f, nil
	}
	switches := false
	for _, names := range append(during.Combinations(d), nil) {
		form, err := manifest.As[karpv1.NodePool](during.With(obj, d, names...))
		if err != nil {
			return f, nil
		}
		switches = switches || equality.Semantic.DeepEqual(form.Spec.Disruption.Budgets, pool.Spec.Disruption.Budgets)
	}
	if switches {
		f.object, f.until = obj, time.Unix(0, 0) // the form is computed when it is first needed
	}
	return f, nil
}

// at returns the form of the pool at a time, and when another form may apply, at most the limit. Times must not
// decrease.
func (f *forms) at(now, limit time.Time) (pool *karpv1.NodePool, until time.Time, err error) {
	if f.object != nil && !f.until.IsZero() && !f.until.After(now) {
		form, state, err := during.At(f.object, now)
		if err != nil {
			return nil, until, err
		}
		if f.current, err = manifest.As[karpv1.NodePool](form); err != nil {
			return nil, until, err
		}
		f.until = state.Next
	}
	if f.until.IsZero() || f.until.After(limit) {
		return f.current, limit, nil
	}
	return f.current, f.until, nil
}
