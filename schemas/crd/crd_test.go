package crd_test

import (
	"context"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"

	"github.com/lkeplan/lkeplan/schemas/crd"
)

// TestAll checks that an API server accepts each definition: its schema is structural, and its
// rules compile within the allowed cost.
func TestAll(t *testing.T) {
	crds, err := crd.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, definition := range crds {
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
