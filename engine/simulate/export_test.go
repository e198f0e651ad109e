package simulate

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// RunFrom is Run, with pack from so many pods on.
var RunFrom = run

// Anew has nothing remembered from one step of Karpenter to the next.
func (in Input) Anew() Input {
	in.uncached = true
	return in
}

// ConsolidatedCluster is the cluster of an input after consolidation, as it would be read.
func ConsolidatedCluster(ctx context.Context, in Input) (Live, error) {
	in.Consolidate = &Consolidation{}
	w, pending, err := startCluster(ctx, in, manyPods)
	if err != nil {
		return Live{}, err
	}
	e, err := w.consolidate(ctx, in, pending)
	if err != nil {
		return Live{}, err
	}
	live := Live{Region: in.Region, Tier: in.Tier, Catalog: in.Catalog, Attached: map[types.UID][]string{}}
	live.Budgets, live.Daemons, live.Templates = in.Budgets, in.DaemonSets, in.Templates
	for _, m := range e.made {
		nc, node := m.claim.DeepCopy(), e.store.Nodes[m.node].DeepCopy()
		nc.Status.NodeName = m.node
		live.Claims, live.Nodes = append(live.Claims, nc), append(live.Nodes, node)
	}
	for _, pod := range e.pods {
		pod = pod.DeepCopy()
		for i := range pod.Spec.Volumes {
			live.Attached[pod.UID] = append(live.Attached[pod.UID], ClaimOf(pod.Name, pod.Spec.Volumes[i]))
		}
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "app", Controller: ptr.To(true),
			UID: types.UID(e.workloads[e.workloadOf[pod.UID]].Name)}}
		live.Pods = append(live.Pods, pod)
	}
	return live, nil
}

// Incomplete is why a simulation is not all that Karpenter would do.
func Incomplete(slow, ended bool) error {
	e := &consolidation{slow: slow, out: &Consolidated{Ended: ended}}
	return e.incomplete()
}
