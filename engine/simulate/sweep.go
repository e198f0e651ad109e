package simulate

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

	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// An Attempt is a simulation with a cap on the size of nodes, with one class of plans, or both.
type Attempt struct {
	// Most is the cap, CPUs or MiB of memory; 0 for none.
	Most    int      `json:"most"`
	Class   string   `json:"class,omitempty"` // of all plans; "" for the classes that the pools allow
	Nodes   int      `json:"nodes"`
	Placed  int      `json:"placed"`
	Refused int      `json:"refused"`
	Cost    Cost     `json:"cost"`
	Pools   []Capped `json:"pools"` // changed pools
	// Refusals are the unschedulable pods with reasons. Costs are comparable only if the pods are the same.
	Refusals []Refusal `json:"refusals"`
}

// each is the monthly cost per placed pod; 0 without pods.
func (s Attempt) each() catalog.Money {
	if s.Placed == 0 {
		return 0
	}
	return s.Cost.Monthly / catalog.Money(s.Placed)
}

// without is the number of unschedulable pods by workload.
func (s Attempt) without() map[string]int {
	of := map[string]int{}
	for _, r := range s.Refusals {
		of[r.Workload] += r.Pods
	}
	return of
}

// SamePods reports whether two attempts place the same pods.
func (s Attempt) SamePods(other Attempt) bool { return maps.Equal(s.without(), other.without()) }

// Capped is the HCL to write in the requirements of a pool.
type Capped struct {
	Pool string `json:"pool"`
	HCL  string `json:"hcl"`
}

// unchanged reports whether the attempt does not change pools.
func (s Attempt) unchanged() bool { return s.Most == 0 && s.Class == "" }

// byClass sweeps the classes of plans, and no cap.
const byClass = "class"

// SweepSizes are the dimensions of a sweep: sizes to cap, and the class.
func SweepSizes() []string { return []string{"cpu", "memory", byClass} }

// sweepSize is one of SweepSizes, except the class.
type sweepSize struct {
	name, label string
	of          func(catalog.Plan) int
	hcl         func(int) string
}

func sweepSizeOf(name string) sweepSize {
	if name == "memory" {
		return sweepSize{name, linodev1alpha1.LabelInstanceMemory,
			func(p catalog.Plan) int { return p.MemoryMiB },
			func(mib int) string {
				if mib%1024 == 0 {
					return strconv.Quote(strconv.Itoa(mib/1024) + "Gi")
				}
				return strconv.Quote(strconv.Itoa(mib) + "Mi")
			}}
	}
	return sweepSize{"cpu", linodev1alpha1.LabelInstanceCPU, func(p catalog.Plan) int { return p.VCPUs }, strconv.Itoa}
}

// Sweep simulates the same pods with each cap on the size of nodes that makes a difference, or with each class of plans, and
// with unchanged pools. The best attempt comes first: the fewest unschedulable pods, then the lowest cost. Karpenter fills the
// largest nodes that it may create, which may not be the cheapest.
//
// A pool that would have no plan type left stays unchanged.
func Sweep(ctx context.Context, in Input, by string) ([]Attempt, error) {
	if by == byClass {
		return sweepClasses(ctx, in)
	}
	return sweepCaps(ctx, in, sweepSizeOf(by))
}

// sweepCaps simulates a cap at each size of plans that the region sells.
func sweepCaps(ctx context.Context, in Input, s sweepSize) (steps []Attempt, err error) {
	sizes := []int{0}
	for _, plan := range soldPlans(in) {
		sizes = append(sizes, s.of(plan))
	}
	slices.Sort(sizes)
	seen := map[string]bool{}
	for _, most := range slices.Compact(sizes) {
		capped, step := in, Attempt{Most: most}
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
		if len(steps) == 0 || !step.comesTo(steps[0]) { // the first is without a cap
			steps = append(steps, step)
		}
	}
	slices.SortStableFunc(steps, compareAttempts)
	return steps, nil
}

// comesTo reports whether two attempts have the same number of nodes for the same pods at the same cost.
func (s Attempt) comesTo(other Attempt) bool {
	return s.Nodes == other.Nodes && s.Cost == other.Cost && s.SamePods(other)
}

func soldPlans(in Input) []catalog.Plan {
	return slices.DeleteFunc(slices.Clone(in.Catalog.Plans()), func(p catalog.Plan) bool {
		return !in.Catalog.Sold(p.ID, in.Region, cmp.Or(in.Tier, catalog.Standard))
	})
}

// of is the attempt with the result of a simulation.
func (s Attempt) of(ctx context.Context, in Input) (Attempt, error) {
	r, err := Run(ctx, in)
	s.Nodes, s.Placed, s.Refused, s.Cost, s.Refusals = len(r.Nodes), r.Placed, r.Refused, r.Total, r.Refusals
	return s, err
}

// compareAttempts orders attempts: the best is the least.
func compareAttempts(a, b Attempt) int {
	return cmp.Or(cmp.Compare(a.Refused, b.Refused), cmp.Compare(a.Cost.Monthly, b.Cost.Monthly),
		cmp.Compare(a.Cost.Hourly, b.Cost.Hourly), cmp.Compare(a.Nodes, b.Nodes), cmp.Compare(a.Class, b.Class),
		cmp.Compare(a.Most, b.Most))
}

// cap caps the pools that plan nodes for pods.
func (s sweepSize) cap(in Input, most int) (objects []map[string]any, changed []Capped, err error) {
	return changePools(in, func(pool *karpv1.NodePool) (string, bool) {
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

// changePools changes the requirements of the pools that the pods can use, if that makes a difference and leaves some plan
// type. The function returns the change as HCL, and whether it changes anything.
func changePools(in Input, by func(*karpv1.NodePool) (string, bool)) (objects []map[string]any, changed []Capped,
	err error) {
	changed = []Capped{}
	types := instancetype.New(in.Catalog, in.Region, cmp.Or(in.Tier, catalog.Standard)).List()
	for _, raw := range in.Objects {
		objects = append(objects, raw)
		if kind, _ := raw["kind"].(string); kind != "NodePool" {
			continue
		}
		pool, err := manifest.As[karpv1.NodePool](raw)
		if err != nil {
			return nil, nil, err
		}
		if !slices.ContainsFunc(in.Workloads, func(load Workload) bool {
			return anyTerm(&load.Pod, func(pod *corev1.Pod) bool {
				_, can := instancetype.ForPod(pool, pod)
				return can
			})
		}) {
			continue // these pods cannot use its nodes
		}
		had := plansOf(types, pool)
		hcl, differs := by(pool)
		if has := plansOf(types, pool); !differs || pool.Spec.Replicas != nil || len(has) == 0 || slices.Equal(has, had) {
			continue
		}
		fields, err := withRequirements(raw, pool.Spec.Template.Spec.Requirements)
		if err != nil {
			return nil, nil, fmt.Errorf("change NodePool %s: %w", pool.Name, err)
		}
		objects[len(objects)-1] = fields
		changed = append(changed, Capped{Pool: pool.Name, HCL: hcl})
	}
	return objects, changed, nil
}

// withRequirements is a NodePool with other requirements.
func withRequirements(raw map[string]any, requirements []karpv1.NodeSelectorRequirementWithMinValues) (map[string]any, error) {
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

// plansOf are the plan types that a pool allows.
func plansOf(types []*cloudprovider.InstanceType, pool *karpv1.NodePool) (names []string) {
	for _, it := range instancetype.Candidates(types, instancetype.RequirementsOf(pool), nil) {
		names = append(names, it.Name)
	}
	slices.Sort(names)
	return names
}

// requirement writes the requirement on the size with the cap, as HCL.
func (s sweepSize) requirement(written []karpv1.NodeSelectorRequirementWithMinValues, most int) string {
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

func (s sweepSize) list(values []int) string {
	var texts []string
	for _, v := range values {
		texts = append(texts, s.hcl(v))
	}
	return strings.Join(texts, ", ")
}

// sweepClasses simulates each class of plans that the region sells, with the best cap on CPUs for it: prices by size differ
// between classes, so the best cap differs, too. Other requirements stay, including named plan types.
func sweepClasses(ctx context.Context, in Input) ([]Attempt, error) {
	now, err := Attempt{Pools: []Capped{}}.of(ctx, in)
	if err != nil {
		return nil, err
	}
	steps := []Attempt{now}
	var names []string
	for _, plan := range soldPlans(in) {
		names = append(names, plan.Class)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		one, changed, possible, err := withClass(in, name)
		if err != nil {
			return nil, err
		}
		if !possible {
			continue
		}
		capped, err := sweepCaps(ctx, one, sweepSizeOf("cpu"))
		if err != nil {
			return nil, err
		}
		best := capped[0]
		if best.Class, best.Pools = name, joinCaps(changed, best.Pools); len(best.Pools) > 0 {
			steps = append(steps, best) // otherwise the pools are unchanged
		}
	}
	slices.SortStableFunc(steps, compareAttempts)
	return steps, nil
}

// joinCaps joins the HCL for the class and for the size of pools.
func joinCaps(class, size []Capped) (all []Capped) {
	for _, c := range class {
		for _, s := range size {
			if s.Pool == c.Pool {
				c.HCL += ", " + s.HCL
			}
		}
		all = append(all, c)
	}
	for _, s := range size {
		if !slices.ContainsFunc(class, func(c Capped) bool { return c.Pool == s.Pool }) {
			all = append(all, s)
		}
	}
	return all
}

// withClass sets the class of pools. Possible reports whether any pool has plans of it.
func withClass(in Input, class string) (one Input, changed []Capped, possible bool, err error) {
	types := instancetype.New(in.Catalog, in.Region, cmp.Or(in.Tier, catalog.Standard)).List()
	one = in
	one.Objects, changed, err = changePools(in, func(pool *karpv1.NodePool) (string, bool) {
		requirements := &pool.Spec.Template.Spec.Requirements
		kept := slices.DeleteFunc(slices.Clone(*requirements), func(r karpv1.NodeSelectorRequirementWithMinValues) bool {
			return r.Key == linodev1alpha1.LabelInstanceClass
		})
		*requirements = append(kept, karpv1.NodeSelectorRequirementWithMinValues{
			Key: linodev1alpha1.LabelInstanceClass, Operator: corev1.NodeSelectorOpIn, Values: []string{class},
		})
		possible = possible || pool.Spec.Replicas == nil && len(plansOf(types, pool)) > 0
		return "class = " + strconv.Quote(class), true
	})
	return one, changed, possible, err
}

// sizes names what a sweep limits, by its name.
var sizes = map[string]string{"cpu": "number of CPUs", "memory": "memory"}

// SweepText writes the attempts for people, and the HCL of the best one. If they do not place the same pods, it adds the cost
// per placed pod, and the unschedulable pods.
func SweepText(target, by string, asked int, steps []Attempt) string {
	head, what, none := "largest node", "simulated once for each maximum "+sizes[by]+" of a node", "No maximum costs less.\n"
	if by == byClass {
		head, what = "class", "simulated once for each class of plan types, with the cheapest maximum of CPUs"
		none = "No class costs less.\n"
	}
	alike := !slices.ContainsFunc(steps, func(s Attempt) bool { return !s.SamePods(steps[0]) })
	rows := [][]string{{head, "", "nodes", "unschedulable", "hourly", "monthly"}}
	if !alike {
		rows[0] = append(rows[0], "per placed pod")
	}
	var now Attempt
	for _, tried := range steps {
		if tried.unchanged() {
			now = tried
		}
		row := []string{
			tried.name(by), "", strconv.Itoa(tried.Nodes), strconv.Itoa(tried.Refused), thousandths(tried.Cost.Hourly),
			tried.Cost.Monthly.Text(),
		}
		if !alike {
			row = append(row, tried.perPod())
		}
		rows = append(rows, row)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s.\n\n%s\n", target, Count(asked, "pod"), what, aligned(rows))
	b.WriteString(withoutNode(by, steps))
	best := steps[0]
	if best.unchanged() || best.SamePods(now) && best.Cost.Monthly >= now.Cost.Monthly {
		if !alike {
			none = "No other choice gives as many pods a node for less.\n"
		}
		b.WriteString(none)
		return b.String()
	}
	b.WriteString(best.against(now) + " To get it, set in the requirements:\n")
	for _, p := range best.Pools {
		fmt.Fprintf(&b, "  pool %s: %s\n", p.Pool, p.HCL)
	}
	if note := classNotes[best.Class]; note != "" {
		b.WriteString(note + "\n")
	}
	return b.String()
}

// perPod is the monthly cost per placed pod, as text.
func (s Attempt) perPod() string {
	if s.Placed == 0 {
		return "-"
	}
	return s.each().Text()
}

// against compares the best attempt with unchanged pools: by cost if they place the same pods, and else by cost per placed pod.
func (s Attempt) against(now Attempt) string {
	cost := fmt.Sprintf("costs %s a month instead of %s", s.Cost.Monthly.Text(),
		now.Cost.Monthly.Text())
	if s.SamePods(now) {
		return "The first " + cost + "."
	}
	each := fmt.Sprintf("%s for each of its %s", s.perPod(), Count(s.Placed, "pod"))
	if now.Placed > 0 {
		each += fmt.Sprintf(" instead of %s for each of %d", now.perPod(), now.Placed)
	}
	pods := "places other pods"
	if more := s.Placed - now.Placed; more > 0 {
		pods = fmt.Sprintf("places %s more", Count(more, "pod"))
	}
	return fmt.Sprintf("The first %s, and %s: %s.", pods, cost, each)
}

// withoutNode lists the unschedulable pods with reasons, once for all attempts with the same list.
func withoutNode(by string, steps []Attempt) string {
	var texts []string
	names := map[string][]string{}
	for _, tried := range steps {
		if tried.Refused == 0 {
			continue
		}
		text := refusalsText(tried.Refusals)
		if names[text] == nil {
			texts = append(texts, text)
		}
		names[text] = append(names[text], tried.name(by))
	}
	var b strings.Builder
	for i, text := range texts {
		if i == mostRefusalTexts {
			fmt.Fprintf(&b, "%s with other unschedulable pods; -o json has all.\n\n", Count(len(texts)-i, "other choice"))
			break
		}
		fmt.Fprintf(&b, "Unschedulable (%s):\n%s\n", strings.Join(names[text], "; "), text)
	}
	return b.String()
}

// mostRefusalTexts limits the lists of unschedulable pods; those of the best attempts come first.
const mostRefusalTexts = 4

// classNotes explain classes.
var classNotes = map[string]string{
	"standard": "Plans of this class share their CPUs with other machines, so their performance varies.",
}

// name describes the change of an attempt.
func (s Attempt) name(by string) string {
	if s.unchanged() {
		return "unchanged"
	}
	most := "at most " + strings.Trim(sweepSizeOf(by).hcl(s.Most), `"`)
	if by != "memory" {
		most += " CPUs"
	}
	switch {
	case s.Class == "":
		return most
	case s.Most == 0:
		return s.Class
	}
	return s.Class + ", " + most
}
