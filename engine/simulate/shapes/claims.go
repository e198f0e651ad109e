package shapes

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lkeplan/lkeplan/engine/simulate"
)

// claimed is what the pods of a cluster have to do with volumes.
type claimed struct {
	index    *simulate.VolumeIndex
	attached map[types.UID][]string
	by       map[string]int // how many pods have the same claim, by namespace and name
}

// claims reads the claims of all pods that count.
func claims(c Cluster) claimed {
	all := claimed{c.Storage, map[types.UID][]string{}, map[string]int{}}
	for i := range c.Pods {
		if pod := &c.Pods[i]; c.Storage != nil && simulate.NeedsNode(pod) {
			names := c.Storage.Attach(context.Background(), pod)
			all.attached[pod.UID] = names
			for _, name := range names {
				all.by[name]++
			}
		}
	}
	return all
}

// of says which volumes a pod has, and for which claim it waits. One that has a node waits for
// none.
func (c claimed) of(pod *corev1.Pod) (volumes simulate.Attached, waits *simulate.ClaimWait) {
	for _, name := range c.attached[pod.UID] {
		if c.by[name] > 1 {
			volumes.Shared = append(volumes.Shared, name)
		} else {
			volumes.Own++
		}
	}
	if c.index != nil && pod.Spec.NodeName == "" {
		waits, _ = c.index.Ready(context.Background(), pod) // in Karpenter's words, which name more
	}
	return volumes, waits
}
