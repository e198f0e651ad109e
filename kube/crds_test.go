package kube_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/lkeplan/lkeplan/kube"
)

// TestRulesCompile: an API server rejects a CRD with a rule that does not
// compile; a validator would notice it only when an object has the field.
func TestRulesCompile(t *testing.T) {
	for _, crd := range kube.CRDs() {
		for _, version := range crd.Spec.Versions {
			internal := &apiextensions.JSONSchemaProps{}
			if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema,
				internal, nil); err != nil {
				t.Fatal(err)
			}
			structure, err := structuralschema.NewStructural(internal)
			if err != nil {
				t.Fatal(err)
			}
			compileRules(t, structure, crd.Name+" "+version.Name, true)
		}
	}
}

func compileRules(t *testing.T, s *structuralschema.Structural, path string, root bool) {
	t.Helper()
	environment := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	results, err := schemacel.Compile(s, model.SchemaDeclType(s, root), celconfig.PerCallLimit, environment,
		schemacel.NewExpressionsEnvLoader())
	if err != nil {
		t.Errorf("%s: %v", path, err)
	}
	for i, result := range results {
		if result.Error != nil {
			t.Errorf("%s: rule %d: %v", path, i, result.Error)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		compileRules(t, &property, path+"."+name, false)
	}
	if s.Items != nil {
		compileRules(t, s.Items, path+".*", false)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		compileRules(t, s.AdditionalProperties.Structural, path+".*", false)
	}
}

// TestCRDsAreAccepted checks that an API server accepts each definition: its schema is structural, and its
// rules compile within the allowed cost.
func TestCRDsAreAccepted(t *testing.T) {
	for _, definition := range kube.CRDs() {
		t.Run(definition.Name, func(t *testing.T) {
			apiextensionsv1.SetDefaults_CustomResourceDefinition(definition)
			apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&definition.Spec)
			for _, version := range definition.Spec.Versions {
				if version.Storage {
					definition.Status.StoredVersions = []string{version.Name}
				}
			}
			internal := &apiextensions.CustomResourceDefinition{}
			convert := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition
			if err := convert(definition, internal, nil); err != nil {
				t.Fatal(err)
			}
			for _, err := range validation.ValidateCustomResourceDefinition(context.Background(), internal) {
				t.Error(err)
			}
		})
	}
}
