// Package sweep finds the cap on the size of nodes with which some pods cost the least,
// by simulating them with each.
package sweep

import (
	"cmp"
	"context"
	"fmt"
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

// A Step is a simulation with a cap on the size of nodes.
type Step struct {
	// Most is the cap, CPUs or MiB of memory; 0 for none.
	Most    int           `json:"most"`
	Nodes   int           `json:"nodes"`
	Refused int           `json:"refused"`
	Cost    simulate.Cost `json:"cost"`
	Pools   []Capped      `json:"pools"` // that the cap changes
}

// Capped is what to write in the requirements of a pool.
type Capped struct {
	Pool string `json:"pool"`
	HCL  string `json:"hcl"`
}

// Sizes are what nodes can be capped by.
func Sizes() []string { return []string{"cpu", "memory"} }

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
// difference, and once without any. The best step comes first: the fewest refused pods,
// and of those the cheapest. Karpenter itself fills the largest nodes that it may make,
// which need not be the cheapest ones.
//
// A pool whose smallest plan type is above a cap stays as it is.
func Run(ctx context.Context, in simulate.Input, by string) ([]Step, error) {
	s := sizeOf(by)
	caps := []int{0}
	for _, plan := range in.Catalog.Plans() {
		if in.Catalog.Sold(plan.ID, in.Region, cmp.Or(in.Tier, catalog.Standard)) {
			caps = append(caps, s.of(plan))
		}
	}
	slices.Sort(caps)
	var steps []Step
	seen := map[string]bool{}
	for _, most := range slices.Compact(caps) {
		capped := in
		var changed []Capped
		var err error
		if capped.Objects, changed, err = s.cap(in, most); err != nil {
			return nil, err
		}
		key := fmt.Sprint(changed)
		if seen[key] {
			continue
		}
		seen[key] = true
		r, err := simulate.Run(ctx, capped)
		if err != nil {
			return nil, err
		}
		steps = append(steps, Step{Most: most, Nodes: len(r.Nodes), Refused: r.Refused, Cost: r.Total, Pools: changed})
	}
	slices.SortStableFunc(steps, func(a, b Step) int {
		return cmp.Or(cmp.Compare(a.Refused, b.Refused), cmp.Compare(a.Cost.Monthly, b.Cost.Monthly),
			cmp.Compare(a.Cost.Hourly, b.Cost.Hourly), cmp.Compare(a.Nodes, b.Nodes), cmp.Compare(a.Most, b.Most))
	})
	return steps, nil
}

// cap caps the pools that plan nodes for pods.
func (s size) cap(in simulate.Input, most int) (objects []map[string]any, changed []Capped, err error) {
	changed = []Capped{}
	types := instancetype.New(in.Catalog, in.Region, cmp.Or(in.Tier, catalog.Standard)).List()
	for _, raw := range in.Objects {
		if kind, _ := raw["kind"].(string); kind != "NodePool" || most == 0 {
			objects = append(objects, raw)
			continue
		}
		var pool karpv1.NodePool
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &pool); err != nil {
			return nil, nil, fmt.Errorf("read NodePool %s: %w", manifest.Name(raw), err)
		}
		had := s.within(types, &pool)
		requirements := &pool.Spec.Template.Spec.Requirements
		written := slices.Clone(*requirements)
		*requirements = append(*requirements, karpv1.NodeSelectorRequirementWithMinValues{
			Key: s.label, Operator: karpv1.NodeSelectorOpLte, Values: []string{strconv.Itoa(most)},
		})
		if has := s.within(types, &pool); pool.Spec.Replicas != nil || has == 0 || has == had {
			objects = append(objects, raw)
			continue
		}
		fields, err := s.capped(raw, most)
		if err != nil {
			return nil, nil, fmt.Errorf("cap NodePool %s: %w", pool.Name, err)
		}
		objects = append(objects, fields)
		changed = append(changed, Capped{Pool: pool.Name, HCL: s.name + " = " + s.requirement(written, most)})
	}
	return objects, changed, nil
}

// capped is a NodePool with one more requirement.
func (s size) capped(raw map[string]any, most int) (map[string]any, error) {
	const path = "spec template spec requirements"
	fields := runtime.DeepCopyJSON(raw)
	requirements, _, err := unstructured.NestedSlice(fields, strings.Fields(path)...)
	if err != nil {
		return nil, err
	}
	requirements = append(requirements, map[string]any{
		"key": s.label, "operator": string(karpv1.NodeSelectorOpLte), "values": []any{strconv.Itoa(most)},
	})
	return fields, unstructured.SetNestedSlice(fields, requirements, strings.Fields(path)...)
}

// within counts the plan types that a pool can have.
func (s size) within(types []*cloudprovider.InstanceType, pool *karpv1.NodePool) int {
	return len(instancetype.Candidates(types, instancetype.RequirementsOf(pool), nil))
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
	if least > 0 {
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

// Text tells the steps for people, and what to write for the best one.
func Text(target, by string, asked int, steps []Step) string {
	s := sizeOf(by)
	rows := [][]string{{"largest node", "", "nodes", "refused", "$/hour", "$/month"}}
	var now Step
	for _, step := range steps {
		name := "at most " + strings.Trim(s.hcl(step.Most), `"`) + map[string]string{"cpu": " CPUs", "memory": ""}[by]
		if step.Most == 0 {
			name, now = "as it is", step
		}
		rows = append(rows, []string{
			name, "", strconv.Itoa(step.Nodes), strconv.Itoa(step.Refused), simulate.Dollars(step.Cost.Hourly, 3),
			simulate.Dollars(step.Cost.Monthly, 2),
		})
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, with each cap on %s.\n\n%s\n", target, simulate.Count(asked, "pod"), by, simulate.Aligned(rows))
	best := steps[0]
	if best.Most == 0 || best.Refused == now.Refused && best.Cost.Monthly >= now.Cost.Monthly {
		b.WriteString("No cap makes it cheaper.\n")
		return b.String()
	}
	fmt.Fprintf(&b, "The first costs $%s a month instead of $%s. In the requirements of the pools:\n",
		simulate.Dollars(best.Cost.Monthly, 2), simulate.Dollars(now.Cost.Monthly, 2))
	for _, p := range best.Pools {
		fmt.Fprintf(&b, "  pool %s: %s\n", p.Pool, p.HCL)
	}
	return b.String()
}
