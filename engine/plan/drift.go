package plan

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Drifts compares objects of a cluster with the head, and returns the fields that other owners than the manager have
// set to another value, or removed from a list or map that they own as a whole. The base is the last applied state,
// if known; it may be empty.
func Drifts(base, head []config.Object, live map[manifest.Key]map[string]any, manager string) ([]Drift, error) {
	applied := ByKey(base)
	var drifts []Drift
	for _, o := range head {
		there := live[o.Key()]
		if there == nil {
			continue
		}
		all, err := ownersIn(there)
		if err != nil {
			return nil, fmt.Errorf("read the field owners of %s: %w", o.Addr, err)
		}
		if all.only(manager) {
			continue
		}
		before, known := applied[o.Key()]
		if !known {
			before = o
		}
		drifts = append(drifts, driftOf(o, flattenFields(before.Defaulted), flattenFields(there), all, manager)...)
	}
	slices.SortFunc(drifts, func(a, b Drift) int {
		return cmp.Or(cmp.Compare(a.Addr, b.Addr), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Path, b.Path))
	})
	return drifts, nil
}

// driftOf lists the fields that others have set in one object. A value that the head also sets is not drift.
func driftOf(o config.Object, applied, live map[string]any, all owners, manager string) (drifts []Drift) {
	wanted, written := flattenFields(o.Defaulted), flattenFields(o.Manifest)
	paths := maps.Clone(live)
	maps.Copy(paths, written)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if byController(path) || reflect.DeepEqual(live[path], wanted[path]) {
			continue
		}
		who, owned := all.ownersOf(path)
		if len(who) == 0 || slices.Contains(who, manager) {
			continue
		}
		contested := false // an apply writes all of what is owned as a whole
		for other := range written {
			at := fieldPath(other)
			contested = contested || len(at) >= len(owned) && at[:len(owned)].Equals(owned)
		}
		d := Drift{
			Addr: o.Addr.String(), Kind: o.Kind(), Namespace: o.Namespace(), Name: o.Name(), Path: path,
			Applied: applied[path], Live: live[path], Owners: who, Kept: !contested,
		}
		if len(owned) < len(fieldPath(path)) {
			d.Whole = strings.TrimPrefix(owned.String(), ".")
		}
		drifts = append(drifts, d)
	}
	return drifts
}

// SetByOthers lists the fields of a live object's spec that the manager does not own: no configuration declares them,
// or another owner has taken them over.
func SetByOthers(live metav1.Object, manager string) (drifts []Drift, err error) {
	all, err := ownersOf(live.GetManagedFields())
	if err != nil || all.only(manager) {
		return nil, err
	}
	obj, err := manifest.Untyped(live) // which has paths
	if err != nil {
		return nil, err
	}
	fields := flattenFields(obj)
	for _, path := range slices.Sorted(maps.Keys(fields)) {
		who, _ := all.ownersOf(path)
		if strings.HasPrefix(path, "spec.") && len(who) > 0 && !slices.Contains(who, manager) {
			drifts = append(drifts, Drift{Path: path, Live: fields[path], Owners: who, Kept: true})
		}
	}
	return drifts, nil
}

// foreign are the prefixes of labels and annotations that controllers and deployment tools write.
var foreign = []string{
	"karpenter.sh/", "karpenter.k8s.linode/", "lkeplan.dev/", "kubectl.kubernetes.io/",
	"kustomize.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/", "argocd.argoproj.io/", "meta.helm.sh/", "helm.sh/",
}

// byController reports whether programs write a field of the object.
func byController(path string) bool {
	if path == "metadata.finalizers" || path == "metadata.ownerReferences" {
		return true
	}
	for _, part := range []string{"metadata.labels[", "metadata.annotations["} {
		if key, ok := strings.CutPrefix(path, part); ok && !authored(path) {
			return slices.ContainsFunc(foreign, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
		}
	}
	return false
}

// The paths of the annotations that an author writes as in_place and refresh_after.
const (
	inPlace      = "metadata.annotations[" + schemas.AnnotationInPlace + "]"
	refreshAfter = "metadata.annotations[" + schemas.AnnotationRefreshAfter + "]"
)

// authored reports whether an author writes the annotation at a path as an argument. It is shown and compared like a
// field.
func authored(path string) bool { return path == inPlace || path == refreshAfter }

// ownField reports whether a field is a label or an annotation of the object that only lkeplan writes.
func ownField(path string) bool {
	return !authored(path) && (strings.HasPrefix(path, "metadata.labels[lkeplan.dev/") || strings.HasPrefix(path, "metadata.annotations[lkeplan.dev/"))
}

// owners are the field managers of an object with their fields.
type owners []owner

type owner struct {
	manager string
	fields  *fieldpath.Set
	leaves  *fieldpath.Set // the fields that no field in it is below
}

// ownersOf reads managed fields, without those of a status.
func ownersOf(managed []metav1.ManagedFieldsEntry) (owners, error) {
	var all owners
	for _, entry := range managed {
		if entry.Subresource != "" || entry.FieldsV1 == nil {
			continue
		}
		set := &fieldpath.Set{}
		if err := set.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
			return nil, fmt.Errorf("%s: %w", entry.Manager, err)
		}
		all = append(all, owner{entry.Manager, set, set.Leaves()})
	}
	return all, nil
}

// ownersIn reads the managed fields of an object.
func ownersIn(obj map[string]any) (owners, error) {
	managed := map[string]any{"managedFields": manifest.Map(obj, "metadata")["managedFields"]}
	var typed metav1.ObjectMeta
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(managed, &typed); err != nil {
		return nil, err
	}
	return ownersOf(typed.ManagedFields)
}

// only reports whether the manager owns all fields.
func (all owners) only(manager string) bool {
	return !slices.ContainsFunc(all, func(o owner) bool { return o.manager != manager })
}

// ownersOf returns the managers of the field at a path of flattenFields, sorted, and the path that they own: that of
// the field, or of the map around it that is owned as a whole, such as the labels of a pool's template.
func (all owners) ownersOf(path string) (who []string, owned fieldpath.Path) {
	at := fieldPath(path)
	for owned = at; len(owned) > 0; owned = owned[:len(owned)-1] {
		for _, o := range all {
			if o.leaves.Has(owned) || len(owned) == len(at) && o.fields.Has(owned) {
				who = append(who, o.manager)
			}
		}
		if len(who) > 0 {
			break
		}
	}
	slices.Sort(who)
	return slices.Compact(who), owned
}

// fieldPath turns a path of flattenFields into one of managed fields. Lists are owned as a whole: the CRDs define no
// list keys.
func fieldPath(path string) fieldpath.Path {
	list, rest, inBrackets := strings.Cut(path, "[")
	var at fieldpath.Path
	for name := range strings.SplitSeq(list, ".") {
		at = append(at, fieldpath.PathElement{FieldName: &name})
	}
	if inBrackets && elementNamer(list) == nil {
		name := strings.TrimSuffix(rest, "]")
		at = append(at, fieldpath.PathElement{FieldName: &name})
	}
	return at
}
