package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	podutils "sigs.k8s.io/karpenter/pkg/utils/pod"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// A small reduction leaves pods three quarters of what they ask for.
const (
	keptOf  = 3
	keptIn  = 4
	mostTry = 4 // plan types that are tried
)

// smaller says which cheaper plan type would hold the pods of a node if they asked for a
// little less, by Karpenter's own scheduler.
func (w *explainer) smaller(ctx context.Context, nc *karpv1.NodeClaim) ([]string, error) {
	pool, pods := w.poolOf(nc), w.movable(nc)
	if pool == nil || len(pods) == 0 || w.region == "" {
		return nil, nil
	}
	asked := resources.RequestsForPods(pods...)
	daemons := resources.RequestsForPods(w.daemonsOn(nc)...)
	tries := 0
	for _, it := range w.cheaper(nc, pool) {
		less, small := reduction(asked, resources.Subtract(it.Allocatable(), daemons))
		if len(less) == 0 || !small {
			continue
		}
		if tries++; tries > mostTry {
			return nil, nil
		}
		fits, err := w.onOne(ctx, pool, reduced(pods, asked, less), it.Name)
		if err != nil {
			return nil, err
		}
		if fits {
			return []string{fmt.Sprintf("%s ($%s) would do if its pods asked for %s", it.Name, w.price(it.Name).Hourly,
				lessText(asked, less))}, nil
		}
	}
	return nil, nil
}

// daemonsOn are the pods of DaemonSets on a node, and those that its kubelet runs by itself.
func (w *explainer) daemonsOn(nc *karpv1.NodeClaim) (pods []*corev1.Pod) {
	for _, pod := range w.Pods {
		if pod.Spec.NodeName == nc.Status.NodeName && !podutils.IsTerminal(pod) &&
			(podutils.IsOwnedByDaemonSet(pod) || podutils.IsOwnedByNode(pod)) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// cheaper are the plan types that a pool allows, that can be had, and that cost less than the
// one of a claim; the cheapest first.
func (w *explainer) cheaper(nc *karpv1.NodeClaim, pool *karpv1.NodePool) []*cloudprovider.InstanceType {
	own := w.price(nodeclaim.PlanOf(nc)).Hourly
	list := slices.DeleteFunc(instancetype.Candidates(w.types().List(), instancetype.RequirementsOf(pool), nil),
		func(it *cloudprovider.InstanceType) bool { return w.price(it.Name).Hourly >= own })
	slices.SortStableFunc(list, func(a, b *cloudprovider.InstanceType) int {
		return cmp.Or(cmp.Compare(w.price(a.Name).Hourly, w.price(b.Name).Hourly), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// reduction is how much less of CPU and memory has to be asked for than there is room, in
// amounts that people write; small is whether most of it stays, and no other resource lacks.
func reduction(asked, room corev1.ResourceList) (less corev1.ResourceList, small bool) {
	less = corev1.ResourceList{}
	for name, wanted := range asked {
		has := room[name]
		if wanted.Cmp(has) <= 0 {
			continue
		}
		missing := wanted.DeepCopy()
		missing.Sub(has)
		switch name {
		case corev1.ResourceCPU:
			missing = *resource.NewMilliQuantity((missing.MilliValue()+9)/10*10, resource.DecimalSI)
			small = missing.MilliValue()*keptIn <= wanted.MilliValue()*(keptIn-keptOf)
		case corev1.ResourceMemory:
			const step = 100 << 20
			missing = *resource.NewQuantity((missing.Value()+step-1)/step*step, resource.BinarySI)
			small = missing.Value()*keptIn <= wanted.Value()*(keptIn-keptOf)
		default:
			return less, false
		}
		if less[name] = missing; !small {
			return less, false
		}
	}
	return less, true
}

// reduced are copies of pods that wait and ask for so much less in all, each for the same
// share of what it asked for.
func reduced(pods []*corev1.Pod, asked, less corev1.ResourceList) (copies []*corev1.Pod) {
	for _, pod := range pods {
		pod = pod.DeepCopy()
		pod.Spec.NodeName = ""
		for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
			for i := range containers {
				shrink(containers[i].Resources.Requests, asked, less)
			}
		}
		copies = append(copies, pod)
	}
	return copies
}

func shrink(requests, asked, less corev1.ResourceList) {
	for name, missing := range less {
		all, own := asked[name], requests[name]
		if own.IsZero() {
			continue
		}
		if name == corev1.ResourceCPU {
			kept := own.MilliValue() * (all.MilliValue() - missing.MilliValue()) / all.MilliValue()
			requests[name] = *resource.NewMilliQuantity(kept, resource.DecimalSI)
			continue
		}
		share := float64(all.Value()-missing.Value()) / float64(all.Value())
		requests[name] = *resource.NewQuantity(int64(float64(own.Value())*share), resource.BinarySI)
	}
}

// onOne reports whether all pods would be on one new node of a plan type, where there is no
// other node and no other pool.
func (w *explainer) onOne(ctx context.Context, pool *karpv1.NodePool, pods []*corev1.Pod, plan string) (bool, error) {
	placed, err := simulate.Place(ctx, simulate.Live{
		Snapshot: cluster.Snapshot{Pools: []*karpv1.NodePool{pool}, Classes: w.Classes, Pods: pods, Daemons: w.Daemons},
		Region:   w.region, Tier: w.tier, Catalog: w.Catalog, Attached: w.attached(ctx),
	})
	if err != nil {
		return false, err
	}
	nodes := map[string]bool{}
	for _, p := range placed {
		nodes[p.New] = true
		if p.Plan != plan {
			return false, nil
		}
	}
	return len(placed) == len(pods) && len(nodes) == 1, nil
}

// lessText is how much less, of how much: 1 less of cpu, 4 instead of 5.
func lessText(asked, less corev1.ResourceList) string {
	text := ""
	for i, name := range sortedNames(less) {
		all, left := asked[name], asked[name].DeepCopy()
		left.Sub(less[name])
		if i > 0 {
			text += " and "
		}
		text += fmt.Sprintf("%s less of %s (%s instead of %s)", decimal(name, less[name]), name, decimal(name, left),
			decimal(name, all))
	}
	return text
}

// decimal is an amount without units of which it has none: 4.5 CPUs.
func decimal(name corev1.ResourceName, q resource.Quantity) string {
	if name == corev1.ResourceCPU {
		return strconv.FormatFloat(float64(q.MilliValue())/1000, 'f', -1, 64)
	}
	return simulate.Amount(name, q)
}
