package why

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/operator/logging"
	reqs "sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/lkeplan/lkeplan/engine/status"
)

// volumes is the client of the volumes that were listed, for Karpenter to read. The methods
// of a client that are not here would panic.
type volumes struct {
	client.Client
	status.Volumes
}

// Get implements client.Reader.
func (v volumes) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	found := false
	switch o := into.(type) {
	case *corev1.PersistentVolumeClaim:
		found = copied(v.Claims, key, o)
	case *corev1.PersistentVolume:
		found = copied(v.All, client.ObjectKey{Name: key.Name}, o)
	case *storagev1.StorageClass:
		found = copied(v.Classes, key, o)
	}
	if !found {
		return apierrors.NewNotFound(schema.GroupResource{Resource: fmt.Sprintf("%T", into)}, key.Name)
	}
	return nil
}

func copied[T any, P interface {
	*T
	client.Object
}](from []P, key client.ObjectKey, into P) bool {
	for _, o := range from {
		if client.ObjectKeyFromObject(o) == key {
			*into = *o
			return true
		}
	}
	return false
}

// storage is what the volumes of a pod ask of its node.
type storage struct {
	places  []reqs.Requirements // each of them would do; none where any node does
	unready string              // why Karpenter does not plan for the pod; "" where it does
}

// storageOf is what the volumes of a pod ask for, in the way that Karpenter reads them.
func (w *world) storageOf(ctx context.Context, pod *corev1.Pod) storage {
	if !claims(pod) || w.Unread(stored...) != "" {
		return storage{} // or not to be known, which doubts says
	}
	ctx = log.IntoContext(ctx, logging.NopLogger)
	topology := scheduling.NewVolumeTopology(volumes{Volumes: w.Volumes})
	err := topology.ValidatePersistentVolumeClaims(ctx, pod)
	if err == nil {
		var s storage
		if s.places, err = topology.GetRequirements(ctx, pod); err == nil {
			return s
		}
	}
	return storage{unready: w.unbound(pod, err)}
}

// claims reports whether a pod has volumes that it claims.
func claims(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil || v.Ephemeral != nil
	})
}

// unbound says in words why the volumes of a pod keep Karpenter from planning for it.
func (w *world) unbound(pod *corev1.Pod, err error) string {
	for _, v := range pod.Spec.Volumes {
		var name string
		switch {
		case v.PersistentVolumeClaim != nil:
			name = v.PersistentVolumeClaim.ClaimName
		case v.Ephemeral != nil:
			name = pod.Name + "-" + v.Name
		default:
			continue
		}
		var claim corev1.PersistentVolumeClaim
		switch {
		case !copied(w.Volumes.Claims, client.ObjectKey{Namespace: pod.Namespace, Name: name}, &claim):
			return fmt.Sprintf("its PersistentVolumeClaim %s does not exist", name)
		case claim.Status.Phase == corev1.ClaimPending:
			return fmt.Sprintf("its PersistentVolumeClaim %s has no volume yet: %v", name, err)
		}
	}
	return fmt.Sprintf("of its volumes: %v", err)
}

// String says where the volumes can be used; "" where anywhere.
func (s storage) String() string {
	var texts []string
	for _, place := range s.places {
		var parts []string
		for _, key := range slices.Sorted(maps.Keys(place)) {
			parts = append(parts, place.Get(key).String())
		}
		texts = append(texts, strings.Join(parts, " and "))
	}
	slices.Sort(texts)
	return strings.Join(slices.Compact(texts), ", or ")
}

// bind returns a pod that asks by itself for what its volumes ask for: of several places,
// one must do.
func (s storage) bind(pod *corev1.Pod) *corev1.Pod {
	if len(s.places) == 0 {
		return pod
	}
	pod = pod.DeepCopy()
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &corev1.Affinity{}
	}
	if pod.Spec.Affinity.NodeAffinity == nil {
		pod.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	required := &pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	terms := []corev1.NodeSelectorTerm{{}}
	if *required != nil {
		terms = (*required).NodeSelectorTerms
	}
	*required = &corev1.NodeSelector{}
	for _, term := range terms {
		for _, place := range s.places {
			both := *term.DeepCopy()
			for _, key := range slices.Sorted(maps.Keys(place)) {
				r := place.Get(key).NodeSelectorRequirement()
				both.MatchExpressions = append(both.MatchExpressions,
					corev1.NodeSelectorRequirement{Key: r.Key, Operator: r.Operator, Values: r.Values})
			}
			(*required).NodeSelectorTerms = append((*required).NodeSelectorTerms, both)
		}
	}
	return pod
}
