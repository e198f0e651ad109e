package kube

import (
	"fmt"
	"maps"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured/unstructuredscheme"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Predict returns the result of a server-side apply of an object as FieldManager,
// computed with the code of the API server. Live is nil if the object does not
// exist. If another owner has set a field to another value, the apply would be
// refused: the prediction is then that of a forced apply, and the conflicts are
// the fields that it would take over.
//
// Neither object is changed; desired should be Spelled as the live one is.
// Webhooks that change objects are not called.
func (v *Validator) Predict(live, desired map[string]any) (predicted map[string]any, conflicts []manifest.Conflict, err error) {
	manager, err := v.manager(desired)
	if err != nil {
		return nil, nil, err
	}
	rules, err := v.rulesOf(desired)
	if err != nil {
		return nil, nil, err
	}
	before := &unstructured.Unstructured{Object: map[string]any{"kind": desired["kind"]}}
	if live != nil {
		before.Object = runtime.DeepCopyJSON(live)
	}
	before.SetAPIVersion(manifest.APIVersion(desired))
	applied := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(desired)}
	after, err := manager.Apply(before, applied, FieldManager, false)
	if apierrors.IsConflict(err) {
		conflicts = conflictsOf(err)
		after, err = manager.Apply(before, applied, FieldManager, true)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("predict an apply of %s: %w", manifest.KeyOf(desired), err)
	}
	predicted = after.(*unstructured.Unstructured).Object
	defaulting.Default(predicted, rules.structure)
	// An API server stores no empty map in metadata: its type omits them.
	metadata := manifest.Map(predicted, "metadata")
	for _, key := range []string{"labels", "annotations"} {
		if len(manifest.Map(metadata, key)) == 0 {
			delete(metadata, key)
		}
	}
	return predicted, conflicts, nil
}

// Same reports whether two states of an object have the same fields with the same
// owners, except for the status and the times at which fields were set, which an
// apply does not change. It is false if one of them does not exist.
func Same(a, b map[string]any) bool {
	return a != nil && b != nil && equality.Semantic.DeepEqual(comparedFields(a), comparedFields(b))
}

// comparedFields returns the part of an object that Same compares. It shares what it does not change.
func comparedFields(obj map[string]any) map[string]any {
	metadata := maps.Clone(manifest.Map(obj, "metadata"))
	managed, _ := metadata["managedFields"].([]any)
	entries := make([]any, len(managed))
	for i, e := range managed {
		entry, _ := e.(map[string]any)
		entries[i] = maps.Clone(entry)
		delete(entries[i].(map[string]any), "time")
	}
	metadata["managedFields"] = entries
	obj = maps.Clone(obj)
	obj["metadata"] = metadata
	delete(obj, "status")
	return obj
}

func conflictsOf(err error) (conflicts []manifest.Conflict) {
	answer, ok := err.(apierrors.APIStatus)
	if !ok || answer.Status().Details == nil {
		return nil
	}
	for _, cause := range answer.Status().Details.Causes {
		_, owner, _ := strings.Cut(cause.Message, `"`)
		owner, _, _ = strings.Cut(owner, `"`)
		conflicts = append(conflicts, manifest.Conflict{Path: strings.TrimPrefix(cause.Field, "."), Owner: owner})
	}
	return conflicts
}

// fieldManagerOf returns the API server's own field manager for one version of a kind.
func fieldManagerOf(crd *apiextensionsv1.CustomResourceDefinition, version string,
	compile func() (*rules, error)) func() (*managedfields.FieldManager, error) {
	return sync.OnceValues(func() (*managedfields.FieldManager, error) {
		rules, err := compile()
		if err != nil {
			return nil, err
		}
		schemas := map[string]*spec.Schema{}
		for _, v := range crd.Spec.Versions {
			api, err := builder.BuildOpenAPIV3(crd, v.Name, builder.Options{})
			if err != nil {
				return nil, err
			}
			for name, s := range api.Components.Schemas {
				schemas[name] = s
			}
		}
		types, err := managedfields.NewTypeConverter(schemas, false)
		if err != nil {
			return nil, err
		}
		gvk := schema.GroupVersionKind{Group: crd.Spec.Group, Version: version, Kind: crd.Spec.Names.Kind}
		return managedfields.NewDefaultCRDFieldManager(types, sameSchema{}, defaults{rules},
			unstructuredscheme.NewUnstructuredCreator(), gvk,
			gvk.GroupVersion(), "", nil)
	})
}

// sameSchema converts between versions of a kind that differ only in name.
type sameSchema struct{}

func (sameSchema) Convert(in, out, _ any) error {
	from, ok := in.(*unstructured.Unstructured)
	to, okTo := out.(*unstructured.Unstructured)
	if !ok || !okTo {
		return fmt.Errorf("convert %T to %T", in, out)
	}
	to.Object = runtime.DeepCopyJSON(from.Object)
	return nil
}

func (sameSchema) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	gvk, ok := target.KindForGroupVersionKinds([]schema.GroupVersionKind{in.GetObjectKind().GroupVersionKind()})
	if !ok {
		return nil, fmt.Errorf("no version of %s fits", in.GetObjectKind().GroupVersionKind())
	}
	out := in.DeepCopyObject()
	out.GetObjectKind().SetGroupVersionKind(gvk)
	return out, nil
}

func (sameSchema) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

type defaults struct{ rules *rules }

func (d defaults) Default(in runtime.Object) {
	if u, ok := in.(*unstructured.Unstructured); ok {
		defaulting.Default(u.Object, d.rules.structure)
	}
}
