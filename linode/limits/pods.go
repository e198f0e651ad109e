package limits

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	podutils "sigs.k8s.io/karpenter/pkg/utils/pod"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/lkeplan/lkeplan/linode/instancetype"
)

// ReasonReached is the reason of events on pods and NodePools that a limit keeps nodes from.
const ReasonReached = "CapacityLimitReached"

// How often pending pods are listed while a limit refuses nodes, and how often an
// event is repeated on a pod.
const (
	podsEvery   = 10 * time.Second
	notifyEvery = 2 * time.Minute
)

// notifyPods writes an event on each pod that is pending because of a limit: with room in
// it the pod would get a node. Of a CapacityLimit Karpenter cannot say so: it only sees
// that the plan type is not offered. Of a NodePool's own it does not say which one, and
// with how much the pod would fit.
func (c *Controller) notifyPods(ctx context.Context, tally Tally, pools []karpv1.NodePool) error {
	var pods corev1.PodList
	if err := c.client.List(ctx, &pods, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list the pods: %w", err)
	}
	now, notified := time.Now(), map[types.UID]time.Time{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if !podutils.IsProvisionable(pod) || c.placed(pod) {
			continue
		}
		if at, ok := c.notified[pod.UID]; ok && now.Sub(at) < notifyEvery {
			notified[pod.UID] = at
		} else if why, refused := c.refusedFor(pod, tally, pools); refused {
			c.events.Eventf(pod, nil, corev1.EventTypeWarning, ReasonReached, "Provision", "%s", why)
			notified[pod.UID] = now
		}
	}
	c.notified = notified
	return nil
}

// refusedFor reports whether limits are the only reason why a pod gets no node,
// and why the cheapest node is refused.
func (c *Controller) refusedFor(
	pod *corev1.Pod, tally Tally, pools []karpv1.NodePool,
) (why string, refused bool) {
	requests := resources.RequestsForPods(pod)
	for i := range pools {
		pool := &pools[i]
		want, ok := instancetype.ForPod(pool, pod)
		if !ok || len(pool.Spec.Limits) > 0 && !limited(*pool) {
			continue
		}
		fit := instancetype.Candidates(c.enforcer.types.List(), want, requests)
		text, refused := c.enforcer.Refused(tally, pool.Name, fit)
		switch {
		case len(fit) == 0:
		case !refused:
			return "", false
		case why == "":
			why = text
		}
	}
	return why, why != ""
}

// Refused reports whether a tally has room for no node of the types in a NodePool, why it
// refuses the first of them, and with how much it would have room for one more.
func (e *Enforcer) Refused(
	tally Tally, pool string, fit []*cloudprovider.InstanceType,
) (why string, refused bool) {
	return e.RefusedBeside(tally, Planned{}, pool, fit)
}

// Planned is what of a tally is only planned.
type Planned struct {
	Standing *Tally                                     // what there was before; nil where all of it is there
	For      func(covers func(pool string) bool) string // for which pods the nodes of pools are planned
}

// RefusedBeside is Refused for a tally of which some is only planned.
func (e *Enforcer) RefusedBeside(
	tally Tally, planned Planned, pool string, fit []*cloudprovider.InstanceType,
) (why string, refused bool) {
	for _, it := range fit {
		refusal, refused := tally.Refuses(e.wish(pool, it))
		if !refused {
			return "", false
		}
		if why == "" {
			why = planned.describe(refusal, it.Name) + "; " + fits(tally.Refusals(e.wish(pool, it)))
		}
	}
	return why, why != ""
}

// describe says which limit refuses a plan type: what is used, what is planned, and for whom.
func (p Planned) describe(r Refusal, plan string) string {
	if p.Standing == nil {
		return describe(r, plan)
	}
	used := p.Standing.UsedOf(r.Limit, r.Resource)
	if used >= r.Used {
		return describe(r, plan)
	}
	most := r.Limit.Max[r.Resource]
	text := fmt.Sprintf("%s %s has no room for a node of %s: it allows %s, of which the nodes "+
		"that are there or on order have %s, %s planned for %s, and %s left", kindOf(r.Limit), r.Limit.Name, plan,
		inUnits(r.Resource, most), inUnits(r.Resource, used), are(r.Resource, r.Used-used), p.For(r.Limit.Covers),
		are(r.Resource, most-min(most, r.Used)))
	if r.Resource == Nodes {
		return text
	}
	return text + fmt.Sprintf("; the node has %s", inUnits(r.Resource, r.Wanted))
}

// are is an amount with its verb.
func are(resource string, n int64) string {
	text := inUnits(resource, n)
	if resource == MonthlyCost || resource == Memory {
		return text + " is"
	}
	return text + " are"
}

// fits says what limits would have to allow for one more node, which they refuse.
func fits(refusals []Refusal) string {
	var texts []string
	for _, r := range refusals {
		text := inUnits(r.Resource, r.Used+r.Wanted)
		if first := refusals[0].Limit; r.Limit.Name != first.Name || r.Limit.Own != first.Own {
			text += " of " + kindOf(r.Limit) + " " + r.Limit.Name
		}
		texts = append(texts, text)
	}
	return "one more such node fits with " + strings.Join(texts, " and ")
}
