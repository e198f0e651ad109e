package linode

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/scheduling"
	podutils "sigs.k8s.io/karpenter/pkg/utils/pod"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/lkeplan/lkeplan/linode/limits"
)

// How often pods that wait are looked at while a limit holds nodes back, and how
// often a pod is told.
const (
	heldEvery = 10 * time.Second
	tellEvery = 2 * time.Minute
)

// tellPods writes an event on each pod that waits because of a CapacityLimit: it
// would get a node of some pool if there were room. The core cannot say so: it
// only sees that the plan is not offered.
func (c *CapacityLimits) tellPods(ctx context.Context, tally limits.Tally, pools []karpv1.NodePool) error {
	var pods corev1.PodList
	if err := c.client.List(ctx, &pods, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list the pods: %w", err)
	}
	now, told := time.Now(), map[types.UID]time.Time{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if !podutils.IsProvisionable(pod) {
			continue
		}
		if at, ok := c.told[pod.UID]; ok && now.Sub(at) < tellEvery {
			told[pod.UID] = at
		} else if why, held := c.holdsBack(pod, tally, pools); held {
			c.events.Eventf(pod, nil, corev1.EventTypeWarning, "CapacityLimitReached", "Provision", "%s", why)
			told[pod.UID] = now
		}
	}
	c.told = told
	return nil
}

// holdsBack reports whether limits alone keep a pod from getting a node, and
// what the one says that keeps it from the cheapest.
func (c *CapacityLimits) holdsBack(pod *corev1.Pod, tally limits.Tally, pools []karpv1.NodePool) (why string, held bool) {
	requests := resources.RequestsForPods(pod)
	for i := range pools {
		pool := &pools[i]
		if scheduling.Taints(pool.Spec.Template.Spec.Taints).ToleratesPod(pod) != nil {
			continue
		}
		want := poolRequirements(pool)
		want.Add(scheduling.NewLabelRequirements(pool.Spec.Template.Labels).Values()...)
		want.Add(scheduling.NewRequirement(karpv1.NodePoolLabelKey, corev1.NodeSelectorOpIn, pool.Name))
		wish := scheduling.NewPodRequirements(pod)
		if want.Compatible(wish, scheduling.AllowUndefinedWellKnownLabels) != nil {
			continue
		}
		want.Add(wish.Values()...)
		for _, it := range candidates(c.limits.types.List(), want, requests) {
			refusal, refused := tally.Refuses(c.limits.wish(pool.Name, it))
			if !refused {
				return "", false
			}
			if why == "" {
				why = describe(refusal, it.Name)
			}
		}
	}
	return why, why != ""
}
