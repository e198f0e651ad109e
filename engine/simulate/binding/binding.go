// Package binding binds the pods of one pass of Karpenter to the nodes that it has found for
// them, as the scheduler of Kubernetes does.
package binding

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lkeplan/lkeplan/engine/simulate/memory"
	"github.com/lkeplan/lkeplan/engine/simulate/storage"
)

// Pass is one pass.
type Pass struct {
	store   *memory.Store
	pending map[types.UID]*corev1.Pod
}

// New begins a pass, for pods that wait.
func New(store *memory.Store, pending []*corev1.Pod) Pass {
	p := Pass{store: store, pending: make(map[types.UID]*corev1.Pod, len(pending))}
	for _, pod := range pending {
		p.pending[pod.UID] = pod
	}
	return p
}

// Bind binds pods to a node; those of Karpenter are copies.
func (p Pass) Bind(pods []*corev1.Pod, node string) error {
	for _, planned := range pods {
		pod := p.pending[planned.UID]
		if pod == nil || pod.Spec.NodeName != "" {
			return fmt.Errorf("pod %s is placed on %s, and has not asked or has a node: please report it", planned.UID, node)
		}
		p.store.Bind(pod, node)
	}
	return nil
}

// Left is why a pod is left over that Karpenter has planned a node for.
type Left struct {
	Why   string
	Never bool // no node that it plans will do
}

// BindNew binds pods to a node that was made for them, as many as it can attach the volumes
// of: Karpenter counts volumes on nodes that there are, and not when it plans one.
func (p Pass) BindNew(pods []*corev1.Pod, node, plan string) (map[types.UID]Left, error) {
	most, limited := p.store.Attachable[node]
	attached, left := map[string]bool{}, map[types.UID]Left{}
	var fit []*corev1.Pod
	for _, pod := range pods {
		var fresh []string
		for _, v := range pod.Spec.Volumes {
			if name := pod.Namespace + "/" + storage.ClaimOf(pod.Name, v); !attached[name] {
				fresh = append(fresh, name)
			}
		}
		switch {
		case limited && len(pod.Spec.Volumes) > most:
			left[pod.UID] = Left{Never: true, Why: fmt.Sprintf(
				"it has %d volumes, and the %s that Karpenter makes for it can attach %d.", len(pod.Spec.Volumes), plan, most)}
			continue
		case limited && len(attached)+len(fresh) > most:
			left[pod.UID] = Left{Why: fmt.Sprintf(
				"the %s that Karpenter plans for it can attach %d volumes, and other pods have them.", plan, most)}
			continue
		}
		for _, name := range fresh {
			attached[name] = true
		}
		fit = append(fit, pod)
	}
	return left, p.Bind(fit, node)
}
