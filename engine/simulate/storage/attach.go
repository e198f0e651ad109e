package storage

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/karpenter/pkg/operator/logging"
	reqs "sigs.k8s.io/karpenter/pkg/scheduling"
)

// Driver is the CSI driver of Linode's volumes, of which a node can attach only so many. Of
// other drivers nothing is known.
const Driver = "linodebs.csi.linode.com"

// classPrefix begins the names of the classes that LKE has for its volumes.
const classPrefix = "linode-block-storage"

// Attached are the volumes of Linode that a pod has a node attach.
type Attached struct {
	Own    int      `json:"own,omitempty"`    // so many that no other pod has
	Shared []string `json:"shared,omitempty"` // by their names: pods that have the same one share it
}

// IsZero reports whether there are none.
func (a Attached) IsZero() bool { return a.Own == 0 && len(a.Shared) == 0 }

// To gives them to a pod, in place of the volumes that it is written with: each claims one.
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

// Attach are the claims of a pod that are of Linode, by namespace and name.
func (x *Index) Attach(ctx context.Context, pod *corev1.Pod) (names []string) {
	ctx = log.IntoContext(ctx, logging.NopLogger)
	volumes, err := reqs.GetVolumes(ctx, x, pod)
	if err != nil {
		return nil // of a claim that is not there, nothing is attached
	}
	names = volumes[Driver].UnsortedList()
	slices.Sort(names)
	return names
}

// OfLinode reports whether claims of a class are for Linode's volumes, and whether that is
// known: of classes that are not given, those of LKE are, and what has none gets LKE's.
func (x *Index) OfLinode(class *string) (is, known bool) {
	if name := ptr.Deref(class, ""); name != "" {
		if c := x.classes[name]; c != nil {
			return c.Provisioner == Driver, true
		}
		return strings.HasPrefix(name, classPrefix), strings.HasPrefix(name, classPrefix)
	}
	if class != nil {
		return false, true // it takes a volume that there is
	}
	for _, c := range x.classes {
		if c.Annotations[isDefault] == "true" {
			return c.Provisioner == Driver, true
		}
	}
	return true, true
}

const isDefault = "storageclass.kubernetes.io/is-default-class"

// Simulated answers for the claims that Attached gives to pods, their class, and the CSINode of
// a node that can attach so many of them.
func Simulated(key client.ObjectKey, into client.Object, attachable map[string]int) (found bool) {
	switch o := into.(type) {
	case *corev1.PersistentVolumeClaim:
		*o = corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
		o.Spec.StorageClassName = ptr.To(classPrefix)
		return true
	case *storagev1.StorageClass:
		*o = storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: key.Name}, Provisioner: Driver}
		return true
	case *storagev1.CSINode:
		most, known := attachable[key.Name]
		if known {
			resources := &storagev1.VolumeNodeResources{Count: ptr.To(int32(most))}
			o.Spec.Drivers = []storagev1.CSINodeDriver{{Name: Driver, Allocatable: resources}}
		}
		return known
	}
	return false
}
