package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// A Takeover changes the owners of the fields of an object, and nothing else.
type Takeover struct {
	From    []string // the field managers that lose fields, sorted
	entries []metav1.ManagedFieldsEntry
	changed bool
}

// Needed reports whether there is anything to take over.
func (t Takeover) Needed() bool { return t.changed }

// Takeover computes the owners of all fields after FieldManager has become the
// only owner of the fields that desired sets. Defaults lose their owners as well:
// no user set them, and a value that is set later would conflict with them. Other
// fields that desired does not set keep their owners. It returns an error if a
// value differs, because taking over does not change values.
func (v *Validator) Takeover(live, desired map[string]any) (Takeover, error) {
	manager, err := v.manager(desired)
	if err != nil {
		return Takeover{}, err
	}
	desired = Spelled(desired, live)
	ours, err := fieldsOf(manager, live, desired)
	if err != nil {
		return Takeover{}, err
	}
	defaulted, err := v.Defaulted(desired)
	if err != nil {
		return Takeover{}, err
	}
	bare := map[string]any{
		"apiVersion": desired["apiVersion"], "kind": desired["kind"],
		"metadata": map[string]any{"name": manifest.Name(desired)},
	}
	full, err := fieldsOf(manager, bare, defaulted)
	if err != nil {
		return Takeover{}, err
	}
	given, whole := ours.set, shapeOf(desired)
	for path := range full.set.Difference(ours.set).All() {
		want, has := fieldAt(defaulted, path)
		if there, ok := fieldAt(live, path); ok && has && whole.down(path).same(want, there) {
			given = given.Union(fieldpath.NewSet(path))
		}
	}
	return divideFields(live, ours.entry, given)
}

// manager returns the API server's field manager for an object's kind.
func (v *Validator) manager(obj map[string]any) (*managedfields.FieldManager, error) {
	d, err := v.version(obj)
	if err != nil {
		return nil, err
	}
	manager, err := d.apply()
	if err != nil {
		return nil, fmt.Errorf("CRD %s: %w", d.crd.Name, err)
	}
	return manager, nil
}

// owned is what a field manager owns.
type owned struct {
	entry metav1.ManagedFieldsEntry
	set   *fieldpath.Set
}

// fieldsOf applies a desired object to a live one, as FieldManager, and returns
// which fields we own then.
func fieldsOf(manager *managedfields.FieldManager, live, desired map[string]any) (owned, error) {
	before := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(live)}
	before.SetAPIVersion(manifest.APIVersion(desired))
	after, err := manager.Apply(before, &unstructured.Unstructured{Object: runtime.DeepCopyJSON(desired)}, FieldManager,
		false)
	if apierrors.IsConflict(err) {
		return owned{}, conflictError(err)
	}
	if err != nil {
		return owned{}, err
	}
	for _, e := range after.(*unstructured.Unstructured).GetManagedFields() {
		if isOurs(e) {
			set, err := decodeFields(e)
			return owned{e, set}, err
		}
	}
	return owned{set: fieldpath.NewSet()}, nil
}

func ofKubectl(manager string) bool { return strings.HasPrefix(manager, "kubectl") }

func isOurs(e metav1.ManagedFieldsEntry) bool {
	return e.Manager == FieldManager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == ""
}

// divideFields makes us the owner of fields and removes all other owners. Fields written
// through a subresource, such as the status, are not configuration.
func divideFields(live map[string]any, ours metav1.ManagedFieldsEntry, given *fieldpath.Set) (t Takeover, err error) {
	before := (&unstructured.Unstructured{Object: live}).GetManagedFields()
	t.entries = append(t.entries, ours)
	for _, e := range before {
		if isOurs(e) {
			t.changed = t.changed || !sameFields(e, ours)
			continue
		}
		if e.Subresource != "" {
			t.entries = append(t.entries, e)
			continue
		}
		set, err := decodeFields(e)
		if err != nil {
			return t, err
		}
		lost := given
		if ofKubectl(e.Manager) { // TakeOver removes its annotation
			lost = given.Union(fieldpath.NewSet(fieldpath.MakePathOrDie("metadata", "annotations", lastApplied)))
		}
		rest := withoutFields(set, lost)
		if !rest.Equals(set) {
			t.From = append(t.From, e.Manager)
			if e.FieldsV1, err = encodeFields(rest); err != nil {
				return t, err
			}
		}
		if !rest.Empty() {
			t.entries = append(t.entries, e)
		}
	}
	t.changed = t.changed || len(t.From) > 0 || !slices.ContainsFunc(before, isOurs)
	slices.Sort(t.From)
	t.From = slices.Compact(t.From)
	return t, nil
}

// withoutFields returns a set without the given fields, and without the fields around
// them if nothing else is left in them: the owner of an empty map would keep it.
func withoutFields(set, given *fieldpath.Set) *fieldpath.Set {
	around := fieldpath.NewSet()
	for path := range given.All() {
		for n := 1; n < len(path); n++ {
			around.Insert(path[:n].Copy())
		}
	}
	rest := set.Difference(given)
	for {
		hollow := rest.Leaves().Intersection(around)
		if hollow.Empty() {
			return rest
		}
		rest = rest.Difference(hollow)
	}
}

func decodeFields(e metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	set := fieldpath.NewSet()
	if e.FieldsV1 == nil {
		return set, nil
	}
	if err := set.FromJSON(e.FieldsV1.GetRawReader()); err != nil {
		return nil, fmt.Errorf("read the fields of %s: %w", e.Manager, err)
	}
	return set, nil
}

func encodeFields(set *fieldpath.Set) (*metav1.FieldsV1, error) {
	raw, err := set.ToJSON()
	return metav1.NewFieldsV1(string(raw)), err
}

func sameFields(a, b metav1.ManagedFieldsEntry) bool {
	x, errX := decodeFields(a)
	y, errY := decodeFields(b)
	return errX == nil && errY == nil && x.Equals(y)
}

// pathNames returns the steps of a path; false if one of them is an element of a list.
func pathNames(path fieldpath.Path) (steps []string, ok bool) {
	for _, element := range path {
		if element.FieldName == nil {
			return nil, false
		}
		steps = append(steps, *element.FieldName)
	}
	return steps, true
}

// fieldAt returns the field at a path of names.
func fieldAt(obj map[string]any, path fieldpath.Path) (any, bool) {
	steps, ok := pathNames(path)
	if !ok {
		return nil, false
	}
	return manifest.Lookup(obj, steps...)
}

// ErrChanged is returned for objects that have changed since they were read. The
// caller can read them again and retry.
var ErrChanged = errors.New("the object has changed since it was read")

// TakeOver changes the owners of the fields of a live object, unless it has changed
// since it was read. With kubectl's fields, it also removes the annotation with what
// kubectl last applied, which kubectl would use to merge.
func (c *Cluster) TakeOver(ctx context.Context, live map[string]any, t Takeover) error {
	obj := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(live)}
	patch := []map[string]any{
		{"op": "replace", "path": "/metadata/managedFields", "value": t.entries},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": obj.GetResourceVersion()},
	}
	if _, noted := obj.GetAnnotations()[lastApplied]; noted &&
		slices.ContainsFunc(t.From, ofKubectl) {
		patch = append(patch,
			map[string]any{"op": "remove", "path": "/metadata/annotations/" + strings.ReplaceAll(lastApplied, "/", "~1")})
	}
	raw, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	before := configuredFields(obj)
	err = c.client.Patch(ctx, obj, client.RawPatch(types.JSONPatchType, raw), client.FieldOwner(FieldManager))
	switch {
	case apierrors.IsConflict(err):
		return fmt.Errorf("take over %s: %w", manifest.KeyOf(live), ErrChanged)
	case err != nil:
		return fmt.Errorf("take over %s: %w", manifest.KeyOf(live), explainError(err, c.host))
	case !reflect.DeepEqual(before["spec"], configuredFields(obj)["spec"]):
		return fmt.Errorf("%s: internal error: taking over its fields changed its spec; please report this", manifest.KeyOf(live))
	}
	return nil
}
