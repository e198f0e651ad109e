package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"
	autoscalingv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/apis/v1alpha1"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// A consolidation is which nodes of a pool Karpenter removes or replaces to save money. Each value includes the
// previous ones (karpenter v1.15.0, ShouldDisrupt of emptiness and consolidation; Balanced is a subset of
// WhenEmptyOrUnderutilized).
type consolidation int

const (
	consolidatesNone consolidation = iota
	consolidatesEmpty
	consolidatesBalanced
	consolidatesUnderutilized
)

// policyOf returns what a policy allows, regardless of consolidateAfter.
func policyOf(pool *karpv1.NodePool) consolidation {
	switch pool.Spec.Disruption.ConsolidationPolicy {
	case karpv1.ConsolidationPolicyWhenEmpty:
		return consolidatesEmpty
	case karpv1.ConsolidationPolicyBalanced:
		return consolidatesBalanced
	}
	return consolidatesUnderutilized
}

func consolidationOf(pool *karpv1.NodePool) consolidation {
	if pool.Spec.Replicas != nil || pool.Spec.Disruption.ConsolidateAfter.Duration == nil {
		return consolidatesNone
	}
	return policyOf(pool)
}

// loosensPool reports whether the change of a field of a pool may let Karpenter remove or replace
// nodes that match the pool before and after it. A value that is not known to be as strict as before
// may.
func loosensPool(before, after *karpv1.NodePool, path string) bool {
	is := consolidationOf(after)
	switch path {
	case "spec.disruption.consolidationPolicy":
		return is > consolidatesNone && policyOf(after) > policyOf(before)
	case "spec.disruption.consolidateAfter":
		was := before.Spec.Disruption.ConsolidateAfter.Duration
		return is > consolidatesNone && (was == nil || *after.Spec.Disruption.ConsolidateAfter.Duration < *was)
	case "spec.disruption.budgets":
		return !asStrict(after.Spec.Disruption.Budgets, before.Spec.Disruption.Budgets)
	}
	if path == refreshAfter {
		return refreshesSooner(before, after)
	}
	if key, ok := requirementOf(path); ok {
		return is >= consolidatesBalanced && widensRequirement(before, after, key)
	}
	return strings.HasPrefix(path, "spec.disruption")
}

// loosensAny applies loosens to all fields of a pool.
func loosensAny(before, after *karpv1.NodePool) bool {
	for _, field := range []string{"consolidationPolicy", "consolidateAfter", "budgets"} {
		if loosensPool(before, after, "spec.disruption."+field) {
			return true
		}
	}
	if refreshesSooner(before, after) {
		return true
	}
	requirements := slices.Concat(before.Spec.Template.Spec.Requirements, after.Spec.Template.Spec.Requirements)
	return slices.ContainsFunc(requirements, func(r karpv1.NodeSelectorRequirementWithMinValues) bool {
		return loosensPool(before, after, "spec.template.spec.requirements["+r.Key+"]")
	})
}

// requirementOf returns the key of a requirement of a pool at a path.
func requirementOf(path string) (key string, ok bool) {
	key, ok = strings.CutPrefix(path, "spec.template.spec.requirements[")
	return strings.TrimSuffix(key, "]"), ok
}

// widensRequirement reports whether a pool allows nodes, by a key, that it did not allow before. Karpenter
// replaces under-utilized nodes by cheaper ones of those that the pool allows.
func widensRequirement(before, after *karpv1.NodePool, key string) bool {
	old, now := before.Spec.Template.Spec.Requirements, after.Spec.Template.Spec.Requirements
	had := scheduling.NewNodeSelectorRequirementsWithMinValues(old...).Get(key).MinValues()
	wants := scheduling.NewNodeSelectorRequirementsWithMinValues(now...).Get(key).MinValues()
	if had != nil && (wants == nil || *wants < *had) {
		return true // a replacement needs fewer remaining plan types
	}
	want := labelRequirements(now).Get(key)
	return want.String() != labelRequirements(old).Get(key).Intersection(want).String()
}

// asStrict reports whether budgets are plainly as strict as others: each of the others is among them, or one that is
// stricter or the same in each field. Karpenter may read others as equal; they count as looser.
func asStrict(budgets, others []karpv1.Budget) bool {
	return !slices.ContainsFunc(others, func(other karpv1.Budget) bool {
		return !slices.ContainsFunc(budgets, func(b karpv1.Budget) bool { return reflect.DeepEqual(b, other) || isStricterBudget(b, other) })
	})
}

// isStricterBudget reports whether a budget is for the same reasons or all of them, starts at the same times and
// lasts as long or longer, and is for no more nodes. Without nodes it may also be a budget for all times. (Karpenter
// allows no disruption by a schedule that it cannot read.)
func isStricterBudget(b, other karpv1.Budget) bool {
	if b.Reasons != nil && !reflect.DeepEqual(b.Reasons, other.Reasons) {
		return false
	}
	nodes, percent, err := limitOf(b.Nodes)
	most, ofPercent, otherErr := limitOf(other.Nodes)
	if errors.Join(err, otherErr) != nil || nodes > 0 && (percent != ofPercent || nodes > most) {
		return false
	}
	if b.Schedule == nil && b.Duration == nil {
		return nodes == 0 || other.Schedule == nil && other.Duration == nil
	}
	return reflect.DeepEqual(b.Schedule, other.Schedule) && b.Duration != nil && other.Duration != nil &&
		b.Duration.Duration >= other.Duration.Duration
}

// limitOf reads the nodes of a budget: a number, or a percentage.
func limitOf(nodes string) (n int, percent bool, err error) {
	digits, percent := strings.CutSuffix(nodes, "%")
	n, err = strconv.Atoi(digits)
	return n, percent, err
}

// A loosener is a change of one object that may let Karpenter remove or replace nodes of unchanged pools.
type loosener struct {
	change int           // in the plan
	least  consolidation // that a pool must allow
	class  string        // the class whose pools the change affects; "" for all pools
	fields []string      // the paths of the fields that loosen; nil for all
}

// loosenOthers applies the effects of other objects to the pools that exist before and after a change:
//   - An overlay, or a new order of the pools by weight, changes which machines are cheaper, for the nodes of all pools: a
//     replacement may be in any pool (karpenter v1.15.0, SimulateScheduling).
//   - The same goes for a label that changes in place, if an overlay selects by it.
//   - Without the capacity of a buffer, nodes become empty, or their pods fit on fewer machines.
//   - A class may allow consolidation at more times, or for a smaller saving.
//   - A class may replace nodes earlier before maintenance of their hosts, even in pools without consolidation.
//   - A pool, or a limits block, may add capacity to which Karpenter moves the pods of other pools (attractor).
//   - A pool that is deleted, or takes fewer pods, may have been tried before a cheaper one (reducer).
//
// If it is known which nodes Karpenter moves, these nodes are the effect of all of them.
func (p *Plan) loosenOthers(ctx context.Context, base, head side) {
	all := p.looseners(base, head)
	pools, nodes := map[int]object{}, byPool(head.Nodes)
	for i, c := range p.Changes {
		adopted := slices.ContainsFunc(base.others, func(o object) bool { return o.Key() == c.Key() }) // the cluster has it
		if c.Kind != schemas.Pool.Object.Kind || c.Action == Delete || c.Action == Create && !adopted {
			continue
		}
		pools[i] = changedPool(c, base, head)
	}
	because := map[int][]string{}
	if head.Moves.Known {
		p.setMoves(base, head, pools)
		all = slices.DeleteFunc(all, func(l loosener) bool { return l.class == "" }) // classes say when nodes go, too
	}
	for _, l := range all {
		if ctx.Err() != nil {
			return
		}
		source := &p.Changes[l.change]
		var loosened []int
		for i := range p.Changes {
			pool, isPool := pools[i]
			affected := l.class == "" && p.Changes[i].Action != Create
			if l.class != "" {
				affected = slices.Contains(classesOf(pool, nodes[p.Changes[i].Name]), l.class)
			}
			if isPool && affected && allows(pool) >= l.least {
				loosened = append(loosened, i)
			}
		}
		ofPool := source.Kind == schemas.Pool.Object.Kind
		if len(loosened) == 0 && (ofPool || head.Nodes != nil) {
			continue
		}
		for _, i := range loosened {
			known := slices.Contains(because[i], source.Addr)
			p.Changes[i].Sooner = p.Changes[i].Sooner || head.Moves.Known
			p.Changes[i].Loosens = true
			if i != l.change && !known && gravity[p.Changes[i].Effect] < gravity[MayRemove] {
				because[i] = append(because[i], source.Addr)
			}
		}
		for i, f := range source.Fields {
			if f.Effect == InPlace && l.loosens(f.Path) {
				source.Fields[i].Effect = MayRemove
			}
		}
		if !ofPool {
			source.worsen(MayRemove, false)
			source.Loosens = len(loosened) == 0 // the existing pools are unknown
		}
	}
	if !head.Moves.Known {
		p.attract(ctx, base, head, pools, because)
	}
	for i := range p.Changes {
		if c := &p.Changes[i]; c.Loosens {
			c.Because = append(c.Because, because[i]...)
			c.worsen(MayRemove, false)
		}
	}
}

// attract loosens the pools whose pods Karpenter may move to capacity that the change adds.
func (p *Plan) attract(ctx context.Context, base, head side, pools map[int]object, because map[int][]string) {
	nodes := byPool(head.Nodes)
	offers := map[int][]Offer{} // that pools admit
	for i, pool := range pools {
		if pool.pool != nil {
			offers[i] = Admitted(head.Offers, pool.requirements())
		}
	}
	for _, a := range p.attractors(base, head) {
		if ctx.Err() != nil {
			return
		}
		source, may, cannot := &p.Changes[a.change], map[string][]string{}, map[string][]string{}
		for i := range p.Changes {
			c := &p.Changes[i]
			pool, stays := pools[i]
			if head.Nodes != nil && len(nodes[c.Name]) == 0 {
				continue
			}
			if !stays || i == a.of || c.Effect == Roll && !c.Partial ||
				!a.concerns(changedPool(*c, base, side{State: head.State, decoded: decoded{others: base.others}})) {
				continue
			}
			not, why := a.excludes(pool, offers[i])
			if not != "" {
				if p.Changes[a.of].Action == Create { // of others, only what may happen is of interest
					cannot[not] = append(cannot[not], c.Addr)
				}
				continue
			}
			may[why] = append(may[why], c.Addr)
			c.Loosens = true
			if gravity[c.Effect] < gravity[Roll] && !slices.Contains(because[i], source.Addr) {
				because[i] = append(because[i], source.Addr)
			}
		}
		source.Attracts = append(source.Attracts, a.attracts(p.Changes[a.of].Addr, may, cannot)...)
	}
	for _, r := range p.reducers(base, head) {
		if ctx.Err() != nil {
			return
		}
		source, others := &p.Changes[r.change], map[string][]string{}
		for i := range p.Changes {
			c := &p.Changes[i]
			pool, stays := pools[i]
			if !stays || i == r.of || pool.pool == nil || c.Effect == Roll && !c.Partial || head.Nodes != nil && len(nodes[c.Name]) == 0 ||
				!triedBefore(r.before, pool.pool) || allows(pool) < consolidatesBalanced || keepsOut(r.before, pool.pool) != nil {
				continue
			}
			why, less := r.why(pool)
			if !less {
				continue
			}
			others[why] = append(others[why], c.Addr)
			c.Loosens = true
			if gravity[c.Effect] < gravity[Roll] && !slices.Contains(because[i], source.Addr) {
				because[i] = append(because[i], source.Addr)
			}
		}
		addr := p.Changes[r.of].Addr
		for _, why := range slices.Sorted(maps.Keys(others)) {
			without := "without " + addr
			if why != "" {
				without = fmt.Sprintf("with less capacity of %s (%s)", addr, why)
			}
			source.Attracts = append(source.Attracts, fmt.Sprintf("%s, Karpenter may move pods of %s: it was tried before them, so that other pools "+
				"may be cheaper now", without, strings.Join(others[why], ", ")))
		}
	}
}

// triedBefore reports whether Karpenter tries to make a node of a pool before one of another (karpenter v1.15.0,
// OrderByWeight).
func triedBefore(pool, other *karpv1.NodePool) bool {
	return cmp.Or(cmp.Compare(ptr.Deref(pool.Spec.Weight, 0), ptr.Deref(other.Spec.Weight, 0)), cmp.Compare(pool.Name, other.Name)) > 0
}

// setMoves sets the effects of consolidation on pools to the nodes that Karpenter moves. A change of disruption
// settings keeps its effect on all nodes of the pool, because nodes that would go in any case may go sooner, or more
// at a time.
func (p *Plan) setMoves(base, head side, pools map[int]object) {
	var sources []string
	for _, c := range p.Changes {
		if c.Action != Keep {
			sources = append(sources, c.Addr)
		}
	}
	for i := range pools {
		c := &p.Changes[i]
		if slices.ContainsFunc(c.Fields, func(f Field) bool {
			return f.Effect == MayRemove && (strings.HasPrefix(f.Path, "spec.disruption") || f.Path == refreshAfter)
		}) {
			c.Sooner = true
			continue
		}
		c.Loosens = len(head.Moves.of(c.Name)) > 0
		if c.Loosens {
			c.Because = append(c.Because, slices.DeleteFunc(slices.Clone(sources), func(addr string) bool {
				return addr == c.Addr || slices.Contains(c.Because, addr)
			})...)
			continue
		}
		for j, f := range c.Fields {
			if f.Effect == MayRemove {
				c.Fields[j].Effect = InPlace
			}
		}
		if c.Effect == MayRemove {
			c.Effect = InPlace
		}
	}
}

// loosens reports whether the change of a field of the object lets Karpenter remove or replace nodes.
func (l loosener) loosens(path string) bool {
	if l.fields == nil {
		return strings.HasPrefix(path, "spec.")
	}
	return slices.ContainsFunc(l.fields, func(field string) bool {
		return path == field || strings.HasPrefix(path, field+".") || strings.HasPrefix(path, field+"[") || strings.HasPrefix(field, path+".")
	})
}

// maintenanceLead returns how long before maintenance of their hosts a class has its nodes replaced; -1 if it does
// not, or if there is no class.
func maintenanceLead(class *linodev1alpha1.LinodeNodeClass) time.Duration {
	if class == nil || class.Spec.ReplaceBeforeMaintenance == nil {
		return -1
	}
	return class.Spec.ReplaceBeforeMaintenance.Duration
}

// consolidatesMore returns the fields with which a class lets Karpenter consolidate nodes at other times than before,
// or for less. What is unknown or cannot be read counts as more.
func consolidatesMore(before, after *linodev1alpha1.LinodeNodeClass) (fields []string) {
	const of, saving, last = "spec.consolidation", ".minimumMonthlySaving", ".beforePaidHourEnds"
	if before == nil {
		return []string{of}
	}
	old, errOld := nodeclaim.ConsolidationPolicyOf(before)
	now, errNow := nodeclaim.ConsolidationPolicyOf(after)
	if errOld != nil || errNow != nil || now.Saving < old.Saving {
		fields = append(fields, of+saving)
	}
	if old.Last > 0 && (now.Last == 0 || now.Last > old.Last) {
		fields = append(fields, of+last)
	}
	return fields
}

// changedPool returns the pool of a change: after it, or else before it. Of a pool that no state declares, only the
// nodes may be known.
func changedPool(c Change, base, head side) object {
	for _, o := range []object{head.byKey[c.Key()], base.byKey[c.Key()]} {
		if o.pool != nil {
			return o
		}
	}
	i := slices.IndexFunc(head.others, func(o object) bool { return o.Key() == c.Key() })
	if i < 0 {
		return object{}
	}
	return head.others[i]
}

// allows returns which nodes of a pool Karpenter may consolidate. If only the nodes of the pool are known, it assumes all.
func allows(o object) consolidation {
	if o.pool == nil {
		return consolidatesUnderutilized
	}
	return consolidationOf(o.pool)
}

const weight = "spec.weight"

// looseners returns the changes of a plan that may loosen other pools.
func (p *Plan) looseners(base, head side) (all []loosener) {
	stay := func(o object) bool {
		_, existed := base.byKey[o.Key()]
		_, stays := head.byKey[o.Key()]
		return existed && stays || slices.ContainsFunc(head.others, func(other object) bool { return other.Key() == o.Key() })
	}
	reordered := !slices.Equal(byWeight(base.objects, head.others, stay), byWeight(head.objects, head.others, stay))
	for i, c := range p.Changes {
		if c.Action == Forget {
			continue
		}
		changed := func(prefix string) bool {
			return c.Action == Delete || c.Action == Create ||
				slices.ContainsFunc(c.Fields, func(f Field) bool { return strings.HasPrefix(f.Path, prefix) })
		}
		old, now := base.byKey[c.Key()], head.byKey[c.Key()]
		switch c.Kind {
		case schemas.Pool.Object.Kind:
			if c.Action == Update && changed(weight) && reordered {
				all = append(all, loosener{change: i, least: consolidatesBalanced, fields: []string{weight}})
			}
			if labels := c.LabelsInPlace(); len(labels) > 0 && overlaid(labels, base, head) {
				all = append(all, loosener{change: i, least: consolidatesBalanced, fields: []string{"spec.template.metadata.labels"}})
			}
		case schemas.NodeClass.Object.Kind:
			was := base.class(c.Key())
			if now.class == nil || was == nil && c.Effect != Roll { // no pool uses it yet
				continue
			}
			if maintenanceLead(now.class) > maintenanceLead(was) {
				all = append(all, loosener{change: i, class: c.Name, fields: []string{"spec.replaceBeforeMaintenance"}})
			}
			if fields := consolidatesMore(was, now.class); fields != nil {
				all = append(all, loosener{change: i, least: consolidatesEmpty, class: c.Name, fields: fields})
			}
		case schemas.Buffer.Object.Kind:
			if c.Action == Delete || c.Action == Update && shrinksBuffer(old.buffer, now.buffer) {
				all = append(all, loosener{change: i, least: consolidatesEmpty, fields: shrinkingFields(old.buffer, now.buffer)})
			}
		case schemas.Overlay.Object.Kind:
			if changed("spec.") && (selectsAny(old.overlay, base, head) || selectsAny(now.overlay, base, head)) {
				all = append(all, loosener{change: i, least: consolidatesBalanced})
			}
		}
	}
	return all
}

// byWeight returns the names of pools among objects, and of other pools, in the order in which
// Karpenter tries them (karpenter v1.15.0, OrderByWeight).
func byWeight(objects, others []object, some func(object) bool) (names []string) {
	weights := map[string]int32{}
	for _, o := range slices.Concat(objects, others) {
		if o.Kind() == schemas.Pool.Object.Kind && some(o) {
			names = append(names, o.Name())
			if o.pool != nil {
				weights[o.Name()] = ptr.Deref(o.pool.Spec.Weight, 0)
			}
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(weights[b], weights[a]), cmp.Compare(b, a))
	})
	return names
}

// shrinksBuffer reports whether a buffer may keep less capacity than before. Its capacity is for the larger number of
// pods of replicas and percentage, or else for the number that limits allow, and never more than that (karpenter
// v1.15.0, computeReplicas of the capacity buffer).
func shrinksBuffer(was, is autoscalingv1beta1.CapacityBufferSpec) bool {
	before, after := was, is
	before.Replicas, before.Percentage, before.Limits = nil, nil, nil
	after.Replicas, after.Percentage, after.Limits = nil, nil, nil
	if !equality.Semantic.DeepEqual(before, after) {
		return true
	}
	for name, now := range is.Limits {
		if old, limited := was.Limits[name]; !limited || now.Cmp(old) < 0 {
			return true
		}
	}
	less := func(was, is *int32) bool { return was != nil && (is == nil || *is < *was) }
	sized := func(spec autoscalingv1beta1.CapacityBufferSpec) bool {
		return spec.Replicas != nil || spec.Percentage != nil
	}
	switch {
	case !sized(was):
		return sized(is) && len(was.Limits) > 0
	case !sized(is):
		return len(is.Limits) == 0
	}
	return less(was.Replicas, is.Replicas) || less(was.Percentage, is.Percentage)
}

// shrinkingFields returns the fields that alone shrink a buffer; nil if only several together do.
func shrinkingFields(was, is autoscalingv1beta1.CapacityBufferSpec) (fields []string) {
	type spec = autoscalingv1beta1.CapacityBufferSpec
	for _, field := range []struct {
		name string
		set  func(*spec)
	}{
		{"limits", func(s *spec) { s.Limits = is.Limits }},
		{"percentage", func(s *spec) { s.Percentage = is.Percentage }},
		{"podTemplateRef", func(s *spec) { s.PodTemplateRef = is.PodTemplateRef }},
		{"provisioningStrategy", func(s *spec) { s.ProvisioningStrategy = is.ProvisioningStrategy }},
		{"replicas", func(s *spec) { s.Replicas = is.Replicas }},
		{"scalableRef", func(s *spec) { s.ScalableRef = is.ScalableRef }},
	} {
		alone := was
		field.set(&alone)
		if shrinksBuffer(was, alone) {
			fields = append(fields, "spec."+field.name)
		}
	}
	return fields
}

// selectsAny reports whether an overlay may select machines of an existing pool. Without a cluster, it may select
// those of pools that are not declared.
func selectsAny(overlay *v1alpha1.NodeOverlay, base, head side) bool {
	if overlay == nil {
		return false
	}
	wanted := scheduling.NewRequirements()
	for _, r := range overlay.Spec.Requirements {
		s := r.AsNodeSelectorRequirement()
		wanted.Add(scheduling.NewRequirement(s.Key, s.Operator, s.Values...))
	}
	named := map[string]bool{}
	for _, o := range slices.Concat(head.objects, head.others) {
		if o.Kind() != schemas.Pool.Object.Kind {
			continue
		}
		named[o.Name()] = true
		_, existed := base.byKey[o.Key()]
		there := existed || slices.ContainsFunc(head.others, func(other object) bool { return other.Key() == o.Key() })
		if there && selectsPool(wanted, o) {
			return true
		}
	}
	pools := wanted.Get(karpv1.NodePoolLabelKey)
	unknown := func(name string) bool { return !named[name] }
	confined := pools.Operator() == "In" && !slices.ContainsFunc(pools.Values(), unknown)
	return head.Nodes == nil && !confined
}

// selectsPool reports whether the requirements of an overlay may select machines of a pool.
func selectsPool(wanted scheduling.Requirements, o object) bool {
	has := o.requirements()
	has.Add(scheduling.NewRequirement(karpv1.NodePoolLabelKey, "In", o.Name()))
	if o.pool != nil {
		has.Add(scheduling.NewLabelRequirements(o.pool.Spec.Template.Labels).Values()...)
	}
	return has.Intersects(wanted) == nil
}
