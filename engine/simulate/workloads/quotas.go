package workloads

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/lkeplan/lkeplan/engine/simulate"
)

// quota is what a ResourceQuota says of pods, and what those use of it that count already.
type quota struct {
	name, namespace string
	hard, used      map[string]resource.Quantity
}

// quota reads a ResourceQuota. Of one with scopes it is noted that it does not count.
func (r *reader) quota(o Object) error {
	found, err := typed[corev1.ResourceQuota](r, o)
	if err != nil {
		return err
	}
	if len(found.Spec.Scopes) > 0 || found.Spec.ScopeSelector != nil {
		r.note("%s does not count: it is only for pods of some scopes.", title(o.Fields))
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
			r.once("Pods of DaemonSets do not count against the ResourceQuotas of %s.", set.Namespace)
		}
	}
}

// uses is what one pod uses of what quotas count.
func uses(load simulate.Workload) map[string]resource.Quantity {
	pod := load.Pod.DeepCopy()
	simulate.DefaultRequests(&pod.Spec)
	all := resources.Ceiling(pod)
	use := map[string]resource.Quantity{"pods": resource.MustParse("1")}
	for name, q := range all.Requests {
		use["requests."+string(name)] = q
	}
	for name, q := range all.Limits {
		use["limits."+string(name)] = q
	}
	return use
}

// fits counts the pods of a workload.
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
		return 0, fmt.Sprintf("none is made: ResourceQuota %s/%s wants each container to say its %s, and container %s "+
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
			why = fmt.Sprintf("no more are made: ResourceQuota %s/%s allows %s of %s, and the pods before them use %s.",
				q.namespace, q.name, most.String(), name, sum(used, each, n))
		}
	}
	return fit, why
}

// unsaid is what of CPU or memory each container has to say, and one that does not.
func (q *quota) unsaid(load simulate.Workload) (name, container string) {
	pod := load.Pod.DeepCopy()
	simulate.DefaultRequests(&pod.Spec)
	for _, what := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
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
