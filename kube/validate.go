package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// A Validator validates objects as an API server does, without one: it runs the
// same code on the same CRDs, in the same order. It is safe for concurrent use.
type Validator struct {
	// kinds are the served versions of the kinds that a CRD defines, by the name of the CRD. A CRD is read when it is
	// first needed, as most commands need two of them.
	kinds map[string]func() map[string]*crdVersion
}

// A crdVersion is one version of one kind, compiled when it is first needed:
// compiling the rules of NodePool takes longer than validating many objects.
type crdVersion struct {
	crd     *apiextensionsv1.CustomResourceDefinition
	version string
	memory  *memory
	compile func() (*rules, error)
	apply   func() (*managedfields.FieldManager, error)
}

// rules are the checks for objects of one kind.
type rules struct {
	structure *structuralschema.Structural
	openAPI   validation.SchemaValidator
	cel       *schemacel.Validator // nil if the kind has no such rules

	whole  *part // the same checks by place; nil if they cannot be divided
	memory *memory
}

// BuiltinValidator returns the validator with the CRDs that are compiled into
// this program. All callers share it, so that rules are compiled once.
func BuiltinValidator() *Validator { return builtin() }

var builtin = sync.OnceValue(newValidator)

func newValidator() *Validator {
	v := &Validator{kinds: map[string]func() map[string]*crdVersion{}}
	for _, crd := range schemas.CRDs() {
		v.kinds[crd.Name] = sync.OnceValue(func() map[string]*crdVersion { return servedVersions(readCRD(crd)) })
	}
	return v
}

// servedVersions returns the served versions of a CRD, by apiVersion.
func servedVersions(crd *apiextensionsv1.CustomResourceDefinition) map[string]*crdVersion {
	all := map[string]*crdVersion{}
	for _, version := range crd.Spec.Versions {
		if !version.Served {
			continue
		}
		d := &crdVersion{crd: crd, version: version.Name, memory: &memory{}}
		d.compile = sync.OnceValues(func() (*rules, error) {
			return compileRules(version.Schema.OpenAPIV3Schema, d.memory)
		})
		d.apply = fieldManagerOf(crd, version.Name, d.compile)
		all[crd.Spec.Group+"/"+version.Name] = d
	}
	return all
}

// CRDs returns the CRDs of schemas.CRDs. Each call returns new copies.
func CRDs() (crds []*apiextensionsv1.CustomResourceDefinition) {
	for _, crd := range schemas.CRDs() {
		crds = append(crds, readCRD(crd))
	}
	return crds
}

func readCRD(crd schemas.CRD) *apiextensionsv1.CustomResourceDefinition {
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(crd.YAML, definition); err != nil {
		panic(fmt.Sprintf("the built-in CRD %s is broken: %v", crd.Name, err)) // a test reads it
	}
	return definition
}

// version returns the CRD version of an object. A test holds that the plural of each kind is found.
func (v *Validator) version(obj map[string]any) (*crdVersion, error) {
	apiVersion, kind := manifest.APIVersion(obj), manifest.Kind(obj)
	group, _, _ := strings.Cut(apiVersion, "/")
	for _, plural := range []string{"s", "es"} {
		if versions, ok := v.kinds[strings.ToLower(kind)+plural+"."+group]; ok {
			if d := versions()[apiVersion]; d != nil && d.crd.Spec.Names.Kind == kind {
				return d, nil
			}
		}
	}
	return nil, fmt.Errorf("no CRD defines %s %s", apiVersion, kind)
}

func compileRules(schema *apiextensionsv1.JSONSchemaProps, memory *memory) (*rules, error) {
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(schema, internal,
		nil); err != nil {
		return nil, err
	}
	structure, err := structuralschema.NewStructural(internal)
	if err != nil {
		return nil, err
	}
	if err := defaulting.PruneDefaults(structure); err != nil {
		return nil, err
	}
	openAPI, converted, err := validation.NewSchemaValidator(internal)
	if err != nil {
		return nil, err
	}
	cel := schemacel.NewValidator(structure, true, celconfig.PerCallLimit)
	return &rules{
		structure: structure, openAPI: openAPI, cel: cel, whole: partOf(converted, structure, cel), memory: memory,
	}, nil
}

// Validate returns the object as the API server would store it, with defaults,
// and all errors for which the API server would refuse it. Unknown fields are
// errors as well. With old, the object as it is now, the change is validated as
// an update: transition rules apply, and values that were invalid before are
// accepted if they do not change.
//
// Neither object is changed. The result shares equal parts with the results for other objects,
// so it must not be modified. Whole numbers must be int64, not float64.
func (v *Validator) Validate(obj, old map[string]any) (defaulted map[string]any, errs field.ErrorList) {
	d, err := v.version(obj)
	if err != nil {
		kind := manifest.APIVersion(obj) + " " + manifest.Kind(obj)
		return nil, field.ErrorList{field.NotSupported(field.NewPath("kind"), kind, v.Kinds())}
	}
	rules, err := d.compile()
	if err != nil {
		return nil, field.ErrorList{field.InternalError(nil, fmt.Errorf("CRD %s: %w", d.crd.Name, err))}
	}
	obj = runtime.DeepCopyJSON(obj)
	errs = rules.complete(obj)
	if old != nil {
		old = runtime.DeepCopyJSON(old)
		rules.complete(old)
	}
	namespaced := d.crd.Spec.Scope == apiextensionsv1.NamespaceScoped
	if old == nil && rules.passes(obj, namespaced) {
		return obj, errs
	}
	return obj, append(errs, rules.validate(obj, old, namespaced)...)
}

// passes reports whether validate would return no errors for a new object. If it is false,
// validate returns the errors. validateMetadata covers the checks of objectmeta, and accepts
// fewer names.
func (r *rules) passes(obj map[string]any, namespaced bool) bool {
	return r.whole != nil && r.memory.passes(r.whole, obj) && len(validateMetadata(obj, namespaced)) == 0
}

// Kinds lists the kinds that can be validated, as "apiVersion kind", sorted.
func (v *Validator) Kinds() (kinds []string) {
	for _, versions := range v.kinds {
		for apiVersion, d := range versions() {
			kinds = append(kinds, apiVersion+" "+d.crd.Spec.Names.Kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// NoSuchField is the detail of errors about fields that an object cannot have.
const NoSuchField = "there is no such field"

// complete removes unknown fields, reports each, and fills in defaults.
func (r *rules) complete(obj map[string]any) (errs field.ErrorList) {
	unknown := pruning.PruneWithOptions(obj, r.structure, true,
		structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	for _, path := range unknown {
		errs = append(errs, &field.Error{Type: field.ErrorTypeForbidden, Field: path, Detail: NoSuchField})
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(obj, r.structure)
	defaulting.Default(obj, r.structure)
	return errs
}

// validate runs the checks of an API server in its order: the rules in CEL
// come last, and only if types and sizes are right.
func (r *rules) validate(obj, old map[string]any, namespaced bool) field.ErrorList {
	errs := validateMetadata(obj, namespaced)
	var oldValue any // nil on creation; a nil map would not be nil here
	var options []schemacel.Option
	if old == nil {
		errs = append(errs, validation.ValidateCustomResource(nil, obj, r.openAPI)...)
	} else {
		correlation := common.NewCorrelatedObject(obj, old, &model.Structural{Structural: r.structure})
		errs = append(errs,
			validation.ValidateCustomResourceUpdate(nil, obj, old, r.openAPI, validation.WithRatcheting(correlation))...)
		oldValue, options = old, []schemacel.Option{schemacel.WithRatcheting(correlation)}
	}
	errs = append(errs, objectmeta.Validate(nil, obj, r.structure, true)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, r.structure, obj)...)
	if r.cel == nil || slices.ContainsFunc(errs, blocksRules) {
		return errs
	}
	celErrs, _ := r.cel.Validate(context.Background(), nil, r.structure, obj, oldValue, celconfig.RuntimeCELCostBudget,
		options...)
	return append(errs, celErrs...)
}

// blocksRules reports whether, after an error, the rules in CEL are not evaluated:
// they could take too long or have no meaning.
func blocksRules(err *field.Error) bool {
	switch err.Type {
	case field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid,
		field.ErrorTypeNotSupported:
		return true
	}
	return false
}

func validateMetadata(obj map[string]any, namespaced bool) field.ErrorList {
	meta, found, err := objectmeta.GetObjectMeta(obj, false)
	switch {
	case err != nil:
		return field.ErrorList{field.Invalid(field.NewPath("metadata"), nil, err.Error())}
	case !found:
		return field.ErrorList{field.Required(field.NewPath("metadata"), "")}
	}
	return apivalidation.ValidateObjectMeta(meta, namespaced, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
}
