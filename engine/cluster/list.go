package cluster

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	podutils "sigs.k8s.io/karpenter/pkg/utils/pod"

	"github.com/lkeplan/lkeplan/engine/object"
)

// Lister lists objects of a cluster, in all namespaces; kube.Cluster is one.
type Lister interface {
	List(ctx context.Context, apiVersion, kind string) ([]map[string]any, error)
}

// List lists the objects of a kind, as their Go type.
func List[T any](ctx context.Context, from Lister, apiVersion, kind string) ([]*T, error) {
	objects, err := from.List(ctx, apiVersion, kind)
	if err != nil {
		return nil, err
	}
	typed := make([]*T, len(objects))
	for i, obj := range objects {
		if typed[i], err = object.As[T](obj); err != nil {
			return nil, err
		}
	}
	return typed, nil
}

// PodsToMove are the pods of a node that go when it is drained: those of DaemonSets, and those that the kubelet has from a
// file, do not, and those that have ended need not. Of "" there are none.
func PodsToMove(pods []*corev1.Pod, node string) (on []*corev1.Pod) {
	for _, pod := range pods {
		_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
		if node != "" && pod.Spec.NodeName == node && !mirror && !podutils.IsTerminal(pod) &&
			!podutils.IsOwnedByDaemonSet(pod) && !podutils.IsOwnedByNode(pod) {
			on = append(on, pod)
		}
	}
	return on
}
