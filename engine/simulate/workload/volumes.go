package workload

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/utils/ptr"

	"github.com/lkeplan/lkeplan/engine/manifests"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// stored has the objects that describe volumes.
type stored struct {
	claims  map[key]*corev1.PersistentVolumeClaim
	classes []*storagev1.StorageClass
	dumped  bool // the claims are the output of a cluster
}

// storage reads a PersistentVolumeClaim or a StorageClass.
func (r *reader) storage(o manifests.Object) error {
	s := &r.stored
	switch manifest.Kind(o.Fields) {
	case "PersistentVolumeClaim":
		claim, err := typed[corev1.PersistentVolumeClaim](r, o)
		s.claims[keyOf(o.Fields)], s.dumped = &claim, s.dumped || claim.UID != ""
		return err
	case "StorageClass":
		class, err := typed[storagev1.StorageClass](r, o)
		s.classes = append(s.classes, &class)
		return err
	}
	return nil
}

// claim finds a claim by its name in the namespace of an object.
func (r *reader) claim(o manifests.Object, name string) *corev1.PersistentVolumeClaim {
	return r.stored.claims[key{"PersistentVolumeClaim", keyOf(o.Fields).namespace, name}]
}

// waits returns the claim for which pods wait; "" if there is none. If pods are the output of a cluster, and its
// claims are not given, the claims count as ready. A bound pod waits for none.
func (r *reader) waits(o manifests.Object, spec corev1.PodSpec) string {
	live := manifest.UID(o.Fields) != ""
	if live && spec.NodeName != "" {
		return ""
	}
	for _, v := range spec.Volumes {
		name := simulate.ClaimOf(manifest.Name(o.Fields), v)
		if name == "" || isTemplated(o, v.Name) || v.Ephemeral != nil && (!live || manifest.Kind(o.Fields) != "Pod") {
			continue // it is created for each pod
		}
		claim := r.claim(o, name)
		switch {
		case claim != nil:
			if why := r.wait(claim); why != "" {
				return simulate.ClaimWait{Why: why, Name: name}.String() + "."
			}
		case !live:
			return fmt.Sprintf("its PersistentVolumeClaim %s is missing.", name)
		case r.stored.dumped:
			return simulate.ClaimWait{Why: simulate.ClaimMissing, Name: name}.String() + "."
		default:
			r.once("The PersistentVolumeClaim %s of %s is missing, and assumed to be ready.", name, kindAndName(o.Fields))
		}
	}
	return ""
}

// wait returns the problem of a claim that keeps Karpenter from planning; "" for none. A claim that is not the
// output of a cluster gets its volume when it is applied.
func (r *reader) wait(claim *corev1.PersistentVolumeClaim) simulate.ClaimProblem {
	switch {
	case claim.UID == "":
		return ""
	case claim.DeletionTimestamp != nil:
		return simulate.ClaimDeleting
	case claim.Status.Phase == corev1.ClaimLost:
		return simulate.ClaimLost
	case claim.Spec.VolumeName != "":
		return ""
	case ptr.Deref(claim.Spec.StorageClassName, "") == "":
		return simulate.ClaimUnbound
	}
	for _, class := range r.stored.classes {
		if class.Name == *claim.Spec.StorageClassName &&
			ptr.Deref(class.VolumeBindingMode, storagev1.VolumeBindingImmediate) == storagev1.VolumeBindingImmediate {
			return simulate.ClaimUnbound
		}
	}
	return ""
}

// attached returns the Linode volumes that a node attaches for each pod of an object.
func (r *reader) attached(o manifests.Object, spec corev1.PodSpec) (a simulate.Attached) {
	for _, template := range claimTemplates(o) {
		class, _ := manifest.Lookup(template, "spec", "storageClassName")
		name, said := class.(string)
		if r.ofLinode(said, name) {
			a.Own++
		}
	}
	for _, v := range spec.Volumes {
		switch {
		case v.Ephemeral != nil:
			var class *string
			if v.Ephemeral.VolumeClaimTemplate != nil {
				class = v.Ephemeral.VolumeClaimTemplate.Spec.StorageClassName
			}
			if r.ofLinode(class != nil, ptr.Deref(class, "")) {
				a.Own++
			}
		case v.PersistentVolumeClaim != nil && !isTemplated(o, v.Name):
			name := v.PersistentVolumeClaim.ClaimName
			if shared := keyOf(o.Fields).namespace + "/" + name; r.isLinodes(r.claim(o, name)) &&
				!slices.Contains(a.Shared, shared) {
				a.Shared = append(a.Shared, shared)
			}
		}
	}
	return a
}

// isLinodes reports whether a claim is for a Linode volume. A claim about which nothing is known is.
func (r *reader) isLinodes(claim *corev1.PersistentVolumeClaim) bool {
	if claim == nil {
		return true
	}
	class := claim.Spec.StorageClassName
	return r.ofLinode(class != nil, ptr.Deref(class, ""))
}

// ofLinode reports whether volumes of a class are Linode's. If that is unknown, it adds a note, and they do not
// count.
func (r *reader) ofLinode(said bool, name string) bool {
	var class *string
	if said {
		class = &name
	}
	is, known := simulate.NewVolumeIndex(nil, nil, r.stored.classes).OfLinode(class)
	if !known {
		r.once("Volumes of the StorageClass %s are not counted in the volume limit of nodes, because the class is missing.", name)
	}
	return is
}

// claimTemplates returns the volume claim templates of a StatefulSet.
func claimTemplates(o manifests.Object) (all []map[string]any) {
	list, _ := manifest.Lookup(o.Fields, "spec", "volumeClaimTemplates")
	found, _ := list.([]any)
	for _, t := range found {
		if template, ok := t.(map[string]any); ok {
			all = append(all, template)
		}
	}
	return all
}

// isTemplated reports whether a volume claim template of a StatefulSet creates the claim of a volume.
func isTemplated(o manifests.Object, volume string) bool {
	return slices.ContainsFunc(claimTemplates(o), func(t map[string]any) bool { return manifest.Name(t) == volume })
}
