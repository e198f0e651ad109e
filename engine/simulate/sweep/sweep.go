// Package sweep finds the cap on the size of nodes, or the class of plans, with which some
// pods cost the least, by simulating them with each.
package sweep

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// A Step is a simulation with a cap on the size of nodes, one class of plans, or both.
type Step struct {
	// Most is the cap, CPUs or MiB of memory; 0 for none.
	Most    int           `json:"most"`
	Class   string        `json:"class,omitempty"` // of all plans; "" for those that the pools allow
	Nodes   int           `json:"nodes"`
	Placed  int           `json:"placed"`
	Refused int           `json:"refused"`
	Cost    simulate.Cost `json:"cost"`
	Pools   []Capped      `json:"pools"` // that it changes
	// Refusals are the pods without a node, and why: costs compare only where they are the same.
	Refusals []simulate.Refusal `json:"refusals"`
}

// each is what a pod costs a month that has a node; of no pods nothing.
func (s Step) each() catalog.Money {
	if s.Placed == 0 {
		return 0
	}
	return s.Cost.Monthly / catalog.Money(s.Placed)
}

// without is how many pods of each workload have no node.
func (s Step) without() map[string]int {
	of := map[string]int{}
	for _, r := range s.Refusals {
		of[r.Workload] += r.Pods
	}
	return of
}

// SamePods reports whether two steps have the same pods on nodes.
func (s Step) SamePods(other Step) bool { return maps.Equal(s.without(), other.without()) }

// Capped is what to write in the requirements of a pool.
type Capped struct {
	Pool string `json:"pool"`
	HCL  string `json:"hcl"`
}

// unchanged reports whether the pools are as they are written.
func (s Step) unchanged() bool { return s.Most == 0 && s.Class == "" }

// byClass sweeps the classes of plans, and no cap.
const byClass = "class"

// Sizes are what is swept: what nodes can be capped by, and their class.
func Sizes() []string { return []string{"cpu", "memory", byClass} }

// size is one of Sizes.
type size struct {
	name, label string
	of          func(catalog.Plan) int
	hcl         func(int) string
}

func sizeOf(name string) size {
	if name == "memory" {
		return size{name, linodev1alpha1.LabelInstanceMemory,
			func(p catalog.Plan) int { return p.MemoryMiB },
			func(mib int) string {
				if mib%1024 == 0 {
					return strconv.Quote(strconv.Itoa(mib/1024) + "Gi")
				}
				return strconv.Quote(strconv.Itoa(mib) + "Mi")
			}}
	}
	return size{"cpu", linodev1alpha1.LabelInstanceCPU, func(p catalog.Plan) int { return p.VCPUs }, strconv.Itoa}
}

// Run simulates the same pods once with each cap on the size of nodes that makes a
// difference, or with each class of plans, and once with the pools as they are. The best
// step comes first: the fewest refused pods, and of those the cheapest. Karpenter itself
// fills the largest nodes that it may make, which need not be the cheapest ones.
//
// A pool that would have no plan type left stays as it is.
func Run(ctx context.Context, in simulate.Input, by string) ([]Step, error) {
	if by == byClass {
		return classes(ctx, in)
	}
	return caps(ctx, in, sizeOf(by))
}

// caps simulates each cap on a size of what the region sells.
func caps(ctx context.Context, in simulate.Input, s size) (steps []Step, err error) {
	sizes := []int{0}
	for _, plan := range sold(in) {
		sizes = append(sizes, s.of(plan))
	}
	slices.Sort(sizes)
	seen := map[string]bool{}
	for _, most := range slices.Compact(sizes) {
		capped, step := in, Step{Most: most}
		if capped.Objects, step.Pools, err = s.cap(in, most); err != nil {
			return nil, err
		}
		key := fmt.Sprint(step.Pools)
		if seen[key] {
			continue
		}
		seen[key] = true
		if step, err = step.of(ctx, capped); err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	slices.SortStableFunc(steps, better)
	return steps, nil
}

// sold are the plans that the region sells.
func sold(in simulate.Input) []catalog.Plan {
	return slices.DeleteFunc(slices.Clone(in.Catalog.Plans()), func(p catalog.Plan) bool {
		return !in.Catalog.Sold(p.ID, in.Region, cmp.Or(in.Tier, catalog.Standard))
	})
}

// of is the step with what comes of a simulation.
func (s Step) of(ctx context.Context, in simulate.Input) (Step, error) {
	r, err := simulate.Run(ctx, in)
	s.Nodes, s.Placed, s.Refused, s.Cost, s.Refusals = len(r.Nodes), r.Placed, r.Refused, r.Total, r.Refusals
	return s, err
}

// better compares steps: the best is the least.
func better(a, b Step) int {
	return cmp.Or(cmp.Compare(a.Refused, b.Refused), cmp.Compare(a.Cost.Monthly, b.Cost.Monthly),
		cmp.Compare(a.Cost.Hourly, b.Cost.Hourly), cmp.Compare(a.Nodes, b.Nodes), cmp.Compare(a.Class, b.Class),
		cmp.Compare(a.Most, b.Most))
}

// cap caps the pools that plan nodes for pods.
func (s size) cap(in simulate.Input, most int) (objects []map[string]any, changed []Capped, err error) {
	return change(in, func(pool *karpv1.NodePool) (string, bool) {
		if most == 0 {
			return "", false
		}
		requirements := &pool.Spec.Template.Spec.Requirements
		written := slices.Clone(*requirements)
		*requirements = append(*requirements, karpv1.NodeSelectorRequirementWithMinValues{
			Key: s.label, Operator: karpv1.NodeSelectorOpLte, Values: []string{strconv.Itoa(most)},
		})
		return s.name + " = " + s.requirement(written, most), true
	})
}

// change changes the requirements of the pools that plan nodes for pods, where that makes a
// difference and leaves some plan type. The function returns what it comes to in HCL, and
// whether it changes anything.
func change(in simulate.Input, by func(*karpv1.NodePool) (string, bool)) (objects []map[string]any, changed []Capped,
	err error) {
	changed = []Capped{}
	types := instancetype.New(in.Catalog, in.Region, cmp.Or(in.Tier, catalog.Standard)).List()
	for _, raw := range in.Objects {
		objects = append(objects, raw)
		if kind, _ := raw["kind"].(string); kind != "NodePool" {
			continue
		}
		var pool karpv1.NodePool
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &pool); err != nil {
			return nil, nil, fmt.Errorf("read NodePool %s: %w", manifest.Name(raw), err)
		}
		had := within(types, &pool)
		hcl, differs := by(&pool)
		if has := within(types, &pool); !differs || pool.Spec.Replicas != nil || len(has) == 0 || slices.Equal(has, had) {
			continue
		}
		fields, err := required(raw, pool.Spec.Template.Spec.Requirements)
		if err != nil {
			return nil, nil, fmt.Errorf("change NodePool %s: %w", pool.Name, err)
		}
		objects[len(objects)-1] = fields
		changed = append(changed, Capped{Pool: pool.Name, HCL: hcl})
	}
	return objects, changed, nil
}

// required is a NodePool with other requirements.
func required(raw map[string]any, requirements []karpv1.NodeSelectorRequirementWithMinValues) (map[string]any, error) {
	const path = "spec template spec requirements"
	fields := runtime.DeepCopyJSON(raw)
	list := []any{}
	for i := range requirements {
		r, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&requirements[i])
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return fields, unstructured.SetNestedSlice(fields, list, strings.Fields(path)...)
}

// within are the plan types that a pool can have.
func within(types []*cloudprovider.InstanceType, pool *karpv1.NodePool) (names []string) {
	for _, it := range instancetype.Candidates(types, instancetype.RequirementsOf(pool), nil) {
		names = append(names, it.Name)
	}
	slices.Sort(names)
	return names
}

// requirement writes what a pool requires of the size, with the cap, as HCL.
func (s size) requirement(written []karpv1.NodeSelectorRequirementWithMinValues, most int) string {
	least, others := 0, []string{}
	for _, r := range written {
		if r.Key != s.label {
			continue
		}
		values := make([]int, len(r.Values))
		for i, text := range r.Values {
			values[i], _ = strconv.Atoi(text) // labels of plans are numbers
		}
		switch r.Operator {
		case corev1.NodeSelectorOpIn:
			kept := slices.DeleteFunc(values, func(v int) bool { return v > most })
			return "[" + s.list(kept) + "]"
		case karpv1.NodeSelectorOpGte:
			least = max(least, values[0])
		case corev1.NodeSelectorOpGt:
			least = max(least, values[0]+1)
		case corev1.NodeSelectorOpNotIn:
			others = append(others, "notin("+s.list(values)+")")
		}
	}
	bound := "lte(" + s.hcl(most) + ")"
	if least == most {
		bound = s.hcl(most)
	} else if least > 0 {
		bound = "between(" + s.hcl(least) + ", " + s.hcl(most) + ")"
	}
	if len(others) == 0 {
		return bound
	}
	return "all(" + strings.Join(append([]string{bound}, others...), ", ") + ")"
}

func (s size) list(values []int) string {
	var texts []string
	for _, v := range values {
		texts = append(texts, s.hcl(v))
	}
	return strings.Join(texts, ", ")
}
