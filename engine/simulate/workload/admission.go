package workload

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/lkeplan/lkeplan/engine/manifests"
	"github.com/lkeplan/lkeplan/engine/simulate"
)

func (r *reader) class(o manifests.Object) error {
	class, err := typed[nodev1.RuntimeClass](r, o)
	r.classes[class.Name] = class
	return err
}

// complete checks the pods of an object as far as amounts go, and adds what the API server
// adds to pods.
func (r *reader) complete(o manifests.Object, spec *corev1.PodSpec) error {
	if err := r.run(o, spec); err != nil {
		return err
	}
	if len(spec.Containers) == 0 {
		return errNoContainers
	}
	if r := spec.Resources; r != nil {
		if err := cmp.Or(positive("its pods request", r.Requests), positive("its pods are limited to", r.Limits)); err != nil {
			return err
		}
	}
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		if err := cmp.Or(positive("container "+c.Name+" requests", c.Resources.Requests),
			positive("container "+c.Name+" is limited to", c.Resources.Limits)); err != nil {
			return err
		}
	}
	if err := simulate.CheckPod(*spec); err != nil {
		return err
	}
	return positive("the overhead of its pods is", spec.Overhead)
}

// run adds what the RuntimeClass of pods asks for, and where they can be.
func (r *reader) run(o manifests.Object, spec *corev1.PodSpec) error {
	if spec.RuntimeClassName == nil || *spec.RuntimeClassName == "" {
		return nil
	}
	class, given := r.classes[*spec.RuntimeClassName]
	if !given {
		r.note("%s names the RuntimeClass %s, which is missing: its overhead and its node selection are "+
			"ignored.", title(o.Fields), *spec.RuntimeClassName)
		return nil
	}
	if class.Overhead != nil && spec.Overhead == nil {
		spec.Overhead = class.Overhead.PodFixed
	}
	if class.Scheduling == nil {
		return nil
	}
	if spec.NodeSelector == nil {
		spec.NodeSelector = map[string]string{}
	}
	for label, value := range class.Scheduling.NodeSelector {
		if own, there := spec.NodeSelector[label]; there && own != value {
			return fmt.Errorf("it selects nodes by %s=%s, but its RuntimeClass %s by %s=%s", label, own, class.Name,
				label, value)
		}
		spec.NodeSelector[label] = value
	}
	spec.Tolerations = append(spec.Tolerations, class.Scheduling.Tolerations...)
	return nil
}

// positive is an error where an amount is less than zero.
func positive(what string, list corev1.ResourceList) error {
	for _, name := range slices.Sorted(maps.Keys(list)) {
		if q := list[name]; q.Sign() < 0 {
			return fmt.Errorf("%s %s of %s, but amounts cannot be negative", what, q.String(), name)
		}
	}
	return nil
}

// limitRange reads a LimitRange. Those of a namespace are in the order of their names; in a
// cluster the order is not defined.
func (r *reader) limitRange(o manifests.Object) error {
	found, err := typed[corev1.LimitRange](r, o)
	if err != nil {
		return err
	}
	namespace := keyOf(o.Fields).namespace
	for i := range found.Spec.Limits {
		item := &found.Spec.Limits[i]
		for _, list := range []corev1.ResourceList{item.Max, item.Min, item.Default, item.DefaultRequest} {
			if err := positive("it has", list); err != nil {
				return err
			}
		}
		if item.Type == corev1.LimitTypeContainer {
			simulate.Fill(&item.Default, item.Max)
			simulate.Fill(&item.DefaultRequest, item.Default)
			simulate.Fill(&item.DefaultRequest, item.Min)
		}
	}
	r.ranges[namespace] = append(r.ranges[namespace], found)
	slices.SortStableFunc(r.ranges[namespace], func(a, b corev1.LimitRange) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}

// within gives pods what the LimitRanges of their namespace give those that do not say it, and
// says why none of them is made; "" where they are.
func (r *reader) within(namespace string, spec *corev1.PodSpec) (why string) {
	if len(r.ranges[namespace]) == 0 {
		return ""
	}
	for _, found := range r.ranges[namespace] {
		for _, item := range found.Spec.Limits {
			if item.Type != corev1.LimitTypeContainer {
				continue
			}
			for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
				for i := range list {
					simulate.Fill(&list[i].Resources.Limits, item.Default)
					simulate.Fill(&list[i].Resources.Requests, item.DefaultRequest)
				}
			}
		}
	}
	for _, found := range r.ranges[namespace] {
		for _, item := range found.Spec.Limits {
			if why := beyond(item, *spec); why != "" {
				return fmt.Sprintf("none is created: LimitRange %s/%s %s.", namespace, found.Name, why)
			}
		}
	}
	return ""
}

// beyond says what of pods goes beyond a range; "" where nothing does.
func beyond(item corev1.LimitRangeItem, spec corev1.PodSpec) (why string) {
	switch item.Type {
	case corev1.LimitTypeContainer:
		for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
			if why := outside(item, "container "+c.Name, c.Resources.Requests, c.Resources.Limits); why != "" {
				return why
			}
		}
	case corev1.LimitTypePod:
		spec.Overhead = nil // which is not counted there
		all := resources.Ceiling(&corev1.Pod{Spec: spec})
		return outside(item, "a pod", all.Requests, all.Limits)
	}
	return ""
}

// outside says what of amounts goes beyond a range; "" where nothing does.
func outside(item corev1.LimitRangeItem, what string, requests, limits corev1.ResourceList) string {
	for _, name := range slices.Sorted(maps.Keys(item.Max)) {
		most := item.Max[name]
		limit, limited := limits[name]
		asked := requests[name]
		switch {
		case !limited:
			return fmt.Sprintf("requires a limit of %s, and %s has none", name, what)
		case limit.Cmp(most) > 0:
			return fmt.Sprintf("allows a limit of %s of %s, and %s has %s", most.String(), name, what, limit.String())
		case asked.Cmp(most) > 0:
			return fmt.Sprintf("allows requests of %s of %s, and %s requests %s", most.String(), name, what, asked.String())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(item.Min)) {
		least := item.Min[name]
		if asked := requests[name]; asked.Cmp(least) < 0 {
			return fmt.Sprintf("requires that %s requests %s of %s, and it requests %s", what, least.String(), name, asked.String())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(item.MaxLimitRequestRatio)) {
		ratio, asked, limit := item.MaxLimitRequestRatio[name], requests[name], limits[name]
		if asked.IsZero() || times(limit, asked) > ratio.AsApproximateFloat64() {
			return fmt.Sprintf("allows a limit of %s of %s times the request, and %s has %s for %s", name,
				ratio.String(), what, limit.String(), asked.String())
		}
	}
	return ""
}

func times(a, b resource.Quantity) float64 {
	return a.AsApproximateFloat64() / b.AsApproximateFloat64()
}

// quota is what a ResourceQuota says of pods, and what those use of it that count already.
type quota struct {
	name, namespace string
	hard, used      map[string]resource.Quantity
}

// quota reads a ResourceQuota. Of one with scopes it is noted that it does not count.
func (r *reader) quota(o manifests.Object) error {
	found, err := typed[corev1.ResourceQuota](r, o)
	if err != nil {
		return err
	}
	if len(found.Spec.Scopes) > 0 || found.Spec.ScopeSelector != nil {
		r.note("%s is ignored: it applies only to pods of some scopes.", title(o.Fields))
		return nil
	}
	if err := positive("it allows", found.Spec.Hard); err != nil {
		return err
	}
	q := &quota{name: found.Name, namespace: keyOf(o.Fields).namespace, hard: map[string]resource.Quantity{},
		used: map[string]resource.Quantity{}}
	for name, most := range found.Spec.Hard {
		if counted := aboutPods(string(name)); counted != "" {
			if other, twice := q.hard[counted]; !twice || most.Cmp(other) < 0 {
				q.hard[counted] = most
			}
		}
	}
	r.quotas = append(r.quotas, q)
	return nil
}

// aboutPods is what a resource of a quota is called here, of which pods use some; "" for
// others.
func aboutPods(name string) string {
	switch name {
	case "pods", "count/pods":
		return "pods"
	case "cpu", "memory", "ephemeral-storage":
		return "requests." + name
	case "requests.storage":
		return ""
	}
	if strings.HasPrefix(name, "requests.") || strings.HasPrefix(name, "limits.") {
		return name
	}
	return ""
}

// ration has no more pods be there than ResourceQuotas allow: those that a cluster has let in
// count first, then the others in the order in which they are given.
func (r *reader) ration() {
	if len(r.quotas) == 0 {
		return
	}
	for i, load := range r.found.Workloads {
		if r.running[i] {
			for _, q := range r.quotas {
				q.fits(load)
			}
		}
	}
	var all []simulate.Workload
	for i, load := range r.found.Workloads {
		if r.running[i] || load.Barred != "" {
			all = append(all, load)
			continue
		}
		fit, why := load.Pods, ""
		for _, q := range r.quotas {
			if n, text := q.room(load); n < fit {
				fit, why = n, text
			}
		}
		rest := load
		load.Pods, rest.Pods, rest.Barred = fit, load.Pods-fit, why
		for _, q := range r.quotas {
			q.fits(load)
		}
		if fit > 0 || rest.Pods == 0 {
			all = append(all, load)
		}
		if rest.Pods > 0 {
			all = append(all, rest)
		}
	}
	r.found.Workloads = all
	for _, set := range r.found.DaemonSets {
		if slices.ContainsFunc(r.quotas, func(q *quota) bool { return q.namespace == set.Namespace }) {
			r.once("Pods of DaemonSets are not counted in the ResourceQuotas of %s.", set.Namespace)
		}
	}
}

// uses is what one pod uses of what quotas count.
func uses(load simulate.Workload) map[string]resource.Quantity {
	all := resources.Ceiling(&load.Pod)
	use := map[string]resource.Quantity{"pods": resource.MustParse("1")}
	for name, q := range all.Requests {
		use["requests."+string(name)] = q
	}
	for name, q := range all.Limits {
		use["limits."+string(name)] = q
	}
	return use
}

func (q *quota) fits(load simulate.Workload) {
	if load.Pod.Namespace != q.namespace {
		return
	}
	use := uses(load)
	for name := range q.hard {
		each, used := use[name], q.used[name]
		for range load.Pods {
			used.Add(each)
		}
		q.used[name] = used
	}
}

// room is how many pods of a workload the quota has room for, and why not for more.
func (q *quota) room(load simulate.Workload) (fit int, why string) {
	fit = load.Pods
	if load.Pod.Namespace != q.namespace {
		return fit, ""
	}
	if name, container := q.unsaid(load); name != "" {
		return 0, fmt.Sprintf("none is created: ResourceQuota %s/%s requires that each container sets its %s, and container %s "+
			"does not.", q.namespace, q.name, name, container)
	}
	use := uses(load)
	for _, name := range slices.Sorted(maps.Keys(q.hard)) {
		most, used, each := q.hard[name], q.used[name], use[name]
		if each.IsZero() {
			continue
		}
		left := most.DeepCopy()
		left.Sub(used)
		if n := quotient(left, each); n < fit {
			fit = n
			why = fmt.Sprintf("no more are created: ResourceQuota %s/%s allows %s of %s, and earlier pods use %s.",
				q.namespace, q.name, most.String(), name, sum(used, each, n))
		}
	}
	return fit, why
}

// unsaid is what of CPU or memory each container has to say, and one that does not. Those of a pod that says something for
// all of them need not.
func (q *quota) unsaid(load simulate.Workload) (name, container string) {
	if resourcehelper.IsPodLevelResourcesSet(&load.Pod) {
		return "", ""
	}
	for _, what := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		for _, c := range slices.Concat(load.Pod.Spec.InitContainers, load.Pod.Spec.Containers) {
			_, asked := c.Resources.Requests[what]
			_, limited := c.Resources.Limits[what]
			if _, counts := q.hard["requests."+string(what)]; counts && !asked {
				return "requests." + string(what), c.Name
			}
			if _, counts := q.hard["limits."+string(what)]; counts && !limited {
				return "limits." + string(what), c.Name
			}
		}
	}
	return "", ""
}

// quotient is how often one amount is in another, zero where that is less than nothing.
func quotient(all, each resource.Quantity) int {
	if all.Sign() <= 0 {
		return 0
	}
	a, b := new(big.Rat), new(big.Rat)
	a.SetString(all.AsDec().String())
	b.SetString(each.AsDec().String())
	n := new(big.Int).Quo(new(big.Int).Mul(a.Num(), b.Denom()), new(big.Int).Mul(a.Denom(), b.Num()))
	if !n.IsInt64() || n.Int64() > simulate.MaxPods {
		return simulate.MaxPods + 1
	}
	return int(n.Int64())
}

// sum is an amount, and so often another.
func sum(used, each resource.Quantity, times int) string {
	for range times {
		used.Add(each)
	}
	return used.String()
}
