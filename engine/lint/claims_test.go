package lint_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/schemas"
)

// TestNodeClaimsHaveTheRulesOfTemplates: node-claims-refused validates only NodeClaims that can be too large, because their CRD
// has no rule for requirements that the CRD of pools lacks, and the same rules for keys of labels.
func TestNodeClaimsHaveTheRulesOfTemplates(t *testing.T) {
	t.Parallel()
	specs := map[string]apiextensionsv1.JSONSchemaProps{}
	for _, crd := range schemas.CRDs() {
		var read apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(crd.YAML, &read); err != nil {
			t.Fatal(err)
		}
		specs[crd.Name] = read.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	}
	claim, template := specs["nodeclaims.karpenter.sh"], specs["nodepools.karpenter.sh"].Properties["template"].Properties["spec"]
	rules := func(spec apiextensionsv1.JSONSchemaProps) (text string) {
		requirements := spec.Properties["requirements"]
		key := requirements.Items.Schema.Properties["key"]
		var kept apiextensionsv1.ValidationRules
		for _, rule := range key.XValidations {
			if rule.Rule != `self != "karpenter.sh/nodepool"` { // a template's alone: Karpenter adds this label
				kept = append(kept, rule)
			}
		}
		key.XValidations = kept
		requirements.Items.Schema.Properties["key"] = key
		raw, err := yaml.Marshal(requirements)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	if diff := cmp.Diff(rules(template), rules(claim)); diff != "" {
		t.Error("the rules for requirements differ (-template +NodeClaim):\n" + diff)
	}
	if len(claim.XValidations) != 1 || claim.XValidations[0].Rule != "self == oldSelf" {
		t.Errorf("NodeClaims have further rules: %v", claim.XValidations)
	}
}
