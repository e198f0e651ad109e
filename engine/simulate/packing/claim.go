package packing

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	reqs "sigs.k8s.io/karpenter/pkg/scheduling"
)

// claim is a node that is planned, with what it has left.
type claim struct {
	*scheduling.NodeClaim
	overhead map[string]corev1.ResourceList // of DaemonSets, by plan type
	room     map[corev1.ResourceName]int64  // of each resource, the most that one of its plan types has left
	full     map[int]bool                   // the shapes of pods that it refused
}

func newClaim(nc *scheduling.NodeClaim, groups []scheduling.DaemonOverheadGroup) *claim {
	c := &claim{NodeClaim: nc, overhead: map[string]corev1.ResourceList{}, full: map[int]bool{}}
	for _, g := range groups {
		for _, it := range g.InstanceTypes {
			c.overhead[it.Name] = g.DaemonOverhead
		}
	}
	return c
}

// add takes a pod where there is room.
func (c *claim) add(ctx context.Context, pod *corev1.Pod, data *scheduling.PodData, shape int, lasting bool) bool {
	if lasting && c.full[shape] || c.tooSmall(data.Requests) {
		return false
	}
	requirements, its, reserve, _, err := c.CanAdd(ctx, pod, data, false, nil)
	if err != nil {
		c.full[shape] = c.full[shape] || lasting
		return false
	}
	c.take(ctx, pod, data, requirements, its, reserve)
	return true
}

// take takes a pod.
func (c *claim) take(ctx context.Context, pod *corev1.Pod, data *scheduling.PodData, requirements reqs.Requirements,
	its []*cloudprovider.InstanceType, reserve []*cloudprovider.Offering) {
	c.Add(ctx, pod, data, requirements, its, reserve, nil, nil)
	c.room = map[corev1.ResourceName]int64{}
	for _, name := range counted {
		used := count(name, c.Spec.Resources.Requests)
		for i, it := range c.InstanceTypeOptions {
			left := count(name, it.Allocatable()) - used - count(name, c.overhead[it.Name])
			if i == 0 || left > c.room[name] {
				c.room[name] = left
			}
		}
	}
}

// counted are the resources that tooSmall looks at.
var counted = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

// rounding is how far a sum of three amounts in whole units may be off.
const rounding = 3

// tooSmall reports whether a pod surely has no room.
func (c *claim) tooSmall(requests corev1.ResourceList) bool {
	for _, name := range counted {
		if wanted := count(name, requests); wanted > 0 && wanted > c.room[name]+rounding {
			return true
		}
	}
	return false
}

// count is an amount in whole units of its resource, rounded up.
func count(name corev1.ResourceName, of corev1.ResourceList) int64 {
	q := of[name]
	if name == corev1.ResourceCPU {
		return q.MilliValue()
	}
	return q.Value()
}
