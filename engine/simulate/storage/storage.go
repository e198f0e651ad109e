// Package storage is what the volumes of pods ask of nodes: where they can be used, how many
// of Linode's a node has to attach, and for which of them a pod gets no node yet. Karpenter
// decides, by its own code.
//
// It knows the objects that it is given, and no cluster.
package storage

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
)

// Index finds what claims of volumes lead to. It is the client that Karpenter reads them by:
// the methods of a client that are not here would panic.
type Index struct {
	client.Client
	claims  map[client.ObjectKey]*corev1.PersistentVolumeClaim
	volumes map[string]*corev1.PersistentVolume
	classes map[string]*storagev1.StorageClass
}

// NewIndex indexes the objects of a cluster.
func NewIndex(claims []*corev1.PersistentVolumeClaim, volumes []*corev1.PersistentVolume,
	classes []*storagev1.StorageClass) *Index {
	x := &Index{claims: map[client.ObjectKey]*corev1.PersistentVolumeClaim{},
		volumes: map[string]*corev1.PersistentVolume{}, classes: map[string]*storagev1.StorageClass{}}
	for _, c := range claims {
		x.claims[client.ObjectKeyFromObject(c)] = c
	}
	for _, v := range volumes {
		x.volumes[v.Name] = v
	}
	for _, c := range classes {
		x.classes[c.Name] = c
	}
	return x
}

// Get implements client.Reader.
func (x *Index) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	found := false
	switch o := into.(type) {
	case *corev1.PersistentVolumeClaim:
		found = copied(x.claims[key], o)
	case *corev1.PersistentVolume:
		found = copied(x.volumes[key.Name], o)
	case *storagev1.StorageClass:
		found = copied(x.classes[key.Name], o)
	}
	if !found {
		return apierrors.NewNotFound(schema.GroupResource{Resource: fmt.Sprintf("%T", into)}, key.Name)
	}
	return nil
}

func copied[T any](from, into *T) bool {
	if from != nil {
		*into = *from
	}
	return from != nil
}

// Claims reports whether a pod has volumes that it claims.
func Claims(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return ClaimOf(pod.Name, v) != "" })
}

// ClaimOf is the name of the claim of a volume of a pod; "" where it has none.
func ClaimOf(pod string, v corev1.Volume) string {
	switch {
	case v.PersistentVolumeClaim != nil:
		return v.PersistentVolumeClaim.ClaimName
	case v.Ephemeral != nil:
		return pod + "-" + v.Name
	}
	return ""
}

// Wait is what keeps Karpenter from planning for a pod.
type Wait struct {
	Why  Why    `json:"why"`
	Name string `json:"name"` // of the claim
}

// Why is how a claim is.
type Why string

// Why a pod waits for a claim.
const (
	Missing  Why = "missing"
	Deleting Why = "deleting"
	Lost     Why = "lost"
	Unbound  Why = "unbound" // no volume is made for it, or not yet
	Broken   Why = "broken"  // its volume is not there, or goes
)

// String says it in words that follow those of the pod.
func (w Wait) String() string {
	how := map[Why]string{
		Missing: "does not exist", Deleting: "is being deleted", Lost: "has lost its volume", Unbound: "has no volume yet",
	}[w.Why]
	if how == "" {
		how = "has a volume that cannot be used"
	}
	return fmt.Sprintf("its PersistentVolumeClaim %s %s", w.Name, how)
}

// Ready says for which claim a pod gets no node yet, with the words of Karpenter; nil where it
// may have one.
func (x *Index) Ready(ctx context.Context, pod *corev1.Pod) (*Wait, error) {
	ctx = log.IntoContext(ctx, logging.NopLogger)
	topology := scheduling.NewVolumeTopology(x)
	for _, v := range pod.Spec.Volumes {
		name := ClaimOf(pod.Name, v)
		if name == "" {
			continue
		}
		one := &corev1.Pod{ObjectMeta: pod.ObjectMeta, Spec: corev1.PodSpec{Volumes: []corev1.Volume{v}}}
		err := topology.ValidatePersistentVolumeClaims(ctx, one)
		if err == nil {
			_, err = topology.GetRequirements(ctx, one)
		}
		if err != nil {
			return &Wait{x.why(client.ObjectKey{Namespace: pod.Namespace, Name: name}), name}, err
		}
	}
	return nil, nil
}

// why says how a claim is that Karpenter does not plan with.
func (x *Index) why(key client.ObjectKey) Why {
	switch claim := x.claims[key]; {
	case claim == nil:
		return Missing
	case !claim.DeletionTimestamp.IsZero():
		return Deleting
	case claim.Status.Phase == corev1.ClaimLost:
		return Lost
	case claim.Status.Phase != corev1.ClaimBound:
		return Unbound
	}
	return Broken
}

// Places are where the volumes of a pod can be used: each of them would do; none where any
// node does.
type Places []reqs.Requirements

// Places are those of a pod whose volumes are ready.
func (x *Index) Places(ctx context.Context, pod *corev1.Pod) (Places, error) {
	return scheduling.NewVolumeTopology(x).GetRequirements(log.IntoContext(ctx, logging.NopLogger), pod)
}

// String says where; "" where anywhere.
func (p Places) String() string {
	var texts []string
	for _, place := range p {
		var parts []string
		for _, key := range slices.Sorted(maps.Keys(place)) {
			parts = append(parts, place.Get(key).String())
		}
		texts = append(texts, strings.Join(parts, " and "))
	}
	slices.Sort(texts)
	return strings.Join(slices.Compact(texts), ", or ")
}

// Bind returns a pod that asks by itself for what its volumes ask for: of several places,
// one must do.
func (p Places) Bind(pod *corev1.Pod) *corev1.Pod {
	if len(p) == 0 {
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
		for _, place := range p {
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
