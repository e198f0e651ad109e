package simulate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/operator/logging"
	reqs "sigs.k8s.io/karpenter/pkg/scheduling"
)

// VolumeIndex finds what the volumes of pods require of nodes: where they can be used, how many Linode volumes a
// node has to attach, and for which claims a pod has to wait. It is the client from which Karpenter's own code
// reads claims, volumes and classes. Methods of a client that it does not implement panic.
type VolumeIndex struct {
	client.Client
	claims  map[client.ObjectKey]*corev1.PersistentVolumeClaim
	volumes map[string]*corev1.PersistentVolume
	classes map[string]*storagev1.StorageClass
}

// NewVolumeIndex indexes the objects of a cluster.
func NewVolumeIndex(claims []*corev1.PersistentVolumeClaim, volumes []*corev1.PersistentVolume,
	classes []*storagev1.StorageClass) *VolumeIndex {
	x := &VolumeIndex{claims: map[client.ObjectKey]*corev1.PersistentVolumeClaim{},
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
func (x *VolumeIndex) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	found := false
	switch o := into.(type) {
	case *corev1.PersistentVolumeClaim:
		found = copyObject(x.claims[key], o)
	case *corev1.PersistentVolume:
		found = copyObject(x.volumes[key.Name], o)
	case *storagev1.StorageClass:
		found = copyObject(x.classes[key.Name], o)
	}
	if !found {
		return apierrors.NewNotFound(schema.GroupResource{Resource: fmt.Sprintf("%T", into)}, key.Name)
	}
	return nil
}

func copyObject[T any](from, into *T) bool {
	if from != nil {
		*into = *from
	}
	return from != nil
}

// ClaimsVolumes reports whether a pod uses PersistentVolumeClaims.
func ClaimsVolumes(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return ClaimOf(pod.Name, v) != "" })
}

// ClaimOf returns the name of the claim of a pod's volume; "" if the volume has none.
func ClaimOf(pod string, v corev1.Volume) string {
	switch {
	case v.PersistentVolumeClaim != nil:
		return v.PersistentVolumeClaim.ClaimName
	case v.Ephemeral != nil:
		return pod + "-" + v.Name
	}
	return ""
}

// ClaimWait is a claim for which a pod has to wait before Karpenter plans a node for it.
type ClaimWait struct {
	Why  ClaimProblem `json:"why"`
	Name string       `json:"name"` // of the claim
}

// ClaimProblem is the reason why a claim is not ready.
type ClaimProblem string

// Why a pod waits for a claim.
const (
	ClaimMissing  ClaimProblem = "missing"
	ClaimDeleting ClaimProblem = "deleting"
	ClaimLost     ClaimProblem = "lost"
	ClaimUnbound  ClaimProblem = "unbound" // it has no volume yet
	VolumeBroken  ClaimProblem = "broken"  // its volume does not exist or is being deleted
)

// String describes the problem; the text follows the name of the pod.
func (w ClaimWait) String() string {
	how := map[ClaimProblem]string{
		ClaimMissing: "does not exist", ClaimDeleting: "is being deleted", ClaimLost: "has lost its volume", ClaimUnbound: "has no volume yet",
	}[w.Why]
	if how == "" {
		how = "has a volume that cannot be used"
	}
	return fmt.Sprintf("its PersistentVolumeClaim %s %s", w.Name, how)
}

// Ready returns the first claim for which a pod has to wait, with Karpenter's error; nil if there is none.
func (x *VolumeIndex) Ready(ctx context.Context, pod *corev1.Pod) (*ClaimWait, error) {
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
			return &ClaimWait{x.problemOf(client.ObjectKey{Namespace: pod.Namespace, Name: name}), name}, err
		}
	}
	return nil, nil
}

// problemOf returns the problem of a claim that Karpenter does not accept.
func (x *VolumeIndex) problemOf(key client.ObjectKey) ClaimProblem {
	switch claim := x.claims[key]; {
	case claim == nil:
		return ClaimMissing
	case !claim.DeletionTimestamp.IsZero():
		return ClaimDeleting
	case claim.Status.Phase == corev1.ClaimLost:
		return ClaimLost
	case claim.Status.Phase != corev1.ClaimBound:
		return ClaimUnbound
	}
	return VolumeBroken
}

// VolumePlaces are the places where the volumes of a pod can be used, of which a node must match one; empty means
// any node.
type VolumePlaces []reqs.Requirements

// Places returns the places of the volumes of a pod whose claims are ready.
func (x *VolumeIndex) Places(ctx context.Context, pod *corev1.Pod) (VolumePlaces, error) {
	return scheduling.NewVolumeTopology(x).GetRequirements(log.IntoContext(ctx, logging.NopLogger), pod)
}

// String describes the places; "" means anywhere.
func (p VolumePlaces) String() string {
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

// Bind returns a pod that requires what its volumes require: a node must match one of the places.
func (p VolumePlaces) Bind(pod *corev1.Pod) *corev1.Pod {
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

// VolumeDriver is the CSI driver of Linode's volumes, of which a node can attach a limited number. The limits of
// other drivers are unknown.
const VolumeDriver = "linodebs.csi.linode.com"

// classPrefix is the prefix of the names of LKE's storage classes.
const classPrefix = "linode-block-storage"

// Attached are the Linode volumes that a node attaches for a pod.
type Attached struct {
	Own    int      `json:"own,omitempty"`    // number of volumes that no other pod uses
	Shared []string `json:"shared,omitempty"` // names of volumes that other pods may use as well
}

// IsZero reports whether there are no volumes.
func (a Attached) IsZero() bool { return a.Own == 0 && len(a.Shared) == 0 }

// To replaces the volumes of a pod with these, each with a claim.
func (a Attached) To(pod *corev1.Pod) {
	pod.Spec.Volumes = nil
	names := slices.Clone(a.Shared)
	for i := range a.Own {
		names = append(names, fmt.Sprintf("%s-%d", pod.Name, i))
	}
	for i, name := range names {
		v := corev1.Volume{Name: fmt.Sprint("v", i)}
		v.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}
		pod.Spec.Volumes = append(pod.Spec.Volumes, v)
	}
}

// Attach returns the claims of a pod for Linode volumes, as namespace/name.
func (x *VolumeIndex) Attach(ctx context.Context, pod *corev1.Pod) (names []string) {
	ctx = log.IntoContext(ctx, logging.NopLogger)
	volumes, err := reqs.GetVolumes(ctx, x, pod)
	if err != nil {
		return nil // nothing is attached for a claim that does not exist
	}
	names = volumes[VolumeDriver].UnsortedList()
	slices.Sort(names)
	return names
}

// Attached returns the names of the claims of a pod whose Linode volumes a node attaches for it.
func (x *VolumeIndex) Attached(ctx context.Context, pod *corev1.Pod) (names []string) {
	for _, full := range x.Attach(ctx, pod) {
		_, name, _ := strings.Cut(full, "/")
		names = append(names, name)
	}
	return names
}

// OfLinode reports whether claims of a storage class are for Linode volumes, and whether that is known. Among
// classes that are not given, those of LKE are; a claim without a class gets LKE's.
func (x *VolumeIndex) OfLinode(class *string) (is, known bool) {
	if name := ptr.Deref(class, ""); name != "" {
		if c := x.classes[name]; c != nil {
			return c.Provisioner == VolumeDriver, true
		}
		return strings.HasPrefix(name, classPrefix), strings.HasPrefix(name, classPrefix)
	}
	if class != nil {
		return false, true // it uses an existing volume
	}
	for _, c := range x.classes {
		if c.Annotations[isDefault] == "true" {
			return c.Provisioner == VolumeDriver, true
		}
	}
	return true, true
}

const isDefault = "storageclass.kubernetes.io/is-default-class"

// simulatedVolume returns the claims that Attached.To adds to pods, their class, and the CSINode of a node that can
// attach a number of them.
func simulatedVolume(key client.ObjectKey, into client.Object, attachable map[string]int) (found bool) {
	switch o := into.(type) {
	case *corev1.PersistentVolumeClaim:
		*o = corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
		o.Spec.StorageClassName = ptr.To(classPrefix)
		return true
	case *storagev1.StorageClass:
		*o = storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: key.Name}, Provisioner: VolumeDriver}
		return true
	case *storagev1.CSINode:
		most, known := attachable[key.Name]
		if known {
			resources := &storagev1.VolumeNodeResources{Count: ptr.To(int32(most))}
			o.Spec.Drivers = []storagev1.CSINodeDriver{{Name: VolumeDriver, Allocatable: resources}}
		}
		return known
	}
	return false
}
