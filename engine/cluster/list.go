package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
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

// Load lists kinds, as Snapshot.Unlisted names them. That the user may not list one is no error.
func Load(ctx context.Context, from Lister, kinds ...string) (s Snapshot, err error) {
	for _, kind := range kinds {
		switch kind {
		case KindNodes:
			s.Nodes, err = List[corev1.Node](ctx, from, "v1", "Node")
		case KindPods:
			s.Pods, err = List[corev1.Pod](ctx, from, "v1", "Pod")
		case KindClaims:
			s.Claims, err = List[karpv1.NodeClaim](ctx, from, "karpenter.sh/v1", "NodeClaim")
		case KindPools:
			s.Pools, err = List[karpv1.NodePool](ctx, from, "karpenter.sh/v1", "NodePool")
		case KindBudgets:
			s.Budgets, err = List[policyv1.PodDisruptionBudget](ctx, from, "policy/v1", "PodDisruptionBudget")
		case KindDaemonSets:
			s.Daemons, err = List[appsv1.DaemonSet](ctx, from, "apps/v1", "DaemonSet")
		case KindNamespaces:
			s.Spaces, err = List[corev1.Namespace](ctx, from, "v1", "Namespace")
		case KindVolumeClaims:
			s.Volumes.Claims, err = List[corev1.PersistentVolumeClaim](ctx, from, "v1", "PersistentVolumeClaim")
		case KindVolumes:
			s.Volumes.All, err = List[corev1.PersistentVolume](ctx, from, "v1", "PersistentVolume")
		case KindStorageClasses:
			s.Volumes.Classes, err = List[storagev1.StorageClass](ctx, from, "storage.k8s.io/v1", "StorageClass")
		default:
			err = fmt.Errorf("%s are not loaded", kind)
		}
		if apierrors.IsForbidden(err) {
			s.Unlisted = append(s.Unlisted, kind)
			if s.Refused == nil {
				s.Refused = map[string]string{}
			}
			s.Refused[kind] = Refused(err)
		} else if err != nil {
			return s, err
		}
	}
	return s, nil
}

// Refused is the resource that the right to list is missing for, such as nodepools.karpenter.sh.
func Refused(err error) string {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) || answer.Status().Details == nil {
		return "some objects"
	}
	details := answer.Status().Details
	return strings.TrimSuffix(details.Kind+"."+details.Group, ".")
}

// Cached reads lists from a cache, which shares the objects.
func Cached(ctx context.Context, cache client.Reader, lists ...client.ObjectList) (Snapshot, error) {
	var objects []client.Object
	for _, list := range lists {
		if err := cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return Snapshot{}, err
		}
		_ = meta.EachListItem(list, func(item runtime.Object) error { // which returns no error
			objects = append(objects, item.(client.Object))
			return nil
		})
	}
	return Of(objects, nil), nil
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
